#include "app/run/start.h"

#include "app/job/image.h"
#include "app/job/job.h"
#include "app/run/compose.h"
#include "base/mem.h"
#include "base/money.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)
#define KEEP_WARM_MAX_S 86400.0

const char *app_run_user(const struct app *app)
{
    const char *user = app_user(app) ? app_user(app) : app_variable(app, "USER");

    return user ? user : "";
}

int app_run_begin(struct app *app, struct run *run, struct err *e)
{
    struct runs *runs = app_runs(app, e);
    struct run_pair pairs[JOB_SUBMITTER_NAMES];
    struct app_job_submitter submitter;

    app_job_submitter_read(app, &submitter);
    for (size_t i = 0; i < submitter.n; i++)
        pairs[i] = (struct run_pair){submitter.pairs[i].key, submitter.pairs[i].value};
    /* A repeated job has those that were recorded with it. */
    for (size_t i = 0; i < run->n_stages; i++) {
        struct run_stage_plan *p = &run->stages[i].plan;
        p->submitter = p->repeats ? NULL : pairs;
        p->n_submitter = p->repeats ? 0 : submitter.n;
    }
    return runs && runs_add(runs, run, e) == 0 ? app_wake_broker(app, e) : -1;
}

/* ---- planning ---- */

int app_run_check_plan(const struct app_plan *p, struct err *e)
{
    if (plan_found(&p->answer))
        return 0;
    return err_set(e, p->answer.status == PLAN_LIMIT ? ERR_RETRY : ERR_NOFIT, "no plan: %s",
                   p->answer.reason);
}

const struct app_plan_report *app_run_report(struct app_plan *p,
                                             const struct answer *out,
                                             struct err *e)
{
    struct app_plan_report *report = answer_alloc(out, 1, sizeof *report, e);

    if (plan_found(&p->answer))
        app_plan_ask_singles(p);
    return report && app_plan_report(p, out->arena, report, e) == 0 ? report : NULL;
}

/* ---- the request and the answer ---- */

struct start_request {
    struct plan_request plan;
    const char *on;       /* NULL = local */
    const char *image;    /* NULL = as the file says */
    int64_t max_microusd; /* FIELD_NONE = no spending cap */
    struct field_list secrets;
    const char *why;    /* NULL = start it */
    double keep_warm_s; /* NAN = not at all */
    bool without_gpus, resume, no_cache, insecure, dry_run;
};

/* clang-format off */
static const struct field request_fields[] = {
    PLAN_PIPELINE_FIELDS(struct start_request, plan.),
    PLAN_GOAL_FIELDS(struct start_request, plan.),
    PLAN_WORLD_FIELDS(struct start_request, plan.),
    {"on", FIELD(TEXT, struct start_request, on), .value = "local|sim|ssh|GROUP|cloud|aws|azure|gcp",
     .help = "Where to run: locally with real work (the default), on all hosts of the configuration "
             "(ssh), on those of a group, on machines that are launched in any cloud (cloud) or in "
             "one (aws); the command line simulates with sim (run.simulate)."},
    {"image", FIELD(TEXT, struct start_request, image), .value = "NAME",
     .help = "Container image that all stages run in, instead of those of the file."},
    {"max_cost_usd", FIELD(MONEY, struct start_request, max_microusd), .option = "--max-cost",
     .value = "USD", .unit = "USD", .most = MONEY_MAX_USD,
     .help = "Stop the run when it has cost more; a simulated run stops before."},
    {"secrets", FIELD(LIST, struct start_request, secrets), .option = "--secret",
     .value = "NAME[=VALUE]",
     .help = "Variable that no record and no log shows; NAME alone takes its value from the "
             "environment."},
    {"keep_warm_s", FIELD(DURATION, struct start_request, keep_warm_s), .option = "--keep-warm",
     .value = "DURATION", .unit = "s", .most = KEEP_WARM_MAX_S,
     .help = "On clouds: keep a machine so long after its stage for other work on such a machine "
             "(default: only for the next stage); it costs money meanwhile."},
    {"without_gpus", FIELD(BOOL, struct start_request, without_gpus),
     .help = "Run stages without the accelerators that this machine, or the hosts, do not have."},
    {"resume", FIELD(BOOL, struct start_request, resume),
     .help = "Continue the last run of this pipeline that did not finish."},
    {"no_cache", FIELD(BOOL, struct start_request, no_cache),
     .help = "Run every stage, even those that have not changed since an earlier run."},
    {"insecure", FIELD(BOOL, struct start_request, insecure), .help = APP_INSECURE_HELP},
    {"why", FIELD(TEXT, struct start_request, why), .value = "STAGE",
     .help = "Say whether this stage would be run again, and what changed since it last finished; "
             "run nothing."},
    APP_DRY_RUN_FIELD(struct start_request, dry_run),
};

static const struct field started_fields[] = {
    {"event", FIELD(TEXT, struct app_run_started, event),
     .help = "One of started, planned (a dry run), why."},
    {"run", FIELD(INT, struct app_run_started, run), .help = "Number of the run.",
     .omit_none = true},
    {"plan", FIELD(RECORD, struct app_run_started, plan), .record = &app_plan_report_record,
     .omit_none = true, .help = "Plan of a dry run."},
    {"location", FIELD(RECORD, struct app_run_started, location), .record = &app_run_where_record,
     .omit_none = true, .help = "Where a dry run would run."},
    {"lacks", FIELD(RECORDS, struct app_run_started, lacks), .record = &app_run_lack_record,
     .omit_none = true,
     .help = "Stages of a dry run whose accelerators are not there: it starts only with "
             "without_gpus."},
    {"reads", FIELD(RECORDS, struct app_run_started, reads), .record = &app_run_read_source_record,
     .omit_none = true,
     .help = "What a dry run would read from outside the directory of the pipeline file."},
    {"why", FIELD(RECORD, struct app_run_started, why), .record = &app_run_why_record,
     .omit_none = true, .help = "Whether the stage would be run again."},
};
/* clang-format on */

static int check_request(const struct start_request *q, const struct answer *out, struct err *e)
{
    char option[64], other[64];

    if (q->on && !strcmp(q->on, "sim"))
        return err_set(e, ERR_USAGE, "%s sim: run.simulate simulates a run",
                       answer_spell(out, "on", option));
    if (q->resume && q->no_cache)
        return err_set(e, ERR_USAGE, "%s keeps finished stages, %s does not",
                       answer_spell(out, "resume", option), answer_spell(out, "no_cache", other));
    if (q->why && (q->resume || q->no_cache))
        return err_set(e, ERR_USAGE, "%s and %s exclude each other",
                       answer_spell(out, "why", option),
                       answer_spell(out, q->resume ? "resume" : "no_cache", other));
    if (q->max_microusd == 0)
        return err_set(e, ERR_USAGE, "%s 0: must be above 0 and at most %g",
                       answer_spell(out, "max_cost_usd", option), MONEY_MAX_USD);
    return 0;
}

/* ---- starting ---- */

int app_run_find_last(struct runs *runs,
                      const char *pipeline,
                      const struct answer *answer,
                      struct run *out,
                      struct err *e)
{
    char option[64];
    int64_t id;

    if (runs_latest(runs, pipeline, &id, e) < 0)
        return -1;
    if (id == 0)
        return err_set(e, ERR_NOTFOUND, "pipeline %s has not been run yet: leave out %s", pipeline,
                       answer_spell(answer, "resume", option));
    return runs_get(runs, id, out, e);
}

/* The last run of the pipeline, which must be over. Its finished stages are found by their inputs;
 * the others may continue from a checkpoint. */
static int find_resumed(
    struct app *app, const char *name, const struct answer *out, struct run *last, struct err *e)
{
    struct runs *runs = app_runs(app, e);

    if (!runs || app_run_find_last(runs, name, out, last, e) < 0)
        return -1;
    if (last->state == RUN_GOING)
        return err_set(e, ERR_USAGE,
                       "run %" PRId64 " of %s is still running: tradewind run show %" PRId64,
                       last->id, name, last->id);
    return 0;
}

static int answer_why(struct app *app,
                      const struct spec *spec,
                      struct run *run,
                      size_t stage,
                      struct answer *out,
                      struct err *e)
{
    const struct app_run_started answer = {
        .event = "why", .run = FIELD_NONE, .why = app_run_ask_why(app, spec, run, stage, out, e)};

    return answer.why ? answer_head(out, &answer, e) : -1;
}

/* Where the plan is to run, and with what. */
struct chosen {
    struct app_run_location location;
    const char *image;
    const struct app_run_gpus *gpus;
};

static int start(struct app *app,
                 const struct start_request *q,
                 const struct app_plan *p,
                 const struct chosen *chosen,
                 struct answer *out,
                 struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_CLEAR(run) struct run last = {0};
    struct run run = {.no_cache = q->no_cache,
                      .max_microusd = q->max_microusd == FIELD_NONE ? 0 : q->max_microusd,
                      .user = app_run_user(app)};
    struct app_run_order order = {.location = &chosen->location,
                                  .image = chosen->image,
                                  .secrets = q->secrets,
                                  .answer = out,
                                  .gpus = chosen->gpus,
                                  .without_gpus = q->without_gpus || q->why,
                                  .keep_warm_s = isnan(q->keep_warm_s) ? 0 : q->keep_warm_s};
    size_t stage = 0;

    if (q->why && app_run_find_stage(p->spec, q->why, out, &stage, e) < 0)
        return -1;
    if (app_run_check_plan(p, e) < 0 || (!q->why && app_job_check_month(app, e) < 0) ||
        (q->resume && find_resumed(app, p->spec->name, out, &last, e) < 0))
        return -1;
    order.resumed = last.id ? &last : NULL;
    if (app_run_compose(app, p, &order, arena, &run, e) < 0)
        return -1;
    if (q->why)
        return answer_why(app, p->spec, &run, stage, out, e);
    if (app_run_begin(app, &run, e) < 0)
        return -1;
    return answer_head(out, &(struct app_run_started){.event = "started", .run = run.id}, e);
}

/* What a dry run leaves for the start. */
struct prepared {
    struct app_plan *plan;
    struct app_run_gpus *gpus;
};

static void prepared_free(struct prepared *d)
{
    if (!d)
        return;
    app_plan_free(d->plan);
    app_run_gpus_free(d->gpus);
    free(d);
}
AUTO_DEFINE(prepared)

static void release_prepared(void *d)
{
    prepared_free(d);
}

static struct prepared *prepare(struct app *app,
                                const struct start_request *q,
                                const struct app_run_location *location,
                                struct answer *out,
                                struct err *e)
{
    AUTO(prepared) struct prepared *d = mem_zero(1, sizeof *d);

    d->plan = mem_zero(1, sizeof *d->plan);
    if (app_plan_open(d->plan, app, &q->plan, out, e) < 0 ||
        (location->is_cloud && app_plan_limit_clouds(app, d->plan, location->on, e) < 0) ||
        app_plan_ask(d->plan, false, e) < 0)
        return NULL;
    app_run_warn_envs(app, d->plan, out);
    app_run_warn_code(app, d->plan);
    app_plan_warn_of_accelerators(app, d->plan);
    if (app_plan_warn_of_prices(app, d->plan, e) < 0)
        return NULL;
    d->gpus = app_run_gpus_new(app, d->plan, location, e);
    return d->gpus ? TAKE(d) : NULL;
}

static int run_start(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct start_request *q = request;
    const struct config *c = app_config(app, e);
    AUTO(prepared) struct prepared *d = NULL;
    struct chosen chosen = {.image = NULL};
    char option[64];

    if (q->insecure)
        app_allow_insecure(app);
    if (!c || check_request(q, out, e) < 0 ||
        app_run_location_find(c, q->on, answer_spell(out, "on", option), &chosen.location, e) < 0)
        return -1;
    d = answer_take(out, app, q);
    if (!d && !(d = prepare(app, q, &chosen.location, out, e)))
        return -1;
    chosen.gpus = d->gpus;
    if (q->image)
        chosen.image = app_job_image_read(q->image, answer_spell(out, "image", option), e);
    const struct app_run_order wanted = {.location = &chosen.location, .image = chosen.image};
    if ((q->image && !chosen.image) || app_run_check_stages(app, d->plan, &wanted, e) < 0)
        return -1;
    if (!q->dry_run)
        return start(app, q, d->plan, &chosen, out, e);
    const struct app_run_where where = app_run_location_where(&chosen.location);
    struct app_run_started planned = {.event = "planned",
                                      .run = FIELD_NONE,
                                      .plan = app_run_report(d->plan, out, e),
                                      .location = &where,
                                      .lacks = d->gpus->lacks};
    if (!planned.plan || app_run_list_reads(app, d->plan, out, &planned.reads, e) < 0 ||
        answer_head(out, &planned, e) < 0)
        return -1;
    answer_leave(out, app, q, TAKE(d), release_prepared);
    return 0;
}

const struct operation run_start_operation = {
    .name = "run.start",
    .summary = "Plan a pipeline and start it as a run.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct start_request, request_fields),
    .answer = RECORD_AT("run_started", struct app_run_started, started_fields),
    .bills = true,
    .run = run_start,
};
