/* pipeline: trials of a sweep that are runs of a pipeline. start.c calls it. */
#include "app/job/job.h"
#include "app/plan/plan.h"
#include "app/run/compose.h"
#include "app/run/start.h"
#include "app/sweep/trials.h"
#include "base/buf.h"
#include "base/mem.h"
#include "broker/pipeline/advance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)
#define SOLVE_LIMIT_S 10
#define SETS_SHOWN_BYTES 300

struct sweep_pipeline {
    struct app *app;
    struct app_plan *plan;
    struct answer out; /* spells the fields of run.start */
    struct app_run_location location;
    struct app_run_codes codes; /* all trials have the same */
    struct app_run_gpus *gpus;
    bool warned, without_gpus;
};

void sweep_pipeline_free(struct sweep_pipeline *p)
{
    if (!p)
        return;
    app_plan_free(p->plan);
    app_run_codes_clear(&p->codes);
    app_run_gpus_free(p->gpus);
    free(p);
}

struct sweep_pipeline *sweep_pipeline_open(struct app *app,
                                           const char *file,
                                           const char *on,
                                           bool without_gpus,
                                           const struct answer *out,
                                           struct err *e)
{
    AUTO(sweep_pipeline) struct sweep_pipeline *p = mem_zero(1, sizeof *p);
    const struct config *c = app_config(app, e);
    const struct plan_request q = {.file = file,
                                   .budget_usd = (double)NAN,
                                   .deadline_s = (double)NAN,
                                   .max_hourly_usd = (double)NAN,
                                   .market = 1,
                                   .risk = 1,
                                   .solver = 1,
                                   .solve_limit_s = SOLVE_LIMIT_S};

    p->app = app;
    p->out = *out;
    p->out.request = run_start_operation.request;
    p->plan = mem_zero(1, sizeof *p->plan);
    if (!c || app_run_location_find(c, on, "on", &p->location, e) < 0 ||
        app_plan_open(p->plan, app, &q, &p->out, e) < 0 ||
        (p->location.is_cloud && app_plan_limit_clouds(app, p->plan, on, e) < 0) ||
        app_plan_ask(p->plan, false, e) < 0 || app_run_check_plan(p->plan, e) < 0)
        return NULL;
    p->without_gpus = without_gpus;
    p->gpus = app_run_gpus_new(app, p->plan, &p->location, e);
    if (!p->gpus || app_run_gpus_check(p->gpus, p->plan, without_gpus, &p->out, e) < 0)
        return NULL;
    return TAKE(p);
}

int sweep_pipeline_check_output(const struct sweep_pipeline *p, const char *output, struct err *e)
{
    const struct spec *spec = p->plan->spec;
    AUTO_CLEAR(buf) struct buf sets;

    buf_init(&sets, SETS_SHOWN_BYTES);
    for (size_t i = 0; i < spec->n_stages; i++) {
        if (!spec->stages[i].n_outputs)
            continue;
        AUTO_MEM char *set = advance_set_name(spec->name, spec->stages[i].name, "");
        if (strcmp(set, output) == 0)
            return 0;
        buf_printf(&sets, "%s%s", sets.len ? ", " : "", set);
    }
    return err_set(e, ERR_USAGE, "%s: no stage makes the set %s; its sets: %s", spec->file, output,
                   sets.len ? buf_str(&sets) : "none");
}

int sweep_pipeline_start(struct sweep_pipeline *p,
                         const struct sweep_plan *plan,
                         const char *params,
                         const struct field_list *env,
                         int64_t resumed,
                         struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_CLEAR(run) struct run last = {0};
    struct run run = {.user = app_run_user(p->app)};
    struct app_run_order order = {.location = &p->location,
                                  .answer = &p->out,
                                  .gpus = p->gpus,
                                  .without_gpus = p->without_gpus,
                                  .codes = &p->codes};

    if (app_job_check_month(p->app, e) < 0 ||
        (resumed && app_run_load(p->app, resumed, &last, e) < 0))
        return -1;
    order.resumed = resumed ? &last : NULL;
    p->plan->request.env = *env;
    if (!p->warned) {
        app_run_warn_envs(p->app, p->plan, &p->out);
        app_run_warn_code(p->app, p->plan);
    }
    p->warned = true;
    int result = app_run_compose(p->app, p->plan, &order, arena, &run, e);
    p->plan->request.env = (struct field_list){0};
    run.sweep = plan->name;
    run.params = params;
    return result < 0 ? -1 : app_run_begin(p->app, &run, e);
}
