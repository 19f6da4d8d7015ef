/* max-throughput and throughput-per-dollar, which depend on rates alone. policy.c calls it. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>

static double gain(const struct scope *s, enum policy_kind kind, size_t job, size_t type)
{
    double throughput = s->p->jobs[job].throughput[type];

    return kind == POLICY_MAX_THROUGHPUT ? throughput : throughput / scope_price(s->p, 0, type);
}

/* Costs of columns: what they gain, negative. */
static double *costs_of(const struct grid *g, enum policy_kind kind)
{
    double *cost = mem_zero(g->n_columns + 1, sizeof *cost);

    for (const struct grid_slot *s = g->slots; s < g->slots + g->n_slots; s++)
        for (size_t q = s->first; q < s[1].first; q++)
            cost[q] = -gain(g->scope, kind, s->job, g->type[q]);
    return cost;
}

/* Jobs with deadlines keep the rate that meets them, except for max-throughput. */
static bool *must_finish(struct scope *s, enum policy_kind kind, double *last_h)
{
    bool *must = mem_zero(s->p->n_jobs + 1, sizeof *must);

    for (size_t m = 0; m < s->p->n_jobs; m++) {
        if (kind == POLICY_MAX_THROUGHPUT)
            s->deadline_h[m] = (double)INFINITY;
        must[m] = isfinite(s->deadline_h[m]);
        if (must[m])
            *last_h = fmax(*last_h, s->deadline_h[m]);
    }
    return must;
}

/* Who has no share, and why. */
static void find_idle(const struct scope *s, struct policy_answer *out)
{
    out->idle = mem_zero(out->n_jobs + 1, sizeof *out->idle);
    for (size_t m = 0; m < out->n_jobs; m++) {
        size_t type;
        out->idle[m] = isfinite(scope_cheapest(s, m, &type)) ? POLICY_OUTBID : POLICY_NOWHERE;
    }
    for (size_t i = 0; i < out->n_uses; i++)
        out->idle[out->uses[i].job] = POLICY_HAS_SHARE;
}

static int solve(const struct model_ask *ask, struct policy_answer *out, struct err *e)
{
    AUTO_CLEAR(model_answer) struct model_answer found = {0};
    int feasible = elastic_solve(ask, &found, e);

    if (feasible < 0)
        return -1;
    if (feasible) {
        out->objective = -found.objective;
        out->bound = -found.bound;
        policy_answer_shadow_prices(out, &found, 1);
        policy_answer_uses(out, ask->grid, &found, SIZE_MAX);
        find_idle(ask->grid->scope, out);
        return 0;
    }
    policy_answer_falls_short(out, ask->grid, &found);
    if (ask->grid->scope->p->goes_on) {
        out->objective = -found.objective;
        out->shortfall_price = elastic_price(ask);
    } else if (elastic_stretch(ask, (double)INFINITY, &out->stretch, e) < 0) {
        return -1;
    }
    policy_answer_reason(out, ask->grid->scope);
    return 0;
}

int policy_shares(struct scope *s, enum policy_kind kind, struct policy_answer *out, struct err *e)
{
    double edge[2] = {0, 0};
    AUTO_MEM bool *must = must_finish(s, kind, &edge[1]);
    const struct edges edges = {.at = edge, .n_windows = 1, .exact = 1};
    AUTO_CLEAR(model_start) struct model_start start = {0};
    AUTO_CLEAR(grid) struct grid grid;

    if (edge[1] == 0)
        edge[1] = 1; /* no job has a deadline: any time will do */
    policy_answer_init(out, s, &edges);
    out->has_shares = true;
    bool nowhere = kind == POLICY_THROUGHPUT_PER_DOLLAR && policy_cannot_run(s, must, out);
    grid_init(&grid, s, &(struct grid_ask){.edge = edge, .n_windows = 1, .side = GRID_ATTAINED});
    AUTO_MEM double *cost = costs_of(&grid, kind);
    const struct model_ask ask = {
        .grid = &grid,
        .cost = cost,
        .must_finish = must,
        .wants_slopes = !s->p->goes_on,
        .start = &start,
    };
    return nowhere ? policy_others_short(&ask, (double)INFINITY, out, e) : solve(&ask, out, e);
}
