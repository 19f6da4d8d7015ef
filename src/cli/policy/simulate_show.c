/* simulate_show: the text of a simulation for people, for simulate.c. */
#include "base/money.h"
#include "base/time.h"
#include "cli/policy/policy.h"

#include <math.h>

/* Longer answers are for programs. */
#define ROWS_MAX 200
#define TYPES_SHOWN 20
#define SHORT_SHOWN 5

static void print_jobs(const struct operate_text *t, const struct app_policy_simulated *s)
{
    const struct app_policy_job *jobs = s->jobs.items;
    AUTO_CLEAR(writer) struct writer w;

    writer_init(&w, WRITER_TABLE, NULL,
                record_field(policy_simulate_operation.answer, "jobs")->record, NULL, false,
                t->out);
    for (size_t m = 0; m < s->jobs.n && m < ROWS_MAX; m++)
        writer_item(&w, &jobs[m], NULL);
    writer_end(&w, NULL);
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

void cli_policy_print_simulated(const struct operate_text *t, const struct app_policy_simulated *s)
{
    print_totals(t, s);
    print_prices(t, s);
    print_jobs(t, s);
    print_types(t, s);
    print_short(t, s);
    print_bound(t, s);
}
