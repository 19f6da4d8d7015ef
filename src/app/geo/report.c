/* report: a training that has ended: its phases, counts and bill beside the forecast. */
#include "app/geo/internal.h"
#include "app/job/cloud.h"
#include "base/money.h"

#include <inttypes.h>

/* ---- the record ---- */

static json_t *total_json(const void *record)
{
    return json_number(geo_bill_usd(record));
}

/* clang-format off */
static const struct field bill_fields[] = {
    APP_GEO_COST_FIELDS("_usd", APP_GEO_BILL_FIELD),
    {"total_usd", APP_GEO_BILL_FIELD(vm), .unit = "USD", .json = total_json,
     .help = "All of them."},
};
static const struct record bill_record = RECORD("geo_training_bill", struct geo_bill, bill_fields);

static const struct field stage_fields[] = {
    {"stage", FIELD(TEXT, struct app_geo_run_stage, name), .help = "Name of the stage."},
    {"location", FIELD(TEXT, struct app_geo_run_stage, location), .help = "Its region."},
    {"on", FIELD(TEXT, struct app_geo_run_stage, on), .help = "local, a host group, or clouds."},
    {"offer", FIELD(RECORD, struct app_geo_run_stage, offer), .record = &app_offer_record,
     .omit_none = true, .help = "Machine of a cloud that would be launched for the stage."},
};
static const struct record stage_record =
    RECORD("geo_run_stage", struct app_geo_run_stage, stage_fields);

#define PLAN(TYPE, member) FIELD(TYPE, struct app_geo_run_plan, member)
static const struct field plan_fields[] = {
    {"name", PLAN(TEXT, name), .help = "Name of the training."},
    {"workers", PLAN(COUNT, workers), .help = "Number of workers."},
    {"rounds", PLAN(REAL, rounds), .help = "Number of rounds."},
    {"topology", PLAN(TEXT, topology), .help = "central, regional or fanout."},
    {"function", PLAN(TEXT, function), .help = "Region of the function."},
    {"store", PLAN(TEXT, store), .help = "Region of the store."},
    {"cost_usd", PLAN(MONEY, cost_microusd), .unit = "USD",
     .help = "Cost of the training in the clouds."},
    {"time_s", PLAN(DURATION, time_s), .unit = "s", .help = "Time of the training in the clouds."},
    {"cost_usd_per_round", PLAN(REAL, round_usd), .unit = "USD", .help = "Cost of a round."},
    {"time_s_per_round", PLAN(DURATION, round_s), .unit = "s", .help = "Time of a round."},
    {"stages", PLAN(RECORDS, stages), .record = &stage_record,
     .help = "Workers and functions, and where they run."},
};
static const struct record plan_record =
    RECORD("geo_run_plan", struct app_geo_run_plan, plan_fields);

static const struct field failure_fields[] = {
    {"stage", FIELD(TEXT, struct app_geo_failure, stage), .help = "Name of the stage."},
    {"job", FIELD(INT, struct app_geo_failure, job), .help = "Its job."},
    {"reason", FIELD(TEXT, struct app_geo_failure, reason), .help = "Why it failed."},
};
static const struct record failure_record =
    RECORD("geo_failure", struct app_geo_failure, failure_fields);

#define REPORT(TYPE, member) FIELD(TYPE, struct app_geo_report, member), .omit_none = true
#define FIGURES(member, of) REPORT(RECORD, member), .record = &(of)
static const struct field report_fields[] = {
    {"event", REPORT(TEXT, event), .help = "One of run, planned (a dry run)."},
    {"plan", REPORT(RECORD, plan), .record = &plan_record, .help = "What a dry run would start."},
    {"run", REPORT(INT, run), .help = "Number of the run."},
    {"name", REPORT(TEXT, name), .help = "Name of the training."},
    {"state", REPORT(ENUM, state), FIELD_CHOICES(app_run_state_choices),
     .help = "State at the end."},
    {"reason", REPORT(TEXT, reason), .help = "Why it failed; empty otherwise."},
    {"failures", REPORT(RECORDS, failures), .record = &failure_record,
     .help = "Stages that failed."},
    {"topology", REPORT(TEXT, topology), .help = "central, regional or fanout."},
    {"function", REPORT(TEXT, function), .help = "Region of the function."},
    {"store", REPORT(TEXT, store), .help = "Region of the store."},
    {"model", REPORT(TEXT, model), .help = "Set version of the model; empty = none."},
    {"rounds", REPORT(REAL, rounds), .help = "Rounds that all workers finished."},
    {"round_s", REPORT(DURATION, round_s), .unit = "s", .help = "Mean time of a round."},
    {"planned_round_s", REPORT(DURATION, planned_round_s), .unit = "s",
     .help = "Planned time of a round."},
    {"phases", FIGURES(phases, app_geo_phases_record), .help = "Parts of the time of a round."},
    {"planned_phases", FIGURES(planned_phases, app_geo_phases_record),
     .help = "Planned parts of the time of a round."},
    {"counts", FIGURES(counts, app_geo_counts_record), .help = "Requests and bytes."},
    {"bill", FIGURES(bill, bill_record), .help = "Cost at cloud prices, by the events."},
    {"forecast", FIGURES(forecast, bill_record), .help = "Cost by the model, for measured times."},
    {"forecast_counts", FIGURES(forecast_counts, app_geo_counts_record),
     .help = "Requests and bytes by the model."},
    {"planned", FIGURES(planned, bill_record), .help = "Planned cost."},
};
/* clang-format on */
const struct record app_geo_report_record =
    RECORD("geo_report", struct app_geo_report, report_fields);

/* ---- the figures ---- */

static int find_model(const struct app_geo_run *g,
                      struct app *app,
                      struct arena *arena,
                      const char **out,
                      struct err *e)
{
    const struct run *run = &g->ended;
    struct lake *l = app_lake(app, e);
    struct app_run_job job;

    *out = "";
    for (size_t i = 0; l && i < run->n_stages; i++) {
        if (!run->stages[i].plan.output)
            continue;
        if (app_run_job_recorded(l, run->id, &run->stages[i], &job, e) < 0)
            return -1;
        *out = arena_dup(arena, job.output_set);
    }
    return l && *out ? 0 : -1;
}

/* The training three times: as planned, by the model for the measured times, by its events. */
struct figures {
    struct geo_account account;
    struct geo_bill paced, planned;
    struct geo_counts paced_counts;
};

static int find_figures(const struct app_geo_run *g, struct figures *out, struct err *e)
{
    const struct geo_total *t = &g->total;

    if (geo_account(g->geo.problem, &g->events, &out->account, e) < 0)
        return -1;
    AUTO(geo_pace) struct geo_pace *pace = geo_pace_new(g->geo.problem, &g->events, &out->account);
    if (!geo_forecast(g->geo.problem, &g->at, pace, &out->account, &out->paced, &out->paced_counts))
        return err_set(e, ERR_NOFIT, "the placement has no price any more");
    out->planned =
        (struct geo_bill){money_to_usd(t->vm_microusd), money_to_usd(t->faas_microusd),
                          money_to_usd(t->requests_microusd), money_to_usd(t->storage_microusd),
                          money_to_usd(t->transfer_microusd)};
    return 0;
}

static void put_figures(const struct app_geo_run *g,
                        const struct figures *f,
                        const char *model,
                        struct app_geo_report *out)
{
    out->model = model;
    out->rounds = f->account.rounds;
    out->round_s = f->account.round_s;
    out->planned_round_s = g->at.round_s;
    out->phases = &f->account.phases;
    out->planned_phases = &g->at.phases;
    out->counts = &f->account.counts;
    out->bill = &f->account.usd;
    out->forecast = &f->paced;
    out->forecast_counts = &f->paced_counts;
    out->planned = &f->planned;
}

static void put_failures(const struct run *run,
                         struct app_geo_failure *failures,
                         struct app_geo_report *out)
{
    out->failures.items = failures;
    for (size_t i = 0; i < run->n_stages; i++)
        if (run->stages[i].state == STAGE_FAILED)
            failures[out->failures.n++] = (struct app_geo_failure){
                run->stages[i].plan.name, run->stages[i].reason, run->stages[i].job};
}

int app_geo_run_report(struct app *app,
                       const struct app_geo_run *g,
                       struct arena *arena,
                       struct app_geo_report *out,
                       struct err *e)
{
    const struct geo_site *sites = g->geo.problem->sites;
    const struct run *run = &g->ended;
    struct figures *f = arena_alloc(arena, 1, sizeof *f);
    struct app_geo_failure *failures = arena_alloc(arena, run->n_stages + 1, sizeof *failures);
    struct err why = {0};
    const char *model;
    char text[128];

    if (!f || !failures)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    record_set_none(&app_geo_report_record, out);
    out->event = "run";
    out->run = run->id;
    out->name = run->name;
    out->state = run->state;
    out->reason = run->reason;
    out->topology = spec_geo_topology_text(g->at.topology);
    out->function = arena_dup(arena, app_geo_site_text(&sites[g->at.function], text));
    out->store = arena_dup(arena, app_geo_site_text(&sites[g->at.store], text));
    put_failures(run, failures, out);
    /* A run that was stopped in its first round has no figures, and that is no error. */
    if (find_model(g, app, arena, &model, &why) == 0 && find_figures(g, f, &why) == 0) {
        put_figures(g, f, model, out);
    } else if (run->state == RUN_FINISHED) {
        *e = why;
        return err_wrap(e, "run %" PRId64 " finished, but its workers logged no events", run->id);
    }
    return 0;
}
