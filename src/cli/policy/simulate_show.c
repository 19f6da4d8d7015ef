/* simulate_show: the text of a simulation for people, for simulate.c. */
#include "base/buf.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/policy/policy.h"
#include "view/table.h"

#include <math.h>
#include <string.h>

/* Longer answers are for programs. */
#define ROWS_MAX 200
#define TYPES_SHOWN 20
#define SHORT_SHOWN 5

static double hours(int64_t ms)
{
    return (double)ms / ROUNDS_HOUR_MS;
}

/* ---- tables ---- */

static void put_hour(struct table *t, int64_t ms)
{
    if (ms == ROUNDS_NEVER)
        table_put(t, "never");
    else
        table_printf(t, "%.2f h", hours(ms));
}

/* "V100 4 h, K80 1.5 h" */
static void put_types(struct table *t, const struct app_policy_simulated *s, size_t m)
{
    const struct policy_problem *p = s->ask->problem;
    AUTO_CLEAR(buf) struct buf text;

    buf_init(&text, 1000);
    for (size_t j = 0; j < p->n_types; j++) {
        int64_t ms = s->result->type_ms[m * p->n_types + j];
        if (ms > 0)
            buf_printf(&text, "%s%.40s %.4g h", text.len ? ", " : "", p->types[j].name, hours(ms));
    }
    table_put(t, buf_str(&text));
}

static void put_slo(struct table *t, const struct rounds_job *job)
{
    if (job->deadline_ms == ROUNDS_NEVER)
        table_put(t, "");
    else if (job->finish_ms == ROUNDS_NEVER)
        table_put(t, "missed");
    else if (job->finish_ms > job->deadline_ms)
        table_printf(t, "%.2f h late", hours(job->finish_ms - job->deadline_ms));
    else
        table_put(t, "met");
}

static void print_jobs(const struct operate_text *t, const struct app_policy_simulated *s)
{
    static const struct table_column columns[] = {
        {.title = "job", .cut_rank = 2, .least = 8},
        {.title = "arrives", .right = true},
        {.title = "starts", .right = true},
        {.title = "done", .right = true},
        {.title = "waited", .right = true},
        {.title = "ran on", .cut_rank = 1, .least = 12},
        {.title = "moves", .right = true},
        {.title = "cost", .right = true},
        {.title = "deadline", .right = true},
    };
    const struct rounds_result *r = s->result;
    const struct app_policy_job *jobs = s->jobs.items;
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    char money[32];

    for (size_t m = 0; m < r->n_jobs && m < ROWS_MAX; m++) {
        const struct rounds_job *job = &r->jobs[m];
        table_put(table, s->ask->problem->jobs[m].name);
        put_hour(table, job->arrival_ms);
        put_hour(table, job->start_ms);
        put_hour(table, job->finish_ms);
        table_printf(table, "%.2f h", jobs[m].waited_h);
        put_types(table, s, m);
        table_printf(table, "%u", job->switches);
        table_put(table, money_text(job->cost_microusd, money));
        put_slo(table, job);
    }
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
    if (r->n_jobs > ROWS_MAX)
        fprintf(t->out, "... and %zu more; --json has all\n", r->n_jobs - ROWS_MAX);
}

static void print_types(const struct operate_text *t, const struct app_policy_simulated *s)
{
    const struct policy_problem *p = s->ask->problem;

    for (size_t j = 0; j < p->n_types && j < TYPES_SHOWN; j++)
        if (p->types[j].quota > 0)
            fprintf(t->out, "%s: %.1f %% of %.6g in use\n", p->types[j].name,
                    100 * app_policy_utilisation(s, j), p->types[j].quota);
}

static void print_short(const struct operate_text *t, const struct app_policy_simulated *s)
{
    const struct rounds_result *r = s->result;
    size_t n = 0;

    for (size_t m = 0; m < r->n_jobs; m++) {
        const struct rounds_job *job = &r->jobs[m];
        if (job->short_known_ms == ROUNDS_NEVER || n++ >= SHORT_SHOWN)
            continue;
        fprintf(t->out,
                "%s: foreseen at %.2f h: %.1f %% of the iterations would miss the deadline\n",
                s->ask->problem->jobs[m].name, hours(job->short_known_ms), 100 * job->short_part);
    }
    if (n > SHORT_SHOWN)
        fprintf(t->out, "... and %zu more; --json has all\n", n - SHORT_SHOWN);
    if (r->broke_known_ms != ROUNDS_NEVER)
        fprintf(t->out,
                "Foreseen at %.2f h: the budget of $%.2f is too small; from then on the policy "
                "minimizes "
                "cost.\n",
                hours(r->broke_known_ms), s->ask->problem->budget_usd);
}

static void print_totals(const struct operate_text *t, const struct app_policy_simulated *s)
{
    const struct rounds_result *r = s->result;
    char money[32], round[32], restart[32];

    fprintf(t->out, "%s: %zu of %zu jobs done in %.2f h for %s\n", s->policy, r->n_done, r->n_jobs,
            s->makespan_h, money_text(r->cost_microusd, money));
    fprintf(t->out, "rounds of %s, restarts of %s: %zu rounds, shares solved %zu times (%.1f ms)\n",
            time_text((double)s->ask->round_ms / 1e3, round),
            time_text((double)s->ask->restart_ms / 1e3, restart), r->rounds, r->solves,
            s->elapsed_ms);
    if (r->n_done > 0)
        fprintf(t->out, "mean time from arrival to end %.2f h; ", s->mean_completion_h);
    fprintf(t->out, "%zu moves, %zu restarts, %zu preemptions", (size_t)s->switches,
            (size_t)s->restarts, (size_t)s->preemptions);
    if (s->n_deadlines)
        fprintf(t->out, "; %zu of %zu deadlines met", (size_t)(s->n_deadlines - s->slo_violations),
                (size_t)s->n_deadlines);
    fprintf(t->out, "\n");
}

static void print_prices(const struct operate_text *t, const struct app_policy_simulated *s)
{
    const struct policy_price_notes *n = s->price_notes;

    if (s->prices && n->disordered)
        fprintf(t->out, "%s: %zu of %zu prices out of order, line %zu first; sorted by time\n",
                s->prices, n->disordered, n->rows, n->disordered_line);
    if (s->prices && n->repeated)
        fprintf(t->out,
                "%s: %zu of %zu prices for a time that has a price, line %zu first; not "
                "used\n",
                s->prices, n->repeated, n->rows, n->repeated_line);
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

void cli_policy_print_simulated(const struct operate_text *t, const struct app_policy_simulated *s)
{
    print_totals(t, s);
    print_prices(t, s);
    print_jobs(t, s);
    print_types(t, s);
    print_short(t, s);
    print_bound(t, s);
}
