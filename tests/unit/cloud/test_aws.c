/* Machines on AWS, against the model of EC2: launches, refusals, permissions, cleaning, checks. */
#include "base/mem.h"
#include "cloud/finds.h"
#include "cloud_model.h"
#include "tap.h"
#include "world.h"

#include <string.h>

static struct cloud_model model;
static struct world w;

static struct cloud *open_as(const char *admit)
{
    struct cloud_options o = cloud_model_options(&model, w.home, "me");
    struct err e = {0};

    o.admit = admit;
    struct cloud *c = cloud_open(&o, &e);
    if (!c)
        printf("# %s\n", e.text);
    return c;
}

static struct cloud_request request(const char *token)
{
    struct cloud_request q = world_request(token);

    q.zone = NULL;
    q.expires_ms = *model.now_ms / 1000 * 1000 + DAY_MS;
    return q;
}

/* ---- one machine ---- */

static void facts(const struct cloud_machine *m, const struct cloud_request *q)
{
    CHECK(strcmp(m->token, "one") == 0 && strcmp(m->owner, "me") == 0 && m->run == 3 &&
              m->job == 17 && m->expires_ms == q->expires_ms,
          "its tags");
    CHECK(strcmp(m->provider, "aws") == 0 && strcmp(m->region, "us-east-1") == 0 &&
              strcmp(m->zone, "us-east-1a") == 0 && strcmp(m->instance_type, "p3.2xlarge") == 0 &&
              strncmp(m->id, "i-", 2) == 0 && !m->spot,
          "where and what it is: %s %s", m->zone, m->id);
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
    CHECK(!cloud_sees_at_once(c), "AWS is late at times");
    CHECK(look(c, "one", &m) == CLOUD_NOT_FOUND, "no launch used the token");
    CHECK(terminate(c, "one") == CLOUD_FINE, "which can be terminated");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.state == CLOUD_REQUESTED && !m.ready_ms,
          "launched %s", world_error.err.text);
    facts(&m, &q);
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && strcmp(m.id, again.id) == 0,
          "the same token, the same machine");
    q.expires_ms += 5000;
    q.price_usd_per_hour = 1;
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && strcmp(m.id, again.id) == 0,
          "whose expiry and price may differ");
    q.instance_type = "m5.xlarge";
    CHECK(launch_as(c, &q, &again) == CLOUD_CONFLICT, "another type: %s", world_error.err.text);
    cloud_model_pass(&model, 30);
    CHECK(look(c, "one", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING && m.ready_ms &&
              strncmp(m.address, "ubuntu@198.51.100.", 18) == 0 &&
              strcmp(m.exec_driver, "ssh") == 0 && strcmp(m.root, "~/.tradewind-jobs") == 0,
          "it runs, and is reached at %s", m.address);
    CHECK(strcmp(listed(c), "one ") == 0, "and is listed");
    cloud_model_pass(&model, 3600);
    CHECK(terminate(c, "one") == CLOUD_FINE && look(c, "one", &m) == CLOUD_FINE &&
              m.state == CLOUD_DELETING && strcmp(listed(c), "one ") == 0,
          "terminated: listed until it is gone");
    cloud_model_pass(&model, 30);
    CHECK(look(c, "one", &m) == CLOUD_FINE && m.state == CLOUD_GONE &&
              m.ended_ms - m.launched_ms > 3600 * 1000 && m.ended_ms - m.launched_ms < 3650 * 1000,
          "gone, when AWS says: after %lld s", (long long)(m.ended_ms - m.launched_ms) / 1000);
    CHECK(strcmp(listed(c), "") == 0 && terminate(c, "one") == CLOUD_FINE, "no longer listed");
    q = request("one");
    q.bill_min_s = 60;
    CHECK(launch_as(c, &q, &again) == CLOUD_FINE && again.state == CLOUD_GONE,
          "the token still stands for it");
}

/* What one handle found, another of the process need not ask for, until it turns out to be gone. */
static void finds(void)
{
    AUTO(cloud_finds) struct cloud_finds *shared = cloud_finds_new();
    char notes[CLOUD_MODEL_TEXT] = "";
    struct cloud_machine m;
    struct cloud_error e;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL), *d = open_as(NULL);
    cloud_set_finds(c, shared);
    cloud_set_finds(d, shared);
    struct cloud_request q = request("f1"), r = request("f2"), t = request("f3");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && launch_as(d, &r, &m) == CLOUD_FINE,
          "two handles launch");
    CHECK(cloud_model_calls(&model, "RunInstances") == 2 &&
              cloud_model_calls(&model, "DescribeImages") == 1 &&
              cloud_model_calls(&model, "DescribeInstanceTypeOfferings") == 1 &&
              cloud_model_calls(&model, "ImportKeyPair") == 1 &&
              cloud_model_calls(&model, "DescribeSecurityGroups") == 1,
          "the image, the zones, the key and the group are asked for once");
    terminate(c, "f1");
    terminate(c, "f2");
    cloud_model_pass(&model, 30);
    CHECK(cloud_clean(c, false, cloud_model_note, notes, &e) == 0 && cloud_model_left(&model, "{}"),
          "then another process deletes key and group");
    CHECK(launch_as(d, &t, &m) == CLOUD_FINE, "a launch that misses them makes them again: %s",
          world_error.err.text);
    CHECK(cloud_model_calls(&model, "ImportKeyPair") == 2, "after it asked once in vain");
    cloud_model_pass(&model, (double)CLOUD_FINDS_MS / 1000);
    q.token = "f4";
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && cloud_model_calls(&model, "ImportKeyPair") == 3,
          "nothing is believed for longer than two minutes");
}

static void spot(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("s");
    q.spot = true;
    q.max_price_usd_per_hour = 0.25;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && m.spot, "a spot instance");
    cloud_model_pass(&model, 100);
    cloud_model_do(&model, "{\"preempt\": true}");
    cloud_model_pass(&model, 100);
    CHECK(look(c, "s", &m) == CLOUD_FINE && m.state == CLOUD_PREEMPTED && m.ended_ms &&
              m.notice_ms == m.ended_ms,
          "that AWS reclaims");
    cloud_model_begin(&model, "{\"faults\": 1, \"only\": [\"on-demand-for-spot\"]}");
    q.token = "t";
    CHECK(launch_as(c, &q, &m) == CLOUD_CONFLICT, "on-demand given for spot: %s",
          world_error.err.text);
    CHECK(terminate(c, "t") == CLOUD_FINE, "can be terminated by its token");
    cloud_model_pass(&model, 60);
    CHECK(look(c, "t", &m) == CLOUD_FINE && m.state == CLOUD_GONE, "and is gone");
}

/* ---- refusals ---- */

static void zones(void)
{
    char names[8][CLOUD_ZONE_BYTES];
    struct cloud_machine m;
    size_t n;

    cloud_model_begin(&model, "{\"capacity\": {\"us-east-1a\": 0}}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("a");
    CHECK(cloud_zones(c, &q, names, 8, &n, &world_error) == 0 && n == 2 &&
              strcmp(names[0], "us-east-1a") == 0 && strcmp(names[1], "us-east-1b") == 0,
          "zones that offer the type");
    CHECK(cloud_zones(c, &q, names, 1, &n, &world_error) == 0 && n == 1, "the first of them");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && strcmp(m.zone, "us-east-1b") == 0,
          "without a zone EC2 chooses one");
    q.token = "b";
    q.zone = "us-east-1a";
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY && world_error.scope == CLOUD_ZONE,
          "this zone alone: %s", world_error.err.text);
    q.zone = "us-east-1c";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_ZONE,
          "a zone without the type: %s", world_error.err.text);
    q.zone = NULL;
    q.instance_type = "x9.huge";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNSUPPORTED && world_error.scope == CLOUD_REGION,
          "a region without the type: %s", world_error.err.text);
    cloud_model_begin(&model, "{\"capacity\": {\"us-east-1a\": 0, \"us-east-1b\": 0}}");
    q = request("c");
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY && world_error.scope == CLOUD_REGION,
          "no zone has room: %s", world_error.err.text);
    CHECK(cloud_model_calls(&model, "RunInstances") == 1,
          "asked once, although the answer was a 500");
}

static void refusals(void)
{
    static const struct {
        const char *settings, *text;
        enum cloud_failure failure;
        enum cloud_scope scope;
    } cases[] = {
        {"{\"vcpus\": 4}", "VcpuLimitExceeded", CLOUD_QUOTA, CLOUD_REGION},
        {"{\"denied\": [\"RunInstances\"]}", "allow the action ec2:RunInstances", CLOUD_PERMISSION,
         CLOUD_ACCOUNT},
        {"{\"denied\": [\"DescribeInstances\"]}", "allow the action ec2:DescribeInstances",
         CLOUD_PERMISSION, CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"throttle\"]}", "RequestLimitExceeded", CLOUD_THROTTLE,
         CLOUD_REGION},
        {"{\"faults\": 1, \"only\": [\"internal-before\"]}", "InternalError", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"html-after\"]}", "HTTP status 502", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"hang-before\"]}", "no answer within 60 s", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"truncated\"]}", "cannot be read", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"error-in-200\"]}", "InternalError", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT},
        {"{\"faults\": 1, \"only\": [\"page-again\"]}", "do not end", CLOUD_TRANSIENT,
         CLOUD_REGION},
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
    q.region = "eu-west-1";
    CHECK(launch_as(c, &q, &m) == CLOUD_INVALID, "another region: %s", world_error.err.text);
    q = request("r");
    q.image = "windows";
    CHECK(launch_as(c, &q, &m) == CLOUD_INVALID &&
              strstr(world_error.err.text, "ubuntu-22.04, debian-12, deep-learning"),
          "an unknown image: %s", world_error.err.text);
}

/* RunInstances is answered by nothing, after its call was carried out: the machine is there. */
static void lost_answers(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("first");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "the group and the key are there");
    cloud_model_do(&model, "{\"settings\": {\"lag_s\": 3000}}");
    q.token = "lost";
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "launched, and long not shown");
    CHECK(look(c, "lost", &m) == CLOUD_NOT_FOUND, "not shown");
    char id[256];
    memcpy(id, m.id, sizeof id);
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "launched again: %s", world_error.err.text);
    CHECK(cloud_model_count(&model, "launched") == 2 && cloud_model_count(&model, "twins") == 0,
          "there is no twin");
}

/* Where the first zone is full and the second one's answers are lost, the next call finds room in
 * the first: a machine is in the second. */
static void lost_answers_elsewhere(void)
{
    struct cloud_machine m;

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("first");
    launch_as(c, &q, &m);
    cloud_model_do(&model, "{\"settings\": {\"lag_s\": 3000, \"capacity\": {\"us-east-1a\": 0},"
                           " \"faults\": 1, \"only\": [\"reset-after\"],"
                           " \"of\": [\"RunInstances\"]}}");
    q.token = "lost";
    CHECK(launch_as(c, &q, &m) == CLOUD_UNKNOWN, "no answer: %s", world_error.err.text);
    cloud_model_do(&model, "{\"settings\": {\"capacity\": {}, \"faults\": 0}}");
    CHECK(look(c, "lost", &m) == CLOUD_NOT_FOUND, "not shown yet");
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE && strcmp(m.zone, "us-east-1b") == 0,
          "the machine of the first call: %s", m.zone);
    CHECK(cloud_model_count(&model, "launched") == 2 && cloud_model_count(&model, "twins") == 0,
          "no twin");
}

static void clocks(void)
{
    struct cloud_machine m;

    for (int skew_s = -1200; skew_s <= 1200; skew_s += 2400) {
        cloud_model_begin(&model, "{\"skew_s\": %d}", skew_s);
        AUTO(cloud) struct cloud *c = open_as(NULL);
        CHECK(look(c, "one", &m) == CLOUD_NOT_FOUND, "a clock that is wrong by %d s: %s", skew_s,
              world_error.err.text);
    }
}

/* ---- what machines share ---- */

/* The rule for ssh, beside the one that lets the group's machines reach each other. */
static bool admits(const char *expected)
{
    AUTO_JSON json_t *state = cloud_model_state(&model);
    json_t *thing;
    size_t i;

    json_array_foreach(json_object_get(state, "things"), i, thing)
    {
        const char *rules = json_string_value(json_object_get(thing, "rules"));
        if (!rules)
            continue;
        printf("# %s\n", rules);
        return strstr(rules, expected) && strstr(rules, "('-1', None, None): ['sg-");
    }
    return false;
}

static void shared(void)
{
    struct cloud_machine m;
    char left[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    AUTO(cloud) struct cloud *elsewhere = open_as("192.0.2.1/32");
    struct cloud_request q = request("a");
    launch_as(c, &q, &m);
    CHECK(admits("('tcp', '22', '22'): ['203.0.113.7/32']}"), "ssh from this machine alone");
    q.token = "b";
    launch_as(elsewhere, &q, &m);
    CHECK(admits("('tcp', '22', '22'): ['192.0.2.1/32']}"), "and from where it is by now");
    cloud_model_pass(&model, 60);
    CHECK(cloud_clean(c, false, cloud_model_note, left, &world_error) == 0 && !*left,
          "with machines, nothing is left over");
    cloud_model_do(&model, "{\"detach\": true}");
    terminate(c, "a");
    terminate(c, "b");
    CHECK(cloud_clean(c, true, cloud_model_note, left, &world_error) == 0 &&
              strcmp(left, "security group, key pair, ") == 0,
          "a dry run: %s", left);
    cloud_model_pass(&model, 60);
    left[0] = '\0';
    CHECK(cloud_clean(c, false, cloud_model_note, left, &world_error) == 0 &&
              strcmp(left, "network interface, network interface, disk, disk, security group, key "
                           "pair, ") == 0,
          "machines that left disks and interfaces: %s", left);
    CHECK(cloud_model_left(&model, "{}"), "all of it is deleted");
}

/* A group is held while instances are being terminated: waited for. */
static void held(void)
{
    struct cloud_machine m;
    char left[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    struct cloud_request q = request("a");
    launch_as(c, &q, &m);
    cloud_model_pass(&model, 60);
    terminate(c, "a");
    CHECK(cloud_clean(c, false, cloud_model_note, left, &world_error) == 0 &&
              strcmp(left, "security group, key pair, ") == 0 && cloud_model_left(&model, "{}"),
          "cleaned while the instance ends: %s", left);
}

/* ---- checks ---- */

static void checks(void)
{
    static const char expected[] =
        "credentials/1/found: environment/\n"
        "identity/1/arn:aws:iam::123456789012:user/model, account 123456789012/\n"
        "regions/1/enabled: eu-west-1, us-east-1, us-west-2/\n"
        "network/1/us-east-1 has a default subnet in 3 zones/\n"
        "permissions/1/none of 12 actions is refused/\n"
        "quota standard/1/32 vCPUs of on-demand instances without GPUs in us-east-1/\n"
        "quota g/1/8 vCPUs";
    char text[CLOUD_MODEL_TEXT] = "";

    cloud_model_begin(&model, "{}");
    AUTO(cloud) struct cloud *c = open_as(NULL);
    CHECK(cloud_check(c, cloud_model_find, text, &world_error) == 0, "checked %s",
          world_error.err.text);
    CHECK(strncmp(text, expected, strlen(expected)) == 0, "findings");
    printf("# %s\n", text);
    CHECK(strstr(text, "quota p/2/0 vCPUs of on-demand P instances") &&
              strstr(text, "--quota-code L-417A185B"),
          "a quota of none says how to raise it");
    CHECK(!strstr(text, "model/secret"), "no secret is shown");
    text[0] = '\0';
    cloud_model_begin(&model, "{\"denied\": [\"RunInstances\", \"DescribeVolumes\", "
                              "\"ListServiceQuotas\"]}");
    cloud_check(c, cloud_model_find, text, &world_error);
    CHECK(strstr(text, "permissions/3/some actions are not permitted/allow ec2:RunInstances, "
                       "ec2:DescribeVolumes") &&
              strstr(text, "allow servicequotas:ListServiceQuotas"),
          "missing permissions");
    CHECK(cloud_model_left(&model, "{}"), "nothing was created");
}

int main(void)
{
    cloud_model_start(&model, &cloud_model_aws);
    world_init(&w, "aws");
    life();
    finds();
    spot();
    zones();
    refusals();
    lost_answers();
    lost_answers_elsewhere();
    clocks();
    shared();
    held();
    checks();
    world_clear(&w);
    cloud_model_stop(&model);
    return TAP_DONE();
}
