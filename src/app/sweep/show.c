/* show: the operation sweep.get, the trials of a sweep by rank. `tradewind sweep show` calls it. */
#include "app/sweep/trials.h"
#include "broker/learn/profile.h"

/* clang-format off */
#define TRIAL(TYPE, member) FIELD(TYPE, struct app_sweep_trial, member)
static const struct field trial_fields[] = {
    {"rank", TRIAL(INT, rank), .help = "Rank by the metric, 1 is the best; finished trials first.",
     .heading = "rank"},
    {"state", TRIAL(TEXT, state), .heading = "state",
     .help = "State as of a job; stopped: halving stopped the trial."},
    {"params", TRIAL(JSON, params), .help = "Parameters that differ between trials."},
    {"value", TRIAL(REAL, value), .help = "Last value of the metric.", .heading = "value"},
    {"step", TRIAL(REAL, step), .help = "Step of that value."},
    {"runtime_s", TRIAL(DURATION, runtime_s), .unit = "s", .heading = "time",
     .help = "Time that its jobs ran."},
    {"cost_usd", TRIAL(MONEY, cost_microusd), .unit = "USD", .heading = "cost", .help = "Cost."},
    {"jobs", TRIAL(INTS, jobs), .help = "Its jobs, one after the other."},
    {"run", TRIAL(INT, run), .omit_none = true, .help = "Run of the pipeline."},
    {"output", TRIAL(TEXT, output), .help = "Set version that it made."},
    {"best", TRIAL(BOOL, best), .help = "Whether it is the best finished trial."},
};
const struct record app_sweep_trial_record =
    RECORD("sweep_trial", struct app_sweep_trial, trial_fields);
/* clang-format on */

struct get_request {
    const char *name;
};

/* clang-format off */
static const struct field get_fields[] = {
    {"name", FIELD(TEXT, struct get_request, name), .required = true, .operand = true,
     .help = "Name of the sweep."},
};

#define HEAD(TYPE, member) FIELD(TYPE, struct app_sweep, member)
static const struct field head_fields[] = {
    {"name", HEAD(TEXT, name), .help = "Name of the sweep."},
    {"search", HEAD(TEXT, search), .help = "One of grid, random, halving."},
    {"metric", HEAD(TEXT, metric), .help = "Metric by which trials rank."},
    {"goal", HEAD(TEXT, goal), .help = "min or max."},
    {"finished", HEAD(INT, finished), .help = "Trials that finished."},
    {"stopped", HEAD(INT, stopped), .help = "Trials that halving stopped."},
    {"best", HEAD(TEXT, best), .help = "Set version that the best trial made."},
};
/* clang-format on */

static int read_trials(struct app *app,
                       struct sweep_trials *t,
                       struct sweep_plan *plan,
                       const char *name,
                       struct err *e)
{
    const char *home = app_home(app, e);

    if (!home || broker_profile_name_check(name, e) < 0 || sweep_plan_load(home, name, plan, e) < 0)
        return -1;
    if (sweep_trials_look(t, app, plan, e) < 0)
        return -1;
    if (!t->n)
        return err_set(e, ERR_NOTFOUND,
                       "there is no sweep %s: tradewind sweep %s -- COMMAND starts one", name,
                       name);
    return sweep_trials_find_metric(t, app, plan, e) < 0 ? -1
                                                         : sweep_trials_measure(t, app, plan, e);
}

static int answer_trials(struct answer *out, const struct app_sweep *report, struct err *e)
{
    const struct app_sweep_trial *trials = report->trials.items;

    if (answer_head(out, report, e) < 0)
        return -1;
    for (size_t i = 0; i < report->trials.n; i++)
        if (answer_listed(out, &trials[i], e) < 0)
            return -1;
    return 0;
}

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct get_request *q = request;
    AUTO_CLEAR(sweep_plan) struct sweep_plan plan = {0};
    AUTO_CLEAR(sweep_trials) struct sweep_trials t;
    struct app_sweep report = {0};

    sweep_trials_init(&t);
    t.adds = true;
    if (read_trials(app, &t, &plan, q->name, e) < 0)
        return -1;
    int result = sweep_trials_report(&t, app, &plan, out, &report, e);
    result = result < 0 ? -1 : answer_trials(out, &report, e);
    app_sweep_clear(&report);
    return result;
}

const struct operation sweep_get_operation = {
    .name = "sweep.get",
    .summary = "Show the trials of a sweep by rank, with parameters, metric, time and cost.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct get_request, get_fields),
    .answer = RECORD_AT("sweep_shown", struct app_sweep, head_fields),
    .item = &app_sweep_trial_record,
    .items_name = "trials",
    .is_live = true,
    .run = run_get,
};
