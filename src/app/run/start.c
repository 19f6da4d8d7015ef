/* start: the operations that run or simulate a pipeline, and what starts runs of other rooms.
 * `tradewind run` uses the parts, for it asks between planning and starting. */
#include "app/run/start.h"

#include "base/mem.h"
#include "base/money.h"
#include "broker/machine/cap.h"
#include "cloud/faults.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)
#define NOISE 0.03
#define SEED_MAX 9007199254740992.0 /* 2^53: whole numbers that JSON readers keep */

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

/* ---- the request ---- */

/* clang-format off */
static const struct field request_fields[] = {
    PLAN_PIPELINE_FIELDS(struct app_run_request, plan.),
    PLAN_GOAL_FIELDS(struct app_run_request, plan.),
    PLAN_WORLD_FIELDS(struct app_run_request, plan.),
    {"on", FIELD(TEXT, struct app_run_request, on), .value = "local|sim|ssh|GROUP",
     .help = "Where to run: locally with real work (the default), simulated in virtual time, on "
             "all hosts of the configuration, or on those of a group."},
    {"seed", FIELD(INT, struct app_run_request, market.seed), .value = "N", .most = SEED_MAX,
     .help = "sim: seed of the simulation (default 1); the same seed gives the same run."},
    {"noise", FIELD(REAL, struct app_run_request, noise), .value = "F", .most = 1,
     .help = "sim: standard deviation of the logarithm of run time over planned time (default "
             "0.03)."},
    {"faults", FIELD(TEXT, struct app_run_request, faults), .is_local = true,
     .value = "FILE",
     .former = "--troubles",
     .help = "sim: faults of the simulated cloud, as docs/machines.md writes them."},
    {"faults_text", FIELD(TEXT, struct app_run_request, faults_text), .is_remote_only = true,
     .help = "Text of the file of faults; faults then is its name in messages."},
    {"start", FIELD(TEXT, struct app_run_request, market.start), .value = "TIME",
     .help = "sim: start then in the imported price histories and follow their prices: "
             "2020-03-01, or 2020-03-01T06:00:00Z."},
    MARKET_FOLLOW_FIELDS(struct app_run_request, market.follow.),
    {"max_cost_usd", FIELD(MONEY, struct app_run_request, max_microusd), .option = "--max-cost",
     .value = "USD", .unit = "USD", .most = MONEY_MAX_USD,
     .help = "Stop the run when it has cost more; a simulated run stops before."},
    {"secrets", FIELD(LIST, struct app_run_request, secrets), .option = "--secret",
     .value = "NAME[=VALUE]",
     .help = "Variable that no record and no log shows; NAME alone takes its value from the "
             "environment."},
    {"resume", FIELD(BOOL, struct app_run_request, resume),
     .help = "Continue the last run of this pipeline that did not finish."},
    {"no_cache", FIELD(BOOL, struct app_run_request, no_cache),
     .help = "Run every stage, even those that have not changed since an earlier run."},
};
/* clang-format on */
static const struct record request_record =
    RECORD("run_start", struct app_run_request, request_fields);

bool app_run_wants_simulation(const struct app_run_request *q)
{
    return q->on && !strcmp(q->on, "sim");
}

/* The first option of following prices that the request has; NULL = none. */
static const char *follow_option(const struct market_follow *f)
{
    return f->policy                       ? "--policy"
           : !isnan(f->margin)             ? "--margin"
           : !isnan(f->worth_usd_per_hour) ? "--worth"
           : !isnan(f->restart_s)          ? "--restart"
           : !isnan(f->checkpoint_s)       ? "--checkpoint"
           : !isnan(f->checkpoint_gb)      ? "--checkpoint-gb"
           : f->preemptions                ? "--preemptions"
           : f->clouds                     ? "--clouds"
           : f->gpu_use                    ? "--gpu-use"
                                           : NULL;
}

static const char *simulation_option(const struct app_run_request *q)
{
    return q->market.seed != FIELD_NONE  ? "--seed"
           : !isnan(q->noise)            ? "--noise"
           : q->faults || q->faults_text ? "--faults"
           : q->market.start             ? "--start"
                                         : NULL;
}

static int check_request(const struct app_run_request *q, struct err *e)
{
    bool is_simulated = app_run_wants_simulation(q);
    const char *option = follow_option(&q->market.follow);

    if (!is_simulated && simulation_option(q))
        return err_set(e, ERR_USAGE, "%s goes with --on sim", simulation_option(q));
    if (!q->market.start && option)
        return err_set(e, ERR_USAGE,
                       "%s is about following imported prices: say from when on, as in "
                       "--start 2020-03-01",
                       option);
    if (q->market.start && (q->faults || q->faults_text))
        return err_set(e, ERR_USAGE,
                       "--faults: with --start only prices and --preemptions decide: leave out one "
                       "of them");
    if (q->resume && q->no_cache)
        return err_set(e, ERR_USAGE, "--resume keeps finished stages, --no-cache does not");
    if (!is_simulated && q->max_microusd == 0)
        return err_set(e, ERR_USAGE, "--max-cost 0: must be above 0 and at most %g", MONEY_MAX_USD);
    return 0;
}

/* ---- faults ---- */

static char *read_faults(const char *path, struct err *e)
{
    FILE *in = fopen(path, "re");
    AUTO_MEM char *text = mem_zero(CLOUD_FAULTS_BYTES_MAX + 2, 1);

    if (!in) {
        err_set(e, errno == ENOENT ? ERR_USAGE : ERR_IO, "--faults %s: %s", path, strerror(errno));
        return NULL;
    }
    size_t n = fread(text, 1, CLOUD_FAULTS_BYTES_MAX + 1, in);
    bool failed = ferror(in) != 0;
    fclose(in);
    if (failed) {
        err_set(e, ERR_IO, "--faults %s: cannot be read", path);
        return NULL;
    }
    if (n > CLOUD_FAULTS_BYTES_MAX || strlen(text) != n) {
        err_set(e, ERR_USAGE, "--faults %s: more than %zu bytes, or no text", path,
                CLOUD_FAULTS_BYTES_MAX);
        return NULL;
    }
    return TAKE(text);
}

/* *out stays NULL when the request has none. */
static int take_faults(const struct app_run_request *q, char **out, struct err *e)
{
    if (!q->faults && !q->faults_text)
        return 0;
    *out = q->faults_text ? mem_dup(q->faults_text) : read_faults(q->faults, e);
    if (!*out)
        return -1;
    AUTO(cloud_faults) struct cloud_faults *parsed = cloud_faults_new(*out, e);
    return parsed ? 0 : err_wrap(e, "--faults %s", q->faults ? q->faults : "text");
}

/* ---- planning ---- */

void app_run_prepared_clear(struct app_run_prepared *r)
{
    app_plan_free(r->plan);
    app_run_follow_clear(&r->follow);
    free(r->faults);
}

static uint64_t seed_of(const struct app_run_request *q)
{
    return q->market.seed == FIELD_NONE ? 1 : (uint64_t)q->market.seed;
}

int app_run_prepare(struct app *app,
                    const struct app_run_request *q,
                    struct app_run_prepared *out,
                    struct err *e)
{
    *out = (struct app_run_prepared){.request = *q};
    if (check_request(q, e) < 0 || take_faults(q, &out->faults, e) < 0)
        return -1;
    out->plan = mem_zero(1, sizeof *out->plan);
    if (app_plan_open(out->plan, app, &q->plan, e) < 0 ||
        (q->market.start && app_run_follow_open(app, &out->follow, out->plan, &q->market, e) < 0) ||
        app_run_location_find(out->plan->config, q->on, &out->location, e) < 0)
        return -1;
    return app_plan_ask(out->plan, false, e);
}

static int check_feasible(const struct app_run_prepared *r, struct err *e)
{
    if (r->plan->answer.status != PLAN_INFEASIBLE)
        return 0;
    return err_set(e, ERR_NOFIT, "no plan: %s", r->plan->answer.reason);
}

/* ---- starting ---- */

/* The last run of the pipeline, which must be over. Its finished stages are found by their inputs;
 * the others may continue from a checkpoint. */
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

int app_run_start(struct app *app, const struct app_run_prepared *r, int64_t *id_out, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_CLEAR(run) struct run last = {0};
    const struct app_run_request *q = &r->request;
    struct run run = {.no_cache = q->no_cache,
                      .max_microusd = q->max_microusd == FIELD_NONE ? 0 : q->max_microusd,
                      .user = app_run_user(app)};
    struct app_run_order order = {.location = &r->location, .secrets = q->secrets};
    struct lake *l = app_lake(app, e);

    if (!l || cap_check_month(r->plan->config, l, e) < 0 ||
        (q->resume && find_resumed(app, r->plan->spec->name, &last, e) < 0))
        return -1;
    order.resumed = last.id ? &last : NULL;
    if (app_run_compose(app, r->plan, &order, arena, &run, e) < 0 ||
        app_run_begin(app, &run, e) < 0)
        return -1;
    *id_out = run.id;
    return 0;
}

struct app_simulation app_run_simulation(const struct app_run_prepared *r)
{
    const struct app_run_request *q = &r->request;

    return (struct app_simulation){
        .seed = seed_of(q),
        .noise = isnan(q->noise) ? NOISE : q->noise,
        .faults = r->faults,
        .max_microusd = q->max_microusd == FIELD_NONE ? -1 : q->max_microusd,
        .resume = q->resume,
        .follow = q->market.start ? &r->follow : NULL,
    };
}

/* ---- the operations ---- */

static int run_start(struct app *app, const void *request, struct answer *out, struct err *e)
{
    AUTO_CLEAR(app_run_prepared) struct app_run_prepared r = {0};
    struct app_run_started started = {.event = "started"};

    if (app_run_prepare(app, request, &r, e) < 0 || check_feasible(&r, e) < 0)
        return -1;
    if (app_run_wants_simulation(&r.request)) {
        struct app_simulation s = app_run_simulation(&r);
        struct app_simulated bill;
        if (app_run_simulate(app, r.plan, &s, out->arena, &bill, e) < 0 ||
            app_simulated_check(&bill, e) < 0)
            return -1;
        started.run = bill.run;
    } else if (app_run_start(app, &r, &started.run, e) < 0) {
        return -1;
    }
    return answer_head(out, &started, e);
}

const struct operation run_start_operation = {
    .name = "run.start",
    .summary = "Plan a pipeline and start it as a run.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &request_record,
    .answer = &app_run_started_record,
    .run = run_start,
};

/* Events wait in the arena: the bill, which comes last, is the head of the answer. */
struct event_list {
    struct arena *arena;
    struct app_simulated_event *items;
    size_t n, cap;
};

static int keep_event(void *context, const struct app_simulated_event *x, struct err *e)
{
    struct event_list *list = context;

    list->items = arena_room(list->arena, list->items, list->n, &list->cap, sizeof *list->items);
    if (!list->items)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    struct app_simulated_event *kept = &list->items[list->n++];
    *kept = *x;
    kept->stage = x->stage ? arena_dup(list->arena, x->stage) : NULL;
    kept->text = x->text ? arena_dup(list->arena, x->text) : NULL;
    kept->reason = x->reason ? arena_dup(list->arena, x->reason) : NULL;
    return 0;
}

static int run_simulate(struct app *app, const void *request, struct answer *out, struct err *e)
{
    AUTO_CLEAR(app_run_prepared) struct app_run_prepared r = {0};
    struct app_run_request q = *(const struct app_run_request *)request;
    struct event_list events = {.arena = out->arena};
    struct app_simulated bill;

    q.on = q.on ? q.on : "sim";
    if (!app_run_wants_simulation(&q))
        return err_set(e, ERR_USAGE, "on %s: run.simulate simulates; run.start runs there", q.on);
    if (app_run_prepare(app, &q, &r, e) < 0 || check_feasible(&r, e) < 0)
        return -1;
    struct app_simulation s = app_run_simulation(&r);
    s.tell = keep_event;
    s.context = &events;
    if (app_run_simulate(app, r.plan, &s, out->arena, &bill, e) < 0 ||
        app_simulated_check(&bill, e) < 0 || answer_head(out, &bill, e) < 0)
        return -1;
    for (size_t i = 0; i < events.n; i++)
        if (answer_item(out, &events.items[i], e) < 0)
            return -1;
    return 0;
}

const struct operation run_simulate_operation = {
    .name = "run.simulate",
    .summary = "Plan a pipeline and simulate its run in virtual time.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &request_record,
    .answer = &app_simulated_record,
    .item = &app_simulated_event_record,
    .items_name = "events",
    .run = run_simulate,
};
