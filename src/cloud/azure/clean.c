/* Deletes what launches left: groups of machines that ended by themselves, with all that is still
 * in them, and the shared network where no machine of this owner is left. azure.c lists the
 * function. */
#include "base/mem.h"
#include "cloud/azure/internal.h"

#include <stdlib.h>
#include <string.h>

#define DELETING_S 600.0
#define HELD_S 15.0

/* Groups are deleted after the list: it has pages. */
struct cleaning {
    struct arm *arm;
    bool dry_run;
    cloud_visit_leftover *visit;
    void *context;
    char (*groups)[ARM_NAME_BYTES];
    size_t n, cap;
    size_t n_machines; /* of groups that stay */
};

static int keep_group(void *context, const struct arm_machine *m, struct cloud_error *e)
{
    struct cleaning *s = context;
    enum cloud_state state = m->tagged.machine.state;

    (void)e;
    if (state != CLOUD_GONE && state != CLOUD_PREEMPTED) {
        s->n_machines += !m->is_deleting;
        return 0;
    }
    s->groups = mem_room(s->groups, s->n, &s->cap, sizeof *s->groups);
    memcpy(s->groups[s->n++], m->group, sizeof *s->groups);
    return 0;
}

/* Machines that are being deleted hold the network for a while. */
static int delete_held(struct arm *a, const char *group, struct cloud_error *e)
{
    struct cloud *c = a->rest.cloud;
    int64_t until_ms = cloud_now_ms(c) + (int64_t)(DELETING_S * 1000);

    for (;;) {
        int deleted = arm_delete_group(a, group, DELETING_S, e);
        if (deleted >= 0 || e->failure != CLOUD_CONFLICT || cloud_now_ms(c) >= until_ms)
            return deleted;
        cloud_wait(c, HELD_S);
    }
}

static int remove_group(struct cleaning *s, const char *group, struct cloud_error *e)
{
    struct cloud_error failed = {0};
    const char *why = NULL;

    if (!s->dry_run) {
        int removed = delete_held(s->arm, group, &failed);
        why = removed < 0 ? failed.err.text : removed > 0 ? "it is still being deleted" : NULL;
    }
    return s->visit ? s->visit(s->context, "resource group", group, why, &e->err) : 0;
}

/* 1: the group of the shared network is there. */
static int find_shared(struct arm *a, const char *group, struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
    AUTO_MEM char *path = mem_printf("/resourcegroups/%s", group);

    if (arm_get(a, &x, "get resource group", path, ARM_GROUPS, e) == 0)
        return 1;
    if (e->failure != CLOUD_NOT_FOUND)
        return -1;
    *e = (struct cloud_error){0};
    return 0;
}

int arm_clean(struct cloud *c,
              bool dry_run,
              cloud_visit_leftover *visit,
              void *context,
              struct cloud_error *e)
{
    struct cleaning s = {.arm = c->priv, .dry_run = dry_run, .visit = visit, .context = context};
    char shared[ARM_NAME_BYTES];
    int done = arm_each_machine(s.arm, keep_group, &s, e);

    for (size_t i = 0; done == 0 && i < s.n; i++)
        done = remove_group(&s, s.groups[i], e);
    free(s.groups);
    if (done < 0 || s.n_machines)
        return done;
    arm_shared_group(s.arm, shared);
    int found = find_shared(s.arm, shared, e);
    return found <= 0 ? found : remove_group(&s, shared, e);
}
