/* simplify: the plan with the fewest clouds, then the fewest regions, of those whose objective is
 * within a margin of the best plan's. Bounds leave few locations that such a plan may use; sets of
 * them are tried in order of their size. app/plan calls it. */
#include "base/mem.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sets of clouds are bits. The best plans have two or three. */
#define CLOUDS_MAX 16
#define TIE_QUESTIONS 200

/* A set of clouds that holds a plan within the margin. */
struct cloud_set {
    unsigned clouds;
    size_t n_regions; /* of the best plan in it */
};

struct simplify {
    struct ask ask; /* its domain: sites that a plan within the margin may use */
    const struct plan_problem *p;
    struct totals limit; /* worse plans are outside the margin */
    size_t *places;      /* that the domain has, ascending */
    size_t n_places;
    unsigned *cloud_of; /* per place: its bit */
    size_t n_clouds;
    bool *covers;  /* [stage * n_places + place]: the stage may run there */
    bool *allowed; /* per place: of the set at hand */
    bool ties;     /* break them now: regions are settled */
    bool complete; /* no set was left out */
    struct pick *best, *trial;
    struct totals best_totals;
    size_t best_clouds, best_regions; /* 0 = none found */
};

static bool is_out_of_time(struct simplify *x)
{
    bool is_past = cutoff_is_past(&x->ask.cutoff);

    x->complete = x->complete && !is_past;
    return is_past;
}

/* ---- how simple a plan is ---- */

static size_t count_regions(const struct plan_problem *p, const struct pick *picks)
{
    size_t n = 0;

    for (size_t s = 0; s < p->n_stages; s++) {
        size_t same = 0;
        while (picks[same].site->place != picks[s].site->place)
            same++;
        n += same == s;
    }
    return n;
}

static size_t count_clouds(const struct plan_problem *p, const struct pick *picks)
{
    const struct catalog_place *places = p->world.catalog->places;
    size_t n = 0;

    for (size_t s = 0; s < p->n_stages; s++) {
        size_t same = 0;
        while (places[picks[same].site->place].cloud != places[picks[s].site->place].cloud)
            same++;
        n += same == s;
    }
    return n;
}

/* ---- one set of places ---- */

static size_t place_index(const struct simplify *x, size_t place)
{
    size_t i = 0;

    while (i < x->n_places && x->places[i] != place)
        i++;
    return i;
}

/* The domain within the places allowed; false when some stage has none of them. */
static bool restrict_domain(const struct simplify *x, struct domain *d)
{
    for (size_t s = 0; s < x->p->n_stages; s++) {
        size_t n = 0;
        for (size_t k = 0; k < d->n[s]; k++)
            if (x->allowed[place_index(x, x->p->stages[s].sites[d->sites[s][k]].place)])
                d->sites[s][n++] = d->sites[s][k];
        d->n[s] = n;
        if (!n)
            return false;
    }
    return true;
}

/* Of the plans with these totals, the first in order of choices. */
static void break_ties(const struct simplify *x,
                       const struct domain *d,
                       const struct totals *totals,
                       struct pick *picks)
{
    struct ask ask = x->ask;
    struct solution s = {.found = true, .totals = *totals, .picks = picks};
    size_t questions = TIE_QUESTIONS;

    ask.domain = *d;
    exact_break_ties(&ask, &questions, &s);
}

static int compare_picks(const struct simplify *x, const struct pick *a, const struct pick *b)
{
    int order = 0;

    for (size_t s = 0; s < x->p->n_stages && !order; s++)
        order = costmodel_compare_choices(x->p, &a[s], &b[s]);
    return order;
}

/* Keeps the trial's plan if it is the simplest so far, or as simple and better. */
static void keep_simplest(struct simplify *x, const struct domain *d, const struct totals *totals)
{
    size_t clouds = count_clouds(x->p, x->trial), regions = count_regions(x->p, x->trial);
    int order = !x->best_clouds              ? -1
                : clouds != x->best_clouds   ? (clouds < x->best_clouds ? -1 : 1)
                : regions != x->best_regions ? (regions < x->best_regions ? -1 : 1)
                                             : goal_compare(&x->ask.goal, totals, &x->best_totals);

    if (order > 0)
        return;
    if (x->ties)
        break_ties(x, d, totals, x->trial);
    if (order == 0 && (!x->ties || compare_picks(x, x->trial, x->best) >= 0))
        return;
    memcpy(x->best, x->trial, x->p->n_stages * sizeof *x->best);
    x->best_totals = *totals;
    x->best_clouds = clouds;
    x->best_regions = regions;
}

/* The best plan within the places allowed, if it is within the margin; its number of regions, or 0.
 */
static size_t try_places(struct simplify *x)
{
    AUTO_CLEAR(domain) struct domain d = domain_copy(x->p, &x->ask.domain);
    struct solution s = {.found = true, .totals = x->limit, .picks = x->trial};
    struct ask ask = x->ask;

    if (!restrict_domain(x, &d))
        return 0;
    ask.domain = d;
    exact_solve(&ask, &s);
    x->complete = x->complete && s.proven;
    if (!s.found)
        return 0;
    keep_simplest(x, &d, &s.totals);
    return count_regions(x->p, x->trial);
}

/* ---- sets of clouds ---- */

static size_t bits(unsigned set)
{
    return (size_t)__builtin_popcount(set);
}

static bool every_stage_is_covered(const struct simplify *x, const bool *allowed, size_t from)
{
    for (size_t s = 0; s < x->p->n_stages; s++) {
        size_t i = 0;
        while (i < x->n_places && !(x->covers[s * x->n_places + i] && (allowed[i] || i >= from)))
            i++;
        if (i == x->n_places)
            return false;
    }
    return true;
}

static void allow_clouds(struct simplify *x, unsigned clouds)
{
    for (size_t i = 0; i < x->n_places; i++)
        x->allowed[i] = (clouds & x->cloud_of[i]) != 0;
}

/* All sets of the fewest clouds that hold a plan within the margin; returns how many. */
static size_t fewest_clouds(struct simplify *x, size_t most, struct cloud_set **out)
{
    size_t n = 0, cap = 0;

    for (size_t size = 1; size <= most && !n; size++)
        for (unsigned set = 1; set < 1u << x->n_clouds; set++) {
            if (bits(set) != size || is_out_of_time(x))
                continue;
            allow_clouds(x, set);
            size_t regions = every_stage_is_covered(x, x->allowed, x->n_places) ? try_places(x) : 0;
            if (!regions)
                continue;
            *out = mem_room(*out, n, &cap, sizeof **out);
            (*out)[n++] = (struct cloud_set){set, regions};
        }
    return n;
}

/* ---- sets of regions ---- */

/* Tries every set of `left` more places of these clouds, from `from` on. */
static bool try_regions(struct simplify *x, unsigned clouds, size_t from, size_t left)
{
    bool found = false;

    if (is_out_of_time(x))
        return false;
    if (!left)
        return every_stage_is_covered(x, x->allowed, x->n_places) && try_places(x);
    for (size_t i = from; i + left <= x->n_places; i++) {
        if (!every_stage_is_covered(x, x->allowed, i))
            break;
        if (!(clouds & x->cloud_of[i]))
            continue;
        x->allowed[i] = true;
        found = try_regions(x, clouds, i + 1, left - 1) || found;
        x->allowed[i] = false;
    }
    return found;
}

static void fewest_regions(struct simplify *x, const struct cloud_set *sets, size_t n)
{
    bool found = false;

    for (size_t size = x->best_clouds; size <= x->best_regions && !found; size++)
        for (size_t i = 0; i < n; i++) {
            /* The best plan of the set has been seen, but for ties. */
            if (!x->ties && sets[i].n_regions <= size)
                continue;
            memset(x->allowed, 0, x->n_places * sizeof *x->allowed);
            found = try_regions(x, sets[i].clouds, 0, size) || found;
        }
}

/* ---- the margin ---- */

static int64_t scaled(int64_t value, double factor)
{
    double product = floor((double)value * factor);

    return product < (double)PLAN_MAX_NS ? (int64_t)product : PLAN_MAX_NS;
}

/* The cost takes what whole micro-dollars can of the limit, the time the rest. */
static struct totals weighted_limit(const struct goal *g, const struct totals *best, double limit)
{
    const double hour_ns = 3600 * NS_PER_S;
    double ns = (double)best->ns[LAYER_MID], microusd = (double)best->microusd;
    double usd = limit - g->weight * ns / hour_ns;

    if (g->weight < 1)
        microusd = floor(usd / (1 - g->weight) * 1e6);
    double rest = fmax(limit - goal_value(g, microusd, ns), 0);
    ns = g->weight > 0 ? ns + rest / g->weight * hour_ns : (double)PLAN_MAX_NS;
    int64_t limit_ns = (int64_t)fmin(ns, (double)PLAN_MAX_NS);
    return (struct totals){(int64_t)microusd, {limit_ns, limit_ns}};
}

/* Totals whose objective is the best plan's and the margin. */
static struct totals worst_wanted(const struct goal *g, const struct totals *best, double margin)
{
    int64_t ns = scaled(best->ns[LAYER_MID], 1 + margin);

    switch (g->objective) {
    case SPEC_COST:
        return (struct totals){scaled(best->microusd, 1 + margin), {PLAN_MAX_NS, PLAN_MAX_NS}};
    case SPEC_TIME:
        return (struct totals){INT64_MAX, {ns, ns}};
    case SPEC_VALUE:
        return (struct totals){best->microusd, {ns, ns}};
    case SPEC_WEIGHTED:
        break;
    }
    return weighted_limit(
        g, best, goal_value(g, (double)best->microusd, (double)best->ns[LAYER_MID]) * (1 + margin));
}

/* The picks of a plan; where ties were broken by a choice that no site lists, one beside it. */
static void picks_of(const struct plan_problem *p, const struct plan *plan, struct pick *picks)
{
    for (size_t s = 0; s < p->n_stages; s++) {
        const struct plan_stage *is = &plan->stages[s];
        const struct site *site = p->stages[s].sites;
        while (site->place != is->place)
            site++;
        picks[s] = (struct pick){site, site->choices};
        for (size_t i = 0; i < site->n_choices; i++)
            if (site->choices[i].offer == is->offer && site->choices[i].spot == is->spot)
                picks[s].choice = &site->choices[i];
    }
}

/* Leaves the sites that a plan within the margin may use. */
static void thin_out(struct simplify *x, const struct pick *best)
{
    AUTO_MEM double *weight = mem_zero(x->p->n_stages, sizeof *weight);
    const double lambdas[] = {0, (double)INFINITY};
    struct incumbent incumbent = {.goal = &x->ask.goal,
                                  .time_layer = x->ask.goal.deadline_layer,
                                  .has_best = true,
                                  .best = x->limit};

    costmodel_critical_path(x->p, best, incumbent.time_layer, weight);
    presolve_thin(x->p, &x->ask.domain, &incumbent, lambdas, 2, weight);
}

/* ---- the places that are left ---- */

static void list_places(struct simplify *x)
{
    const struct catalog *c = x->p->world.catalog;
    const struct domain *d = &x->ask.domain;
    AUTO_MEM bool *used = mem_zero(c->n_places, sizeof *used);

    for (size_t s = 0; s < x->p->n_stages; s++)
        for (size_t k = 0; k < d->n[s]; k++)
            used[x->p->stages[s].sites[d->sites[s][k]].place] = true;
    x->places = mem_zero(c->n_places, sizeof *x->places);
    x->cloud_of = mem_zero(c->n_places, sizeof *x->cloud_of);
    for (size_t place = 0; place < c->n_places; place++) {
        if (!used[place])
            continue;
        bool is_next =
            x->n_places && c->places[place].cloud != c->places[x->places[x->n_places - 1]].cloud;
        x->n_clouds += !x->n_places || is_next; /* places are sorted by cloud */
        x->cloud_of[x->n_places] = x->n_clouds <= CLOUDS_MAX ? 1u << (x->n_clouds - 1) : 0;
        x->places[x->n_places++] = place;
    }
    if (x->n_clouds > CLOUDS_MAX) {
        x->n_clouds = CLOUDS_MAX;
        x->complete = false;
    }
}

static void lay_out(struct simplify *x)
{
    const struct domain *d = &x->ask.domain;

    list_places(x);
    x->allowed = mem_zero(x->n_places, sizeof *x->allowed);
    x->covers = mem_zero(x->p->n_stages * x->n_places, sizeof *x->covers);
    for (size_t s = 0; s < x->p->n_stages; s++)
        for (size_t k = 0; k < d->n[s]; k++) {
            size_t place = x->p->stages[s].sites[d->sites[s][k]].place;
            x->covers[s * x->n_places + place_index(x, place)] = true;
        }
}

static void simplify_clear(struct simplify *x)
{
    free(x->places);
    free(x->cloud_of);
    free(x->covers);
    free(x->allowed);
    free(x->best);
    free(x->trial);
    domain_clear(&x->ask.domain);
    arena_free(x->ask.arena);
}

/* ---- the answer ---- */

struct plan_simplicity plan_simplicity(const struct plan_problem *p, const struct plan *plan)
{
    AUTO_MEM struct pick *picks = mem_zero(p->n_stages, sizeof *picks);

    picks_of(p, plan, picks);
    return (struct plan_simplicity){count_clouds(p, picks), count_regions(p, picks)};
}

bool plan_simplify(const struct plan_problem *p,
                   const struct plan_query *query,
                   const struct plan *best,
                   double margin,
                   struct plan *out)
{
    AUTO_MEM struct pick *picks = mem_zero(p->n_stages, sizeof *picks);
    AUTO_MEM struct cloud_set *sets = NULL;
    AUTO_CLEAR(simplify)
    struct simplify x = {.ask = question_ask(p, query),
                         .p = p,
                         .complete = true,
                         .best = mem_zero(p->n_stages, sizeof *x.best),
                         .trial = mem_zero(p->n_stages, sizeof *x.trial)};
    struct totals totals;

    *out = (struct plan){0};
    picks_of(p, best, picks);
    size_t clouds = count_clouds(p, picks), regions = count_regions(p, picks);
    if (regions < 2 || !costmodel_totals(p, picks, &totals))
        return true;
    x.limit = worst_wanted(&x.ask.goal, &totals, margin);
    thin_out(&x, picks);
    lay_out(&x);
    size_t n = fewest_clouds(&x, clouds, &sets);
    x.ties = !query->totals_only;
    fewest_regions(&x, sets, n);
    if (x.best_clouds && (x.best_clouds < clouds || x.best_regions < regions))
        costmodel_fill(p, x.best, out);
    return x.complete;
}
