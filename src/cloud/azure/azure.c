/* The cloud "azure": machines are virtual machines of Azure's Resource Manager. A handle is for one
 * region; it keeps nothing but tokens, the subscription and its budget of retries. */
#include "base/mem.h"
#include "cloud/azure/internal.h"

#include <stdlib.h>
#include <string.h>

#define REGION_BYTES sizeof(((struct cloud_machine *)0)->region)

static int azure_open(struct cloud *c, struct err *e)
{
    const char *region = c->options.region;

    if (!region || !*region ||
        strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789") != strlen(region) ||
        strlen(region) >= REGION_BYTES)
        return err_set(e, ERR_USAGE, "a region is needed, such as eastus");
    struct arm *a = c->priv = mem_zero(1, sizeof *a);
    return arm_open(a, c, e);
}

static void azure_close(struct cloud *c)
{
    struct arm *a = c->priv;

    if (!a)
        return;
    arm_close(a);
    free(a);
}

static int azure_look(struct cloud *c,
                      const char *token,
                      struct cloud_machine *out,
                      struct cloud_error *e)
{
    struct arm_machine m;
    int found = arm_find(c->priv, token, &m, e);

    if (found < 0)
        return -1;
    if (!found)
        return cloud_fail(e, CLOUD_NOT_FOUND, CLOUD_REGION, "%s shows no machine with this token",
                          c->options.region);
    *out = m.tagged.machine;
    return 0;
}

/* The group goes with all that is in it, whatever of it there is. */
static int azure_terminate(struct cloud *c, const char *token, struct cloud_error *e)
{
    char group[ARM_NAME_BYTES];

    arm_group_of(c->priv, token, group);
    return arm_delete_group(c->priv, group, 0, e) < 0 ? -1 : 0;
}

/* Where nothing else is found the identity of a machine is left, which is not everywhere. */
static int azure_sign_in(struct cloud *c, struct cloud_error *e)
{
    struct cloud_rest *r = &((struct arm *)c->priv)->rest;
    struct err why = {0};
    const char *bearer;

    if (arm_subscribe(c->priv, e) < 0)
        return -1;
    if (r->tokens.login.way != TOKEN_AZURE_MACHINE)
        return 0;
    struct http *http = cloud_rest_http(r, &why);
    if (http && token_cache_get(&r->tokens, http, &bearer, &why) == 0)
        return 0;
    return cloud_fail(e, CLOUD_AUTH, CLOUD_ACCOUNT, "%s", why.text);
}

/* ---- regions ---- */

struct regions {
    char (*names)[REGION_BYTES];
    size_t n, cap;
};

static int keep_region(void *context, const json_t *item, struct cloud_error *e)
{
    struct regions *r = context;
    const char *name = arm_text(item, "name");

    (void)e;
    /* Others are names for several regions. */
    if (!*name || strlen(name) >= REGION_BYTES ||
        strcmp(arm_text(item, "metadata/regionType"), "Logical") == 0)
        return 0;
    r->names = mem_room(r->names, r->n, &r->cap, sizeof *r->names);
    memcpy(r->names[r->n++], name, strlen(name) + 1);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int azure_regions(struct cloud *c,
                         cloud_visit_region *each,
                         void *context,
                         struct cloud_error *e)
{
    struct regions r = {0};
    int done =
        arm_each(c->priv, "list regions", "/locations", ARM_SUBSCRIPTIONS, keep_region, &r, e);

    if (r.n)
        qsort(r.names, r.n, sizeof *r.names, by_name);
    for (size_t i = 0; done == 0 && i < r.n; i++)
        done = each(context, r.names[i], &e->err);
    free(r.names);
    return done;
}

/* ---- list ---- */

struct listing {
    cloud_visit *visit;
    void *context;
};

static int visit(void *context, const struct arm_machine *m, struct cloud_error *e)
{
    const struct listing *l = context;
    enum cloud_state state = m->tagged.machine.state;

    if (state == CLOUD_GONE || state == CLOUD_PREEMPTED)
        return 0;
    return l->visit(l->context, &m->tagged.machine, &e->err);
}

static int azure_list(struct cloud *c, cloud_visit *each, void *context, struct cloud_error *e)
{
    struct listing l = {each, context};

    return arm_each_machine(c->priv, visit, &l, e);
}

const struct cloud_driver cloud_azure = {
    .name = "azure",
    .some_region = "eastus",
    .open = azure_open,
    .close = azure_close,
    .launch = arm_launch,
    .look = azure_look,
    .terminate = azure_terminate,
    .list = azure_list,
    .zones = arm_zones,
    .clean = arm_clean,
    .check = arm_check,
    .sign_in = azure_sign_in,
    .regions = azure_regions,
};
