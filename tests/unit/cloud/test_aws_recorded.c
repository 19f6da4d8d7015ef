/* What EC2 answered in recordings, and the fields that AWS's own client sends: ../shared has both.
 */
#include "base/file.h"
#include "base/mem.h"
#include "cloud/aws/internal.h"
#include "cloud_model.h"
#include "net/sigv4.h"
#include "tap.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REPLAY "../shared/data/cloud-replay/ec2/"
#define NOW_MS ((int64_t)1800000000000)

/* ---- answers ---- */

struct tape {
    const char *file;
    int status;
    unsigned calls;
};

static int replay(void *context,
                  const struct http_request *r,
                  struct http_answer *out,
                  struct err *e)
{
    struct tape *t = context;
    char path[300];
    size_t n;

    (void)r;
    t->calls++;
    snprintf(path, sizeof path, REPLAY "%s", t->file);
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
    (void)context;
    return strcmp(name, "AWS_ACCESS_KEY_ID") == 0       ? "AKID"
           : strcmp(name, "AWS_SECRET_ACCESS_KEY") == 0 ? "secret"
                                                        : NULL;
}

static void no_wait(void *context, double seconds)
{
    (void)context;
    (void)seconds;
}

static int64_t now(void *context)
{
    (void)context;
    return NOW_MS;
}

static struct cloud *open_tape(struct tape *t, const char *owner)
{
    const struct cloud_options o = {.name = "aws",
                                    .home = "/nonexistent",
                                    .owner = owner,
                                    .region = "us-east-1",
                                    .now_ms = now,
                                    .outside = {replay, no_wait, variable, t}};

    return cloud_open(&o, NULL);
}

static void failures(void)
{
    static const struct {
        const char *file;
        int status;
        const char *action;
        enum cloud_failure failure;
        enum cloud_scope scope;
        unsigned calls; /* 1: it is not sent again */
    } cases[] = {
        {"authored/any_AuthFailure.http401.xml", 401, "RunInstances", CLOUD_AUTH, CLOUD_ACCOUNT, 1},
        {"authored/any_RequestExpired.http400.xml", 400, "RunInstances", CLOUD_AUTH, CLOUD_ACCOUNT,
         1},
        {"authored/any_Unavailable.http503.xml", 503, "RunInstances", CLOUD_UNKNOWN, CLOUD_ACCOUNT,
         4},
        {"authored/any_Unavailable.http503.xml", 503, "DescribeImages", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT, 4},
        {"authored/run_IdempotentInstanceTerminated.http400.xml", 400, "RunInstances",
         CLOUD_CONFLICT, CLOUD_ACCOUNT, 1},
        {"authored/run_InsufficientFreeAddressesInSubnet.http400.xml", 400, "RunInstances",
         CLOUD_CAPACITY, CLOUD_ZONE, 1},
        {"authored/run_InsufficientInstanceCapacity.http500.xml", 500, "RunInstances",
         CLOUD_CAPACITY, CLOUD_ZONE, 1},
        {"authored/run_InvalidGroup_NotFound.http400.xml", 400, "RunInstances", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT, 1},
        {"authored/run_InvalidIamProfile.http400.xml", 400, "RunInstances", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT, 1},
        {"authored/run_RequestLimitExceeded.http503.xml", 503, "RunInstances", CLOUD_THROTTLE,
         CLOUD_REGION, 4},
        {"authored/run_SpotMaxPriceTooLow.http400.xml", 400, "RunInstances", CLOUD_CAPACITY,
         CLOUD_ZONE, 1},
        {"authored/run_UnauthorizedOperation.http403.xml", 403, "RunInstances", CLOUD_PERMISSION,
         CLOUD_ACCOUNT, 1},
        {"authored/run_Unsupported_zone.http400.xml", 400, "RunInstances", CLOUD_UNSUPPORTED,
         CLOUD_ZONE, 1},
        {"authored/truncated_body.http200.xml", 200, "RunInstances", CLOUD_UNKNOWN, CLOUD_ACCOUNT,
         4},
        {"run_instances_idem_mismatch.xml", 400, "RunInstances", CLOUD_CONFLICT, CLOUD_ACCOUNT, 1},
        {"emulated/create_security_group_duplicate.http400.xml", 400, "CreateSecurityGroup",
         CLOUD_CONFLICT, CLOUD_ACCOUNT, 1},
        {"emulated/run_instances_dryrun.http412.xml", 412, "RunInstances", CLOUD_CONFLICT,
         CLOUD_ACCOUNT, 1},
        {"describe_key_pairs_doesnt_exist.xml", 400, "DescribeKeyPairs", CLOUD_TRANSIENT,
         CLOUD_ACCOUNT, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tape t = {.file = cases[i].file, .status = cases[i].status};
        AUTO(cloud) struct cloud *c = open_tape(&t, "me");
        AUTO_CLEAR(ec2_call) struct ec2_call x;
        struct cloud_error e;
        ec2_call_init(&x, cases[i].action);
        CHECK(ec2_send(c->priv, &x, &e) < 0 && e.failure == cases[i].failure &&
                  e.scope == cases[i].scope && t.calls == cases[i].calls &&
                  e.err.kind == cloud_failure_kind(e.failure),
              "%s of %s: %s (%u calls)", cases[i].file, cases[i].action, e.err.text, t.calls);
    }
}

static int write_machine(void *context, const struct xml *item, struct cloud_error *e)
{
    struct ec2 *a = ((struct cloud *)context)->priv;
    const struct xml *i = xml_items(item, "instancesSet");

    (void)e;
    for (; i; i = i->next) {
        struct cloud_tagged t = {0};
        ec2_read_instance(a, i, &t);
        printf("# %s %s %d %s %s %lld\n", t.machine.id, t.machine.instance_type,
               (int)t.machine.state, t.machine.zone, t.machine.address,
               (long long)t.machine.launched_ms);
        if (strcmp(t.machine.id, "i-ed1cf5382007110c7") == 0 && t.machine.state == CLOUD_GONE)
            CHECK(t.machine.ended_ms, "the same once it is terminated");
        else if (strcmp(t.machine.id, "i-ed1cf5382007110c7") == 0)
            CHECK(t.machine.state == CLOUD_RUNNING && !t.machine.spot &&
                      strcmp(t.machine.zone, "us-east-1a") == 0 &&
                      strcmp(t.machine.address, "54.214.125.37") == 0 &&
                      t.machine.launched_ms == 1794777259000,
                  "a running instance, launched 2026-11-15T21:14:19Z");
        if (strcmp(t.machine.id, "i-2ba64344") == 0)
            CHECK(t.machine.state == CLOUD_REQUESTED && t.machine.spot, "a pending spot instance");
    }
    return 0;
}

static void instances(void)
{
    struct tape t = {.status = 200};
    AUTO(cloud) struct cloud *c = open_tape(&t, "me");
    static const char *const files[] = {"emulated/describe_instances_by_tag.http200.xml",
                                        "emulated/describe_instances_empty.http200.xml",
                                        "emulated/describe_instances_terminated.http200.xml",
                                        "describe_instances.xml"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        AUTO_CLEAR(ec2_call) struct ec2_call x;
        struct cloud_error e;
        t.file = files[i];
        ec2_call_init(&x, "DescribeInstances");
        CHECK(ec2_each(c->priv, &x, "reservationSet", write_machine, c, &e) == 0, "%s read",
              files[i]);
    }
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    struct cloud_error e;
    t.file = "run_instances_spot.xml";
    ec2_call_init(&x, "RunInstances");
    CHECK(ec2_send(c->priv, &x, &e) == 0 && write_machine(c, x.root, &e) == 0, "%s read", t.file);
    t.file = "terminate_instances.xml";
    struct ec2_ids ids = {.items = {"i-4382922a"}, .n = 1};
    CHECK(ec2_terminate(c->priv, &ids, &e) == 0, "an old recording of TerminateInstances");
}

/* ---- requests ---- */

/* "TagSpecification.2.Tag.1.Key" as "TagSpecification.N.Tag.N.Key". */
static void without_numbers(const char *name, char *out, size_t room)
{
    size_t at = 0;

    for (const char *p = name; *p && at + 2 < room; p++) {
        if (isdigit((unsigned char)*p) && (p == name || p[-1] == '.')) {
            out[at++] = 'N';
            while (isdigit((unsigned char)p[1]))
                p++;
        } else {
            out[at++] = *p;
        }
    }
    out[at] = '\0';
}

/* Spellings of section 1.3 of specs/cloud-apis.md that no recorded request has. */
static const char *const documented[] = {
    "RunInstances NetworkInterface.N.DeleteOnTermination",
    "DescribeImages Owner.N",
    "DescribeImages Filter.N.Name",
    "DescribeImages Filter.N.Value.N",
    "DescribeSecurityGroups Filter.N.Name",
    "DescribeSecurityGroups Filter.N.Value.N",
    "AuthorizeSecurityGroupIngress GroupId",
    "AuthorizeSecurityGroupIngress IpPermissions.N.IpProtocol",
    "AuthorizeSecurityGroupIngress IpPermissions.N.FromPort",
    "AuthorizeSecurityGroupIngress IpPermissions.N.ToPort",
    "AuthorizeSecurityGroupIngress IpPermissions.N.IpRanges.N.CidrIp",
    "AuthorizeSecurityGroupIngress IpPermissions.N.Groups.N.GroupId",
};

struct watch {
    json_t *recorded; /* "ACTION FIELD" -> true */
    size_t seen, unknown;
    bool saw_offerings;
};

static void watch_field(struct watch *v, const char *action, const char *name)
{
    char plain[200], key[300];

    without_numbers(name, plain, sizeof plain);
    snprintf(key, sizeof key, "%s %s", action, plain);
    v->seen++;
    if (json_object_get(v->recorded, key))
        return;
    v->unknown++;
    printf("# AWS's client sends no %s\n", key);
}

static void watch(void *context, const struct http_request *r)
{
    struct watch *v = context;
    AUTO_MEM char *body = mem_dup(r->body ? r->body : "");
    char action[64] = "", *rest = *body ? body : NULL;

    for (char *pair; (pair = strsep(&rest, "&"));) {
        AUTO_MEM char *name = mem_printf("%.*s", (int)strcspn(pair, "="), pair);
        if (strcmp(name, "Action") == 0)
            snprintf(action, sizeof action, "%s", pair + strlen("Action="));
        else if (strcmp(name, "Version") != 0)
            watch_field(v, action, name);
    }
    v->saw_offerings =
        v->saw_offerings ||
        strcmp(r->body ? r->body : "", "Action=DescribeInstanceTypeOfferings&Version=2016-11-15&"
                                       "LocationType=availability-zone&Filter.1.Name=instance-type&"
                                       "Filter.1.Value.1=m5.xlarge") == 0;
}

static json_t *recorded_fields(void)
{
    AUTO_JSON json_t *cases = json_load_file(REPLAY "requests/ec2_requests.json", 0, NULL);
    json_t *all = json_object(), *one, *value;
    char plain[200], key[300];
    const char *name;
    size_t i;

    json_array_foreach(cases, i, one)
    {
        json_object_foreach(json_object_get(one, "expected_form"), name, value)
        {
            without_numbers(name, plain, sizeof plain);
            snprintf(key, sizeof key, "%s %s", json_string_value(json_object_get(one, "action")),
                     plain);
            json_object_set_new(all, key, json_true());
        }
    }
    for (i = 0; i < sizeof documented / sizeof *documented; i++)
        json_object_set_new(all, documented[i], json_true());
    return all;
}

static void requests(void)
{
    struct cloud_model model;
    struct cloud_machine m;
    struct cloud_error e;
    struct cloud_request q = {.token = "a",
                              .instance_type = "m5.xlarge",
                              .spot = true,
                              .max_price_usd_per_hour = 12.5,
                              .disk_gb = 200};
    AUTO_JSON json_t *recorded = recorded_fields();
    struct watch v = {.recorded = recorded};

    cloud_model_start(&model, &cloud_model_aws);
    struct cloud_options o = cloud_model_options(&model, "/nonexistent", "me");
    AUTO(cloud) struct cloud *c = cloud_open(&o, NULL);
    model.see = watch;
    model.context = &v;
    CHECK(cloud_launch(c, &q, &m, &e) == 0 && cloud_terminate(c, "a", &e) == 0,
          "launched and terminated %s", e.err.text);
    cloud_model_stop(&model);
    CHECK(v.seen > 100 && v.unknown == 0, "all %zu fields are spelt as AWS's client spells them",
          v.seen);
    CHECK(v.saw_offerings, "the zones of a type, field by field");
}

int main(void)
{
    if (access(REPLAY, R_OK) < 0)
        return TAP_SKIP_ALL("no recordings here");
    failures();
    instances();
    requests();
    return TAP_DONE();
}
