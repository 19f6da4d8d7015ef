/* functions: what machine.cleanup does about functions of this home that no deployment has. */
#include "app/admin/admin.h"
#include "base/mem.h"
#include "broker/machine/resources.h"

#include <math.h>

struct cleaning {
    struct app *app;
    struct answer *out;
};

static const char *variable(void *context, const char *name)
{
    return app_variable(((const struct cleaning *)context)->app, name);
}

static bool cancelled(void *context)
{
    return app_cancelled(((const struct cleaning *)context)->app);
}

static void say(void *context, const char *verb, const struct deploy_resource *r)
{
    app_status(((const struct cleaning *)context)->app, "%s %s %s", verb, r->kind, r->name);
}

/* A resource in the place of a machine, without what it has not. */
static int tell(void *context,
                const struct deploy_resource *r,
                enum resource_finding finding,
                const char *why,
                struct err *e)
{
    const struct cleaning *c = context;
    const struct admin_orphan item = {
        .machine = {.cloud = r->cloud,
                    .provider = r->cloud,
                    .region = r->region,
                    .zone = "",
                    .instance_type = "",
                    .state = deploy_state_text(r->state ? r->state : DEPLOY_DELETING),
                    .since = "",
                    .stage = FIELD_NONE,
                    .token = "",
                    .id = r->name,
                    .reason = resource_finding_text(finding),
                    .expires_at = "",
                    .age_s = (double)NAN,
                    .type = answer_text(c->out, e, "%s %s", r->kind, r->name),
                    .location = answer_text(c->out, e, "%s/%s", r->cloud, r->region)},
        .found = resource_finding_text(finding),
        .error = why,
    };

    return item.machine.type && item.machine.location ? answer_item(c->out, &item, e) : -1;
}

int admin_clean_functions(
    struct app *app, bool yes, struct answer *out, size_t *open, struct err *e)
{
    struct cleaning c = {app, out};
    const char *home = app_home(app, e);
    struct resource_cleanup how = {.dry_run = !yes, .tell = tell, .context = &c};
    struct resource_party party = {
        .records = home ? app_machines(app, e) : NULL,
        .options = {.home = home, .outside = {.variable = variable, .context = &c}},
        .watch = {.status = say, .cancelled = cancelled, .context = &c},
    };

    if (!party.records)
        return -1;
    int result = deployed_cleanup(&party, &how, e);
    *open += how.open;
    return result < 0 ? err_wrap(e, "clean up functions") : 0;
}
