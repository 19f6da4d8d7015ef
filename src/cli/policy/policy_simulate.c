#include "app/market/home.h"
#include "app/market/job.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/progress.h"
#include "cli/policy/policy_parts.h"
#include "policy/read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A picture of more shows nothing more. */
#define STORY_MAX 500000
#define SEED_MAX 9007199254740992.0 /* whole numbers in a double */

/* ---- what was asked ---- */

static int take_ms(const struct command_args *args,
                   const char *option,
                   double bare_unit_s,
                   int64_t *ms,
                   struct err *e)
{
    double seconds = (double)*ms / 1e3;

    if (command_duration(args, option, bare_unit_s, &seconds, e) < 0)
        return -1;
    if (seconds * 1e3 > (double)ROUNDS_ROUND_MS_MAX)
        return err_set(e, ERR_USAGE, "%s: at most a week is allowed", option);
    *ms = (int64_t)floor(seconds * 1e3 + 0.5);
    return 0;
}

static int take_options(const struct command_args *args,
                        struct rounds_ask *ask,
                        size_t *columns_out,
                        struct err *e)
{
    double seed = 1, columns = ROUNDS_COLUMNS_DEFAULT;

    ask->round_ms = 3600000;
    ask->restart_ms = 300000;
    if (policy_take_kind(args, &ask->kind, e) < 0 ||
        take_ms(args, "--round", 60, &ask->round_ms, e) < 0 ||
        take_ms(args, "--restart", 1, &ask->restart_ms, e) < 0 ||
        command_number(args, "--seed", &seed, e) < 0 ||
        command_number(args, "--columns", &columns, e) < 0)
        return -1;
    if (ask->round_ms < 1000)
        return err_set(e, ERR_USAGE, "--round: at least a second is wanted");
    if (!(seed >= 0 && seed <= SEED_MAX && seed == floor(seed)))
        return err_set(e, ERR_USAGE, "--seed %g: a whole number from 0 is wanted", seed);
    if (!(columns >= 1 && columns <= POLICY_PAIRS_MAX))
        return err_set(e, ERR_USAGE, "--columns %g: a number from 1 to %d is wanted", columns,
                       POLICY_PAIRS_MAX);
    ask->seed = (uint64_t)seed;
    *columns_out = (size_t)columns;
    return 0;
}

static int read_trace(const char *path, struct policy_file *out, struct err *e)
{
    AUTO_CLEAR(buf) struct buf bytes;

    buf_init(&bytes, POLICY_FILE_BYTES_MAX);
    if (policy_read_bytes(path, &bytes, e) < 0)
        return -1;
    return policy_read_trace(buf_str(&bytes), bytes.len, out, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

static int read_prices(const char *path, struct policy_file *file, struct err *e)
{
    AUTO_CLEAR(buf) struct buf bytes;

    buf_init(&bytes, POLICY_FILE_BYTES_MAX);
    if (policy_read_bytes(path, &bytes, e) < 0)
        return -1;
    return policy_read_prices(path, buf_str(&bytes), bytes.len, file, e);
}

/* What moves prices besides the trace. */
struct prices {
    const char *name;                       /* NULL = nothing does */
    const struct policy_price_notes *notes; /* of the file */
    double start_s, end_h;                  /* of the histories; INFINITY = they are not asked */
};

static int take_prices(const struct command_args *args,
                       struct policy_file *file,
                       struct prices *out,
                       struct err *e)
{
    const char *path = command_value(args, "--prices");
    struct policy_history_ask ask = {.place = command_value(args, "--region")};
    bool from_histories = command_has(args, "--start");

    *out = (struct prices){.notes = &file->price_notes, .end_h = (double)INFINITY};
    if (path && from_histories)
        return err_set(e, ERR_USAGE,
                       "--prices and --start both tell prices: leave out one of them");
    if (ask.place && !from_histories)
        return err_set(e, ERR_USAGE,
                       "--region is of the imported histories: say from when on, as in --start "
                       "2020-03-01");
    if (from_histories && (app_market_start(command_value(args, "--start"), &ask.start_s, e) < 0 ||
                           policy_take_history(&ask, file, &out->end_h, e) < 0))
        return -1;
    if (path && read_prices(path, file, e) < 0)
        return -1;
    out->start_s = ask.start_s;
    if (file->price_notes.rows)
        out->name = from_histories ? "the histories" : path ? path : args->operands[0];
    return 0;
}

/* What is not known is not computed with. */
static int check_end(const struct prices *p, const struct rounds_result *r, struct err *e)
{
    double done_h = (double)r->last_ms / ROUNDS_HOUR_MS;
    char end[32];

    if (done_h <= p->end_h)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "the histories tell all prices up to %s, hour %.2f, and the jobs take %.2f h: "
                   "take an earlier --start, or import more",
                   app_market_time(p->start_s + p->end_h * 3600, end), p->end_h, done_h);
}

/* ---- looking on ---- */

struct onlooker {
    const struct rounds_ask *ask;
    struct progress line;
    FILE *trace; /* NULL = none */
    bool wants_story;
    struct policy_story story;
    size_t *last_span; /* per job, one more than its number */
    int64_t *arrivals; /* ascending */
    size_t n_arrived, n_done;
    int64_t cost_microusd;
};

static const char *const whys[ROUNDS_WHYS] = {"arrival", "departure", "price", "quota", "deadline"};

/* Every digit, so that a reader computes with the same numbers. */
static void put_line(struct onlooker *o, json_t *line)
{
    json_dumpf(line, o->trace, JSON_COMPACT | JSON_REAL_PRECISION(17));
    fputc('\n', o->trace);
    json_decref(line);
}

static void on_solved(void *context, const struct rounds_solved *s)
{
    struct onlooker *o = context;
    const struct policy_problem *p = o->ask->problem;

    if (!o->trace)
        return;
    json_t *why = json_array(), *shares = json_array(), *fills = json_array();
    json_t *shortfall = json_object();
    for (unsigned i = 0; i < ROUNDS_WHYS; i++)
        if (s->why & 1u << i)
            json_array_append_new(why, json_string(whys[i]));
    for (size_t i = 0; i < s->n_claims; i++) {
        const struct rounds_claim *c = &s->claims[i];
        const char *job = p->jobs[c->job].name, *type = p->types[c->type].name;
        json_array_append_new(c->fill ? fills : shares,
                              c->fill ? json_pack("[s, s]", job, type)
                                      : json_pack("[s, s, f]", job, type, c->share));
    }
    for (size_t i = 0; i < s->answer->n_jobs; i++)
        if (s->answer->shortfall[i] > 0)
            json_object_set_new(shortfall, p->jobs[s->jobs[i]].name,
                                json_number(s->answer->shortfall[i]));
    put_line(o, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "event", "solve",
                          "at_ms", (json_int_t)s->at_ms, "why", why, "objective",
                          json_number(s->answer->objective), "shortfall_price",
                          json_number(s->answer->shortfall_price), "shares", shares, "fills", fills,
                          "shortfall", shortfall, "merged",
                          s->answer->n_windows < s->answer->windows_exact, "early", s->is_early));
}

static void trace_round(
    struct onlooker *o, int64_t from_ms, int64_t to_ms, const struct rounds_run *runs, size_t n)
{
    const struct policy_problem *p = o->ask->problem;
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:b}", "job", p->jobs[runs[i].job].name,
                            "type", p->types[runs[i].type].name, "to_ms", (json_int_t)runs[i].to_ms,
                            "lost_ms", (json_int_t)runs[i].lost_ms, "cost_microusd",
                            (json_int_t)runs[i].cost_microusd, "done", runs[i].done, "preempted",
                            runs[i].preempted));
    put_line(o, json_pack("{s:s, s:I, s:I, s:o}", "event", "round", "from_ms", (json_int_t)from_ms,
                          "to_ms", (json_int_t)to_ms, "runs", list));
}

static void note_span(struct onlooker *o, int64_t from_ms, const struct rounds_run *run)
{
    struct policy_story *story = &o->story;
    size_t *last = &o->last_span[run->job];

    if (*last && story->spans[*last - 1].type == run->type &&
        story->spans[*last - 1].to_ms == from_ms) {
        story->spans[*last - 1].to_ms = run->to_ms;
        return;
    }
    if (story->n_spans == STORY_MAX)
        return;
    story->spans = mem_room(story->spans, story->n_spans, &story->cap_spans, sizeof *story->spans);
    story->spans[story->n_spans++] = (struct policy_span){run->job, run->type, from_ms, run->to_ms};
    *last = story->n_spans;
}

static void note_round(
    struct onlooker *o, int64_t from_ms, int64_t to_ms, const struct rounds_run *runs, size_t n)
{
    struct policy_story *story = &o->story;
    size_t done = o->n_done;

    while (o->n_arrived < o->ask->problem->n_jobs && o->arrivals[o->n_arrived] <= from_ms)
        o->n_arrived++;
    for (size_t i = 0; i < n; i++) {
        note_span(o, from_ms, &runs[i]);
        o->cost_microusd += runs[i].cost_microusd;
        o->n_done += runs[i].done;
    }
    if (story->n_samples == STORY_MAX)
        return;
    story->samples =
        mem_room(story->samples, story->n_samples, &story->cap_samples, sizeof *story->samples);
    story->samples[story->n_samples++] = (struct policy_sample){
        .from_ms = from_ms,
        .to_ms = to_ms,
        .running = n,
        .waiting = o->n_arrived - done - n,
        .cost_microusd = o->cost_microusd,
    };
}

static void on_ran(
    void *context, int64_t from_ms, int64_t to_ms, const struct rounds_run *runs, size_t n)
{
    struct onlooker *o = context;

    if (o->trace)
        trace_round(o, from_ms, to_ms, runs, n);
    if (o->wants_story)
        note_round(o, from_ms, to_ms, runs, n);
}

static bool on_stop(void *context, size_t done)
{
    struct onlooker *o = context;

    progress_show(&o->line, "%zu of %zu jobs done", done, o->ask->problem->n_jobs);
    return interrupt_seen();
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void onlooker_init(struct onlooker *o, const struct rounds_ask *ask, bool wants_story)
{
    size_t n = ask->problem->n_jobs;

    *o = (struct onlooker){
        .ask = ask,
        .wants_story = wants_story,
        .last_span = mem_zero(n + 1, sizeof *o->last_span),
        .arrivals = mem_zero(n + 1, sizeof *o->arrivals),
    };
    for (size_t m = 0; m < n; m++)
        o->arrivals[m] = (int64_t)floor(ask->arrival_h[m] * ROUNDS_HOUR_MS + 0.5);
    qsort(o->arrivals, n, sizeof *o->arrivals, by_number);
    progress_init(&o->line, stderr);
}

static void onlooker_clear(struct onlooker *o)
{
    progress_clear(&o->line);
    if (o->trace)
        fclose(o->trace);
    free(o->last_span);
    free(o->arrivals);
    free(o->story.spans);
    free(o->story.samples);
}

/* ---- the trace as a file ---- */

static int open_trace(struct onlooker *o, struct file_draft *draft, const char *path, struct err *e)
{
    if (file_draft_open(draft, path, 0666, e) < 0)
        return -1;
    int fd = dup(draft->fd);
    o->trace = fd < 0 ? NULL : fdopen(fd, "w");
    return o->trace ? 0 : file_error(e, "write", path);
}

static int keep_trace(struct onlooker *o, struct file_draft *draft, struct err *e)
{
    bool failed = ferror(o->trace);

    failed = fclose(TAKE(o->trace)) != 0 || failed;
    return failed ? file_error(e, "write", draft->path) : file_draft_keep(draft, e);
}

/* ---- the command ---- */

/* The first job that was not done, and why. */
static int not_done(const struct rounds_ask *ask, const struct rounds_result *r, struct err *e)
{
    const struct policy_problem *p = ask->problem;
    size_t m = 0;

    while (m + 1 < p->n_jobs && r->jobs[m].finish_ms != ROUNDS_NEVER)
        m++;
    return err_set(e, ERR_NOFIT,
                   "%zu of %zu jobs were not done, \"%.100s\" for one: no type on which it has a "
                   "throughput has room for %.0f, its gang, by its own quota and those of its "
                   "groups%s; raise a quota or make the gang smaller",
                   p->n_jobs - r->n_done, p->n_jobs, p->jobs[m].name, p->jobs[m].gang,
                   r->jobs[m].is_nowhere ? "" : ", after the preemptions");
}

static int show(const struct command_args *args,
                const struct policy_simulation *s,
                const struct policy_story *story,
                struct err *e)
{
    const char *svg = command_value(args, "--svg");
    bool all = s->result->n_done == s->result->n_jobs, json = command_has(args, "--json");

    if (svg && policy_simulation_svg(svg, s, story, e) < 0)
        return -1;
    if (json)
        return policy_simulation_json(s, e) < 0 ? -1 : all ? 0 : err_exit_code(ERR_NOFIT);
    policy_simulation_print(s);
    return all ? 0 : not_done(s->ask, s->result, e);
}

static int simulate(const struct command_args *args,
                    const struct rounds_ask *asked,
                    const struct prices *prices,
                    struct err *e)
{
    struct rounds_ask ask = *asked;
    AUTO_CLEAR(rounds_result) struct rounds_result result = {0};
    AUTO_CLEAR(file_draft) struct file_draft draft = {0};
    AUTO_CLEAR(onlooker) struct onlooker o = {0};
    const char *trace = command_value(args, "--trace");

    onlooker_init(&o, &ask, command_has(args, "--svg"));
    const struct rounds_watch watch = {.context = &o,
                                       .solved = on_solved,
                                       .ran = on_ran,
                                       .stop = on_stop,
                                       .clock_s = time_monotonic_s};
    ask.watch = &watch;
    interrupt_watch();
    if (trace && open_trace(&o, &draft, trace, e) < 0)
        return -1;
    double began = time_monotonic_s();
    if (rounds_simulate(&ask, &result, e) < 0)
        return err_wrap(e, "%s", args->operands[0]);
    if (result.stopped)
        return err_set(e, ERR_RETRY, "interrupted with %zu of %zu jobs done; nothing was written",
                       result.n_done, result.n_jobs);
    progress_clear(&o.line);
    if (check_end(prices, &result, e) < 0)
        return -1;
    if (trace && keep_trace(&o, &draft, e) < 0)
        return -1;
    return show(args,
                &(struct policy_simulation){.ask = &ask,
                                            .result = &result,
                                            .prices = prices->name,
                                            .price_notes = prices->notes,
                                            .elapsed_ms = 1e3 * (time_monotonic_s() - began)},
                &o.story, e);
}

static int run_simulate(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(policy_file) struct policy_file file = {0};
    struct rounds_ask ask = {0};
    size_t columns = 0;
    struct prices prices;

    if (take_options(args, &ask, &columns, e) < 0 || read_trace(args->operands[0], &file, e) < 0 ||
        take_prices(args, &file, &prices, e) < 0)
        return -1;
    file.problem.columns_max = columns;
    ask.problem = &file.problem;
    ask.arrival_h = file.arrival_h;
    ask.preemptions = file.preemptions;
    ask.n_preemptions = file.n_preemptions;
    return simulate(args, &ask, &prices, e);
}

static const struct command_option simulate_options[] = {
    POLICY_OPTION,
    {.name = "--round",
     .value = "MINUTES",
     .help = "How long a round is, in minutes or as 2h: jobs begin, move and pause between rounds "
             "only (default: 60)."},
    {.name = "--restart",
     .value = "S",
     .help = "Seconds that a job loses which goes on elsewhere or after a pause (default: 300)."},
    {.name = "--prices",
     .value = "FILE",
     .help = "Prices in place of those of the trace: CSV with at_h, type, price_usd_per_hour."},
    {.name = "--start",
     .value = "TIME",
     .help = "The same out of the imported histories, from then on: of each type, a machine or a "
             "GPU by its name, the cheapest offer."},
    {.name = "--region",
     .value = "PLACE",
     .help = "With --start: only of aws:us-east-1, or of a cloud (default: of all)."},
    {.name = "--seed",
     .value = "N",
     .help = "Of the lots that decide who goes when machines are taken away (default: 1)."},
    {.name = "--columns",
     .value = "N",
     .help =
         "Merge windows of min-cost-slo until a program has at most N columns (default: 4000)."},
    {.name = "--svg", .value = "FILE", .help = "Draw who ran where, the queue and the cost."},
    {.name = "--trace",
     .value = "FILE",
     .help = "Write every set of shares and every round, one JSON object a line."},
    {.name = "--json",
     .help = "Print {policy, cost_usd, makespan_h, mean_completion_h, slo_violations, utilisation, "
             "bound, jobs, ...}."},
    {0},
};

const struct command command_policy_simulate = {
    .name = "policy simulate",
    .operands = "TRACE",
    .summary = "Play a policy through arriving jobs and moving prices, round by round",
    .details =
        "TRACE is JSON like that of `policy solve`, with arrival_h of jobs and, if wanted, "
        "preemptions {at_h, until_h, type, instances}; slo_h counts from the arrival. Or it is "
        "lines: {\"types\": [...]} first, then jobs as {\"at_h\": 0.5, \"name\": ...} and prices "
        "as "
        "{\"at_h\": 8, \"prices\": {\"V100\": 0.9}}. - reads it from standard input.\n\n"
        "Whenever a job comes or goes, a price steps, machines are taken away or a deadline has "
        "passed, the policy's shares are solved anew, at the prices of the moment. Every round "
        "goes to those who have received least of what they are owed; gangs run whole, on one type "
        "a round, within all quotas. When a deadline cannot be kept it goes on, and says when that "
        "was known. The answer is held against the least that any schedule with the whole future "
        "before it would have cost. docs/policies.md has the rules.",
    .example = "tradewind policy simulate examples/policy-trace.json --policy min-cost-slo",
    .options = simulate_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_simulate,
};
