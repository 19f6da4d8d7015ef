/* Checks whether instances could be launched: credentials, identity, clock, regions, permissions,
 * network and quotas. Changes nothing in the account. aws.c lists the function. */
#include "base/json.h"
#include "base/mem.h"
#include "cloud/aws/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTA_PAGES_MAX 20

struct checking {
    struct ec2 *ec2;
    struct cloud_findings out;
};

/* ---- who ---- */

static int check_identity(const struct checking *k, struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    ec2_call_init(&x, "GetCallerIdentity");
    x.service = "sts";
    x.version = "2011-06-15";
    if (ec2_credentials(k->ec2, e) < 0)
        return -1;
    if (cloud_say(&k->out, e, CLOUD_GOOD, "credentials", "", "found: %s",
                  k->ec2->credentials.origin) < 0 ||
        ec2_send(k->ec2, &x, e) < 0)
        return -1;
    const char *arn = xml_text(x.root, "GetCallerIdentityResult/Arn");
    const char *account = xml_text(x.root, "GetCallerIdentityResult/Account");
    if (cloud_say(&k->out, e, CLOUD_GOOD, "identity", "", "%s, account %s", arn, account) < 0)
        return -1;
    long long skew_s = (long long)(k->ec2->skew_ms / 1000);
    if (skew_s)
        return cloud_say(&k->out, e, CLOUD_NOTED, "clock", "set the clock of this machine",
                         "it differs from that of AWS by %lld s; Tradewind corrects for it",
                         skew_s);
    return 0;
}

/* ---- regions ---- */

static int add_region(void *context, const struct xml *item, struct cloud_error *e)
{
    struct buf *b = context;

    (void)e;
    buf_printf(b, "%s%s", b->len ? ", " : "", xml_text(item, "regionName"));
    return 0;
}

static int check_regions(const struct checking *k, struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    AUTO_CLEAR(buf) struct buf names;

    buf_init(&names, 1000);
    ec2_call_init(&x, "DescribeRegions");
    if (ec2_each(k->ec2, &x, "regionInfo", add_region, &names, e) < 0)
        return e->failure == CLOUD_PERMISSION
                   ? cloud_say(&k->out, e, CLOUD_MISSING, "regions", "allow ec2:DescribeRegions",
                               "the enabled regions cannot be listed")
                   : -1;
    return cloud_say(&k->out, e, CLOUD_GOOD, "regions", "", "enabled: %s", buf_str(&names));
}

static int count_item(void *context, const struct xml *item, struct cloud_error *e)
{
    size_t *n = context;

    (void)item;
    (void)e;
    ++*n;
    return 0;
}

static int check_network(const struct checking *k, struct cloud_error *e)
{
    const char *region = k->ec2->cloud->options.region;
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    size_t n = 0;

    ec2_call_init(&x, "DescribeSubnets");
    ec2_add_filter(&x, 1, "default-for-az", (const char *[]){"true", NULL});
    if (ec2_each(k->ec2, &x, "subnetSet", count_item, &n, e) < 0)
        return e->failure == CLOUD_PERMISSION
                   ? cloud_say(&k->out, e, CLOUD_MISSING, "network", "allow ec2:DescribeSubnets",
                               "the default subnets cannot be listed")
                   : -1;
    if (n)
        return cloud_say(&k->out, e, CLOUD_GOOD, "network", "",
                         "%s has a default subnet in %zu zone%s", region, n, n == 1 ? "" : "s");
    return cloud_say(&k->out, e, CLOUD_MISSING, "network", "aws ec2 create-default-vpc",
                     "%s has no default network, in which machines are launched", region);
}

/* ---- permissions ---- */

/* Calls that are only tried: what creates things, with tags as a launch has them. EC2 checks
 * permissions first, and tells other mistakes to those who may call. What deletes things cannot be
 * tried: where a policy permits it for tagged things alone, made-up ones are refused. */
#define TAGS(type)                                                                                 \
    {"TagSpecification.1.ResourceType", type}, {"TagSpecification.1.Tag.1.Key", CLOUD_TAG_OWNER},  \
    {                                                                                              \
        "TagSpecification.1.Tag.1.Value", "check"                                                  \
    }
#define FIELDS_MAX 7
static const struct trial {
    const char *action, *fields[FIELDS_MAX][2];
} trials[] = {
    {"RunInstances",
     {{"ImageId", "ami-00000000000000000"},
      {"InstanceType", "t3.micro"},
      {"MinCount", "1"},
      {"MaxCount", "1"},
      TAGS("instance")}},
    {"CreateSecurityGroup",
     {{"GroupName", "tradewind-check"}, {"GroupDescription", "check"}, TAGS("security-group")}},
    {"ImportKeyPair",
     {{"KeyName", "tradewind-check"}, {"PublicKeyMaterial", "c3No"}, TAGS("key-pair")}},
};

/* Lists that launches and cleaning need; EC2 has no other way to learn whether they may be had. */
static const char *const lists[] = {
    "DescribeInstances", "DescribeSecurityGroups",        "DescribeKeyPairs",
    "DescribeVolumes",   "DescribeNetworkInterfaces",     "DescribeAddresses",
    "DescribeImages",    "DescribeInstanceTypeOfferings", "DescribeSpotInstanceRequests",
};

static int try_action(const struct checking *k,
                      const struct trial *t,
                      struct buf *missing,
                      struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    ec2_call_init(&x, t->action);
    for (size_t i = 0; i < FIELDS_MAX && t->fields[i][0]; i++)
        ec2_add(&x, t->fields[i][1], "%s", t->fields[i][0]);
    ec2_add(&x, "true", "DryRun");
    if (ec2_send(k->ec2, &x, e) == 0)
        return 0;
    if (e->failure == CLOUD_PERMISSION)
        buf_printf(missing, "%sec2:%s", missing->len ? ", " : "", t->action);
    /* Names that are made up are no failure. */
    bool is_answered =
        x.is_young || (e->failure != CLOUD_AUTH && cloud_failure_kind(e->failure) != ERR_RETRY);
    return is_answered ? 0 : -1;
}

static int check_permissions(const struct checking *k, struct cloud_error *e)
{
    size_t n = sizeof trials / sizeof *trials, m = sizeof lists / sizeof *lists;
    AUTO_CLEAR(buf) struct buf missing;

    buf_init(&missing, 1000);
    for (size_t i = 0; i < n; i++)
        if (try_action(k, &trials[i], &missing, e) < 0)
            return -1;
    for (size_t i = 0; i < m; i++)
        if (try_action(k, &(struct trial){.action = lists[i]}, &missing, e) < 0)
            return -1;
    if (missing.len) {
        AUTO_MEM char *fix =
            mem_printf("allow %s; docs/clouds.md has the whole policy", buf_str(&missing));
        return cloud_say(&k->out, e, CLOUD_MISSING, "permissions", fix,
                         "some actions are not permitted");
    }
    return cloud_say(&k->out, e, CLOUD_GOOD, "permissions", "", "none of %zu actions is refused",
                     n + m);
}

/* ---- quotas ---- */

static const struct quota {
    const char *what, *code, *means;
} quotas[] = {
    {"quota standard", "L-1216C47A", "vCPUs of on-demand instances without GPUs"},
    {"quota standard spot", "L-34B43A08", "vCPUs of spot instances without GPUs"},
    {"quota g", "L-DB2E81BA", "vCPUs of on-demand G and VT instances (T4, A10G, L4, L40S)"},
    {"quota g spot", "L-3819A6DF", "vCPUs of spot G and VT instances"},
    {"quota p", "L-417A185B", "vCPUs of on-demand P instances (V100, A100, H100)"},
    {"quota p spot", "L-7212CCBC", "vCPUs of spot P4, P3 and P2 instances"},
    {"quota p5 spot", "L-C4BD4855", "vCPUs of spot P5 instances (H100, H200)"},
};
#define QUOTAS (sizeof quotas / sizeof *quotas)

static void keep_values(const json_t *page, double values[static QUOTAS])
{
    size_t i;
    const json_t *q;

    json_array_foreach(json_object_get(page, "Quotas"), i, q)
    {
        const char *code = json_string_value(json_object_get(q, "QuotaCode"));
        for (size_t k = 0; code && k < QUOTAS; k++)
            if (strcmp(quotas[k].code, code) == 0)
                values[k] = json_number_value(json_object_get(q, "Value"));
    }
}

static int read_quotas(const struct checking *k,
                       double values[static QUOTAS],
                       struct cloud_error *e)
{
    AUTO_MEM char *token = NULL;

    for (unsigned page = 0; page < QUOTA_PAGES_MAX; page++) {
        AUTO_CLEAR(ec2_call) struct ec2_call x;
        AUTO_JSON json_t *request =
            json_pack("{s:s, s:i}", "ServiceCode", "ec2", "MaxResults", 100);
        if (token)
            json_object_set_new(request, "NextToken", json_string(token));
        AUTO_MEM char *text = json_dumps(request, 0);
        ec2_call_init(&x, "ListServiceQuotas");
        x.service = "servicequotas";
        x.target = "ServiceQuotasV20190624.ListServiceQuotas";
        x.json = text;
        if (ec2_send(k->ec2, &x, e) < 0)
            return -1;
        AUTO_JSON json_t *answer = json_loads(x.body, 0, NULL);
        keep_values(answer, values);
        const char *next = json_string_value(json_object_get(answer, "NextToken"));
        free(token);
        token = next && *next ? mem_dup(next) : NULL;
        if (!token)
            return 0;
    }
    return 0;
}

static int check_quotas(const struct checking *k, struct cloud_error *e)
{
    const char *region = k->ec2->cloud->options.region;
    double values[QUOTAS];

    for (size_t i = 0; i < QUOTAS; i++)
        values[i] = (double)NAN;
    if (read_quotas(k, values, e) < 0) {
        if (e->failure != CLOUD_PERMISSION)
            return -1;
        return cloud_say(&k->out, e, CLOUD_NOTED, "quotas", "allow servicequotas:ListServiceQuotas",
                         "they cannot be read: launches may be refused");
    }
    for (size_t i = 0; i < QUOTAS; i++) {
        if (isnan(values[i]))
            continue;
        AUTO_MEM char *fix =
            mem_printf("aws service-quotas request-service-quota-increase --service-code ec2 "
                       "--region %s --quota-code %s --desired-value N",
                       region, quotas[i].code);
        bool is_none = values[i] <= 0;
        if (cloud_say(&k->out, e, is_none ? CLOUD_NOTED : CLOUD_GOOD, quotas[i].what,
                      is_none ? fix : "", "%.0f %s in %s", values[i], quotas[i].means, region) < 0)
            return -1;
    }
    return 0;
}

int ec2_check(struct cloud *c, cloud_visit_finding *visit, void *context, struct cloud_error *e)
{
    const struct checking k = {.ec2 = c->priv, .out = {visit, context}};

    if (check_identity(&k, e) < 0 || check_regions(&k, e) < 0 || check_network(&k, e) < 0 ||
        check_permissions(&k, e) < 0)
        return -1;
    return check_quotas(&k, e);
}
