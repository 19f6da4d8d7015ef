/* simulate: the command `policy simulate`: its text for people, and its trace of events. */
#include "base/file.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/policy/policy.h"

#include <math.h>
#include <unistd.h>

/* Longer answers are for programs. */
#define ROWS_MAX 200
#define TYPES_SHOWN 20
#define SHORT_SHOWN 5

/* ---- the trace ---- */

struct trace {
    struct file_draft draft;
    FILE *out; /* NULL = there is none */
};

static void trace_clear(struct trace *trace)
{
    if (trace->out)
        fclose(trace->out);
    file_draft_clear(&trace->draft);
}

static int open_trace(struct trace *trace, const char *path, struct err *e)
{
    if (file_draft_open(&trace->draft, path, 0666, e) < 0)
        return -1;
    int fd = dup(trace->draft.fd);
    trace->out = fd < 0 ? NULL : fdopen(fd, "w");
    return trace->out ? 0 : file_error(e, "write", path);
}

/* Every digit: readers compute with the same numbers. Errors show when the file is closed. */
static bool write_event(struct operate_text *t, const void *record)
{
    const struct trace *trace = t->state;

    json_dumpf(((const struct app_policy_event *)record)->event, trace->out,
               JSON_COMPACT | JSON_REAL_PRECISION(17));
    fputc('\n', trace->out);
    return true;
}

static int keep_trace(struct trace *trace, struct err *e)
{
    bool failed = ferror(trace->out);

    failed = fclose(TAKE(trace->out)) != 0 || failed;
    return failed ? file_error(e, "write", trace->draft.path) : file_draft_keep(&trace->draft, e);
}

static int save_files(struct operate_text *t, const void *head, struct err *e)
{
    struct trace *trace = t->state;
    const char *svg = command_value(t->args, "--svg");

    if (trace->out && keep_trace(trace, e) < 0)
        return -1;
    return svg ? cli_policy_save_svg(svg, head, e) : 0;
}

/* ---- the answer ---- */

static void print_jobs(const struct operate_text *t, const struct app_policy_simulated *s)
{
    writer_list(policy_simulate_operation.answer, s, "jobs", ROWS_MAX, 0, false, t->out);
    if (s->jobs.n > ROWS_MAX)
        fprintf(t->out, "... and %zu more; --json has all\n", s->jobs.n - ROWS_MAX);
}

static void print_types(const struct operate_text *t, const struct app_policy_simulated *s)
{
    const struct app_policy_type *types = s->types.items;

    for (size_t j = 0; j < s->types.n && j < TYPES_SHOWN; j++)
        if (types[j].quota > 0)
            fprintf(t->out, "%s: %.1f %% of %.6g in use\n", types[j].name,
                    100 * types[j].utilisation, types[j].quota);
}

static void print_short(const struct operate_text *t, const struct app_policy_simulated *s)
{
    const struct app_policy_job *jobs = s->jobs.items;
    size_t n = 0;

    for (size_t m = 0; m < s->jobs.n; m++) {
        if (isnan(jobs[m].short_known_h) || n++ >= SHORT_SHOWN)
            continue;
        fprintf(t->out,
                "%s: foreseen at %.2f h: %.1f %% of the iterations would miss the deadline\n",
                jobs[m].name, jobs[m].short_known_h, 100 * jobs[m].shortfall);
    }
    if (n > SHORT_SHOWN)
        fprintf(t->out, "... and %zu more; --json has all\n", n - SHORT_SHOWN);
    if (!isnan(s->budget_short_known_h))
        fprintf(t->out,
                "Foreseen at %.2f h: the budget of $%.2f is too small; from then on the policy "
                "minimizes cost.\n",
                s->budget_short_known_h, s->budget_usd);
}

static void print_totals(const struct operate_text *t, const struct app_policy_simulated *s)
{
    char money[32], round[32], restart[32];

    fprintf(t->out, "%s: %zu of %zu jobs done in %.2f h for %s\n", s->policy, (size_t)s->jobs_done,
            s->jobs.n, s->makespan_h, money_text(s->cost_microusd, money));
    fprintf(t->out, "rounds of %s, restarts of %s: %zu rounds, shares solved %zu times (%.1f ms)\n",
            time_text(s->round_h * 3600, round), time_text(s->restart_s, restart),
            (size_t)s->rounds, (size_t)s->solves, s->elapsed_ms);
    if (s->jobs_done > 0)
        fprintf(t->out, "mean time from arrival to end %.2f h; ", s->mean_completion_h);
    fprintf(t->out, "%zu moves, %zu restarts, %zu preemptions", (size_t)s->switches,
            (size_t)s->restarts, (size_t)s->preemptions);
    if (s->deadlines)
        fprintf(t->out, "; %zu of %zu deadlines met", (size_t)(s->deadlines - s->slo_violations),
                (size_t)s->deadlines);
    fprintf(t->out, "\n");
}

static void print_prices(const struct operate_text *t, const struct app_policy_simulated *s)
{
    const struct app_policy_prices *p = s->prices;

    if (p && p->out_of_order)
        fprintf(t->out, "%s: %zu of %zu prices out of order, line %zu first; sorted by time\n",
                s->price_source, (size_t)p->out_of_order, (size_t)p->rows,
                (size_t)s->out_of_order_line);
    if (p && p->repeated)
        fprintf(t->out,
                "%s: %zu of %zu prices for a time that has a price, line %zu first; not used\n",
                s->price_source, (size_t)p->repeated, (size_t)p->rows, (size_t)s->repeated_line);
}

static void print_bound(const struct operate_text *t, const struct app_policy_simulated *s)
{
    char money[32];

    if (s->jobs_done == 0)
        return;
    fprintf(t->out,
            "Lower bounds with hindsight: %s (cost %.1f %% above), %.2f h (time %.1f %% above).\n",
            money_text(money_from_usd(fmin(s->bound_usd, MONEY_MAX_USD)), money), 100 * s->cost_gap,
            s->bound_makespan_h, 100 * s->makespan_gap);
}

static void print_simulated(struct operate_text *t, const void *record)
{
    const struct app_policy_simulated *s = record;

    print_totals(t, s);
    print_prices(t, s);
    print_jobs(t, s);
    print_types(t, s);
    print_short(t, s);
    print_bound(t, s);
    if (s->unfinished)
        err_set(&t->error, ERR_NOFIT, "%s", s->unfinished);
}

static int exit_code(const void *head)
{
    return ((const struct app_policy_simulated *)head)->unfinished ? err_exit_code(ERR_NOFIT) : 0;
}

static const struct command_text simulate_text = {
    .save = save_files,
    .take = write_event,
    .head = print_simulated,
    .exit_code = exit_code,
};

static int run_simulate(const struct command_args *args, struct err *e)
{
    AUTO_JSON json_t *request = operate_request(args, &policy_simulate_operation, e);
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    AUTO_CLEAR(trace) struct trace trace = {0};
    const char *path = command_value(args, "--trace");

    if (!request || (path && open_trace(&trace, path, e) < 0))
        return -1;
    return operate_call_with(args, terminal, &policy_simulate_operation, request, &simulate_text,
                             &trace, e);
}

static const struct command_option options[] = {
    {.name = "--svg",
     .value = "FILE",
     .sets = "story",
     .help = "Draw the jobs by type, the queue and the cost."},
    {.name = "--trace",
     .value = "FILE",
     .sets = "events",
     .help = "Write every solve and every round, one JSON object per line."},
    {0},
};

const struct command command_policy_simulate = {
    .name = "policy simulate",
    .operands = "TRACE",
    .summary = "Simulate a policy round by round while jobs arrive and prices change",
    .details =
        "TRACE is JSON like that of `policy solve`, with arrival_h of jobs and optionally "
        "preemptions {at_h, until_h, type, instances}; slo_h counts from the arrival. Or it is "
        "JSON lines: {\"types\": [...]} first, then jobs as {\"at_h\": 0.5, \"name\": ...} and "
        "prices as {\"at_h\": 8, \"prices\": {\"V100\": 0.9}}. - reads standard input.\n\n"
        "The policy solves its shares again whenever a job arrives or ends, a price changes, "
        "instances are preempted or a deadline passes, at the prices of that time. Each round "
        "runs the jobs that have received the least of their shares; a gang runs as a whole, on "
        "one type per round, within all quotas. A job that misses its deadline keeps running, and "
        "the answer says when the miss was known. The answer compares the cost with a lower bound "
        "for schedules that know the future. docs/policies.md has the rules.",
    .example = "tradewind policy simulate examples/policy-trace.json --policy min-cost-slo",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .operation = &policy_simulate_operation,
    .run = run_simulate,
};
