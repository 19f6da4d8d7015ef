/* The best plan so far with the limits of the query, and lower bounds that prove that a part of
 * the search contains no better plan. The exact solver and its bounds use it. */
#include "plan/search.h"

#include <math.h>

/* Sums of weighted times are rounded: a bound is trusted up to this. */
#define RELATIVE_SLACK 1e-11
#define ABSOLUTE_SLACK 2.0

struct corner {
    double microusd, ns; /* least cost and least time */
};

static double trusted(const struct bound *b)
{
    if (b->lambda == 0)
        return b->value; /* whole micro-dollars: exact */
    return b->value - fabs(b->value) * RELATIVE_SLACK - ABSOLUTE_SLACK;
}

static struct corner corner_of(const struct bound *bounds, size_t n)
{
    struct corner c = {0, 0};

    for (size_t i = 0; i < n; i++)
        if (bounds[i].lambda == 0)
            c.microusd = fmax(c.microusd, trusted(&bounds[i]));
        else if (isinf(bounds[i].lambda))
            c.ns = fmax(c.ns, trusted(&bounds[i]));
    return c;
}

static double limit_of(int64_t value)
{
    return value == INT64_MAX ? (double)INFINITY : (double)value;
}

static bool slanted(const struct bound *b)
{
    return b->lambda > 0 && !isinf(b->lambda);
}

/* Can a plan that costs at most microusd and takes at most ns meet all bounds? */
static bool box_open(
    const struct bound *bounds, size_t n, const struct corner *least, double microusd, double ns)
{
    if (least->microusd > microusd || least->ns > ns)
        return false;
    if (isinf(microusd) || isinf(ns))
        return true;
    for (size_t i = 0; i < n; i++)
        if (slanted(&bounds[i]) && trusted(&bounds[i]) > microusd + bounds[i].lambda * ns)
            return false;
    return true;
}

/* Least value on cost + lambda * time >= value, right of and above the corner. Cost times time
 * and weighted sums are smallest at an end of that line. */
static double least_on_line(const struct goal *g, const struct bound *b, const struct corner *c)
{
    double value = trusted(b);

    if (value <= c->microusd + b->lambda * c->ns)
        return goal_value(g, c->microusd, c->ns);
    return fmin(goal_value(g, c->microusd, (value - c->microusd) / b->lambda),
                goal_value(g, value - b->lambda * c->ns, c->ns));
}

double incumbent_lower_bound(const struct incumbent *t, const struct bound *bounds, size_t n)
{
    const struct goal *g = t->goal;
    double budget = limit_of(g->budget_microusd), deadline = limit_of(g->deadline_ns);
    bool time_counts = t->time_layer == LAYER_MID;
    struct corner c = corner_of(bounds, n);

    if (!box_open(bounds, n, &c, budget, deadline))
        return (double)INFINITY;
    for (size_t i = 0; i < n; i++)
        if (slanted(&bounds[i])) {
            if (!isinf(deadline))
                c.microusd = fmax(c.microusd, trusted(&bounds[i]) - bounds[i].lambda * deadline);
            if (!isinf(budget))
                c.ns = fmax(c.ns, (trusted(&bounds[i]) - budget) / bounds[i].lambda);
        }
    if (!time_counts) /* the bounds speak of the high ends; the goal of the middle */
        c.ns = 0;
    double least = goal_value(g, c.microusd, c.ns);
    for (size_t i = 0; i < n && time_counts; i++)
        if (slanted(&bounds[i]) && g->objective != SPEC_COST && g->objective != SPEC_TIME)
            least = fmax(least, least_on_line(g, &bounds[i], &c));
    return least;
}

bool incumbent_hopeless(const struct incumbent *t, const struct bound *bounds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(bounds[i].value < (double)INFINITY))
            return true;
    double least = incumbent_lower_bound(t, bounds, n);
    if (isinf(least))
        return true;
    if (!t->has_best)
        return false;
    double best = goal_value(t->goal, (double)t->best.microusd, (double)t->best.ns[LAYER_MID]);
    if (t->goal->objective == SPEC_COST)
        return least > best; /* both are whole micro-dollars or already slack */
    return least > best + fabs(best) * RELATIVE_SLACK;
}

struct incumbent_box incumbent_box(const struct incumbent *t)
{
    struct incumbent_box box = {(double)INFINITY, (double)INFINITY};

    box.microusd = limit_of(t->goal->budget_microusd);
    box.ns = limit_of(t->goal->deadline_ns);
    if (t->has_best && t->goal->objective == SPEC_COST)
        box.microusd = fmin(box.microusd, (double)t->best.microusd);
    if (t->has_best && t->goal->objective == SPEC_TIME && t->time_layer == LAYER_MID)
        box.ns = fmin(box.ns, (double)t->best.ns[LAYER_MID]);
    return box;
}

bool incumbent_is_box(const struct incumbent *t)
{
    return t->goal->objective == SPEC_COST || t->goal->objective == SPEC_TIME;
}
