/* simulate: the operation policy.simulate, which `tradewind policy simulate` calls. */
#include "app/market/market.h"
#include "app/policy/internal.h"
#include "base/buf.h"
#include "base/money.h"
#include "base/time.h"

#include <math.h>

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
     .value = "TRACE", .help = "Path of the trace: JSON, or lines of JSON."},
    {"trace", FIELD(TEXT, struct simulate_request, trace), .is_remote_only = true,
     .is_local = true, .most = (double)POLICY_FILE_BYTES_MAX,
     .help = "Text of the trace; file then is its name in messages."},
    POLICY_KIND_FIELD(struct simulate_request),
    {"round_s", FIELD(DURATION, struct simulate_request, round_s), .option = "--round",
     .value = "MINUTES", .unit = "s", .bare_unit_s = 60, .preset = "60",
     .least = 1, .most = (double)ROUNDS_ROUND_MS_MAX / 1e3,
     .help = "Length of a round, in minutes or as 2h: jobs begin, move and pause between rounds "
             "(default: 60)."},
    {"restart_s", FIELD(DURATION, struct simulate_request, restart_s), .option = "--restart",
     .value = "S", .unit = "s", .most = (double)ROUNDS_ROUND_MS_MAX / 1e3, .preset = "300",
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
    json_t *o = json_object();

    for (size_t j = 0; j < job->n_types; j++)
        if (job->type_ms[j] > 0)
            json_object_set_new(o, job->types[j].name, json_number(hours(job->type_ms[j])));
    return o;
}

/* "V100 4 h, K80 1.5 h" */
static void job_hours_cell(const void *record, struct buf *out)
{
    const struct app_policy_job *job = record;

    for (size_t j = 0; j < job->n_types; j++)
        if (job->type_ms[j] > 0)
            buf_printf(out, "%s%.40s %.4g h", out->len ? ", " : "", job->types[j].name,
                       hours(job->type_ms[j]));
}

static json_t *slo_met_json(const void *record)
{
    const struct app_policy_job *job = record;

    return isnan(job->deadline_h) ? json_null() : json_boolean(job->finish_h <= job->deadline_h);
}

static void slo_cell(const void *record, struct buf *out)
{
    const struct app_policy_job *job = record;

    if (job->late_h > 0)
        buf_printf(out, "%.2f h late", job->late_h);
    else if (!isnan(job->deadline_h))
        buf_puts(out, isnan(job->finish_h) ? "missed" : "met");
}

/* clang-format off */
#define JOB(TYPE, key, ...) {#key, FIELD(TYPE, struct app_policy_job, key), __VA_ARGS__}
#define JOB_TIME(key, ...) JOB(REAL, key, .unit = "h", .digits = 2, .suffix = " h", __VA_ARGS__)
static const struct field job_fields[] = {
    JOB(TEXT, name, .heading = "job", .cut_rank = 2, .least_width = 8, .help = "Job."),
    JOB_TIME(arrival_h, .heading = "arrives", .help = "Arrival."),
    JOB_TIME(start_h, .heading = "starts", .none = "never", .help = "First round; null = never."),
    JOB_TIME(finish_h, .heading = "done", .none = "never", .help = "End; null = never."),
    JOB_TIME(waited_h, .heading = "waited",
             .help = "Time without instances from the arrival to the end."),
    JOB_TIME(run_h, .help = "Time with instances."),
    JOB_TIME(lost_h, .help = "Part of run_h lost to restarts."),
    {"hours", .type = FIELD_JSON, .json = job_hours_json, .heading = "ran on",
     .cell = job_hours_cell, .cut_rank = 1, .least_width = 12, .help = "By type: hours."},
    JOB(COUNT, switches, .heading = "moves", .help = "Moves to another type."),
    {"cost_usd", FIELD(MONEY, struct app_policy_job, cost_microusd), .unit = "USD",
     .heading = "cost", .help = "Cost."},
    JOB(COUNT, restarts, .help = "Moves, and resumptions after a pause."),
    JOB(COUNT, preemptions, .help = "Preemptions."),
    JOB_TIME(deadline_h, .heading = "deadline", .cell = slo_cell, .help = "Deadline; null = none."),
    {"slo_met", .type = FIELD_BOOL, .json = slo_met_json,
     .help = "Whether the job met its deadline; null = it has none."},
    JOB_TIME(late_h, .help = "Time from the deadline to a later end."),
    JOB_TIME(short_known_h, .help = "First time at which a solve foresaw a missed deadline."),
    JOB(REAL, shortfall, .help = "Part of the iterations foreseen to be missing then."),
};
static const struct record job_record = RECORD("policy_job", struct app_policy_job, job_fields);

static const struct field type_fields[] = {
    {"name", FIELD(TEXT, struct app_policy_type, name), .help = "Type."},
    {"quota", FIELD(REAL, struct app_policy_type, quota), .help = "Quota."},
    {"utilisation", FIELD(REAL, struct app_policy_type, utilisation),
     .help = "Share of the quota in use."},
};
static const struct record type_record = RECORD("policy_used_type", struct app_policy_type, type_fields);

#define SPAN(TYPE, key, text) {#key, FIELD(TYPE, struct app_policy_span, key), .help = (text)}
static const struct field span_fields[] = {
    SPAN(COUNT, job, "Number of the job, from 0."),
    SPAN(COUNT, type, "Number of the type, from 0."),
    SPAN(INT, from_ms, "Begin."),
    SPAN(INT, to_ms, "End."),
};
static const struct record span_record = RECORD("policy_span", struct app_policy_span, span_fields);

#define SAMPLE(TYPE, key, text) {#key, FIELD(TYPE, struct app_policy_sample, key), .help = (text)}
static const struct field sample_fields[] = {
    SAMPLE(INT, from_ms, "Begin of the round."),
    SAMPLE(INT, to_ms, "End of the round."),
    SAMPLE(COUNT, running, "Running jobs."),
    SAMPLE(COUNT, waiting, "Waiting jobs."),
    {"cost_usd", FIELD(MONEY, struct app_policy_sample, cost_microusd), .unit = "USD",
     .help = "Cost up to the end of the round."},
};
static const struct record sample_record =
    RECORD("policy_sample", struct app_policy_sample, sample_fields);

#define TOTAL(TYPE, key, ...) {#key, FIELD(TYPE, struct app_policy_simulated, key), __VA_ARGS__}
static const struct field bound_fields[] = {
    {"cost_usd", FIELD(REAL, struct app_policy_simulated, bound_usd), .unit = "USD",
     .help = "Lower bound of the cost of any schedule."},
    TOTAL(REAL, cost_gap, .help = "Cost above the bound, as a share."),
    {"makespan_h", FIELD(REAL, struct app_policy_simulated, bound_makespan_h), .unit = "h",
     .help = "Lower bound of the makespan."},
    TOTAL(REAL, makespan_gap, .help = "Makespan above the bound, as a share."),
};
static const struct record bound_record =
    RECORD("policy_bound", struct app_policy_simulated, bound_fields);

#define PRICES(TYPE, key, text) {#key, FIELD(TYPE, struct app_policy_prices, key), .help = (text)}
static const struct field prices_fields[] = {
    PRICES(COUNT, rows, "Price steps."),
    PRICES(COUNT, out_of_order, "Steps that were sorted in."),
    PRICES(COUNT, repeated, "Steps for a time that has a price, which are not used."),
};
static const struct record prices_record =
    RECORD("policy_prices", struct app_policy_prices, prices_fields);

static json_t *used_json(const void *record)
{
    return app_policy_map(&type_record, &((const struct app_policy_simulated *)record)->types,
                          "utilisation");
}

static const struct field simulated_fields[] = {
    TOTAL(TEXT, policy, .help = "Policy."),
    TOTAL(REAL, round_h, .unit = "h", .help = "Length of a round."),
    TOTAL(REAL, restart_s, .unit = "s", .help = "Time that a restart loses."),
    TOTAL(INT, seed, .help = "Seed."),
    {"cost_usd", FIELD(MONEY, struct app_policy_simulated, cost_microusd), .unit = "USD",
     .help = "Cost of all jobs."},
    TOTAL(REAL, end_h, .unit = "h", .help = "Time of the last end."),
    TOTAL(REAL, makespan_h, .unit = "h", .help = "Time from the first arrival to the last end."),
    TOTAL(REAL, mean_completion_h, .unit = "h", .help = "Mean time from arrival to end."),
    TOTAL(COUNT, jobs_done, .help = "Jobs that finished."),
    TOTAL(TEXT, unfinished, .omit_none = true, .help = "Why jobs did not finish."),
    TOTAL(COUNT, deadlines, .help = "Jobs with a deadline."),
    TOTAL(COUNT, slo_violations, .help = "Jobs that missed their deadline."),
    TOTAL(COUNT, rounds, .help = "Rounds."),
    TOTAL(COUNT, solves, .help = "Solves of the shares."),
    TOTAL(COUNT, solves_short, .help = "Solves in which a job falls short."),
    TOTAL(COUNT, switches, .help = "Moves to another type."),
    TOTAL(COUNT, restarts, .help = "Moves, and resumptions after a pause."),
    TOTAL(COUNT, preemptions, .help = "Preemptions."),
    TOTAL(REAL, budget_usd, .unit = "USD", .help = "Budget of the trace; null = none."),
    TOTAL(REAL, budget_short_known_h, .unit = "h",
          .help = "First time at which a solve found the budget too small."),
    {"utilisation", .type = FIELD_JSON, .json = used_json,
     .help = "By type: share of the quota in use."},
    TOTAL(RECORDS, types, .record = &type_record, .help = "Types, in the order of the trace."),
    {"bound", FIELD(RECORD, struct app_policy_simulated, self), .record = &bound_record,
     .help = "Lower bounds with knowledge of the future, and the gaps to them."},
    TOTAL(RECORD, prices, .record = &prices_record,
          .help = "Price steps; null = prices are constant."),
    TOTAL(TEXT, price_source, .omit_none = true, .help = "Source of the price steps."),
    TOTAL(COUNT, out_of_order_line, .omit_none = true, .help = "Line of the first step sorted in."),
    TOTAL(COUNT, repeated_line, .omit_none = true, .help = "Line of the first step not used."),
    TOTAL(RECORDS, jobs, .record = &job_record, .help = "Jobs, in the order of the trace."),
    TOTAL(RECORDS, spans, .record = &span_record, .omit_none = true,
          .help = "Where requested: the types that jobs ran on over time."),
    TOTAL(RECORDS, samples, .record = &sample_record, .omit_none = true,
          .help = "Where requested: the state of each round."),
    TOTAL(REAL, solve_ms, .unit = "ms", .help = "Time of all solves."),
    TOTAL(REAL, elapsed_ms, .unit = "ms", .help = "Time of the simulation."),
};
/* clang-format on */

static struct app_policy_job job_of(const struct rounds_ask *ask,
                                    const struct rounds_result *r,
                                    size_t m,
                                    const struct app_policy_type *types)
{
    const struct rounds_job *job = &r->jobs[m];
    int64_t end = job->finish_ms == ROUNDS_NEVER ? r->last_ms : job->finish_ms;
    bool late = job->deadline_ms != ROUNDS_NEVER && job->finish_ms != ROUNDS_NEVER &&
                job->finish_ms > job->deadline_ms;

    return (struct app_policy_job){
        .name = ask->problem->jobs[m].name,
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
        .type_ms = &r->type_ms[m * ask->problem->n_types],
        .types = types,
        .n_types = ask->problem->n_types,
    };
}

static double gap(double got, double bound)
{
    double part = got / bound - 1;

    return part < GAP_LEAST ? 0 : part; /* NaN stays */
}

/* Jobs and types of the trace, and what they add up to. */
static int put_parts(struct app_policy_simulated *s,
                     const struct rounds_ask *ask,
                     const struct rounds_result *r,
                     const struct answer *out,
                     struct err *e)
{
    const struct policy_problem *p = ask->problem;
    struct app_policy_job *jobs = answer_alloc(out, r->n_jobs, sizeof *jobs, e);
    struct app_policy_type *types = jobs ? answer_alloc(out, p->n_types, sizeof *types, e) : NULL;
    double completion_h = 0;

    if (!types)
        return -1;
    for (size_t j = 0; j < p->n_types; j++)
        types[j] = (struct app_policy_type){
            .name = p->types[j].name,
            .quota = p->types[j].quota,
            .utilisation = r->used_ms[j] / (p->types[j].quota * (double)(r->last_ms - r->first_ms)),
        };
    for (size_t m = 0; m < r->n_jobs; m++) {
        jobs[m] = job_of(ask, r, m, types);
        s->switches += jobs[m].switches;
        s->restarts += jobs[m].restarts;
        s->preemptions += jobs[m].preemptions;
        s->deadlines += isnan(jobs[m].deadline_h) ? 0 : 1;
        if (!isnan(jobs[m].finish_h))
            completion_h += hours(r->jobs[m].finish_ms - r->jobs[m].arrival_ms);
    }
    s->mean_completion_h = completion_h / (double)r->n_done;
    s->jobs = (struct field_records){jobs, r->n_jobs};
    s->types = (struct field_records){types, p->n_types};
    return 0;
}

/* The first job that did not finish, and why; in the arena of the answer. */
static const char *unfinished(const struct policy_problem *p,
                              const struct rounds_result *r,
                              const struct answer *out)
{
    size_t m = 0;

    while (m + 1 < p->n_jobs && r->jobs[m].finish_ms != ROUNDS_NEVER)
        m++;
    return arena_printf(out->arena,
                        "%zu of %zu jobs were not done, \"%.100s\" for one: no type on which it "
                        "has a throughput has room for %.0f, its gang, by its own quota and those "
                        "of its groups%s; raise a quota or make the gang smaller",
                        p->n_jobs - r->n_done, p->n_jobs, p->jobs[m].name, p->jobs[m].gang,
                        r->jobs[m].is_nowhere ? "" : ", after the preemptions");
}

/* ---- prices ---- */

/* A trace, with its prices. */
struct input {
    struct app_policy_text trace;
    struct policy_file file;
    const char *price_source; /* NULL = prices are constant */
    double start_s, end_h;    /* of the histories; INFINITY = they are not used */
};

static void input_clear(struct input *in)
{
    policy_file_clear(&in->file);
    app_policy_text_clear(&in->trace);
}

static int take_prices(struct app *app,
                       const struct simulate_request *q,
                       struct input *in,
                       const struct answer *out,
                       struct err *e)
{
    AUTO_CLEAR(app_policy_text) struct app_policy_text text = {0};
    char a[64], b[64];

    in->end_h = (double)INFINITY;
    if ((q->prices || q->prices_file) && q->start)
        return err_set(e, ERR_USAGE, "%s and %s both set prices: leave out one of them",
                       answer_spell(out, "prices_file", a), answer_spell(out, "start", b));
    if (q->region && !q->start)
        return err_set(e, ERR_USAGE,
                       "%s is of the imported histories: add a start, as in %s 2020-03-01",
                       answer_spell(out, "region", a), answer_spell(out, "start", b));
    if (q->start &&
        (app_market_start(q->start, out, &in->start_s, e) < 0 ||
         app_policy_take_history(app, q->region, in->start_s, &in->file, &in->end_h, e) < 0))
        return -1;
    if ((q->prices || q->prices_file) &&
        (app_policy_read(q->prices, q->prices_file, "prices", out, &text, e) < 0 ||
         policy_read_prices(text.name, text.bytes, text.len, &in->file, e) < 0))
        return -1;
    if (in->file.price_notes.rows)
        in->price_source = q->start ? "the histories" : text.name ? text.name : in->trace.name;
    return 0;
}

/* Prices past the end of the histories are not known. */
static int check_end(const struct input *in,
                     const struct rounds_result *r,
                     const struct answer *out,
                     struct err *e)
{
    double done_h = hours(r->last_ms);
    char end[32], start[64];

    if (done_h <= in->end_h)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "the histories hold all prices up to %s, hour %.2f, and the jobs take %.2f h: "
                   "choose an earlier %s, or import more",
                   app_market_time(in->start_s + in->end_h * 3600, end), in->end_h, done_h,
                   answer_spell(out, "start", start));
}

/* ---- all of it ---- */

static int answer_result(const struct app_policy_watch *w,
                         const struct rounds_result *r,
                         const struct input *in,
                         double began_s,
                         struct answer *out,
                         struct err *e)
{
    const struct rounds_ask *ask = w->ask;
    const struct policy_price_notes *notes = &in->file.price_notes;
    const struct app_policy_prices prices = {notes->rows, notes->disordered, notes->repeated};
    struct app_policy_simulated s = {
        .policy = policy_kind_name(ask->kind),
        .round_h = hours(ask->round_ms),
        .restart_s = (double)ask->restart_ms / 1e3,
        .seed = (int64_t)ask->seed,
        .cost_microusd = r->cost_microusd,
        .end_h = hours(r->last_ms),
        .makespan_h = hours(r->last_ms - r->first_ms),
        .jobs_done = r->n_done,
        .slo_violations = r->late,
        .rounds = r->rounds,
        .solves = r->solves,
        .solves_short = r->failed_solves,
        .budget_usd = ask->problem->budget_usd,
        .budget_short_known_h = hours_or_nan(r->broke_known_ms),
        .bound_usd = r->bound_usd,
        .bound_makespan_h = r->bound_end_h - hours(r->first_ms),
        .cost_gap = gap(money_to_usd(r->cost_microusd), r->bound_usd),
        .solve_ms = 1e3 * r->solve_s,
        .elapsed_ms = 1e3 * (time_monotonic_s() - began_s),
        .unfinished = r->n_done < r->n_jobs ? unfinished(ask->problem, r, out) : NULL,
        .self = &s,
        .prices = in->price_source ? &prices : NULL,
        .price_source = in->price_source,
        .out_of_order_line = notes->disordered ? notes->disordered_line : UINT64_MAX,
        .repeated_line = notes->repeated ? notes->repeated_line : UINT64_MAX,
        .spans = {w->spans, w->n_spans},
        .samples = {w->samples, w->n_samples},
    };

    s.makespan_gap = gap(s.makespan_h, s.bound_makespan_h);
    return put_parts(&s, ask, r, out, e) < 0 ? -1 : answer_head(out, &s, e);
}

static int simulate(struct app *app,
                    const struct simulate_request *q,
                    const struct input *in,
                    struct answer *out,
                    struct err *e)
{
    struct rounds_ask ask = {
        .problem = &in->file.problem,
        .arrival_h = in->file.arrival_h,
        .preemptions = in->file.preemptions,
        .n_preemptions = in->file.n_preemptions,
        .kind = (enum policy_kind)(q->policy - 1),
        .round_ms = (int64_t)floor(q->round_s * 1e3 + 0.5),
        .restart_ms = (int64_t)floor(q->restart_s * 1e3 + 0.5),
        .seed = (uint64_t)q->seed,
    };
    AUTO_CLEAR(rounds_result) struct rounds_result result = {0};
    AUTO_CLEAR(app_policy_watch) struct app_policy_watch w;
    double began_s = time_monotonic_s();

    app_policy_watch_init(&w, app, &ask, q->events ? out : NULL, q->story);
    const struct rounds_watch watch = app_policy_watch_functions(&w);
    ask.watch = &watch;
    if (rounds_simulate(&ask, &result, e) < 0)
        return err_wrap(e, "%s", in->trace.name);
    if (w.failed.kind != ERR_NONE)
        return err_set(e, w.failed.kind, "%s", w.failed.text);
    if (result.stopped)
        return err_set(e, ERR_RETRY, "interrupted with %zu of %zu jobs done; nothing was written",
                       result.n_done, result.n_jobs);
    if (check_end(in, &result, out, e) < 0)
        return -1;
    return answer_result(&w, &result, in, began_s, out, e);
}

static int run_simulate(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct simulate_request *q = request;
    AUTO_CLEAR(input) struct input in = {0};

    if (app_policy_read(q->trace, q->file, "trace", out, &in.trace, e) < 0)
        return -1;
    if (policy_read(in.trace.bytes, in.trace.len, true, &in.file, e) < 0)
        return err_wrap(e, "%s", in.trace.name);
    if (take_prices(app, q, &in, out, e) < 0)
        return -1;
    in.file.problem.columns_max = (size_t)q->columns;
    return simulate(app, q, &in, out, e);
}

const struct operation policy_simulate_operation = {
    .name = "policy.simulate",
    .summary = "Simulate a policy round by round: jobs arrive, prices change.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct simulate_request, request_fields),
    .answer = RECORD_AT("policy_simulated", struct app_policy_simulated, simulated_fields),
    .item = &event_record,
    .items_name = "events",
    .run = run_simulate,
};
