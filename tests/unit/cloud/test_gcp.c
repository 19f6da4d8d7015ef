/* Machines on Google Cloud, against the model of Compute Engine: launches, refusals, permissions,
 * cleaning, checks. */
#include "base/mem.h"
#include "cloud_model.h"
#include "net/http.h"
#include "tap.h"
#include "world.h"

#include <string.h>

static struct cloud_model model;
static struct world w;

static struct cloud *open_in(const char *region, const char *admit)
{
    struct cloud_options o = cloud_model_options(&model, w.home, "me");
    struct err e = {0};

    o.admit = admit;
    o.region = region;
    struct cloud *c = cloud_open(&o, &e);
    if (!c)
        printf("# %s\n", e.text);
    return c;
}

static struct cloud *open_as(const char *admit)
{
    return open_in("us-central1", admit);
}

static struct cloud_request request(const char *token)
{
    struct cloud_request q = world_request(token);

    q.provider = "gcp";
    q.region = "us-central1";
    q.zone = NULL;
    q.instance_type = "n1-standard-8+V100:1";
    q.expires_ms = *model.now_ms / 1000 * 1000 + DAY_MS;
    return q;
}

/* ---- one machine ---- */

static void facts(const struct cloud_machine *m, const struct cloud_request *q)
{
    CHECK(strcmp(m->token, "one") == 0 && strcmp(m->owner, "me") == 0 && m->run == 3 &&
              m->job == 17 && m->expires_ms == q->expires_ms,
          "its labels");
    CHECK(strcmp(m->provider, "gcp") == 0 && strcmp(m->region, "us-central1") == 0 &&
              strcmp(m->zone, "us-central1-b") == 0 &&
              strcmp(m->instance_type, "n1-standard-8+V100:1") == 0 &&
              strncmp(m->id, "tradewind-", 10) == 0 && !m->spot,
          "where and what it is: %s %s %s", m->zone, m->id, m->instance_type);
    CHECK(m->cpus == 8 && m->memory_gb == 61 && strcmp(m->accelerator, "V100") == 0 &&
              m->accelerators == 1 && m->price_usd_per_hour == 3.06 && m->bill_min_s == 60,
          "its sizes and price");
}

static void life(void)
{
    struct cloud_machine m, again;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("one");
    q.bill_min_s = 60;
    CHECK(!cloud_sees_at_once(c), "Google is late at times");
    CHECK(look(c, "one", &m) == CLOUD_NOT_FOUND, "no launch used the token");
    CHECK(terminate(c, "one") == CLOUD_FINE, "which can be terminated");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.state != CLOUD_DELETING, "launched %s",
          world_error.err.text);
    facts(&m, &q);
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && strcmp(m.id, again.id) == 0,
          "the same token, the same machine");
    q.expires_ms += 5000;
    q.price_usd_per_hour = 1;
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && strcmp(m.id, again.id) == 0,
          "whose expiry and price may differ");
    q.instance_type = "n1-standard-4";
    CHECK(launch_as(c, &q, &again) == CLOUD_CONFLICT, "another type: %s", world_error.err.text);
    cloud_model_pass(&model, 30);
    CHECK(look(c, "one", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING && m.ready_ms &&
              m.ready_ms - m.launched_ms == 30000 &&
              strncmp(m.address, "tradewind@198.51.100.", 21) == 0 &&
              strcmp(m.exec_driver, "ssh") == 0 && strcmp(m.root, "~/.tradewind-jobs") == 0,
          "it runs, and is reached at %s", m.address);
    CHECK(strcmp(listed(c), "one ") == 0, "and is listed");
    cloud_model_pass(&model, 3600);
    CHECK(terminate(c, "one") == CLOUD_FINE && look(c, "one", &m) == CLOUD_FINE &&
              m.state == CLOUD_DELETING && strcmp(listed(c), "one ") == 0,
          "terminated: listed until it is gone");
    cloud_model_pass(&model, 30);
    CHECK(look(c, "one", &m) == CLOUD_FINE && m.state == CLOUD_GONE && m.is_outline &&
              m.ended_ms - m.launched_ms > 3600 * 1000 && m.ended_ms - m.launched_ms < 3700 * 1000,
          "gone, when its operation says: after %lld s",
          (long long)(m.ended_ms - m.launched_ms) / 1000);
    CHECK(strcmp(listed(c), "") == 0 && terminate(c, "one") == CLOUD_FINE, "no longer listed");
    q = request("one");
    q.bill_min_s = 60;
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && again.state == CLOUD_GONE && again.cpus == 8,
          "the token still stands for it: %s", world_error.err.text);
    q.instance_type = "n1-standard-4";
    CHECK(launch_as(c, &q, &again) == CLOUD_CONFLICT, "and for nothing else: %s",
          world_error.err.text);
    CHECK(cloud_model_count(&model, "launched") == 1, "launched once");
}

/* Labels hold 63 bytes; tokens, owners and names of accelerators may be longer. */
static void long_labels(void)
{
    static const char token[] = "0123456789-123456789-123456789-123456789-123456789-123456789-123";
    struct cloud_options o = cloud_model_options(&model, w.home, token);
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = cloud_open(&o, NULL);
    struct cloud_request q = request(token);
    q.instance_type = "n1-standard-4";
    q.accelerator = "AN ACCELERATOR WITH A NAME OF MANY CAPITALS, AND SPACES!";
    q.image = "projects/debian-cloud/global/images/family/debian-12";
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && look(c, token, &m) == CLOUD_FINE,
          "a token of 64 bytes: %s", world_error.err.text);
    CHECK(strcmp(m.token, token) == 0 && strcmp(m.owner, token) == 0 &&
              strcmp(m.accelerator, q.accelerator) == 0,
          "its labels are whole: %s", m.accelerator);
    CHECK(terminate(c, token) == CLOUD_FINE && look(c, token, &m) == CLOUD_FINE &&
              m.state == CLOUD_DELETING,
          "and found again");
}

static void spot(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("s");
    q.spot = true;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.spot, "a spot instance: %s",
          world_error.err.text);
    cloud_model_pass(&model, 100);
    cloud_model_do(&model, "{\"preempt\": true}");
    cloud_model_pass(&model, 100);
    CHECK(look(c, "s", &m) == CLOUD_FINE && m.state == CLOUD_PREEMPTED && m.ended_ms &&
              m.notice_ms == m.ended_ms && strcmp(m.zone, "us-central1-b") == 0,
          "that Google reclaims, and deletes");
    CHECK(cloud_model_left(&model, "{\"firewall\": [\"firewall/global/tradewind-me\"]}"),
          "with its disk");
    cloud_model_begin(&model, "{\"faults\": 1, \"only\": [\"on-demand-for-spot\"]}");
    q.token = "t";
    CHECK(launch_as(c, &q, &m) == CLOUD_CONFLICT, "on-demand given for spot: %s",
          world_error.err.text);
    CHECK(terminate(c, "t") == CLOUD_FINE, "can be terminated by its token");
    cloud_model_pass(&model, 60);
    CHECK(look(c, "t", &m) == CLOUD_FINE && m.state == CLOUD_GONE, "and is gone");
}

/* One that stopped does not bill, and its disk does. */
static void stopped(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("p");
    launch_as(c, &q, &m);
    cloud_model_pass(&model, 100);
    cloud_model_do(&model, "{\"stop\": true}");
    CHECK(look(c, "p", &m) == CLOUD_FINE && m.state == CLOUD_DELETING &&
              strcmp(listed(c), "p ") == 0,
          "it powered itself off: to be terminated");
    CHECK(terminate(c, "p") == CLOUD_FINE, "which it can be");
    cloud_model_pass(&model, 60);
    CHECK(look(c, "p", &m) == CLOUD_FINE && m.state == CLOUD_GONE, "and is gone");
    q = request("limited");
    q.max_run_s = 3600;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "one with a longest time to run: %s",
          world_error.err.text);
    cloud_model_pass(&model, 4000);
    CHECK(look(c, "limited", &m) == CLOUD_FINE && m.state == CLOUD_DELETING,
          "is deleted by the cloud");
}

/* ---- refusals ---- */

static void zones(void)
{
    char names[8][CLOUD_ZONE_BYTES];
    struct cloud_machine m;
    size_t n;

    cloud_model_begin(&model, "{\"capacity\": {\"us-central1-b\": 0}}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("a");
    q.instance_type = "n1-standard-8+T4:1";
    CHECK(cloud_zones(c, &q, names, 8, &n, &world_error) == 0 && n == 2 &&
              strcmp(names[0], "us-central1-a") == 0 && strcmp(names[1], "us-central1-b") == 0,
          "zones that offer machine and accelerator");
    CHECK(cloud_zones(c, &q, names, 1, &n, &world_error) == 0 && n == 1, "the first of them");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && strcmp(m.zone, "us-central1-a") == 0,
          "without a zone it is the first: %s", world_error.err.text);
    q.token = "b";
    q.zone = "us-central1-b";
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY && world_error.scope == CLOUD_ZONE,
          "this zone alone: %s", world_error.err.text);
    CHECK(cloud_model_calls(&model, "instances.insert") == 2,
          "asked once, although the status was 503");
    q.zone = "us-central1-c";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_ZONE,
          "a zone without the accelerator: %s", world_error.err.text);
    q.zone = "europe-west4-a";
    CHECK(launch_as(c, &q, &m) == CLOUD_INVALID, "a zone elsewhere: %s", world_error.err.text);
    q.zone = NULL;
    q.instance_type = "x9-huge-4";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_REGION,
          "a region without the type: %s", world_error.err.text);
    q.instance_type = "tpu-v3-8";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_ACCOUNT,
          "a TPU: %s", world_error.err.text);
    q.instance_type = "n1-standard-8+T4:x";
    CHECK(launch_as(c, &q, &m) == CLOUD_INVALID, "no type at all: %s", world_error.err.text);
}

static void refusals(void)
{
    static const struct {
        const char *settings, *text;
        enum cloud_failure failure;
        enum cloud_scope scope;
    } cases[] = {
        {"{\"vcpus\": 4}", "QUOTA_EXCEEDED: Quota 'CPUS' exceeded", CLOUD_QUOTA, CLOUD_REGION},
        {"{\"faults\": 1, \"only\": [\"quota\"]}", "quotaExceeded", CLOUD_QUOTA, CLOUD_REGION},
        {"{\"faults\": 1, \"only\": [\"quota-global\"]}", "globally", CLOUD_QUOTA, CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"preempted-at-once\"]}", "preemption", CLOUD_CAPACITY,
         CLOUD_ZONE},
        {"{\"faults\": 1, \"only\": [\"unsupported\"]}", "does not exist in zone",
         CLOUD_UNSUPPORTED, CLOUD_ZONE},
        {"{\"faults\": 1, \"only\": [\"internal-in-operation\"]}", "INTERNAL_ERROR",
         CLOUD_TRANSIENT, CLOUD_ACCOUNT},
        {"{\"denied\": [\"compute.instances.create\"]}", "allow compute.instances.create",
         CLOUD_PERMISSION, CLOUD_ACCOUNT},
        {"{\"denied\": [\"compute.instances.list\"]}", "allow compute.instances.list",
         CLOUD_PERMISSION, CLOUD_ACCOUNT},
        {"{\"denied\": [\"compute.firewalls.create\"]}", "allow compute.firewalls.create",
         CLOUD_PERMISSION, CLOUD_ACCOUNT},
        {"{\"disabled\": true}", "gcloud services enable compute.googleapis.com", CLOUD_PERMISSION,
         CLOUD_ACCOUNT},
        {"{\"no_network\": true}", "gcloud compute networks create default", CLOUD_UNSUPPORTED,
         CLOUD_ACCOUNT},
        {"{\"unreachable\": [\"us-central1-c\"]}", "us-central1-c cannot be reached",
         CLOUD_TRANSIENT, CLOUD_REGION},
        {"{\"faults\": 1, \"only\": [\"auth\"]}", "authError", CLOUD_AUTH, CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"throttle\"]}", "rateLimitExceeded", CLOUD_THROTTLE,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"internal-before\"]}", "backendError", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"html-after\"]}", "HTTP status 502", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"hang-before\"]}", "no answer within 60 s", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"truncated\"]}", "no JSON", CLOUD_TRANSIENT, CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"error-in-200\"]}", "backendError", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"page-again\"]}", "do not end", CLOUD_TRANSIENT,
         CLOUD_REGION},
        /* It was carried out, and only its answer is lost. */
        {"{\"faults\": 1, \"only\": [\"reset-after\"], \"of\": [\"instances.insert\"]}",
         "instances.insert", CLOUD_UNKNOWN, CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"permission\"], \"of\": [\"operations.get\"]}", "operation-",
         CLOUD_TRANSIENT, CLOUD_ACCOUNT},
    };
    struct cloud_machine m;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(cloud) struct cloud *c = open_as(NULL);
        struct cloud_request q = request("r");
        cloud_model_begin(&model, "%s", cases[i].settings);
        enum cloud_failure failure = launch_as(c, &q, &m);
        CHECK(failure == cases[i].failure && world_error.scope == cases[i].scope &&
                  strstr(world_error.err.text, cases[i].text),
              "%s: %s", cases[i].settings, world_error.err.text);
    }
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("r");
    cloud_model_begin(&model, "{}");
    q.region = "europe-west4";
    CHECK(launch_as(c, &q, &m) == CLOUD_INVALID, "another region: %s", world_error.err.text);
    q = request("r");
    q.image = "windows";
    CHECK(launch_as(c, &q, &m) == CLOUD_INVALID &&
              strstr(world_error.err.text, "ubuntu-22.04, debian-12, deep-learning"),
          "an unknown image: %s", world_error.err.text);
    q.image = "projects/p/global/images/family/none";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_ACCOUNT,
          "an image that is not there: %s", world_error.err.text);
    cloud_model_begin(&model, "{\"unreachable\": [\"europe-west4-a\"]}");
    q = request("r");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "zones elsewhere do not matter: %s",
          world_error.err.text);
}

/* What becomes of an operation is unknown while it cannot be read. */
static void unreadable_operations(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("first");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "the rule is there");
    cloud_model_do(&model, "{\"settings\": {\"faults\": 1, \"only\": [\"permission\"],"
                           " \"of\": [\"operations.get\"]}}");
    q.token = "second";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNKNOWN, "not refused, unknown: %s", world_error.err.text);
    cloud_model_do(&model, "{\"settings\": {\"faults\": 0}}");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && cloud_model_count(&model, "launched") == 2,
          "launched once");
}

/* An operation that failed leaves its disk, whose name is taken. */
static void left_disks(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{\"faults\": 1, \"only\": [\"left-disk\"]}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("d");
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY, "refused: %s", world_error.err.text);
    cloud_model_pass(&model, 10);
    CHECK(cloud_model_left(&model, "{\"firewall\": [\"firewall/global/tradewind-me\"]}"),
          "the disk that the operation left is deleted");
    cloud_model_do(&model, "{\"settings\": {\"denied\": [\"compute.disks.delete\"]}}");
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY, "the same operation answers: %s",
          world_error.err.text);
    q.token = "e";
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY, "refused: %s", world_error.err.text);
    cloud_model_pass(&model, 10);
    cloud_model_do(&model, "{\"settings\": {\"denied\": [], \"faults\": 0}}");
    CHECK(terminate(c, "e") == CLOUD_FINE, "a disk that could not be deleted");
    cloud_model_pass(&model, 10);
    CHECK(cloud_model_left(&model, "{\"firewall\": [\"firewall/global/tradewind-me\"]}"),
          "goes when its token is released");
}

/* An answer gets lost after its call was carried out: the machine is there. */
static void lost_answers(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("first");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "the rule is there");
    cloud_model_do(&model, "{\"settings\": {\"lag_s\": 3000, \"faults\": 1,"
                           " \"only\": [\"reset-after\"], \"of\": [\"instances.insert\"]}}");
    q.token = "lost";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNKNOWN, "no answer: %s", world_error.err.text);
    cloud_model_do(&model, "{\"settings\": {\"faults\": 0}}");
    CHECK(look(c, "lost", &m) == CLOUD_NOT_FOUND, "not shown");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && strcmp(m.token, "lost") == 0 && m.cpus == 8 &&
              strcmp(m.instance_type, q.instance_type) == 0,
          "launched again: %s", world_error.err.text);
    CHECK(cloud_model_count(&model, "launched") == 2 && cloud_model_count(&model, "twins") == 0,
          "there is no twin");
    q.price_usd_per_hour = 9;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "at another price: %s", world_error.err.text);
    q.cpus = 4;
    enum cloud_failure failure = launch_as(c, &q, &m);
    CHECK(failure == CLOUD_UNKNOWN || failure == CLOUD_CONFLICT,
          "another request, whose name is taken: %s", world_error.err.text);
    CHECK(cloud_model_count(&model, "launched") == 2, "launches nothing");
}

/* A refusal is certain only where no try before it was without an answer. */
static void refused_after_silence(void)
{
    unsigned refused = 0, unsure = 0, wrong = 0;

    for (unsigned seed = 1; seed <= 30; seed++) {
        struct cloud_machine m;
        cloud_model_begin(&model,
                          "{\"seed\": %u, \"faults\": 1, \"only\": [\"reset-after\","
                          " \"permission\"], \"of\": [\"instances.insert\"]}",
                          seed);
        AUTO(cloud) struct cloud *c = open_as(NULL);
        struct cloud_request q = request("r");
        enum cloud_failure failure = launch_as(c, &q, &m);
        refused += failure == CLOUD_PERMISSION;
        unsure += failure == CLOUD_UNKNOWN &&
                  strstr(world_error.err.text, "after a try without an answer");
        wrong += failure == CLOUD_PERMISSION && cloud_model_count(&model, "launched") != 0;
    }
    CHECK(refused && unsure && !wrong,
          "of 30 launches %u are refused, %u perhaps, and %u of the refused are there", refused,
          unsure, wrong);
}

static void tokens(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    look(c, "one", &m);
    cloud_model_do(&model, "{\"expire\": true}");
    CHECK(look(c, "one", &m) == CLOUD_NOT_FOUND, "a token that is refused is replaced: %s",
          world_error.err.text);
    for (int skew_s = -1200; skew_s <= 1200; skew_s += 2400) {
        cloud_model_begin(&model, "{\"skew_s\": %d}", skew_s);
        struct cloud_request q = request("one");
        CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "a clock that is wrong by %d s: %s", skew_s,
              world_error.err.text);
    }
}

/* ---- what machines share ---- */

static bool admits(const char *expected)
{
    AUTO_JSON json_t *state = cloud_model_state(&model);
    json_t *thing;
    size_t i;

    json_array_foreach(json_object_get(state, "things"), i, thing)
    {
        const char *kind = json_string_value(json_object_get(thing, "kind"));
        if (strcmp(kind, "firewall") != 0)
            continue;
        json_t *body = json_object_get(thing, "body");
        AUTO_MEM char *text = json_dumps(body, JSON_SORT_KEYS | JSON_COMPACT);
        printf("# %s\n", text);
        return strstr(text, expected) &&
               strstr(text, "\"allowed\":[{\"IPProtocol\":\"tcp\",\"ports\":[\"22\"]}]") &&
               strstr(text, "\"direction\":\"INGRESS\"") &&
               strstr(text, "\"targetTags\":[\"tradewind-me\"]");
    }
    return false;
}

static void shared(void)
{
    struct cloud_machine m;
    char left[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    AUTO(cloud) struct cloud *moved = open_as("192.0.2.1/32");
    AUTO(cloud) struct cloud *elsewhere = open_in("europe-west4", NULL);
    struct cloud_request q = request("a");
    launch_as(c, &q, &m);
    CHECK(admits("\"sourceRanges\":[\"203.0.113.7/32\"]"), "ssh from this machine alone");
    q.token = "b";
    launch_as(moved, &q, &m);
    CHECK(admits("\"sourceRanges\":[\"192.0.2.1/32\"]"), "and from where it is by now");
    cloud_model_pass(&model, 60);
    CHECK(cloud_clean(elsewhere, false, cloud_model_note, left, &world_error) == 0 && !*left,
          "with machines in another region, the rule stays");
    cloud_model_do(&model, "{\"detach\": true}");
    terminate(c, "a");
    terminate(c, "b");
    CHECK(cloud_clean(c, true, cloud_model_note, left, &world_error) == 0 &&
              strcmp(left, "firewall rule, ") == 0,
          "a dry run: %s", left);
    cloud_model_pass(&model, 60);
    left[0] = '\0';
    CHECK(cloud_clean(c, false, cloud_model_note, left, &world_error) == 0 &&
              strcmp(left, "disk, disk, firewall rule, ") == 0,
          "machines that left disks: %s", left);
    CHECK(cloud_model_left(&model, "{}"), "all of it is deleted");
}

/* ---- checks ---- */

static int add_region(void *context, const char *region, struct err *e)
{
    size_t at = strlen(context);

    (void)e;
    snprintf((char *)context + at, CLOUD_MODEL_TEXT - at, "%s ", region);
    return 0;
}

static void account(void)
{
    char text[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_in(cloud_some_region("gcp"), NULL);
    CHECK(cloud_sign_in(c, &world_error) == 0 && cloud_model_calls(&model, "regions.list") == 0,
          "credentials are found, and Google is not asked");
    CHECK(cloud_regions(c, add_region, text, &world_error) == 0 &&
              strcmp(text, "europe-west4 us-central1 ") == 0,
          "regions: %s", text);
}

static void checks(void)
{
    static const char expected[] =
        "credentials/1/found: GOOGLE_APPLICATION_CREDENTIALS/\n"
        "identity/1/a user of gcloud/\n"
        "project/1/model-project/\n"
        "region/1/us-central1 is up, with 3 zones/\n"
        "network/1/the project has the network \"default\"/\n"
        "permissions/1/all 32 are granted/\n"
        "quota CPUS/1/24 vCPUs in us-central1, 0 in use/\n"
        "quota PREEMPTIBLE_CPUS/1/none: spot instances count against CPUS/\n"
        "quota NVIDIA_T4_GPUS/1/1 T4 in us-central1, 0 in use/\n"
        "quota NVIDIA_V100_GPUS/2/0 V100 in us-central1, 0 in use/ask for more: "
        "https://console.cloud.google.com/iam-admin/quotas?project=model-project\n"
        "quota GPUS_ALL_REGIONS/1/1 GPUs in all regions, 0 in use/\n";
    char text[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    CHECK(cloud_check(c, cloud_model_find, text, &world_error) == 0 && strcmp(text, expected) == 0,
          "an account that is ready %s", world_error.err.text);
    if (strcmp(text, expected) != 0)
        printf("# %s\n", text);
    CHECK(cloud_model_left(&model, "{}"), "nothing is changed");
    text[0] = '\0';
    cloud_model_begin(&model, "{\"denied\": [\"compute.instances.create\", "
                              "\"compute.firewalls.delete\"], \"no_network\": true}");
    CHECK(cloud_check(c, cloud_model_find, text, &world_error) == 0 &&
              strstr(text, "permissions/3/some are not granted/allow compute.firewalls.delete, "
                           "compute.instances.create; ") &&
              strstr(text, "network/3/the project has no network"),
          "what is missing is named");
    cloud_model_begin(&model, "{\"disabled\": true}");
    CHECK(cloud_check(c, cloud_model_find, text, &world_error) < 0 &&
              world_error.failure == CLOUD_PERMISSION,
          "an API that is not enabled: %s", world_error.err.text);
}

int main(void)
{
    world_init(&w, "gcp");
    cloud_model_start(&model, &cloud_model_gcp);
    life();
    long_labels();
    spot();
    stopped();
    zones();
    refusals();
    unreadable_operations();
    left_disks();
    lost_answers();
    refused_after_silence();
    tokens();
    shared();
    account();
    checks();
    cloud_model_stop(&model);
    world_clear(&w);
    return TAP_DONE();
}
