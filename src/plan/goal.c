/* The objective and its constraints: how a query compares two plans. All solvers use it. */
#include "base/money.h"
#include "plan/internal.h"

#include <math.h>

#define NS_PER_H (3600 * NS_PER_S)
#define MICROUSD_PER_USD 1e6
#define WEIGHTED_TIE 1e-13

struct goal goal_from_query(const struct plan_query *q)
{
    struct goal g = {
        .objective = q->goal.objective,
        .weight = q->goal.weight,
        .budget_microusd = INT64_MAX,
        .deadline_ns = INT64_MAX,
        .deadline_layer = q->risk_p95 ? LAYER_HIGH : LAYER_MID,
    };

    /* The thousandth covers decimal budgets that have no exact double (0.29 * 1e6 < 290000). */
    if (q->goal.budget_usd < MONEY_MAX_USD)
        g.budget_microusd = (int64_t)floor(q->goal.budget_usd * MICROUSD_PER_USD + 0.001);
    if (q->goal.deadline_s < (double)(INT64_MAX / 4) / NS_PER_S)
        g.deadline_ns = (int64_t)(q->goal.deadline_s * NS_PER_S) + DEADLINE_SLACK_NS;
    return g;
}

bool goal_allows(const struct goal *g, const struct totals *t)
{
    return t->microusd <= g->budget_microusd && t->ns[g->deadline_layer] <= g->deadline_ns;
}

double goal_value(const struct goal *g, double microusd, double ns)
{
    switch (g->objective) {
    case SPEC_COST:
        return microusd;
    case SPEC_TIME:
        return ns;
    case SPEC_VALUE:
        return (microusd / MICROUSD_PER_USD) * (ns / NS_PER_H);
    case SPEC_WEIGHTED:
        return g->weight * (ns / NS_PER_H) + (1 - g->weight) * (microusd / MICROUSD_PER_USD);
    }
    return 0;
}

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_objective(const struct goal *g, const struct totals *a, const struct totals *b)
{
    int64_t ta = a->ns[LAYER_MID], tb = b->ns[LAYER_MID];

    switch (g->objective) {
    case SPEC_COST:
        return compare_i64(a->microusd, b->microusd);
    case SPEC_TIME:
        return compare_i64(ta, tb);
    case SPEC_VALUE: {
        /* Exact: 2^53 micro-dollars times 2^62 nanoseconds fit. */
        __extension__ typedef __int128 wide;
        wide va = (wide)a->microusd * ta, vb = (wide)b->microusd * tb;
        return va < vb ? -1 : va > vb;
    }
    case SPEC_WEIGHTED: {
        double va = goal_value(g, (double)a->microusd, (double)ta);
        double vb = goal_value(g, (double)b->microusd, (double)tb);
        /* 0.8 x 1 + 0.2 x 2 and 0.8 x 0.5 + 0.2 x 4 are a tie, though not to a double. */
        if (fabs(va - vb) <= WEIGHTED_TIE * fmax(fabs(va), fabs(vb)))
            return 0;
        return va < vb ? -1 : 1;
    }
    }
    return 0;
}

int goal_compare(const struct goal *g, const struct totals *a, const struct totals *b)
{
    int order = compare_objective(g, a, b);

    if (!order)
        order = compare_i64(a->microusd, b->microusd);
    if (!order)
        order = compare_i64(a->ns[LAYER_MID], b->ns[LAYER_MID]);
    return order;
}

double goal_public_bound(const struct goal *g, double value)
{
    if (g->objective == SPEC_COST)
        return value / MICROUSD_PER_USD;
    return g->objective == SPEC_TIME ? value / NS_PER_S : value;
}

double goal_public_value(const struct goal *g, const struct totals *t)
{
    return goal_public_bound(g, goal_value(g, (double)t->microusd, (double)t->ns[LAYER_MID]));
}
