/* report: a training that has ended: its phases, counts and bill beside the forecast. */
#include "app/geo/internal.h"
#include "app/run/run.h"
#include "base/money.h"

#include <inttypes.h>

/* ---- the record ---- */

static json_t *total_json(const void *record)
{
    return json_number(geo_bill_usd(record));
}

static bool has_no_figures(const void *record)
{
    return !((const struct app_geo_report *)record)->has_figures;
}

/* clang-format off */
#define PART(member) FIELD(REAL, struct geo_bill, member), .unit = "USD"
static const struct field bill_fields[] = {
    {"vm_usd", PART(vm_usd), .help = "Machines of the workers."},
    {"faas_usd", PART(faas_usd), .help = "Functions."},
    {"requests_usd", PART(requests_usd), .help = "Requests to stores."},
    {"storage_usd", PART(storage_usd), .help = "Storage."},
    {"transfer_usd", PART(transfer_usd), .help = "Data transfer."},
    {"total_usd", PART(vm_usd), .json = total_json, .help = "All of them."},
};
static const struct record bill_record = RECORD("geo_training_bill", struct geo_bill, bill_fields);

#define REPORT(TYPE, member) FIELD(TYPE, struct app_geo_report, member)
#define FIGURES(member, of) REPORT(RECORD, member), .record = &(of), .is_absent = has_no_figures
static const struct field report_fields[] = {
    {"event", REPORT(TEXT, event), .help = "run."},
    {"run", REPORT(INT, run), .help = "Number of the run."},
    {"name", REPORT(TEXT, name), .help = "Name of the training."},
    {"state", REPORT(TEXT, state), .help = "finished, failed or stopped."},
    {"reason", REPORT(TEXT, reason), .help = "Why it failed; empty otherwise."},
    {"topology", REPORT(TEXT, topology), .help = "central, regional or fanout."},
    {"function", REPORT(TEXT, function), .help = "Region of the function."},
    {"store", REPORT(TEXT, store), .help = "Region of the store."},
    {"model", REPORT(TEXT, model), .is_absent = has_no_figures,
     .help = "Set version of the model; empty = none."},
    {"rounds", REPORT(REAL, rounds), .is_absent = has_no_figures,
     .help = "Rounds that all workers finished."},
    {"round_s", REPORT(DURATION, round_s), .unit = "s", .is_absent = has_no_figures,
     .help = "Mean time of a round."},
    {"phases", FIGURES(phases, app_geo_phases_record), .help = "Parts of the time of a round."},
    {"counts", FIGURES(counts, app_geo_counts_record), .help = "Requests and bytes."},
    {"bill", FIGURES(bill, bill_record), .help = "Cost at cloud prices, by the events."},
    {"forecast", FIGURES(forecast, bill_record), .help = "Cost by the model, for measured times."},
    {"forecast_counts", FIGURES(forecast_counts, app_geo_counts_record),
     .help = "Requests and bytes by the model."},
    {"planned", FIGURES(planned, bill_record), .help = "Planned cost."},
};
const struct record app_geo_report_record =
    RECORD("geo_report", struct app_geo_report, report_fields);

#define ROUND(TYPE, member) FIELD(TYPE, struct app_geo_round, member)
static const struct field round_fields[] = {
    {"event", ROUND(TEXT, event), .help = "round."},
    {"run", ROUND(INT, run), .help = "Number of the run."},
    {"round", ROUND(INT, round), .help = "Number of the round, from 0."},
    {"time_s", ROUND(DURATION, time_s), .unit = "s", .help = "Time of the round."},
};
/* clang-format on */
const struct record app_geo_round_record = RECORD("geo_round", struct app_geo_round, round_fields);

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

static void put_figures(const struct figures *f, struct app_geo_report *out)
{
    out->has_figures = true;
    out->rounds = f->account.rounds;
    out->round_s = f->account.round_s;
    out->phases = &f->account.phases;
    out->counts = &f->account.counts;
    out->bill = &f->account.usd;
    out->forecast = &f->paced;
    out->forecast_counts = &f->paced_counts;
    out->planned = &f->planned;
}

int app_geo_report(struct app *app,
                   const struct app_geo_run *g,
                   struct arena *arena,
                   struct app_geo_report *out,
                   struct err *e)
{
    const struct geo_site *sites = g->geo.problem->sites;
    const struct run *run = &g->ended;
    struct figures *f = arena_alloc(arena, 1, sizeof *f);
    struct err why = {0};
    char text[128];

    if (!f)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    *out = (struct app_geo_report){
        .event = "run",
        .run = run->id,
        .name = run->name,
        .state = run_state_text(run->state),
        .reason = run->reason,
        .topology = spec_geo_topology_text(g->at.topology),
        .function = arena_dup(arena, app_geo_site_text(&sites[g->at.function], text)),
        .store = arena_dup(arena, app_geo_site_text(&sites[g->at.store], text)),
        .of = run,
        .planned_phases = &g->at.phases,
        .planned_round_s = g->at.round_s,
    };
    /* A run that was stopped in its first round has no figures, and that is no error. */
    if (find_model(g, app, arena, &out->model, &why) == 0 && find_figures(g, f, &why) == 0) {
        put_figures(f, out);
    } else if (run->state == RUN_FINISHED) {
        *e = why;
        return err_wrap(e, "run %" PRId64 " finished, but its workers logged no events", run->id);
    }
    return 0;
}
