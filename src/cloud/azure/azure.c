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
    .open = azure_open,
    .close = azure_close,
    .launch = arm_launch,
    .look = azure_look,
    .terminate = azure_terminate,
    .list = azure_list,
    .zones = arm_zones,
    .clean = arm_clean,
    .check = arm_check,
};
