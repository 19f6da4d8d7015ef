/* simulate: the operation policy.simulate, which `tradewind policy simulate` calls. */
#include "app/market/home.h"
#include "app/market/job.h"
#include "app/policy/internal.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cost and bound are rounded separately: a smaller gap is none. */
#define GAP_LEAST 1e-6

struct simulate_request {
    const char *file, *trace;
    unsigned policy; /* enum policy_kind + 1 */
    double round_s, restart_s;
    const char *prices_file, *prices;
    const char *start, *region;
    int64_t seed, columns;
    bool events, story;
};

/* clang-format off */
static const struct field request_fields[] = {
    {"file", FIELD(TEXT, struct simulate_request, file), .operand = true, .is_local = true,
     .value = "TRACE", .preset = "trace", .help = "Name of the trace in messages."},
    {"trace", FIELD(TEXT, struct simulate_request, trace), .is_remote_only = true,
     .is_local = true, .required = true, .most = (double)POLICY_FILE_BYTES_MAX,
     .help = "The trace, as JSON text or lines of JSON."},
    POLICY_KIND_FIELD(struct simulate_request),
    {"round", FIELD(DURATION, struct simulate_request, round_s), .value = "MINUTES", .unit = "s",
     .bare_unit_s = 60, .least = 1, .most = (double)ROUNDS_ROUND_MS_MAX / 1e3, .preset = "60",
     .help = "Length of a round, in minutes or as 2h: jobs begin, move and pause between rounds "
             "(default: 60)."},
    {"restart", FIELD(DURATION, struct simulate_request, restart_s), .value = "S", .unit = "s",
     .most = (double)ROUNDS_ROUND_MS_MAX / 1e3, .preset = "300",
     .help = "Seconds that a job loses when it moves or resumes (default: 300)."},
    {"prices_file", FIELD(TEXT, struct simulate_request, prices_file), .option = "--prices",
     .is_local = true, .value = "FILE",
     .help = "Prices instead of those of the trace: CSV with at_h, type, price_usd_per_hour."},
    {"prices", FIELD(TEXT, struct simulate_request, prices), .is_remote_only = true,
     .is_local = true, .most = (double)POLICY_FILE_BYTES_MAX,
     .help = "Text of these prices; prices_file then is their name in messages."},
    {"start", FIELD(TEXT, struct simulate_request, start), .value = "TIME",
     .help = "Prices from the imported histories, from this time on: of each type, an instance "
             "type or a GPU by its name, the cheapest offer."},
    {"region", FIELD(TEXT, struct simulate_request, region), .value = "LOCATION",
     .help = "With a start: only offers of aws:us-east-1, or of a cloud (default: of all)."},
    {"seed", FIELD(INT, struct simulate_request, seed), .value = "N", .least = 0,
     .most = 9007199254740992, .preset = "1",
     .help = "Seed of the choice of jobs that preemptions stop (default: 1)."},
    {"columns", FIELD(INT, struct simulate_request, columns), .value = "N", .least = 1,
     .most = POLICY_PAIRS_MAX, .preset = "4000",
     .help = "Merge windows of min-cost-slo until a program has at most N columns (default: "
             "4000)."},
    {"events", FIELD(BOOL, struct simulate_request, events), .is_remote_only = true,
     .help = "Also tell every solve and every round."},
    {"story", FIELD(BOOL, struct simulate_request, story), .is_remote_only = true,
     .help = "Also keep what a chart shows."},
};
/* clang-format on */
static const struct record request_record =
    RECORD("policy_simulate", struct simulate_request, request_fields);
_Static_assert(ROUNDS_COLUMNS_DEFAULT == 4000, "the preset and the help of columns say so");

static const struct field event_fields[] = {
    {"event", FIELD(JSON, struct app_policy_event, event), .help = "A solve or a round."},
};
static const struct record event_record = {
    .name = "policy_event",
    .size = sizeof(struct app_policy_event),
    .fields = event_fields,
    .n_fields = 1,
    .is_bare = true,
};

/* ---- the answer ---- */

static double hours(int64_t ms)
{
    return (double)ms / ROUNDS_HOUR_MS;
}

static double hours_or_nan(int64_t ms)
{
    return ms == ROUNDS_NEVER ? (double)NAN : hours(ms);
}

static json_t *job_hours_json(const void *record)
{
    const struct app_policy_job *job = record;
    const struct policy_problem *p = job->of->ask->problem;
    json_t *o = json_object();

    for (size_t j = 0; j < p->n_types; j++) {
        int64_t ms = job->of->result->type_ms[job->number * p->n_types + j];
        if (ms > 0)
            json_object_set_new(o, p->types[j].name, json_number(hours(ms)));
    }
    return o;
}

static json_t *slo_met_json(const void *record)
{
    const struct app_policy_job *job = record;
    const struct rounds_job *r = &job->of->result->jobs[job->number];

    return r->deadline_ms == ROUNDS_NEVER ? json_null()
                                          : json_boolean(r->finish_ms <= r->deadline_ms);
}

static json_t *used_json(const void *record)
{
    const struct app_policy_simulated *s = record;
    json_t *used = json_object();

    for (size_t j = 0; j < s->ask->problem->n_types; j++)
        json_object_set_new(used, s->ask->problem->types[j].name,
                            json_number(app_policy_utilisation(s, j)));
    return used;
}

/* clang-format off */
static const struct field job_fields[] = {
    {"name", FIELD(TEXT, struct app_policy_job, name), .help = "Job."},
    {"arrival_h", FIELD(REAL, struct app_policy_job, arrival_h), .unit = "h", .help = "Arrival."},
    {"start_h", FIELD(REAL, struct app_policy_job, start_h), .unit = "h",
     .help = "First round; null = never."},
    {"finish_h", FIELD(REAL, struct app_policy_job, finish_h), .unit = "h",
     .help = "End; null = never."},
    {"waited_h", FIELD(REAL, struct app_policy_job, waited_h), .unit = "h",
     .help = "Time without instances from the arrival to the end."},
    {"run_h", FIELD(REAL, struct app_policy_job, run_h), .unit = "h",
     .help = "Time with instances."},
    {"lost_h", FIELD(REAL, struct app_policy_job, lost_h), .unit = "h",
     .help = "Part of run_h lost to restarts."},
    {"hours", .type = FIELD_JSON, .json = job_hours_json, .help = "By type: hours."},
    {"cost_usd", FIELD(MONEY, struct app_policy_job, cost_microusd), .unit = "USD",
     .help = "Cost."},
    {"switches", FIELD(COUNT, struct app_policy_job, switches), .help = "Moves to another type."},
    {"restarts", FIELD(COUNT, struct app_policy_job, restarts),
     .help = "Moves, and resumptions after a pause."},
    {"preemptions", FIELD(COUNT, struct app_policy_job, preemptions), .help = "Preemptions."},
    {"deadline_h", FIELD(REAL, struct app_policy_job, deadline_h), .unit = "h",
     .help = "Deadline; null = none."},
    {"slo_met", .type = FIELD_BOOL, .json = slo_met_json,
     .help = "Whether the job met its deadline; null = it has none."},
    {"late_h", FIELD(REAL, struct app_policy_job, late_h), .unit = "h",
     .help = "Time from the deadline to a later end."},
    {"short_known_h", FIELD(REAL, struct app_policy_job, short_known_h), .unit = "h",
     .help = "First time at which a solve foresaw a missed deadline."},
    {"shortfall", FIELD(REAL, struct app_policy_job, shortfall),
     .help = "Part of the iterations foreseen to be missing then."},
};
static const struct record job_record = RECORD("policy_job", struct app_policy_job, job_fields);

static const struct field bound_fields[] = {
    {"cost_usd", FIELD(REAL, struct app_policy_simulated, bound_usd), .unit = "USD",
     .help = "Lower bound of the cost of any schedule."},
    {"cost_gap", FIELD(REAL, struct app_policy_simulated, cost_gap),
     .help = "Cost above the bound, as a share."},
    {"makespan_h", FIELD(REAL, struct app_policy_simulated, bound_makespan_h), .unit = "h",
     .help = "Lower bound of the makespan."},
    {"makespan_gap", FIELD(REAL, struct app_policy_simulated, makespan_gap),
     .help = "Makespan above the bound, as a share."},
};
static const struct record bound_record =
    RECORD("policy_bound", struct app_policy_simulated, bound_fields);

static const struct field prices_fields[] = {
    {"rows", FIELD(COUNT, struct app_policy_simulated, price_rows), .help = "Price steps."},
    {"out_of_order", FIELD(COUNT, struct app_policy_simulated, price_disordered),
     .help = "Steps that were sorted in."},
    {"repeated", FIELD(COUNT, struct app_policy_simulated, price_repeated),
     .help = "Steps for a time that has a price, which are not used."},
};
static const struct record prices_record =
    RECORD("policy_prices", struct app_policy_simulated, prices_fields);

#define COUNTED(key, text) {#key, FIELD(COUNT, struct app_policy_simulated, key), .help = text}

static const struct field simulated_fields[] = {
    {"policy", FIELD(TEXT, struct app_policy_simulated, policy), .help = "Policy."},
    {"round_h", FIELD(REAL, struct app_policy_simulated, round_h), .unit = "h",
     .help = "Length of a round."},
    {"restart_s", FIELD(REAL, struct app_policy_simulated, restart_s), .unit = "s",
     .help = "Time that a restart loses."},
    {"seed", FIELD(INT, struct app_policy_simulated, seed), .help = "Seed."},
    {"cost_usd", FIELD(MONEY, struct app_policy_simulated, cost_microusd), .unit = "USD",
     .help = "Cost of all jobs."},
    {"makespan_h", FIELD(REAL, struct app_policy_simulated, makespan_h), .unit = "h",
     .help = "Time from the first arrival to the last end."},
    {"mean_completion_h", FIELD(REAL, struct app_policy_simulated, mean_completion_h),
     .unit = "h", .help = "Mean time from arrival to end."},
    COUNTED(jobs_done, "Jobs that finished."),
    COUNTED(slo_violations, "Jobs that missed their deadline."),
    COUNTED(rounds, "Rounds."),
    COUNTED(solves, "Solves of the shares."),
    COUNTED(solves_short, "Solves in which a job falls short."),
    COUNTED(switches, "Moves to another type."),
    COUNTED(restarts, "Moves, and resumptions after a pause."),
    COUNTED(preemptions, "Preemptions."),
    {"budget_usd", FIELD(REAL, struct app_policy_simulated, budget_usd), .unit = "USD",
     .help = "Budget of the trace; null = none."},
    {"budget_short_known_h", FIELD(REAL, struct app_policy_simulated, budget_short_known_h),
     .unit = "h", .help = "First time at which a solve found the budget too small."},
    {"utilisation", .type = FIELD_JSON, .json = used_json,
     .help = "By type: share of the quota in use."},
    {"bound", FIELD(RECORD, struct app_policy_simulated, self), .record = &bound_record,
     .help = "Lower bounds with knowledge of the future, and the gaps to them."},
    {"prices", FIELD(RECORD, struct app_policy_simulated, self_with_prices),
     .record = &prices_record, .help = "Price steps; null = prices are constant."},
    {"jobs", FIELD(RECORDS, struct app_policy_simulated, jobs), .record = &job_record,
     .help = "Jobs, in the order of the trace."},
    {"solve_ms", FIELD(REAL, struct app_policy_simulated, solve_ms), .unit = "ms",
     .help = "Time of all solves."},
    {"elapsed_ms", FIELD(REAL, struct app_policy_simulated, elapsed_ms), .unit = "ms",
     .help = "Time of the simulation."},
};
/* clang-format on */
static const struct record simulated_record =
    RECORD("policy_simulated", struct app_policy_simulated, simulated_fields);

double app_policy_utilisation(const struct app_policy_simulated *s, size_t type)
{
    const struct rounds_result *r = s->result;

    return r->used_ms[type] /
           (s->ask->problem->types[type].quota * (double)(r->last_ms - r->first_ms));
}

static void put_job(struct app_policy_job *out, const struct app_policy_simulated *s, size_t m)
{
    const struct rounds_result *r = s->result;
    const struct rounds_job *job = &r->jobs[m];
    int64_t end = job->finish_ms == ROUNDS_NEVER ? r->last_ms : job->finish_ms;
    bool late = job->deadline_ms != ROUNDS_NEVER && job->finish_ms != ROUNDS_NEVER &&
                job->finish_ms > job->deadline_ms;

    *out = (struct app_policy_job){
        .of = s,
        .number = m,
        .name = s->ask->problem->jobs[m].name,
        .arrival_h = hours(job->arrival_ms),
        .start_h = hours_or_nan(job->start_ms),
        .finish_h = hours_or_nan(job->finish_ms),
        .waited_h = end > job->arrival_ms ? hours(end - job->arrival_ms - job->run_ms) : 0,
        .run_h = hours(job->run_ms),
        .lost_h = hours(job->lost_ms),
        .cost_microusd = job->cost_microusd,
        .switches = job->switches,
        .restarts = job->restarts,
        .preemptions = job->preemptions,
        .deadline_h = hours_or_nan(job->deadline_ms),
        .late_h = late ? hours(job->finish_ms - job->deadline_ms) : (double)NAN,
        .short_known_h = hours_or_nan(job->short_known_ms),
        .shortfall = job->short_known_ms == ROUNDS_NEVER ? (double)NAN : job->short_part,
    };
}

static double gap(double got, double bound)
{
    double part = got / bound - 1;

    return part < GAP_LEAST ? 0 : part; /* NaN stays */
}

/* What follows from the result; jobs has an entry per job. */
static void put_totals(struct app_policy_simulated *s, struct app_policy_job *jobs)
{
    const struct rounds_ask *ask = s->ask;
    const struct rounds_result *r = s->result;
    double completion_h = 0;

    for (size_t m = 0; m < r->n_jobs; m++) {
        put_job(&jobs[m], s, m);
        s->switches += jobs[m].switches;
        s->restarts += jobs[m].restarts;
        s->preemptions += jobs[m].preemptions;
        s->n_deadlines += r->jobs[m].deadline_ms != ROUNDS_NEVER;
        if (r->jobs[m].finish_ms != ROUNDS_NEVER)
            completion_h += hours(r->jobs[m].finish_ms - r->jobs[m].arrival_ms);
    }
    s->jobs = (struct field_records){jobs, r->n_jobs};
    s->policy = policy_kind_name(ask->kind);
    s->round_h = hours(ask->round_ms);
    s->restart_s = (double)ask->restart_ms / 1e3;
    s->seed = (int64_t)ask->seed;
    s->cost_microusd = r->cost_microusd;
    s->makespan_h = hours(r->last_ms - r->first_ms);
    s->mean_completion_h = completion_h / (double)r->n_done;
    s->jobs_done = r->n_done;
    s->slo_violations = r->late;
    s->rounds = r->rounds;
    s->solves = r->solves;
    s->solves_short = r->failed_solves;
    s->budget_usd = ask->problem->budget_usd;
    s->budget_short_known_h = hours_or_nan(r->broke_known_ms);
    s->bound_usd = r->bound_usd;
    s->bound_makespan_h = r->bound_end_h - hours(r->first_ms);
    s->cost_gap = gap(money_to_usd(r->cost_microusd), r->bound_usd);
    s->makespan_gap = gap(s->makespan_h, s->bound_makespan_h);
    s->price_rows = s->price_notes->rows;
    s->price_disordered = s->price_notes->disordered;
    s->price_repeated = s->price_notes->repeated;
    s->solve_ms = 1e3 * r->solve_s;
    s->self = s;
    s->self_with_prices = s->prices ? s : NULL;
}

/* The first job that did not finish, and why. */
static void put_unfinished(struct app_policy_simulated *s, char *text, size_t size)
{
    const struct policy_problem *p = s->ask->problem;
    const struct rounds_result *r = s->result;
    size_t m = 0;

    while (m + 1 < p->n_jobs && r->jobs[m].finish_ms != ROUNDS_NEVER)
        m++;
    snprintf(text, size,
             "%zu of %zu jobs were not done, \"%.100s\" for one: no type on which it has a "
             "throughput has room for %.0f, its gang, by its own quota and those of its "
             "groups%s; raise a quota or make the gang smaller",
             p->n_jobs - r->n_done, p->n_jobs, p->jobs[m].name, p->jobs[m].gang,
             r->jobs[m].is_nowhere ? "" : ", after the preemptions");
    s->unfinished = text;
}

/* ---- prices ---- */

/* The source of price steps. */
struct prices {
    const char *name;      /* NULL = prices are constant */
    double start_s, end_h; /* of the histories; INFINITY = they are not used */
};

static int take_prices(struct app *app,
                       const struct simulate_request *q,
                       struct policy_file *file,
                       const struct answer *out,
                       struct prices *prices,
                       struct err *e)
{
    const char *name = q->prices_file ? q->prices_file : "prices";
    char a[64], b[64];

    *prices = (struct prices){.end_h = (double)INFINITY};
    if (q->prices && q->start)
        return err_set(e, ERR_USAGE, "%s and %s both set prices: leave out one of them",
                       answer_spell(out, "prices_file", a), answer_spell(out, "start", b));
    if (q->region && !q->start)
        return err_set(e, ERR_USAGE,
                       "%s is of the imported histories: add a start, as in %s 2020-03-01",
                       answer_spell(out, "region", a), answer_spell(out, "start", b));
    if (q->start &&
        (app_market_start(q->start, &prices->start_s, e) < 0 ||
         app_policy_take_history(app, q->region, prices->start_s, file, &prices->end_h, e) < 0))
        return -1;
    if (q->prices && policy_read_prices(name, q->prices, strlen(q->prices), file, e) < 0)
        return -1;
    if (file->price_notes.rows)
        prices->name = q->start ? "the histories" : q->prices ? name : q->file;
    return 0;
}

/* Prices past the end of the histories are not known. */
static int check_end(const struct prices *p, const struct rounds_result *r, struct err *e)
{
    double done_h = hours(r->last_ms);
    char end[32];

    if (done_h <= p->end_h)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "the histories hold all prices up to %s, hour %.2f, and the jobs take %.2f h: "
                   "take an earlier --start, or import more",
                   app_market_time(p->start_s + p->end_h * 3600, end), p->end_h, done_h);
}

/* ---- all of it ---- */

static int simulate(struct app *app,
                    const struct simulate_request *q,
                    struct policy_file *file,
                    const struct prices *prices,
                    struct answer *out,
                    struct err *e)
{
    struct rounds_ask ask = {
        .problem = &file->problem,
        .arrival_h = file->arrival_h,
        .preemptions = file->preemptions,
        .n_preemptions = file->n_preemptions,
        .kind = (enum policy_kind)(q->policy - 1),
        .round_ms = (int64_t)floor(q->round_s * 1e3 + 0.5),
        .restart_ms = (int64_t)floor(q->restart_s * 1e3 + 0.5),
        .seed = (uint64_t)q->seed,
    };
    AUTO_CLEAR(rounds_result) struct rounds_result result = {0};
    AUTO_CLEAR(app_policy_watch) struct app_policy_watch w;
    char unfinished[400];

    app_policy_watch_init(&w, app, &ask, q->events ? out : NULL, q->story);
    const struct rounds_watch watch = app_policy_watch_functions(&w);
    double began = time_monotonic_s();
    ask.watch = &watch;
    if (rounds_simulate(&ask, &result, e) < 0)
        return err_wrap(e, "%s", q->file);
    if (w.failed.kind != ERR_NONE)
        return err_set(e, w.failed.kind, "%s", w.failed.text);
    if (result.stopped)
        return err_set(e, ERR_RETRY, "interrupted with %zu of %zu jobs done; nothing was written",
                       result.n_done, result.n_jobs);
    if (check_end(prices, &result, e) < 0)
        return -1;
    struct app_policy_simulated s = {.ask = &ask,
                                     .result = &result,
                                     .story = &w.story,
                                     .prices = prices->name,
                                     .price_notes = &file->price_notes,
                                     .elapsed_ms = 1e3 * (time_monotonic_s() - began)};
    AUTO_MEM struct app_policy_job *jobs = mem_zero(result.n_jobs + 1, sizeof *jobs);
    put_totals(&s, jobs);
    if (result.n_done < result.n_jobs)
        put_unfinished(&s, unfinished, sizeof unfinished);
    return answer_head(out, &s, e);
}

static int run_simulate(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct simulate_request *q = request;
    AUTO_CLEAR(policy_file) struct policy_file file = {0};
    struct prices prices;

    if (policy_read_trace(q->trace, strlen(q->trace), &file, e) < 0)
        return err_wrap(e, "%s", q->file);
    if (take_prices(app, q, &file, out, &prices, e) < 0)
        return -1;
    file.problem.columns_max = (size_t)q->columns;
    return simulate(app, q, &file, &prices, out, e);
}

const struct operation policy_simulate_operation = {
    .name = "policy.simulate",
    .summary = "Simulate a policy round by round: jobs arrive, prices change.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &request_record,
    .answer = &simulated_record,
    .item = &event_record,
    .items_name = "events",
    .run = run_simulate,
};
