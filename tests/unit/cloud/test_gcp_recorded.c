/* What Compute Engine answered in recordings, of which ../shared has some, and the bodies that its
 * documentation shows. */
#include "base/file.h"
#include "base/mem.h"
#include "cloud/boot.h"
#include "cloud/gcp/internal.h"
#include "cloud_model.h"
#include "tap.h"
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REPLAY "../shared/data/cloud-replay/gce/"

/* The model gives tokens; what calls are answered with is a recording. */
static struct cloud_model model;
static struct world w;

struct tape {
    const char *file;  /* of the first answer */
    const char *later; /* of all that follow; NULL = the same */
    int status;
    unsigned calls;
    char path[300]; /* of the last call */
};

static int replay(void *context,
                  const struct http_request *r,
                  struct http_answer *out,
                  struct err *e)
{
    struct tape *t = context;
    const char *file = t->calls++ && t->later ? t->later : t->file;
    char path[300];
    size_t n;

    snprintf(t->path, sizeof t->path, "%s", r->url);
    snprintf(path, sizeof path, REPLAY "%s", file);
    void *bytes = file_map(path, &n, e);
    if (!bytes)
        return -1;
    *out = (struct http_answer){.status = t->status, .body_bytes = n};
    out->body = mem_zero(n + 1, 1);
    memcpy(out->body, bytes, n);
    munmap(bytes, n);
    return 0;
}

static const char *variable(void *context, const char *name)
{
    struct cloud_options o = cloud_model_options(&model, w.home, "me");

    (void)context;
    return strcmp(name, "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE") == 0
               ? NULL
               : o.outside.variable(o.outside.context, name);
}

static void no_wait(void *context, double seconds)
{
    (void)context;
    *model.now_ms += (int64_t)(seconds * 1000);
}

static struct cloud *open_tape(struct tape *t)
{
    struct cloud_options o = cloud_model_options(&model, w.home, "me");

    o.outside = (struct cloud_outside){replay, no_wait, variable, t};
    return cloud_open(&o, NULL);
}

/* ---- answers ---- */

static void failures(void)
{
    static const struct {
        const char *file;
        int status;
        const char *method;
        enum cloud_failure failure;
        enum cloud_scope scope;
        unsigned calls; /* 1: it is not sent again */
        const char *text;
    } cases[] = {
        {"authored/http_forbidden.http403.json", 403, "POST", CLOUD_PERMISSION, CLOUD_ACCOUNT, 1,
         "allow compute.instances.create"},
        {"authored/http_not_found.http404.json", 404, "GET", CLOUD_NOT_FOUND, CLOUD_ACCOUNT, 1,
         "notFound"},
        {"authored/http_quota.http403.json", 403, "POST", CLOUD_QUOTA, CLOUD_REGION, 1,
         "Quota 'CPUS' exceeded"},
        {"authored/http_rate_limited.http403.json", 403, "POST", CLOUD_THROTTLE, CLOUD_ACCOUNT, 4,
         "rateLimitExceeded"},
        {"authored/http_rate_limited.http403.json", 403, "GET", CLOUD_THROTTLE, CLOUD_ACCOUNT, 4,
         "rateLimitExceeded"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tape t = {.file = cases[i].file, .status = cases[i].status};
        AUTO(cloud) struct cloud *c = open_tape(&t);
        AUTO_CLEAR(cloud_rest_call)
        struct cloud_rest_call x = {.name = "a.call", .method = cases[i].method};
        struct cloud_error e;
        CHECK(gce_send(c->priv, &x, &e, "/zones/us-central1-a/instances") < 0 &&
                  e.failure == cases[i].failure && e.scope == cases[i].scope &&
                  t.calls == cases[i].calls && e.err.kind == cloud_failure_kind(e.failure) &&
                  strstr(e.err.text, cases[i].text),
              "%s of %s: %s (%u calls)", cases[i].file, cases[i].method, e.err.text, t.calls);
    }
}

static void operations(void)
{
    static const struct {
        const char *file;
        enum cloud_failure failure;
        enum cloud_scope scope;
    } cases[] = {
        {"authored/op_insert_done_ok.json", CLOUD_FINE, CLOUD_ZONE},
        {"authored/op_insert_pool_exhausted.json", CLOUD_CAPACITY, CLOUD_ZONE},
        {"authored/op_insert_pool_exhausted_plain.json", CLOUD_CAPACITY, CLOUD_ZONE},
        {"authored/op_insert_preempted_during_create.json", CLOUD_CAPACITY, CLOUD_ZONE},
        {"authored/op_insert_quota_global.json", CLOUD_QUOTA, CLOUD_ACCOUNT},
        {"authored/op_insert_quota_region.json", CLOUD_QUOTA, CLOUD_REGION},
        {"operations_operation_zones_europe-west1-a_instances_post.json", CLOUD_CONFLICT,
         CLOUD_ACCOUNT},
        {"operations_operation_zones_us-central1-a_instances_post.json", CLOUD_FINE, CLOUD_ZONE},
        {"operations_operation_global_firewalls_post.json", CLOUD_FINE, CLOUD_ZONE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* The call is answered with an operation that runs, and asking for it with its end. */
        struct tape t = {
            .file = "authored/op_insert_running.json", .later = cases[i].file, .status = 200};
        AUTO(cloud) struct cloud *c = open_tape(&t);
        AUTO_CLEAR(cloud_rest_call)
        struct cloud_rest_call x = {.name = "instances.insert", .method = "POST"};
        struct cloud_error e;
        int result = gce_change(c->priv, &x, &e, "/zones/us-central1-a/instances");
        CHECK((result == 0) == (cases[i].failure == CLOUD_FINE) && e.failure == cases[i].failure &&
                  (result == 0 || e.scope == cases[i].scope) && t.calls == 2 &&
                  strcmp(gce_last(t.path), "operation-1") == 0,
              "%s: %s", cases[i].file, e.err.text);
    }
    struct tape t = {.file = "authored/op_insert_running.json", .status = 200};
    AUTO(cloud) struct cloud *c = open_tape(&t);
    AUTO_CLEAR(cloud_rest_call)
    struct cloud_rest_call x = {.name = "instances.insert", .method = "POST"};
    struct cloud_error e;
    CHECK(gce_change(c->priv, &x, &e, "/zones/us-central1-a/instances") < 0 &&
              e.failure == CLOUD_UNKNOWN,
          "an operation that does not end: %s", e.err.text);
}

/* ---- lists ---- */

struct reader {
    const struct gce *gce;
    unsigned n;
};

static int read_one(void *context, const char *scope, const json_t *item, struct cloud_error *e)
{
    struct reader *r = context;
    struct cloud_tagged t = {0};
    const struct cloud_machine *m = &t.machine;

    (void)e;
    r->n++;
    gce_read_instance(r->gce, gce_last(scope), item, &t);
    printf("# %s %s %s %d %s %lld\n", scope, m->id, m->instance_type, (int)m->state, m->address,
           (long long)m->launched_ms);
    /* 2013-12-13T10:45:23.351-08:00 */
    if (strcmp(m->id, "node-name") == 0)
        CHECK(m->state == CLOUD_RUNNING && strcmp(m->zone, "us-central1-a") == 0 && !m->spot &&
                  strcmp(m->instance_type, "n1-standard-1") == 0 &&
                  strcmp(m->address, "23.236.58.15") == 0 && m->launched_ms == 1386960323351,
              "a running instance");
    return 0;
}

static void lists(void)
{
    struct tape t = {.file = "aggregated_instances.json", .status = 200};
    AUTO(cloud) struct cloud *c = open_tape(&t);
    struct reader r = {.gce = c->priv};
    struct gce_list list = {.kind = "instances", .filter = "", .visit = read_one, .context = &r};
    struct cloud_error e;

    CHECK(gce_each(c->priv, &list, &e) == 0 && r.n == 1, "one instance in the region");
    r.n = 0;
    list.everywhere = true;
    CHECK(gce_each(c->priv, &list, &e) == 0 && r.n == 8, "eight in all regions: %u", r.n);
    r.n = 0;
    t.calls = 0;
    t.file = "authored/instances_aggregated_empty_zones.json";
    t.later = "aggregated_instances.json";
    CHECK(gce_each(c->priv, &list, &e) == 0 && r.n == 9 && t.calls == 2,
          "an empty zone, and a second page: %u", r.n);
    CHECK(strncmp(t.path, "https://compute.googleapis.com/compute/v1/projects/model-project/",
                  65) == 0,
          "Google's own address");
}

/* ---- requests ---- */

/* The body of section 2.2 of specs/cloud-apis.md, with what Tradewind adds and leaves out: labels
 * on the disk, and no service account. */
static const char documented[] =
    "{'name': 'NAME', 'machineType': 'zones/us-central1-b/machineTypes/n1-standard-8',"
    " 'labels': LABELS, 'tags': {'items': ['tradewind-me']},"
    " 'disks': [{'boot': true, 'autoDelete': true, 'initializeParams': {'diskName': 'NAME',"
    "  'sourceImage': 'projects/ubuntu-os-cloud/global/images/family/ubuntu-2204-lts',"
    "  'diskSizeGb': '200', 'diskType': 'zones/us-central1-b/diskTypes/pd-balanced',"
    "  'labels': LABELS}}],"
    " 'networkInterfaces': [{'network': 'global/networks/default',"
    "  'accessConfigs': [{'type': 'ONE_TO_ONE_NAT', 'name': 'External NAT'}]}],"
    " 'metadata': {'items': [{'key': 'ssh-keys', 'value': 'tradewind:KEY'},"
    "  {'key': 'block-project-ssh-keys', 'value': 'TRUE'},"
    "  {'key': 'enable-oslogin', 'value': 'FALSE'}, {'key': 'startup-script', 'value': SCRIPT}]},"
    " 'guestAccelerators': [{'acceleratorType':"
    "  'zones/us-central1-b/acceleratorTypes/nvidia-tesla-t4', 'acceleratorCount': 2}],"
    " 'scheduling': {'provisioningModel': 'SPOT', 'instanceTerminationAction': 'DELETE',"
    "  'onHostMaintenance': 'TERMINATE', 'automaticRestart': false,"
    "  'maxRunDuration': {'seconds': '7200'}}}";
static const char labels[] =
    "{'broker-owner': 'me', 'broker-attempt': 'one', 'broker-run': '3', 'broker-job': '17',"
    " 'broker-expires': '1700086400', 'broker-request': 'REQUEST',"
    " 'broker-size': '8000-61000-2000', 'broker-price': '3060000-0', 'broker-accelerator': '_544',"
    " 'broker-login': 'tradewind'}";

/* A text with JSON's quotes, and what stands for others replaced. New string. */
static char *filled(const char *text, const char *const (*values)[2])
{
    char *out = mem_dup(text);

    for (char *p = out; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    for (size_t i = 0; values[i][0]; i++) {
        char *at;
        while ((at = strstr(out, values[i][0]))) {
            char *next = mem_printf("%.*s%s%s", (int)(at - out), out, values[i][1],
                                    at + strlen(values[i][0]));
            free(out);
            out = next;
        }
    }
    return out;
}

static json_t *expected_body(const struct gce *g, const struct cloud_request *q)
{
    AUTO_MEM char *plain = cloud_boot_script("tradewind");
    AUTO_JSON json_t *quoted = json_string(plain);
    AUTO_MEM char *script = json_dumps(quoted, JSON_ENCODE_ANY);
    char name[GCE_NAME_BYTES], fingerprint[32];

    gce_name(g, "me", "one", name);
    snprintf(fingerprint, sizeof fingerprint, "%016llx",
             (unsigned long long)instance_fingerprint(q));
    const char *const of_labels[][2] = {{"REQUEST", fingerprint}, {NULL, NULL}};
    AUTO_MEM char *all = filled(labels, of_labels);
    const char *const of_body[][2] = {{"LABELS", all},
                                      {"NAME", name},
                                      {"KEY", g->rest.cloud->options.key},
                                      {"SCRIPT", script},
                                      {NULL, NULL}};
    AUTO_MEM char *text = filled(documented, of_body);
    json_error_t why;
    json_t *body = json_loads(text, 0, &why);
    if (!body)
        printf("# %s\n# %s\n", why.text, text);
    return body;
}

static struct cloud_request gpu_request(void)
{
    struct cloud_request q = world_request("one");

    q.owner = "me";
    q.provider = "gcp";
    q.region = "us-central1";
    q.zone = "us-central1-b";
    q.instance_type = "n1-standard-8+T4:2";
    q.accelerator = "T4";
    q.accelerators = 2;
    q.image = "ubuntu-22.04";
    q.disk_gb = 199.5;
    q.spot = true;
    q.max_run_s = 7200;
    return q;
}

static void bodies(void)
{
    struct tape t = {0};
    AUTO(cloud) struct cloud *c = open_tape(&t);
    struct cloud_request q = gpu_request();
    struct gce_type type;
    struct gce_image image;
    struct cloud_error e = {0};
    char id[40], again[40];

    CHECK(gce_parse_type(q.instance_type, &type, &e) == 0 && gce_find_image(&q, &image, &e) == 0,
          "type and image: %s", e.err.text);
    AUTO_JSON json_t *body = gce_body(c->priv, &q, "us-central1-b", &type, &image);
    AUTO_JSON json_t *expected = expected_body(c->priv, &q);
    AUTO_MEM char *text = json_dumps(body, JSON_INDENT(1));
    CHECK(json_equal(body, expected), "the body of instances.insert is as documented");
    if (!json_equal(body, expected))
        printf("# %s\n", text);
    gce_request_id(&q, "us-central1-b", body, 0, id);
    CHECK(strlen(id) == 36 && id[14] == '4' && strchr("89ab", id[19]) && id[8] == '-' &&
              id[13] == '-' && id[18] == '-' && id[23] == '-',
          "a UUID: %s", id);
    gce_request_id(&q, "us-central1-b", body, 1, again);
    CHECK(strcmp(id, again) != 0, "another after a failure that did nothing");
    q.expires_ms += 1000;
    q.price_usd_per_hour = 1;
    AUTO_JSON json_t *expensive = gce_body(c->priv, &q, "us-central1-b", &type, &image);
    gce_request_id(&q, "us-central1-b", expensive, 0, again);
    CHECK(strcmp(id, again) == 0, "the same for another price and expiry");
    q.disk_gb = 300;
    AUTO_JSON json_t *larger = gce_body(c->priv, &q, "us-central1-b", &type, &image);
    gce_request_id(&q, "us-central1-b", larger, 0, again);
    CHECK(strcmp(id, again) != 0, "another for another disk");
}

/* On-demand, with accelerators built in, and a family of Hyperdisk alone. */
static void kinds(void)
{
    static const struct {
        const char *type, *machine, *accelerator, *disk;
        unsigned count;
        bool has_accelerators;
    } cases[] = {
        {"n2-standard-8", "n2-standard-8", "", "pd-balanced", 0, false},
        {"n1-highmem-16+V100:8", "n1-highmem-16", "nvidia-tesla-v100", "pd-balanced", 8, true},
        {"a2-highgpu-1g", "a2-highgpu-1g", "", "pd-balanced", 0, true},
        {"g2-standard-4", "g2-standard-4", "", "pd-balanced", 0, true},
        {"a3-highgpu-8g", "a3-highgpu-8g", "", "pd-balanced", 0, true},
        {"a3-ultragpu-8g", "a3-ultragpu-8g", "", "hyperdisk-balanced", 0, true},
        {"c4-standard-8", "c4-standard-8", "", "hyperdisk-balanced", 0, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gce_type t;
        struct cloud_error e = {0};
        CHECK(gce_parse_type(cases[i].type, &t, &e) == 0 &&
                  strcmp(t.machine, cases[i].machine) == 0 &&
                  strcmp(t.accelerator, cases[i].accelerator) == 0 &&
                  strcmp(t.disk_type, cases[i].disk) == 0 && t.count == cases[i].count &&
                  t.has_accelerators == cases[i].has_accelerators,
              "%s", cases[i].type);
    }
    static const char *const wrong[] = {"N2-standard-8",      "n1-standard-8+",
                                        "n1-standard-8+T4:0", "n1-standard-8+T4:2x",
                                        "n1 standard",        ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct gce_type t;
        struct cloud_error e = {0};
        CHECK(gce_parse_type(wrong[i], &t, &e) < 0 && e.failure == CLOUD_INVALID, "\"%s\": %s",
              wrong[i], e.err.text);
    }
}

int main(void)
{
    world_init(&w, "gcp");
    cloud_model_start(&model, &cloud_model_gcp);
    bodies();
    kinds();
    if (access(REPLAY, R_OK) == 0) {
        failures();
        operations();
        lists();
    } else {
        printf("ok %d # SKIP no recordings: " REPLAY " is not there\n", ++tap_count);
    }
    cloud_model_stop(&model);
    world_clear(&w);
    return TAP_DONE();
}
