#include "geo/plan.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_at(const struct geo_site *site, const struct spec_place *wanted)
{
    return (!wanted->cloud || strcmp(site->cloud, wanted->cloud) == 0) &&
           (!wanted->region || strcmp(site->region, wanted->region) == 0);
}

/* By cost or time, then the other, then topology and sites. */
static int compare(const struct geo_placement *x, const struct geo_placement *y, bool time_first)
{
    const double mine[] = {geo_bill_usd(&x->bill), x->round_s};
    const double theirs[] = {geo_bill_usd(&y->bill), y->round_s};

    for (int i = 0; i < 2; i++) {
        int by = i ^ time_first;
        if (mine[by] != theirs[by])
            return mine[by] < theirs[by] ? -1 : 1;
    }
    if (x->topology != y->topology)
        return x->topology < y->topology ? -1 : 1;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return (x->store > y->store) - (x->store < y->store);
}

static int by_cost(const void *a, const void *b)
{
    return compare(a, b, false);
}

static int by_time(const void *a, const void *b)
{
    return compare(a, b, true);
}

static void evaluate_all(const struct geo_problem *p,
                         const struct geo_question *q,
                         struct geo_plan *out)
{
    size_t cap = 0;

    for (int t = SPEC_GEO_CENTRAL; t < SPEC_GEO_ANY; t++) {
        enum spec_geo_topology topology = (enum spec_geo_topology)t;
        if (q->topology != SPEC_GEO_ANY && q->topology != topology)
            continue;
        for (size_t f = 0; f < p->n_sites; f++)
            for (size_t s = 0; s < p->n_sites; s++) {
                if (!is_at(&p->sites[f], &q->function) || !is_at(&p->sites[s], &q->store) ||
                    !p->sites[f].has_function || !p->sites[s].has_store)
                    continue;
                out->placements = mem_room(out->placements, out->n, &cap, sizeof *out->placements);
                out->considered++;
                out->n += geo_evaluate(p, topology, f, s, &out->placements[out->n]);
            }
    }
}

/* Sorted by cost, those that are faster than all before them. */
static void find_frontier(struct geo_plan *plan)
{
    AUTO_MEM struct geo_placement *sorted = mem_zero(plan->n, sizeof *sorted);
    double fastest_s = (double)INFINITY;

    memcpy(sorted, plan->placements, plan->n * sizeof *sorted);
    qsort(sorted, plan->n, sizeof *sorted, by_cost);
    plan->frontier = mem_zero(plan->n, sizeof *plan->frontier);
    for (size_t i = 0; i < plan->n; i++) {
        if (sorted[i].round_s >= fastest_s)
            continue;
        fastest_s = sorted[i].round_s;
        size_t k = 0;
        while (by_cost(&plan->placements[k], &sorted[i]) != 0)
            k++;
        plan->frontier[plan->n_frontier++] = k;
    }
    plan->cheapest = plan->frontier[0];
    plan->fastest = plan->frontier[plan->n_frontier - 1];
}

static bool any_site(const struct geo_problem *p, const struct spec_place *at, bool function)
{
    for (size_t i = 0; i < p->n_sites; i++)
        if (is_at(&p->sites[i], at) &&
            (function ? p->sites[i].has_function : p->sites[i].has_store))
            return true;
    return false;
}

/* Whether something could be if platforms had no limits; *out: the function that has them. */
static bool is_limited(const struct geo_problem *p,
                       const struct geo_question *q,
                       struct geo_function *out)
{
    AUTO_MEM struct geo_site *sites = mem_zero(p->n_sites, sizeof *sites);
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
    struct geo_problem unbound = *p;

    unbound.sites = sites;
    for (size_t i = 0; i < p->n_sites; i++) {
        sites[i] = p->sites[i];
        sites[i].function.max_s = sites[i].function.disk_bytes = 0;
        sites[i].function.is_too_large = false;
    }
    evaluate_all(&unbound, q, &plan);
    if (plan.n)
        *out = p->sites[plan.placements[0].function].function;
    return plan.n > 0;
}

static int nothing_fits(const struct geo_problem *p, const struct geo_question *q, struct err *e)
{
    const struct spec_place *at = NULL;
    const char *what = "";

    if (!any_site(p, &q->function, true)) {
        at = &q->function;
        what = "function";
    } else if (!any_site(p, &q->store, false)) {
        at = &q->store;
        what = "store";
    }
    if (at)
        return err_set(e, ERR_NOFIT,
                       "no placement: no tariff of a %s is known at %s%s%s: leave it open with "
                       "%s: any",
                       what, at->cloud ? at->cloud : "*", at->region ? "/" : "",
                       at->region ? at->region : "", what);
    for (size_t i = 0; i < p->n_workers && q->topology != SPEC_GEO_CENTRAL; i++) {
        const struct geo_site *site = &p->sites[p->workers[i].site];
        if (!site->has_function || !site->has_store)
            return err_set(e, ERR_NOFIT,
                           "no placement: at %s/%s, where a worker is, no function and store are "
                           "known that could aggregate: use topology: central",
                           site->cloud, site->region);
    }
    struct geo_function f;
    if (is_limited(p, q, &f))
        return err_set(e, ERR_NOFIT,
                       "no placement: the training is past the limits of functions%s: at most "
                       "%.0f s and %.0f MB of temporary files per invocation; use a smaller "
                       "aggregator.memory, compression, more regions or another cloud",
                       f.is_too_large ? " (aggregator.memory)" : "", f.max_s, f.disk_bytes / 1e6);
    return err_set(
        e, ERR_NOFIT,
        "no placement: no transfer is priced between the workers and any function and store; "
        "add such rows to transfers.csv of the catalog");
}

int geo_plan(const struct geo_problem *p,
             const struct geo_question *q,
             struct geo_plan *out,
             struct err *e)
{
    *out = (struct geo_plan){0};
    evaluate_all(p, q, out);
    if (out->n == 0)
        return nothing_fits(p, q, e);
    qsort(out->placements, out->n, sizeof *out->placements,
          q->objective == GEO_TIME ? by_time : by_cost);
    find_frontier(out);
    return 0;
}

void geo_plan_clear(struct geo_plan *plan)
{
    free(plan->placements);
    free(plan->frontier);
    *plan = (struct geo_plan){0};
}
