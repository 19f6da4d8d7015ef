/* Bounds one node of the search: by its cost, by its time, and by a weighted sum of both at the
 * rates that prove most for the query. Every weighted pass also yields a plan. exact.c calls it. */
#include "base/mem.h"
#include "plan/search.h"

#include <math.h>

#define PATH_ROUNDS 6
#define LAMBDA_ROUNDS 12

static double ns_of(const struct view *v, const struct totals *t)
{
    return (double)t->ns[v->layer];
}

/* The exchange rate at which two plans are equally good; 0 when one is better in both. */
static double exchange(const struct view *v, const struct totals *cheap, const struct totals *fast)
{
    double ns = ns_of(v, cheap) - ns_of(v, fast);
    double microusd = (double)(fast->microusd - cheap->microusd);

    return ns > 0 && microusd > 0 ? microusd / ns : 0;
}

/* False when there is no such plan, or no memory to find it. */
static bool try_lambda(
    struct search *s, struct view *v, double lambda, struct pass *out, struct totals *t)
{
    bool found = view_pass(v, lambda, out, s->scratch) == PASS_FOUND;

    if (!found)
        pass_clear(out);
    return found && search_consider(s, s->scratch, t);
}

/* Finds the rate at which the binding limit (deadline or budget) is just met: the best that a
 * weighted sum can prove. */
static bool tune_to_limit(
    struct search *s, struct view *v, struct totals cheap, struct totals fast, struct pass *out)
{
    for (size_t i = 0; i < LAMBDA_ROUNDS && !cutoff_is_past(s->cutoff); i++) {
        double lambda = exchange(v, &cheap, &fast);
        struct totals t;
        if (lambda <= 0 || !try_lambda(s, v, lambda, out, &t))
            break;
        double value = (double)t.microusd + lambda * ns_of(v, &t);
        double known = (double)cheap.microusd + lambda * ns_of(v, &cheap);
        if (value >= known - fabs(known) * 1e-12 || t.microusd == cheap.microusd ||
            t.microusd == fast.microusd)
            break;
        bool on_time = t.ns[s->goal->deadline_layer] <= s->goal->deadline_ns;
        bool affordable = t.microusd <= s->goal->budget_microusd;
        bool take_as_fast = s->goal->deadline_ns != INT64_MAX ? on_time : !affordable;
        if (take_as_fast)
            fast = t;
        else
            cheap = t;
    }
    return out->arena != NULL;
}

/* Dollars times hours: the rate is the slope of the curve at the best plan so far. */
static bool tune_to_value(struct search *s, struct view *v, struct pass *out)
{
    double before = (double)INFINITY;

    for (size_t i = 0; i < LAMBDA_ROUNDS && s->found && search_best_value(s) < before; i++) {
        const struct totals *b = &s->incumbent.best;
        double lambda = (double)b->microusd / fmax(ns_of(v, b), 1);
        struct totals t;
        before = search_best_value(s);
        if (!(lambda > 0) || cutoff_is_past(s->cutoff) || !try_lambda(s, v, lambda, out, &t))
            break;
    }
    return out->arena != NULL;
}

/* Micro-dollars that a nanosecond is worth under the weight. */
static double weighted_rate(double weight)
{
    return weight / (1 - weight) * 1e6 / (3600 * NS_PER_S);
}

/* Settles the path weights: mixing in the critical paths of the fastest plans known until their
 * time meets its bound. */
static bool settle_paths(struct search *s,
                         struct view *v,
                         const struct pick *cheapest,
                         struct pass *fastest,
                         struct totals *t)
{
    view_mix_path(v, s->found ? s->picks : cheapest, 1);
    for (size_t i = 0; i < PATH_ROUNDS; i++) {
        if (!try_lambda(s, v, (double)INFINITY, fastest, t))
            return false;
        if (ns_of(v, t) <= fastest->tables.best * (1 + 1e-12) + 1 || i + 1 == PATH_ROUNDS ||
            cutoff_is_past(s->cutoff))
            break;
        view_mix_path(v, s->scratch, i + 2);
    }
    return true;
}

/* Adds the bounds that weigh cost against time. -1: out of memory. */
static int keep_slanted(struct search *s,
                        struct view *v,
                        const struct totals *cheap,
                        const struct totals *fast)
{
    const struct goal *g = s->goal;
    bool limited = !goal_allows(g, cheap) || (g->objective == SPEC_TIME && !goal_allows(g, fast));
    struct pass pass = {0};
    struct totals t;

    if (limited && tune_to_limit(s, v, *cheap, *fast, &pass)) {
        s->lambda = pass.lambda;
        if (view_keep(v, &pass) < 0)
            return -1;
    }
    bool between = g->objective == SPEC_WEIGHTED && g->weight > 0 && g->weight < 1;
    if ((between && try_lambda(s, v, weighted_rate(g->weight), &pass, &t)) ||
        (g->objective == SPEC_VALUE && tune_to_value(s, v, &pass))) {
        s->lambda = pass.lambda;
        return view_keep(v, &pass);
    }
    pass_clear(&pass);
    return 0;
}

enum readiness tune_bounds(struct search *s, struct view *v, double *bound_out)
{
    AUTO_MEM struct pick *cheapest = mem_zero(s->p->n_stages, sizeof *cheapest);
    struct pass cost = {0}, time = {0};
    struct totals cheap, fast;
    struct bound bounds[BOUNDS_MAX];

    enum pass_result result = view_pass(v, 0, &cost, cheapest);
    if (result == PASS_FULL || result == PASS_NONE)
        return result == PASS_FULL ? TOO_LARGE : NOT_WANTED;
    bool possible = result == PASS_FOUND && search_consider(s, cheapest, &cheap);
    if (view_keep(v, &cost) < 0)
        return TOO_LARGE;
    if (search_time_matters(s) && possible &&
        (!settle_paths(s, v, cheapest, &time, &fast) || view_keep(v, &time) < 0 ||
         keep_slanted(s, v, &cheap, &fast) < 0)) {
        pass_clear(&time);
        return TOO_LARGE;
    }
    *bound_out = incumbent_lower_bound(&s->incumbent, bounds, view_bounds(v, bounds));
    return isinf(*bound_out) ? NOT_WANTED : READY;
}

/* All plans of that cost lie in the thinned-out domain, so a bound on the time of that will do. */
bool tune_time_is_proven(struct search *s, struct view *v)
{
    struct pass pass = {0};
    struct totals t;

    if (search_time_matters(s) || !s->found || v->layer == LAYER_HIGH)
        return false;
    /* The fastest of the cheapest: so little per nanosecond that it adds up to half a
     * micro-dollar. */
    view_mix_path(v, s->picks, 1);
    bool found = try_lambda(s, v, 0.5 / (ns_of(v, &s->incumbent.best) + 1), &pass, &t);
    pass_clear(&pass);
    if (!found)
        return false;
    view_mix_path(v, s->picks, 1);
    return view_least_ns_of_cheapest(v) > ns_of(v, &s->incumbent.best) - 0.5;
}
