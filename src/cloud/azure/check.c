/* Checks whether virtual machines could be launched: credentials, subscription, region,
 * permissions, providers and quotas. Changes nothing in the account. azure.c lists the function. */
#include "base/buf.h"
#include "base/mem.h"
#include "cloud/azure/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CLOCK_MS ((int64_t)4 * 60 * 1000)

struct checking {
    struct arm *arm;
    struct cloud_findings out;
};

/* ---- who ---- */

static int check_subscription(const struct checking *k, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;

    if (arm_get(k->arm, &x, "get subscription", "", ARM_SUBSCRIPTIONS, e) < 0)
        return -1;
    const char *state = arm_text(x.root, "state"), *name = arm_text(x.root, "displayName");
    bool is_good = strcmp(state, "Enabled") == 0;
    return cloud_say(&k->out, e, is_good ? CLOUD_GOOD : CLOUD_MISSING, "subscription",
                     is_good ? "" : "az account list -o table shows others", "%s%s%s%s, %s",
                     k->arm->subscription, *name ? " (" : "", name, *name ? ")" : "", state);
}

static int check_identity(const struct checking *k, struct cloud_error *e)
{
    struct cloud_rest *r = &k->arm->rest;

    if (arm_subscribe(k->arm, e) < 0)
        return -1;
    const char *whose = r->tokens.login.identity, *origin = r->tokens.login.origin;
    if (cloud_say(&k->out, e, CLOUD_GOOD, "credentials", "", "found: %s", origin) < 0)
        return -1;
    if (whose && cloud_say(&k->out, e, CLOUD_GOOD, "identity", "", "%s", whose) < 0)
        return -1;
    if (check_subscription(k, e) < 0)
        return -1;
    if (llabs(r->skew_ms) < CLOCK_MS)
        return 0;
    return cloud_say(&k->out, e, CLOUD_NOTED, "clock", "set the clock of this machine",
                     "it differs from that of Azure by %lld s", (long long)(r->skew_ms / 1000));
}

/* ---- where ---- */

struct regions {
    const char *wanted;
    bool has;
    size_t n;
};

static int count_region(void *context, const json_t *item, struct cloud_error *e)
{
    struct regions *r = context;

    (void)e;
    /* Others are names for several regions. */
    if (strcmp(arm_text(item, "metadata/regionType"), "Logical") == 0)
        return 0;
    r->n++;
    r->has = r->has || strcasecmp(arm_text(item, "name"), r->wanted) == 0;
    return 0;
}

static int check_region(const struct checking *k, struct cloud_error *e)
{
    struct regions r = {.wanted = k->arm->rest.cloud->options.region};

    if (arm_each(k->arm, "list regions", "/locations", ARM_SUBSCRIPTIONS, count_region, &r, e) < 0)
        return e->failure == CLOUD_PERMISSION
                   ? cloud_say(&k->out, e, CLOUD_MISSING, "regions",
                               "allow Microsoft.Resources/subscriptions/locations/read",
                               "the regions cannot be listed")
                   : -1;
    if (r.has)
        return cloud_say(&k->out, e, CLOUD_GOOD, "regions", "", "%s is one of %zu", r.wanted, r.n);
    return cloud_say(&k->out, e, CLOUD_MISSING, "regions",
                     "az account list-locations -o table shows them",
                     "%s is none of the subscription's %zu", r.wanted, r.n);
}

static int check_provider(const struct checking *k, const char *provider, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    AUTO_MEM char *path = mem_printf("/providers/%s", provider);
    AUTO_MEM char *fix = mem_printf("az provider register --namespace %s", provider);

    if (arm_get(k->arm, &x, "get provider", path, ARM_GROUPS, e) < 0)
        return e->failure == CLOUD_PERMISSION
                   ? cloud_say(&k->out, e, CLOUD_NOTED, "provider",
                               "allow Microsoft.Resources/subscriptions/providers/read",
                               "whether %s is registered cannot be read", provider)
                   : -1;
    const char *state = arm_text(x.root, "registrationState");
    bool is_good = strcmp(state, "Registered") == 0;
    return cloud_say(&k->out, e, is_good ? CLOUD_GOOD : CLOUD_MISSING, "provider",
                     is_good ? "" : fix, "%s: %s", provider, state);
}

/* ---- permissions ---- */

/* What launches, looks and cleaning do, and what the group's deletion does to what is in it. */
static const char *const actions[] = {
    "Microsoft.Compute/disks/delete",
    "Microsoft.Compute/disks/read",
    "Microsoft.Compute/disks/write",
    "Microsoft.Compute/locations/operations/read",
    "Microsoft.Compute/locations/usages/read",
    "Microsoft.Compute/skus/read",
    "Microsoft.Compute/virtualMachines/delete",
    "Microsoft.Compute/virtualMachines/read",
    "Microsoft.Compute/virtualMachines/write",
    "Microsoft.Network/locations/operations/read",
    "Microsoft.Network/networkInterfaces/delete",
    "Microsoft.Network/networkInterfaces/join/action",
    "Microsoft.Network/networkInterfaces/read",
    "Microsoft.Network/networkInterfaces/write",
    "Microsoft.Network/networkSecurityGroups/delete",
    "Microsoft.Network/networkSecurityGroups/join/action",
    "Microsoft.Network/networkSecurityGroups/read",
    "Microsoft.Network/networkSecurityGroups/write",
    "Microsoft.Network/publicIPAddresses/delete",
    "Microsoft.Network/publicIPAddresses/join/action",
    "Microsoft.Network/publicIPAddresses/read",
    "Microsoft.Network/publicIPAddresses/write",
    "Microsoft.Network/virtualNetworks/delete",
    "Microsoft.Network/virtualNetworks/read",
    "Microsoft.Network/virtualNetworks/subnets/join/action",
    "Microsoft.Network/virtualNetworks/write",
    "Microsoft.Resources/subscriptions/operationresults/read",
    "Microsoft.Resources/subscriptions/resourceGroups/delete",
    "Microsoft.Resources/subscriptions/resourceGroups/read",
    "Microsoft.Resources/subscriptions/resourceGroups/write",
};
#define ACTIONS (sizeof actions / sizeof *actions)

/* '*' stands for any text; upper and lower case are the same. */
static bool matches(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (tolower((unsigned char)*pattern) == tolower((unsigned char)*text)) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool any_matches(const json_t *patterns, const char *text)
{
    const json_t *p;
    size_t i;

    json_array_foreach(patterns, i, p)
    {
        if (json_is_string(p) && matches(json_string_value(p), text))
            return true;
    }
    return false;
}

/* Each role that is assigned is an item: what its exceptions take, another one may give. */
static int note_allowed(void *context, const json_t *role, struct cloud_error *e)
{
    bool *allowed = context;

    (void)e;
    for (size_t i = 0; i < ACTIONS; i++)
        allowed[i] = allowed[i] || (any_matches(json_object_get(role, "actions"), actions[i]) &&
                                    !any_matches(json_object_get(role, "notActions"), actions[i]));
    return 0;
}

static int check_permissions(const struct checking *k, struct cloud_error *e)
{
    bool allowed[ACTIONS] = {false};
    AUTO_CLEAR(buf) struct buf missing;

    buf_init(&missing, 4000);
    if (arm_each(k->arm, "list permissions", "/providers/Microsoft.Authorization/permissions",
                 ARM_PERMISSIONS, note_allowed, allowed, e) < 0)
        return e->failure == CLOUD_PERMISSION
                   ? cloud_say(&k->out, e, CLOUD_NOTED, "permissions",
                               "allow Microsoft.Authorization/permissions/read",
                               "they cannot be read")
                   : -1;
    for (size_t i = 0; i < ACTIONS; i++)
        if (!allowed[i])
            buf_printf(&missing, "%s%s", missing.len ? ", " : "", actions[i]);
    if (!missing.len)
        return cloud_say(&k->out, e, CLOUD_GOOD, "permissions", "",
                         "all of %zu actions are permitted", ACTIONS);
    AUTO_MEM char *fix =
        mem_printf("allow %s; docs/clouds.md has the whole role", buf_str(&missing));
    return cloud_say(&k->out, e, CLOUD_MISSING, "permissions", fix,
                     "some actions are not permitted");
}

/* ---- quotas ---- */

struct quotas {
    const struct checking *k;
    size_t n_gpus; /* families with some */
};

static const char *const more =
    "ask for more at https://portal.azure.com/#view/Microsoft_Azure_Capacity/QuotaMenuBlade";

static int say_quota(const struct quotas *q,
                     const char *what,
                     const char *means,
                     const json_t *usage,
                     struct cloud_error *e)
{
    double limit = json_number_value(json_object_get(usage, "limit"));
    double used = json_number_value(json_object_get(usage, "currentValue"));
    bool is_none = limit <= 0;

    return cloud_say(&q->k->out, e, is_none ? CLOUD_NOTED : CLOUD_GOOD, what, is_none ? more : "",
                     "%.0f %s in %s, %.0f used", limit, means,
                     q->k->arm->rest.cloud->options.region, used);
}

/* Families of sizes with accelerators begin with N: "standardNCADSA100v4Family". */
static int visit_usage(void *context, const json_t *usage, struct cloud_error *e)
{
    struct quotas *q = context;
    const char *name = arm_text(usage, "name/value"),
               *shown = arm_text(usage, "name/localizedValue");

    if (strcasecmp(name, "cores") == 0)
        return say_quota(q, "quota cores", "vCPUs of on-demand machines", usage, e);
    if (strcasecmp(name, "lowPriorityCores") == 0)
        return say_quota(q, "quota spot", "vCPUs of spot machines", usage, e);
    if (strncasecmp(name, "standardN", 9) != 0 ||
        json_number_value(json_object_get(usage, "limit")) <= 0)
        return 0;
    q->n_gpus++;
    return say_quota(q, "quota gpus", shown, usage, e);
}

static int check_quotas(const struct checking *k, struct cloud_error *e)
{
    const char *region = k->arm->rest.cloud->options.region;
    AUTO_MEM char *path = mem_printf("/providers/Microsoft.Compute/locations/%s/usages", region);
    struct quotas q = {.k = k};

    if (arm_each(k->arm, "list usages", path, ARM_COMPUTE, visit_usage, &q, e) < 0)
        return e->failure == CLOUD_PERMISSION
                   ? cloud_say(&k->out, e, CLOUD_NOTED, "quotas",
                               "allow Microsoft.Compute/locations/usages/read",
                               "they cannot be read: launches may be refused")
                   : -1;
    if (q.n_gpus)
        return 0;
    return cloud_say(&k->out, e, CLOUD_NOTED, "quota gpus", more,
                     "0 vCPUs of on-demand N sizes (GPUs) in %s", region);
}

int arm_check(struct cloud *c, cloud_visit_finding *visit, void *context, struct cloud_error *e)
{
    const struct checking k = {.arm = c->priv, .out = {visit, context}};

    if (check_identity(&k, e) < 0 || check_region(&k, e) < 0 ||
        check_provider(&k, "Microsoft.Compute", e) < 0 ||
        check_provider(&k, "Microsoft.Network", e) < 0 || check_permissions(&k, e) < 0)
        return -1;
    return check_quotas(&k, e);
}
