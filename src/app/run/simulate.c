#include "app/run/simulate.h"

#include "app/run/start.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cloud/faults.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOISE 0.03
#define SEED_MAX 9007199254740992.0 /* 2^53: whole numbers that JSON readers keep */

/* ---- the request ---- */

struct simulate_request {
    struct plan_request plan;
    int64_t max_microusd; /* FIELD_NONE = no spending cap */
    bool resume, dry_run;
    double noise;            /* NAN = NOISE */
    const char *faults;      /* file; NULL = none */
    const char *faults_text; /* its text; NULL = read the file */
    struct app_run_follow_request market;
};

/* clang-format off */
static const struct field follow_fields[] = {
    MARKET_FOLLOW_FIELDS(struct simulate_request, market.follow.),
};
#define SIMULATE(TYPE, member) FIELD(TYPE, struct simulate_request, member)
static const struct field request_fields[] = {
    PLAN_PIPELINE_FIELDS(struct simulate_request, plan.),
    PLAN_GOAL_FIELDS(struct simulate_request, plan.),
    PLAN_WORLD_FIELDS(struct simulate_request, plan.),
    {"seed", SIMULATE(INT, market.seed), .value = "N", .most = SEED_MAX,
     .help = "sim: seed of the simulation (default 1); the same seed gives the same run."},
    {"noise", SIMULATE(REAL, noise), .value = "F", .most = 1,
     .help = "sim: standard deviation of the logarithm of run time over planned time (default "
             "0.03)."},
    {"faults", SIMULATE(TEXT, faults), .is_local = true, .value = "FILE", .former = "--troubles",
     .help = "sim: faults of the simulated cloud, as docs/machines.md writes them."},
    {"faults_text", SIMULATE(TEXT, faults_text), .is_remote_only = true,
     .help = "Text of the file of faults; faults then is its name in messages."},
    {"start", SIMULATE(TEXT, market.start), .value = "TIME",
     .help = "sim: start then in the imported price histories and follow their prices: "
             "2020-03-01, or 2020-03-01T06:00:00Z."},
    MARKET_FOLLOW_FIELDS(struct simulate_request, market.follow.),
    {"max_cost_usd", SIMULATE(MONEY, max_microusd), .option = "--max-cost", .value = "USD",
     .unit = "USD", .most = MONEY_MAX_USD, .help = "Stop the run before it costs more."},
    {"resume", SIMULATE(BOOL, resume),
     .help = "Continue the last run of this pipeline that did not finish."},
    APP_DRY_RUN_FIELD(struct simulate_request, dry_run),
};
/* clang-format on */

static int check_request(const struct simulate_request *q, const struct answer *out, struct err *e)
{
    char option[64], other[64], third[64];

    for (size_t i = 0; i < sizeof follow_fields / sizeof *follow_fields && !q->market.start; i++)
        if (!field_is_none(&follow_fields[i], q))
            return err_set(e, ERR_USAGE,
                           "%s is about following imported prices: say from when on, as in "
                           "%s 2020-03-01",
                           answer_spell(out, follow_fields[i].name, option),
                           answer_spell(out, "start", other));
    if (q->market.start && (q->faults || q->faults_text))
        return err_set(e, ERR_USAGE, "%s: with %s only prices and %s decide: leave out one of them",
                       answer_spell(out, "faults", option), answer_spell(out, "start", other),
                       answer_spell(out, "preemptions", third));
    return 0;
}

/* ---- faults ---- */

static char *read_faults(const char *path, struct err *e)
{
    FILE *in = fopen(path, "re");
    AUTO_MEM char *text = mem_zero(CLOUD_FAULTS_BYTES_MAX + 2, 1);

    if (!in) {
        err_set(e, errno == ENOENT ? ERR_USAGE : ERR_IO, "%s", strerror(errno));
        return NULL;
    }
    size_t n = fread(text, 1, CLOUD_FAULTS_BYTES_MAX + 1, in);
    bool failed = ferror(in) != 0;
    fclose(in);
    if (failed) {
        err_set(e, ERR_IO, "cannot be read");
        return NULL;
    }
    if (n > CLOUD_FAULTS_BYTES_MAX || strlen(text) != n) {
        err_set(e, ERR_USAGE, "more than %zu bytes, or not text", CLOUD_FAULTS_BYTES_MAX);
        return NULL;
    }
    return TAKE(text);
}

/* *out stays NULL when the request has none. */
static int take_faults(const struct simulate_request *q,
                       const struct answer *answer,
                       char **out,
                       struct err *e)
{
    char option[64];

    if (!q->faults && !q->faults_text)
        return 0;
    *out = q->faults_text ? mem_dup(q->faults_text) : read_faults(q->faults, e);
    AUTO(cloud_faults) struct cloud_faults *parsed = *out ? cloud_faults_new(*out, e) : NULL;
    return parsed ? 0
                  : err_wrap(e, "%s %s", answer_spell(answer, "faults", option),
                             q->faults ? q->faults : "text");
}

/* ---- the simulation ---- */

/* State of a stage at the end, for the bill. */
struct outcome {
    enum run_stage_state state;
    double took_s;
    int64_t cost_microusd;
};

struct simulation {
    struct app *app;
    const struct app_plan *plan;
    const struct simulate_request *asked;
    const struct app_run_follow *follow; /* NULL = prices stay as planned */
    const char *faults;                  /* as cloud/faults.h has them; NULL = none */
    struct answer *answer;
    struct arena *arena;
    struct runs *runs;
    struct machines *machines;
    struct run run;
    struct run stored; /* of a resumed run */
    struct simulate_stage *stages;
    struct outcome *outcomes;
    struct simulate_options options;
    struct simulate_result result;
};

static void simulation_clear(struct simulation *s)
{
    run_clear(&s->stored);
    runs_free(s->runs);
    machines_free(s->machines);
}

/* ---- the plan as a run ---- */

static int too_large(const struct simulation *r, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s is too large a pipeline", r->plan->spec->file);
}

static int compose_stage(struct simulation *r, size_t i, struct err *e)
{
    const struct spec_stage *stage = &r->plan->spec->stages[i];
    const struct plan_stage *s = &r->plan->answer.plan.stages[i];
    AUTO_MEM char *location = app_plan_place_text(r->plan->catalog, s->place, s->offer);
    struct run_stage_plan *out = &r->run.stages[i].plan;

    r->stages[i] = app_simulation_stage(r->plan, i, s);
    *out = (struct run_stage_plan){
        .name = stage->name,
        .needs = stage->needs,
        .n_needs = stage->n_needs,
        .cpus = isfinite(s->kind->vcpus) ? s->kind->vcpus : 0,
        .memory_mb = isfinite(s->kind->memory_gib) ? (uint64_t)(s->kind->memory_gib * 1024) : 0,
        .checkpoint_s = stage->checkpoint_s,
        .note = "",
        .place = arena_dup(r->arena, location),
        .instance_type = r->stages[i].instance_type,
        .spot = s->spot,
        .nodes = s->nodes,
        .price_usd_per_hour = s->price_usd_per_hour * s->nodes,
        .planned_s = s->finish_s - s->start_s,
        .planned_microusd = s->compute_microusd + s->transfer_microusd + s->storage_microusd};
    return out->place ? 0 : too_large(r, e);
}

static int compose(struct simulation *r, struct err *e)
{
    const struct app_plan *p = r->plan;
    size_t n = p->spec->n_stages;

    r->run = (struct run){.name = p->spec->name,
                          .file = p->spec->file,
                          .user = app_run_user(r->app),
                          .on = "sim",
                          .planned_s = p->answer.plan.time_s,
                          .planned_microusd = p->answer.plan.cost_microusd,
                          .stages = arena_alloc(r->arena, n + 1, sizeof *r->run.stages),
                          .n_stages = n};
    r->stages = arena_alloc(r->arena, n + 1, sizeof *r->stages);
    r->outcomes = arena_alloc(r->arena, n + 1, sizeof *r->outcomes);
    if (!r->run.stages || !r->stages || !r->outcomes)
        return too_large(r, e);
    for (size_t i = 0; i < n; i++)
        if (compose_stage(r, i, e) < 0)
            return -1;
    return 0;
}

/* Sets the clock of the market, and notes how each stage follows its prices. */
static void follow_market(struct simulation *r)
{
    r->options.market = &r->follow->market;
    r->options.begin_ms = llround(r->follow->start_s * 1000);
    for (size_t i = 0; i < r->run.n_stages; i++)
        r->run.stages[i].plan.note = r->follow->notes[i];
}

static bool follows(const struct simulation *r, size_t stage)
{
    return r->follow && r->follow->trades[stage].job;
}

/* Means over the planned stages: the simulated cloud has one boot time and one rate of preemptions.
 */
static void set_cloud(struct simulation *r)
{
    const struct config *c = r->plan->config;
    size_t n = r->run.n_stages, n_spot = 0;
    double boot_s = 0, rate = 0;

    for (size_t i = 0; i < n; i++) {
        const struct plan_stage *s = &r->plan->answer.plan.stages[i];
        boot_s += s->boot_s;
        n_spot += s->spot;
        if (s->spot)
            rate += isnan(s->offer->preemptions) ? config_preemptions(c, r->stages[i].provider)
                                                 : s->offer->preemptions;
    }
    r->options.boot_s = n ? boot_s / (double)n : 0;
    r->options.preemptions_per_hour = n_spot ? rate / (double)n_spot : c->preemptions_other;
}

/* ---- resuming a run ---- */

static int check_same(const struct simulation *r, struct err *e)
{
    char resume[64], start[64], policy[64];
    const char *option = answer_spell(r->answer, "resume", resume);
    bool same = r->stored.n_stages == r->run.n_stages && !strcmp(r->stored.on, "sim");

    for (size_t i = 0; same && i < r->run.n_stages; i++)
        same = !strcmp(r->stored.stages[i].plan.name, r->run.stages[i].plan.name);
    for (size_t i = 0; same && i < r->run.n_stages; i++)
        if (strcmp(r->stored.stages[i].plan.note, r->run.stages[i].plan.note) != 0)
            return err_set(e, ERR_USAGE,
                           "the last run of %s, number %" PRId64
                           ", had another %s or %s: take those, or leave out %s",
                           r->run.name, r->stored.id, answer_spell(r->answer, "start", start),
                           answer_spell(r->answer, "policy", policy), option);
    if (same)
        return 0;
    return err_set(e, ERR_USAGE,
                   "the last run of %s, number %" PRId64
                   ", was not a simulation of these stages: leave out %s",
                   r->run.name, r->stored.id, option);
}

static int resume(struct simulation *r, struct err *e)
{
    if (app_run_find_last(r->runs, r->run.name, r->answer, &r->stored, e) < 0 ||
        check_same(r, e) < 0 || runs_reopen(r->runs, r->stored.id, e) < 0)
        return -1;
    r->run.id = r->stored.id;
    r->run.created_ms = r->stored.created_ms;
    for (size_t i = 0; i < r->run.n_stages; i++) {
        enum run_stage_state state = r->stored.stages[i].state;
        bool stays = state == STAGE_FINISHED || state == STAGE_REUSED;
        r->run.stages[i].state = stays ? state : STAGE_WAITING;
        r->outcomes[i].state = r->run.stages[i].state;
    }
    return 0;
}

static int record(struct simulation *r, struct err *e)
{
    const char *home = r->plan->config->home;

    if (file_make_dirs(home, 0700, e) < 0 || !(r->runs = runs_open(home, e)) ||
        !(r->machines = machines_open(home, e)))
        return -1;
    runs_relax(r->runs);
    machines_relax(r->machines);
    if (r->asked->resume)
        return resume(r, e);
    return runs_add(r->runs, &r->run, e);
}

/* ---- records ---- */

static bool is_note(const void *record)
{
    return ((const struct app_simulated_event *)record)->state == 0;
}

/* clang-format off */
#define EVENT(TYPE, member) FIELD(TYPE, struct app_simulated_event, member)
static const struct field event_fields[] = {
    {"event", EVENT(TEXT, event), .help = "One of stage, note."},
    {"run", EVENT(INT, run), .help = "Number of the run."},
    {"at_s", EVENT(DURATION, at_s), .unit = "s", .help = "Virtual time since the run began."},
    {"stage", EVENT(TEXT, stage), .help = "Name of the stage."},
    {"text", EVENT(TEXT, text), .omit_none = true, .help = "What happened."},
    {"state", EVENT(ENUM, state), FIELD_CHOICES(app_run_stage_choices), .omit_none = true,
     .help = "New state of the stage."},
    {"reason", EVENT(TEXT, reason), .omit_none = true, .help = "Why the stage is in that state."},
    {"runtime_s", EVENT(DURATION, runtime_s), .unit = "s", .omit_none = true,
     .help = "Time that the stage took."},
    {"planned_s", EVENT(DURATION, planned_s), .unit = "s", .omit_none = true,
     .help = "Planned time."},
    {"cost_usd", EVENT(MONEY, cost_microusd), .unit = "USD", .omit_none = true,
     .help = "Cost of the stage."},
    {"planned_usd", EVENT(MONEY, planned_microusd), .unit = "USD", .omit_none = true,
     .help = "Planned cost."},
    {"instance_type", EVENT(TEXT, instance_type), .omit_none = true, .help = "Its instance type."},
    {"location", EVENT(TEXT, location), .omit_none = true, .help = "Its cloud and region."},
    {"spot", EVENT(BOOL, spot), .is_absent = is_note, .help = "Whether it is on spot."},
    {"follows_prices", EVENT(BOOL, follows_prices), .is_absent = is_note,
     .help = "Whether it follows the prices of the market."},
};

#define STAGE(TYPE, member) FIELD(TYPE, struct app_simulated_stage, member)
static const struct field stage_fields[] = {
    {"stage", STAGE(TEXT, name), .help = "Name of the stage.",
     .heading = "stage", .cut_rank = 1, .least_width = 8},
    {"state", STAGE(ENUM, state), FIELD_CHOICES(app_run_stage_choices),
     .help = "State at the end.", .heading = "state"},
    {"instance_type", STAGE(TEXT, instance_type),
     .help = "Its last instance type.", .heading = "machine", .cut_rank = 2, .least_width = 8},
    {"planned_s", STAGE(DURATION, planned_s), .unit = "s",
     .help = "Planned time.", .heading = "planned"},
    {"took_s", STAGE(DURATION, took_s), .unit = "s",
     .help = "Time that it took.", .heading = "took"},
    {"planned_usd", STAGE(MONEY, planned_microusd), .unit = "USD",
     .help = "Planned cost.", .heading = "planned"},
    {"cost_usd", STAGE(MONEY, cost_microusd), .unit = "USD",
     .help = "Its cost.", .heading = "cost"},
};
/* clang-format on */
static const struct record event_record =
    RECORD("simulated_event", struct app_simulated_event, event_fields);
const struct record app_simulated_stage_record =
    RECORD("simulated_stage", struct app_simulated_stage, stage_fields);

/* clang-format off */
#define BILL(TYPE, member) FIELD(TYPE, struct app_simulated, member)
static const struct field bill_fields[] = {
    {"event", BILL(TEXT, event), .help = "One of bill, planned (a dry run)."},
    {"run", BILL(INT, run), .omit_none = true, .help = "Number of the run."},
    {"pipeline", BILL(TEXT, pipeline), .omit_none = true, .help = "Name of the pipeline."},
    {"state", BILL(ENUM, state), FIELD_CHOICES(app_run_state_choices), .omit_none = true,
     .help = "State at the end."},
    {"reason", BILL(TEXT, reason), .omit_none = true, .help = "Why it is in that state."},
    {"seed", BILL(INT, seed), .omit_none = true, .help = "Seed of the simulation."},
    {"machines", BILL(INT, machines), .omit_none = true, .help = "Machines launched."},
    {"machines_open", BILL(INT, machines_open), .omit_none = true,
     .help = "Machines not confirmed to be terminated."},
    {"time_s", BILL(DURATION, time_s), .unit = "s", .omit_none = true,
     .help = "Virtual time until the last stage was over."},
    {"planned_s", BILL(DURATION, planned_s), .unit = "s", .omit_none = true,
     .help = "Planned time."},
    {"cost_usd", BILL(MONEY, cost_microusd), .unit = "USD", .omit_none = true,
     .help = "Cost of machines and data."},
    {"compute_usd", BILL(MONEY, compute_microusd), .unit = "USD", .omit_none = true,
     .help = "Cost of machines."},
    {"data_usd", BILL(MONEY, data_microusd), .unit = "USD", .omit_none = true,
     .help = "Cost of moving and storing data."},
    {"planned_usd", BILL(MONEY, planned_microusd), .unit = "USD", .omit_none = true,
     .help = "Planned cost."},
    {"switches", BILL(INT, switches), .omit_none = true,
     .help = "Moves of stages that follow prices."},
    {"preemptions", BILL(INT, preemptions), .omit_none = true,
     .help = "Preemptions of stages that follow prices."},
    {"stages", BILL(RECORDS, stages), .record = &app_simulated_stage_record, .omit_none = true,
     .help = "Its stages."},
    {"plan", BILL(RECORD, plan), .record = &app_plan_report_record, .omit_none = true,
     .help = "Plan of a dry run."},
};
/* clang-format on */
static const struct record bill_record = RECORD("simulated_run", struct app_simulated, bill_fields);

/* ---- callbacks of the simulator ---- */

static int tell(void *context, const struct simulate_event *x, struct err *e)
{
    struct simulation *r = context;
    bool is_stage = x->kind == SIMULATE_STAGE, has_stage = x->stage < r->run.n_stages;
    struct app_simulated_event event;

    record_set_none(&event_record, &event);
    event.event = is_stage ? "stage" : "note";
    event.run = r->run.id;
    event.at_s = x->at_s;
    event.stage = has_stage ? r->run.stages[x->stage].plan.name : NULL;
    if (!is_stage) {
        event.text = x->text;
        return answer_item(r->answer, &event, e);
    }
    const struct simulate_stage *on = &r->stages[x->stage];
    const struct run_stage_plan *plan = &r->run.stages[x->stage].plan;
    AUTO_MEM char *location = mem_printf("%s/%s", on->provider, on->region);
    r->outcomes[x->stage] = (struct outcome){x->state, x->took_s, x->cost_microusd};
    event.state = x->state;
    event.reason = x->text;
    event.runtime_s = x->took_s;
    event.planned_s = plan->planned_s;
    event.cost_microusd = x->cost_microusd;
    event.planned_microusd = plan->planned_microusd;
    event.instance_type = on->instance_type;
    event.location = location;
    event.spot = on->spot;
    event.follows_prices = follows(r, x->stage);
    return answer_item(r->answer, &event, e);
}

static int replan(void *context,
                  const struct simulate_question *q,
                  struct simulate_stage *stages,
                  struct err *e)
{
    const struct simulation *r = context;

    return app_simulation_replan(r->plan, q, stages, e);
}

static bool stop(void *context)
{
    const struct simulation *r = context;

    return app_cancelled(r->app);
}

/* ---- running ---- */

static int run_simulation(struct simulation *r, struct err *e)
{
    const struct simulate_request *q = r->asked;

    r->options = (struct simulate_options){
        .home = r->plan->config->home,
        .run = &r->run,
        .seed = q->market.seed == FIELD_NONE ? 1 : (uint64_t)q->market.seed,
        .noise = isnan(q->noise) ? NOISE : q->noise,
        .troubles = r->faults,
        .max_microusd = q->max_microusd == FIELD_NONE ? -1 : q->max_microusd,
        .replan = replan,
        .tell = tell,
        .stop = stop,
        .context = r};
    if (compose(r, e) < 0)
        return -1;
    if (r->follow)
        follow_market(r);
    if (record(r, e) < 0)
        return -1;
    set_cloud(r);
    r->options.runs = r->runs;
    r->options.machines = r->machines;
    r->options.stages = r->stages;
    double begin_s = time_monotonic_s();
    if (simulate_run(&r->options, &r->result, e) < 0)
        return -1;
    log_debug("app", "simulated in %.3f ms", (time_monotonic_s() - begin_s) * 1e3);
    return 0;
}

static struct app_simulated_stage stage_of(const struct simulation *r, size_t i)
{
    const struct run_stage_plan *plan = &r->run.stages[i].plan;
    const struct outcome *o = &r->outcomes[i];
    bool has_run = o->took_s > 0;

    return (struct app_simulated_stage){
        .name = plan->name,
        .state = o->state ? o->state : STAGE_WAITING,
        .instance_type = r->stages[i].instance_type,
        .planned_s = plan->planned_s,
        .took_s = has_run ? o->took_s : (double)NAN,
        .planned_microusd = plan->planned_microusd,
        .cost_microusd = has_run ? o->cost_microusd : FIELD_NONE,
    };
}

static int make_bill(const struct simulation *r, struct app_simulated *out, struct err *e)
{
    const struct simulate_result *x = &r->result;
    size_t n = r->run.n_stages;
    struct app_simulated_stage *stages = arena_alloc(r->arena, n + 1, sizeof *stages);

    *out = (struct app_simulated){
        .event = "bill",
        .run = r->run.id,
        .pipeline = r->run.name,
        .state = x->state,
        .reason = arena_dup(r->arena, x->reason),
        .seed = (int64_t)r->options.seed,
        .machines = (int64_t)x->machines,
        .machines_open = (int64_t)x->open,
        .time_s = x->time_s,
        .planned_s = r->run.planned_s,
        .cost_microusd = x->compute_microusd + x->data_microusd,
        .compute_microusd = x->compute_microusd,
        .data_microusd = x->data_microusd,
        .planned_microusd = r->run.planned_microusd,
        .switches = r->follow ? (int64_t)x->switches : FIELD_NONE,
        .preemptions = r->follow ? (int64_t)x->preemptions : FIELD_NONE,
        .stages = {stages, n},
    };
    if (!stages || !out->reason)
        return too_large(r, e);
    for (size_t i = 0; i < n; i++)
        stages[i] = stage_of(r, i);
    return 0;
}

/* ---- the operation ---- */

static int simulate(struct app *app,
                    const struct simulate_request *q,
                    const struct app_plan *p,
                    const struct app_run_follow *follow,
                    const char *faults,
                    struct answer *out,
                    struct err *e)
{
    AUTO_CLEAR(simulation)
    struct simulation r = {.app = app,
                           .plan = p,
                           .asked = q,
                           .follow = q->market.start ? follow : NULL,
                           .faults = faults,
                           .answer = out,
                           .arena = out->arena};
    struct app_simulated bill;

    if (app_run_check_plan(p, e) < 0 || run_simulation(&r, e) < 0 || make_bill(&r, &bill, e) < 0 ||
        answer_head(out, &bill, e) < 0)
        return -1;
    if (bill.machines_open)
        err_set(&out->late, ERR_RETRY,
                "%" PRId64 " machines of run %" PRId64
                " are not terminated yet: tradewind machines cleanup --yes",
                bill.machines_open, bill.run);
    return 0;
}

/* What a dry run leaves for the simulation. */
struct prepared {
    struct app_plan *plan;
    char *faults;
};

static void prepared_free(struct prepared *p)
{
    if (!p)
        return;
    app_plan_free(p->plan);
    free(p->faults);
    free(p);
}
AUTO_DEFINE(prepared)

static void release_prepared(void *p)
{
    prepared_free(p);
}

static int answer_planned(struct app_plan *p, struct answer *out, struct err *e)
{
    struct app_simulated planned;

    record_set_none(&bill_record, &planned);
    planned.event = "planned";
    planned.plan = app_run_report(p, out, e);
    return planned.plan ? answer_head(out, &planned, e) : -1;
}

static int run_simulate(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct simulate_request *q = request;
    AUTO_CLEAR(app_run_follow) struct app_run_follow follow = {0};
    AUTO(prepared) struct prepared *p = answer_take(out, app, q);
    bool is_solved = p != NULL;

    if (!p) {
        p = mem_zero(1, sizeof *p);
        p->plan = mem_zero(1, sizeof *p->plan);
        if (check_request(q, out, e) < 0 || take_faults(q, out, &p->faults, e) < 0 ||
            app_plan_open(p->plan, app, &q->plan, out, e) < 0)
            return -1;
    }
    if ((q->market.start && app_run_follow_open(app, &follow, p->plan, &q->market, out, e) < 0) ||
        (!is_solved &&
         (app_plan_ask(p->plan, false, e) < 0 || app_plan_warn_of_prices(app, p->plan, e) < 0)))
        return -1;
    if (!q->dry_run)
        return simulate(app, q, p->plan, &follow, p->faults, out, e);
    if (answer_planned(p->plan, out, e) < 0)
        return -1;
    answer_leave(out, app, q, TAKE(p), release_prepared);
    return 0;
}

const struct operation run_simulate_operation = {
    .name = "run.simulate",
    .summary = "Plan a pipeline and simulate its run in virtual time.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct simulate_request, request_fields),
    .answer = &bill_record,
    .item = &event_record,
    .is_feed = true,
    .run = run_simulate,
};
