/* min-cost and min-cost-slo: the least cost of all work, with or without deadlines. policy.c calls
 * it, and rounds_bound.c for its lower bound. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Part of a budget that rounding may take. */
#define BUDGET_ROUNDING 1e-9

bool policy_is_within(const struct policy_problem *p, double usd)
{
    return usd <= p->budget_usd * (1 + BUDGET_ROUNDING);
}

/* The shortfalls within the budget, and the fix. */
static int too_late(const struct model_ask *ask,
                    const struct model_answer *nearest,
                    struct policy_answer *out,
                    struct err *e)
{
    const struct policy_problem *p = ask->grid->scope->p;
    int found = 0;

    if (!isfinite(p->budget_usd))
        policy_answer_falls_short(out, ask->grid, nearest);
    else if (policy_short_within(ask, p->budget_usd, out, e) < 0)
        return -1;
    if (p->goes_on) {
        out->objective = nearest->objective;
        out->shortfall_price = elastic_price(ask);
    } else {
        found = stretch_find(ask, out, e);
    }
    policy_answer_reason(out, ask->grid->scope);
    return found;
}

/* What falls short of the budget. */
static int over_budget(const struct model_ask *ask,
                       double usd,
                       struct policy_answer *out,
                       struct err *e)
{
    if (policy_short_within(ask, ask->grid->scope->p->budget_usd, out, e) < 0)
        return -1;
    out->budget_needed_usd = usd;
    policy_answer_reason(out, ask->grid->scope);
    return 0;
}

/* The least that any schedule costs, where windows are merged. */
static int bound_below(const struct scope *s,
                       const struct edges *edges,
                       double *bound_out,
                       struct err *e)
{
    AUTO_CLEAR(model_answer) struct model_answer found = {0};
    AUTO_CLEAR(grid) struct grid grid;

    grid_init(
        &grid, s,
        &(struct grid_ask){.edge = edges->at, .n_windows = edges->n_windows, .side = GRID_RELAXED});
    int feasible = elastic_solve(&(struct model_ask){.grid = &grid, .cost = grid.usd}, &found, e);
    *bound_out = feasible == 1 ? found.bound : (double)NAN;
    return feasible < 0 ? -1 : 0;
}

static void take(struct policy_answer *out, const struct grid *g, const struct model_answer *found)
{
    out->objective = found->objective;
    out->bound = found->bound;
    policy_answer_shadow_prices(out, found, 1);
    policy_answer_uses(out, g, found, SIZE_MAX);
}

static bool is_merged(const struct scope *s, const struct edges *edges)
{
    return s->form == POLICY_WINDOWS && edges->n_windows < edges->exact;
}

static int solve(const struct model_ask *ask,
                 const struct edges *edges,
                 struct policy_answer *out,
                 struct err *e)
{
    const struct scope *s = ask->grid->scope;
    AUTO_CLEAR(model_answer) struct model_answer found = {0};

    if (out->status == POLICY_INFEASIBLE) /* some can run nowhere */
        return policy_others_short(ask, s->p->budget_usd, out, e);
    int feasible = elastic_solve(ask, &found, e);
    if (feasible <= 0)
        return feasible < 0 ? -1 : too_late(ask, &found, out, e);
    if (!policy_is_within(s->p, found.objective))
        return over_budget(ask, found.objective, out, e);
    take(out, ask->grid, &found);
    return is_merged(s, edges) && !s->p->goes_on ? bound_below(s, edges, &out->bound, e) : 0;
}

/* What columns cost where it goes on; of others their dollars. For the caller to free. */
static double *costs_of(const struct grid *g)
{
    const struct policy_problem *p = g->scope->p;
    double *cost = mem_zero(g->n_columns + 1, sizeof *cost);

    memcpy(cost, g->usd, g->n_columns * sizeof *cost);
    for (const struct grid_slot *s = g->slots; p->goes_on && s < g->slots + g->n_slots; s++) {
        uint32_t on = p->on_type ? p->on_type[s->job] : POLICY_NO_TYPE;
        double waits = POLICY_WAITS * (double)s->window / (double)g->n_windows;
        for (size_t q = s->first; q < s[1].first; q++)
            cost[q] *= 1 + waits + (on != POLICY_NO_TYPE && g->type[q] != on ? POLICY_MOVES : 0);
    }
    return cost;
}

static int solve_edges(const struct scope *s,
                       struct edges *edges,
                       struct policy_answer *out,
                       struct err *e)
{
    AUTO_CLEAR(model_start) struct model_start start = {0};
    AUTO_CLEAR(grid) struct grid grid;

    grid_init(&grid, s,
              &(struct grid_ask){
                  .edge = edges->at, .n_windows = edges->n_windows, .side = GRID_ATTAINED});
    AUTO_MEM double *cost = costs_of(&grid);
    const struct model_ask ask = {
        .grid = &grid, .cost = cost, .wants_slopes = !s->p->goes_on, .start = &start};
    int result = solve(&ask, edges, out, e);
    if (is_merged(s, edges) && result == 0 && out->status == POLICY_OPTIMAL &&
        (s->p->goes_on || out->objective - out->bound > POLICY_GAP * fabs(out->objective)))
        out->status = POLICY_FEASIBLE;
    return result;
}

/* Without deadlines and price steps jobs can wait for one another: each has its cheapest type. */
static bool solve_without_time(const struct scope *s, struct policy_answer *out)
{
    double usd = 0;

    out->uses = mem_zero(s->p->n_jobs + 1, sizeof *out->uses);
    for (size_t m = 0; m < s->p->n_jobs; m++) {
        size_t type = 0;
        usd += scope_cheapest(s, m, &type);
        out->uses[m] = (struct policy_use){
            .job = (uint32_t)m,
            .type = (uint32_t)type,
            .hours = s->p->jobs[m].iterations / s->p->jobs[m].throughput[type],
        };
    }
    if (!policy_is_within(s->p, usd)) {
        free(TAKE(out->uses));
        return false;
    }
    out->n_uses = s->p->n_jobs;
    out->objective = out->bound = usd;
    return true;
}

int policy_cost(struct scope *s, struct policy_answer *out, struct err *e)
{
    AUTO_CLEAR(edges) struct edges edges;

    edges_init(&edges, s);
    policy_answer_init(out, s, &edges);
    out->has_shares = s->form == POLICY_RATE;
    out->has_hours = s->form == POLICY_WINDOWS;
    bool timeless = edges.n_windows == 1 && !isfinite(edges.at[1]);
    if (policy_cannot_run(s, NULL, out) || !(timeless && solve_without_time(s, out)))
        return solve_edges(s, &edges, out, e);
    return 0;
}

int policy_cost_bound(const struct policy_problem *p, double *usd_out, struct err *e)
{
    AUTO_CLEAR(scope) struct scope s;
    AUTO_CLEAR(edges) struct edges edges;

    scope_init(&s, p);
    edges_init(&edges, &s);
    return bound_below(&s, &edges, usd_out, e);
}
