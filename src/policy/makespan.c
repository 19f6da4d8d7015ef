/* min-makespan: the least time in which all work is done within the budget. With hours h = Z X in
 * place of the shares X this is one linear program; with prices that change, one per interval that
 * may be the last, and one more. policy.c calls it. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>

/* Hours that the job needs at least which needs most: the unit of time, so that the answer is near
 * 1 in it. */
static double unit_hours(const struct scope *s)
{
    double most = 0;

    for (size_t m = 0; m < s->p->n_jobs; m++) {
        double least = (double)INFINITY;
        for (size_t j = 0; j < s->p->n_types; j++)
            if (scope_is_usable(s, m, j))
                least = fmin(least, s->p->jobs[m].iterations / s->p->jobs[m].throughput[j]);
        most = fmax(most, least);
    }
    return most;
}

/* Edges: the ends of the first n intervals, and one more, `beyond` hours later. */
static void intervals_and(struct edges *out,
                          const struct policy_problem *p,
                          size_t n,
                          double beyond)
{
    *out =
        (struct edges){.at = mem_zero(n + 2, sizeof(double)), .n_windows = n + 1, .exact = n + 1};
    for (size_t i = 0; i < n; i++)
        out->at[i + 1] = p->intervals[i].end_h;
    out->at[n + 1] = out->at[n] + beyond;
}

/* What can be done within the budget, until the end of the n-th interval or whenever it may be:
 * 1 when everything, 0, or -1 with e. */
static int can_end_by(const struct scope *s, size_t n, struct err *e)
{
    AUTO_CLEAR(model_answer) struct model_answer found = {0};
    AUTO_CLEAR(edges) struct edges edges;
    AUTO_CLEAR(grid) struct grid grid;

    intervals_and(&edges, s->p, n, 1);
    grid_init(&grid, s, &(struct grid_ask){.edge = edges.at, .n_windows = n});
    return elastic_within(&(struct model_ask){.grid = &grid}, s->p->budget_usd, &found, e);
}

/* The interval in which the work ends; n_intervals = after all. */
static int find_last(const struct scope *s, size_t *last_out, struct err *e)
{
    size_t low = 0, high = isfinite(s->p->budget_usd) ? s->p->n_intervals : 0;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int can = can_end_by(s, middle + 1, e);
        if (can < 0)
            return -1;
        if (can)
            high = middle;
        else
            low = middle + 1;
    }
    *last_out = low;
    return 0;
}

/* The least time, ending in the last window. */
static int solve_last(const struct scope *s, size_t last, struct policy_answer *out, struct err *e)
{
    AUTO_CLEAR(model_answer) struct model_answer found = {0};
    AUTO_CLEAR(edges) struct edges edges;
    AUTO_CLEAR(grid) struct grid grid;
    double unit = unit_hours(s);

    intervals_and(&edges, s->p, last, unit);
    grid_init(
        &grid, s,
        &(struct grid_ask){.edge = edges.at, .n_windows = edges.n_windows, .price_at_start = true});
    const struct model_ask ask = {
        .grid = &grid,
        .shortfall_cost = (double)INFINITY,
        .budget_usd = s->p->budget_usd,
        .first_scaled = last,
        .wants_slopes = !s->p->goes_on,
    };
    if (model_solve(&ask, &found, e) < 0)
        return -1;
    policy_answer_clear(out);
    policy_answer_init(out, s, &edges);
    out->objective = edges.at[last] + unit * found.scale;
    out->bound = edges.at[last] + unit * found.bound;
    out->windows[last].to_h = out->objective;
    policy_answer_shadow_prices(out, &found, unit);
    out->has_hours = true;
    out->has_shares = last == 0;
    policy_answer_uses(out, &grid, &found, last);
    return 0;
}

int policy_makespan(struct scope *s, struct policy_answer *out, struct err *e)
{
    size_t last = 0;

    for (size_t m = 0; m < s->p->n_jobs; m++)
        s->deadline_h[m] = (double)INFINITY;
    /* The fewest dollars without any deadline: below them no time is enough. */
    if (policy_cost(s, out, e) < 0)
        return -1;
    if (out->status == POLICY_INFEASIBLE)
        return 0;
    return find_last(s, &last, e) < 0 ? -1 : solve_last(s, last, out, e);
}
