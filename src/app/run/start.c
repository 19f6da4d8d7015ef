/* start: starts runs, for the operations of this room and of others. */
#include "app/run/start.h"
#include "broker/machine/cap.h"

#include <inttypes.h>

const char *app_run_user(const struct app *app)
{
    const char *user = app_user(app) ? app_user(app) : app_variable(app, "USER");

    return user ? user : "";
}

int app_run_begin(struct app *app, struct run *run, struct err *e)
{
    struct runs *runs = app_runs(app, e);

    return runs && runs_add(runs, run, e) == 0 ? app_wake_broker(app, e) : -1;
}

/* With resume: the last run of the pipeline, which must be over. Its finished stages are found by
 * their inputs; the others may continue from a checkpoint. */
static int find_resumed(struct app *app, const char *name, struct run *last, struct err *e)
{
    struct runs *runs = app_runs(app, e);
    int64_t id;

    if (!runs || runs_latest(runs, name, &id, e) < 0)
        return -1;
    if (id == 0)
        return err_set(e, ERR_NOTFOUND, "pipeline %s has not been run yet: leave out --resume",
                       name);
    if (runs_get(runs, id, last, e) < 0)
        return -1;
    if (last->state == RUN_GOING)
        return err_set(e, ERR_USAGE,
                       "run %" PRId64 " of %s is still running: tradewind run show %" PRId64, id,
                       name, id);
    return 0;
}

int app_run_start(struct app *app,
                  const struct app_plan *p,
                  const struct app_run_wish *wish,
                  int64_t *id_out,
                  struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(APP_RUN_ARENA_BYTES);
    AUTO_CLEAR(run) struct run last = {0};
    struct run run = {
        .no_cache = wish->no_cache, .max_microusd = wish->max_microusd, .user = app_run_user(app)};
    struct app_run_order order = {.location = wish->location, .secrets = wish->secrets};
    struct lake *l = app_lake(app, e);

    if (!l || cap_check_month(p->config, l, e) < 0 ||
        (wish->resume && find_resumed(app, p->spec->name, &last, e) < 0))
        return -1;
    order.resumed = last.id ? &last : NULL;
    if (app_run_compose(app, p, &order, arena, &run, e) < 0 || app_run_begin(app, &run, e) < 0)
        return -1;
    *id_out = run.id;
    return 0;
}
