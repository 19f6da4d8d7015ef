#include "app/run/simulate.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* State of a stage at the end, for the bill. */
struct outcome {
    enum run_stage_state state;
    double took_s;
    int64_t cost_microusd;
};

struct simulation {
    struct app *app;
    const struct app_plan *plan;
    const struct app_simulation *asked;
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
    r->options.market = &r->asked->follow->market;
    r->options.begin_ms = llround(r->asked->follow->start_s * 1000);
    for (size_t i = 0; i < r->run.n_stages; i++)
        r->run.stages[i].plan.note = r->asked->follow->notes[i];
}

static bool follows(const struct simulation *r, size_t stage)
{
    return r->asked->follow && r->asked->follow->trades[stage].job;
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
    bool same = r->stored.n_stages == r->run.n_stages && !strcmp(r->stored.on, "sim");

    for (size_t i = 0; same && i < r->run.n_stages; i++)
        same = !strcmp(r->stored.stages[i].plan.name, r->run.stages[i].plan.name);
    for (size_t i = 0; same && i < r->run.n_stages; i++)
        if (strcmp(r->stored.stages[i].plan.note, r->run.stages[i].plan.note) != 0)
            return err_set(e, ERR_USAGE,
                           "the last run of %s, number %" PRId64
                           ", had another --start or --policy: take those, or leave out --resume",
                           r->run.name, r->stored.id);
    if (same)
        return 0;
    return err_set(e, ERR_USAGE,
                   "the last run of %s, number %" PRId64
                   ", was not a simulation of these stages: leave out --resume",
                   r->run.name, r->stored.id);
}

static int resume(struct simulation *r, struct err *e)
{
    int64_t id;

    if (runs_latest(r->runs, r->run.name, &id, e) < 0)
        return -1;
    if (!id)
        return err_set(e, ERR_NOTFOUND, "pipeline %s has not been run yet: leave out --resume",
                       r->run.name);
    if (runs_get(r->runs, id, &r->stored, e) < 0 || check_same(r, e) < 0 ||
        runs_reopen(r->runs, id, e) < 0)
        return -1;
    r->run.id = id;
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

static void stage_state_cell(const void *record, struct buf *out)
{
    buf_puts(out, app_run_state_words(((const struct app_simulated_stage *)record)->state));
}

/* clang-format off */
static const struct field event_fields[] = {
    {"event", FIELD(TEXT, struct app_simulated_event, event), .help = "One of stage, note."},
    {"run", FIELD(INT, struct app_simulated_event, run), .help = "Number of the run."},
    {"at_s", FIELD(DURATION, struct app_simulated_event, at_s), .unit = "s",
     .help = "Virtual time since the run began."},
    {"stage", FIELD(TEXT, struct app_simulated_event, stage), .help = "Name of the stage."},
    {"text", FIELD(TEXT, struct app_simulated_event, text), .omit_none = true,
     .help = "What happened."},
    {"state", FIELD(TEXT, struct app_simulated_event, state), .omit_none = true,
     .help = "New state of the stage."},
    {"reason", FIELD(TEXT, struct app_simulated_event, reason), .omit_none = true,
     .help = "Why the stage is in that state."},
    {"runtime_s", FIELD(DURATION, struct app_simulated_event, runtime_s), .unit = "s",
     .omit_none = true, .help = "Time that the stage took."},
    {"cost_usd", FIELD(MONEY, struct app_simulated_event, cost_microusd), .unit = "USD",
     .omit_none = true, .help = "Cost of the stage."},
};

static const struct field stage_fields[] = {
    {"stage", FIELD(TEXT, struct app_simulated_stage, name), .help = "Name of the stage.",
     .heading = "stage", .cut_rank = 1, .least_width = 8},
    {"state", FIELD(TEXT, struct app_simulated_stage, state), .help = "State at the end.",
     .heading = "state", .cell = stage_state_cell},
    {"instance_type", FIELD(TEXT, struct app_simulated_stage, instance_type),
     .help = "Its last instance type.", .heading = "machine", .cut_rank = 2, .least_width = 8},
    {"planned_s", FIELD(DURATION, struct app_simulated_stage, planned_s), .unit = "s",
     .help = "Planned time.", .heading = "planned"},
    {"took_s", FIELD(DURATION, struct app_simulated_stage, took_s), .unit = "s",
     .help = "Time that it took.", .heading = "took"},
    {"planned_usd", FIELD(MONEY, struct app_simulated_stage, planned_microusd), .unit = "USD",
     .help = "Planned cost.", .heading = "planned"},
    {"cost_usd", FIELD(MONEY, struct app_simulated_stage, cost_microusd), .unit = "USD",
     .help = "Its cost.", .heading = "cost"},
};

static const struct field bill_fields[] = {
    {"event", FIELD(TEXT, struct app_simulated, event), .help = "Always bill."},
    {"run", FIELD(INT, struct app_simulated, run), .help = "Number of the run."},
    {"pipeline", FIELD(TEXT, struct app_simulated, pipeline), .help = "Name of the pipeline."},
    {"state", FIELD(TEXT, struct app_simulated, state),
     .help = "One of finished, failed, stopped."},
    {"reason", FIELD(TEXT, struct app_simulated, reason), .help = "Why it is in that state."},
    {"seed", FIELD(INT, struct app_simulated, seed), .help = "Seed of the simulation."},
    {"machines", FIELD(INT, struct app_simulated, machines), .help = "Machines launched."},
    {"machines_open", FIELD(INT, struct app_simulated, machines_open),
     .help = "Machines not confirmed to be terminated."},
    {"time_s", FIELD(DURATION, struct app_simulated, time_s), .unit = "s",
     .help = "Virtual time until the last stage was over."},
    {"planned_s", FIELD(DURATION, struct app_simulated, planned_s), .unit = "s",
     .help = "Planned time."},
    {"cost_usd", FIELD(MONEY, struct app_simulated, cost_microusd), .unit = "USD",
     .help = "Cost of machines and data."},
    {"compute_usd", FIELD(MONEY, struct app_simulated, compute_microusd), .unit = "USD",
     .help = "Cost of machines."},
    {"data_usd", FIELD(MONEY, struct app_simulated, data_microusd), .unit = "USD",
     .help = "Cost of moving and storing data."},
    {"planned_usd", FIELD(MONEY, struct app_simulated, planned_microusd), .unit = "USD",
     .help = "Planned cost."},
    {"switches", FIELD(INT, struct app_simulated, switches), .omit_none = true,
     .help = "Moves of stages that follow prices."},
    {"preemptions", FIELD(INT, struct app_simulated, preemptions), .omit_none = true,
     .help = "Preemptions of stages that follow prices."},
};
/* clang-format on */
const struct record app_simulated_event_record =
    RECORD("simulated_event", struct app_simulated_event, event_fields);
const struct record app_simulated_stage_record =
    RECORD("simulated_stage", struct app_simulated_stage, stage_fields);
const struct record app_simulated_record =
    RECORD("simulated_run", struct app_simulated, bill_fields);

/* ---- callbacks of the simulator ---- */

static int tell(void *context, const struct simulate_event *x, struct err *e)
{
    struct simulation *r = context;
    bool is_stage = x->kind == SIMULATE_STAGE, has_stage = x->stage < r->run.n_stages;
    const struct run_stage_plan *plan = has_stage ? &r->run.stages[x->stage].plan : NULL;

    if (is_stage)
        r->outcomes[x->stage] = (struct outcome){x->state, x->took_s, x->cost_microusd};
    if (!r->asked->tell)
        return 0;
    struct app_simulated_event event = {
        .event = is_stage ? "stage" : "note",
        .run = r->run.id,
        .at_s = x->at_s,
        .stage = has_stage ? plan->name : NULL,
        .text = is_stage ? NULL : x->text,
        .state = is_stage ? run_stage_state_text(x->state) : NULL,
        .reason = is_stage ? x->text : NULL,
        .runtime_s = is_stage ? x->took_s : (double)NAN,
        .cost_microusd = is_stage ? x->cost_microusd : FIELD_NONE,
        .stage_state = x->state,
        .plan = plan,
        .on = has_stage ? &r->stages[x->stage] : NULL,
        .follows_prices = has_stage && follows(r, x->stage),
    };
    return r->asked->tell(r->asked->context, &event, e);
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
    const struct app_simulation *q = r->asked;

    r->options = (struct simulate_options){.home = r->plan->config->home,
                                           .run = &r->run,
                                           .seed = q->seed,
                                           .noise = q->noise,
                                           .troubles = q->faults,
                                           .max_microusd = q->max_microusd,
                                           .replan = replan,
                                           .tell = tell,
                                           .stop = stop,
                                           .context = r};
    if (compose(r, e) < 0)
        return -1;
    if (q->follow)
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
        .state = run_stage_state_text(o->state ? o->state : STAGE_WAITING),
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
        .state = run_state_text(x->state),
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
        .switches = r->asked->follow ? (int64_t)x->switches : FIELD_NONE,
        .preemptions = r->asked->follow ? (int64_t)x->preemptions : FIELD_NONE,
        .run_state = x->state,
        .stages = {stages, n},
    };
    if (!stages || !out->reason)
        return too_large(r, e);
    for (size_t i = 0; i < n; i++)
        stages[i] = stage_of(r, i);
    return 0;
}

int app_run_simulate(struct app *app,
                     const struct app_plan *p,
                     const struct app_simulation *s,
                     struct arena *a,
                     struct app_simulated *out,
                     struct err *e)
{
    AUTO_CLEAR(simulation)
    struct simulation r = {.app = app, .plan = p, .asked = s, .arena = a};

    return run_simulation(&r, e) < 0 ? -1 : make_bill(&r, out, e);
}

int app_simulated_check(const struct app_simulated *s, struct err *e)
{
    if (s->machines_open == 0)
        return 0;
    return err_set(e, ERR_RETRY,
                   "%" PRId64 " machines of run %" PRId64
                   " are not terminated yet: tradewind machines cleanup --yes",
                   s->machines_open, s->run);
}
