/* The exact solver. A domain is bounded by relaxations (tune.c), loses the sites that cannot be
 * part of a wanted plan, and is then solved exactly by labels. What that leaves open, because
 * tables are too large or datasets have several readers, and time on DAGs with cycles, is for the
 * search of dual.h. plan.c and ties.c call it. */
#include "base/mem.h"
#include "plan/dual.h"
#include "plan/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 6
/* ---- solving a node ---- */

/* A label stands for the plan behind it, unless it was charged a part of a transfer only. */
static bool is_true(const struct search *s, const struct totals *label, const struct totals *plan)
{
    return label->ns[LAYER_MID] == plan->ns[LAYER_MID] &&
           (s->incumbent.time_only || label->microusd == plan->microusd);
}

/* Takes over what the labels found; false when the cost of the best is only a bound. */
static bool take_labels(struct search *s, const struct label_run *run)
{
    size_t n = labels_n(run), best = NONE;
    struct totals least = {0}, t;

    for (size_t i = 0; i < n; i++) {
        struct totals label = labels_totals(run, i);
        if (goal_allows(s->goal, &label) &&
            (best == NONE || goal_compare(s->goal, &label, &least) < 0)) {
            best = i;
            least = label;
        }
    }
    if (best == NONE)
        return true;
    if (s->incumbent.has_best && goal_compare(s->goal, &least, &s->incumbent.best) > 0)
        return true;
    labels_picks(run, best, s->scratch);
    return search_consider(s, s->scratch, &t) && is_true(s, &least, &t);
}

static bool solve_node(struct search *s, const struct view *v)
{
    AUTO(label_run) struct label_run *run = labels_new(v, &s->incumbent, s->cutoff);

    return run && take_labels(s, run);
}

/* Bounds the node and thins it out, again while that helps: first on coarse states, then on those
 * that the labels need, with small tables first. READY: it can be solved as it stands in *v. */
static enum readiness prepare(struct search *s, struct domain *d, struct view *v, double *bound)
{
    struct frame_kind kind = {
        .coarse = true, .cheapest_only = !search_time_matters(s), .layer = s->goal->deadline_layer};
    size_t max_work = VIEW_WORK_SMALL;

    for (int round = 0;; round++) {
        double least;
        if (!view_open(v, s->p, d, kind, max_work))
            return v->too_large ? TOO_LARGE : NOT_WANTED;
        enum readiness ready = tune_bounds(s, v, &least);
        if (ready != READY)
            return ready;
        *bound = fmax(*bound, least);
        if (round == 0 && *bound < search_best_value(s))
            search_improve(s, d);
        if (*bound > search_best_value(s))
            return NOT_WANTED;
        bool again = view_thin(v, &s->incumbent, d) && round < ROUNDS_MAX;
        if (!again && *bound >= search_best_value(s) && tune_time_is_proven(s, v))
            return NOT_WANTED;
        if (!again && !v->schedule->exact && max_work < VIEW_WORK_LARGE) {
            max_work *= VIEW_WORK_STEP;
            again = true;
        } else if (!again && v->frame->relaxed) {
            kind.coarse = kind.cheapest_only = false;
            again = true;
        }
        if (!again && !v->schedule->exact)
            return TOO_LARGE;
        if (!again)
            return READY;
        if (cutoff_is_past(s->cutoff)) {
            search_leave_open(s, *bound);
            return NOT_WANTED;
        }
        view_clear(v);
    }
}

/* Thins the domain out on the way. */
static void explore(struct search *s, struct domain *d)
{
    struct view v = {0};
    double bound = 0;
    enum readiness ready = prepare(s, d, &v, &bound);
    bool is_open = ready == TOO_LARGE || (ready == READY && (s->bounds_only || !solve_node(s, &v)));

    view_clear(&v);
    if (is_open)
        search_leave_open(s, bound);
}

/* ---- few sites first ---- */

/* A pipeline has hundreds of sites a stage, of which a handful matter. The search runs on the
 * most promising ones; what it finds rules out nearly all others by bounds that are cheap to
 * have, and only what is left is searched again. */
#define FEW_SITES ((size_t)6)

static int by_bound(const void *a, const void *b, void *ctx)
{
    const double *bound = *(const double *const *)ctx;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    if (bound[x] != bound[y])
        return bound[x] < bound[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Marks the most promising sites of a stage. */
static void mark_few(const struct domain *d, size_t stage, const double *bound, bool *marked)
{
    size_t n = d->n[stage];
    AUTO_MEM size_t *order = mem_zero(n, sizeof *order);

    for (size_t k = 0; k < n; k++)
        order[k] = k;
    qsort_r(order, n, sizeof *order, by_bound, &bound);
    for (size_t k = 0; k < n && k < FEW_SITES; k++)
        marked[order[k]] = true;
}

static struct domain few_sites(const struct plan_problem *p,
                               const struct domain *d,
                               double *const *by_cost,
                               double *const *by_time)
{
    struct domain few = domain_copy(p, d);

    for (size_t s = 0; s < p->n_stages; s++) {
        AUTO_MEM bool *marked = mem_zero(d->n[s], sizeof *marked);
        size_t kept = 0;
        mark_few(d, s, by_cost[s], marked);
        if (by_time)
            mark_few(d, s, by_time[s], marked);
        for (size_t k = 0; k < d->n[s]; k++)
            if (marked[k])
                few.sites[s][kept++] = d->sites[s][k];
        few.n[s] = kept;
    }
    return few;
}

/* The stages of a longest chain of needs: a path to weigh times by before a plan is known. */
static void longest_chain(const struct plan_problem *p, double *weight)
{
    const size_t *order = p->world.spec->topological;
    AUTO_MEM size_t *length = mem_zero(p->n_stages, sizeof *length);
    size_t at = NONE;

    memset(weight, 0, p->n_stages * sizeof *weight);
    for (size_t i = 0; i < p->n_stages; i++) {
        size_t s = order[i];
        for (size_t k = 0; k < p->stages[s].spec->n_needs; k++)
            if (length[p->stages[s].spec->needs[k]] > length[s])
                length[s] = length[p->stages[s].spec->needs[k]];
        length[s]++;
        if (at == NONE || length[s] > length[at])
            at = s;
    }
    while (at != NONE) {
        const struct spec_stage *spec = p->stages[at].spec;
        size_t before = NONE;
        weight[at] = 1;
        for (size_t k = 0; k < spec->n_needs; k++)
            if (before == NONE || length[spec->needs[k]] > length[before])
                before = spec->needs[k];
        at = before;
    }
}

static bool is_within(const struct domain *d, const struct domain *other)
{
    for (size_t s = 0; s < d->n_stages; s++)
        for (size_t k = 0, at = 0; k < d->n[s]; k++) {
            while (at < other->n[s] && other->sites[s][at] < d->sites[s][k])
                at++;
            if (at == other->n[s] || other->sites[s][at] != d->sites[s][k])
                return false;
        }
    return true;
}

/* The sites that look best by cost and, where time matters, by time. */
static struct domain promising(struct search *s, const struct domain *d)
{
    AUTO(presolve) struct presolve *x = presolve_new(s->p, d);
    AUTO_MEM double *weight = mem_zero(s->p->n_stages, sizeof *weight);
    double **by_cost = presolve_rows(x), **by_time = NULL;

    presolve_bounds(x, 0, NULL, s->incumbent.time_layer, by_cost);
    if (search_time_matters(s)) {
        longest_chain(s->p, weight);
        by_time = presolve_rows(x);
        presolve_bounds(x, (double)INFINITY, weight, s->incumbent.time_layer, by_time);
    }
    return few_sites(s->p, d, by_cost, by_time);
}

/* Removes what cannot matter any more, given what the first search found. */
static void keep_possible(struct search *s, struct domain *d)
{
    AUTO_MEM double *weight = mem_zero(s->p->n_stages, sizeof *weight);
    /* After the first search there may be a rate worth bounding by. */
    double lambdas[] = {0, (double)INFINITY, s->lambda};
    size_t n = 1;

    if (search_time_matters(s)) {
        longest_chain(s->p, weight);
        if (s->found)
            costmodel_critical_path(s->p, s->picks, s->incumbent.time_layer, weight);
        n = s->lambda > 0 ? 3 : 2;
    }
    presolve_thin(s->p, d, &s->incumbent, lambdas, n, weight);
}

static void search_in_two(struct search *s, struct domain *d)
{
    if (s->incumbent.has_best)
        keep_possible(s, d);
    AUTO_CLEAR(domain) struct domain few = promising(s, d);
    AUTO_CLEAR(domain) struct domain first = domain_copy(s->p, &few);

    explore(s, &first);
    bool few_proven = !s->stopped;
    s->stopped = false;
    s->open_bound = (double)INFINITY;
    keep_possible(s, d);
    if (few_proven && is_within(d, &few))
        return;
    explore(s, d);
}

static void search_run(struct search *s, const struct ask *ask)
{
    AUTO_CLEAR(domain) struct domain domain = domain_copy(ask->p, &ask->domain);
    AUTO_MEM struct pick *scratch = mem_zero(ask->p->n_stages, sizeof *scratch);
    size_t sites = 0;

    s->p = ask->p;
    s->cutoff = &ask->cutoff;
    s->scratch = scratch;
    s->open_bound = (double)INFINITY;
    s->incumbent.goal = s->goal;
    s->incumbent.time_layer = s->goal->deadline_layer;
    symmetry_drop(s->p, &domain);
    for (size_t i = 0; i < s->p->n_stages; i++)
        sites += domain.n[i];
    if (sites > 2 * FEW_SITES * s->p->n_stages)
        search_in_two(s, &domain);
    else
        explore(s, &domain);
}

enum solve_kind { SOLVE, SOLVE_TIME_ONLY, SOLVE_BOUNDS_ONLY };

static void solve_once(const struct ask *ask, enum solve_kind kind, struct solution *out)
{
    struct search s = {.goal = &ask->goal,
                       .picks = out->picks,
                       .incumbent = {.time_only = kind == SOLVE_TIME_ONLY},
                       .bounds_only = kind == SOLVE_BOUNDS_ONLY};

    if (out->found) { /* such a plan is known to exist: look for one as good or better */
        s.incumbent.best = out->totals;
        s.incumbent.has_best = true;
        s.found = out->has_picks;
    }
    search_run(&s, ask);
    out->found = s.found;
    out->proven = !s.stopped;
    out->settled = !s.stopped;
    if (s.found)
        out->totals = s.incumbent.best;
    out->lambda = s.lambda;
    out->bound = s.stopped ? fmin(s.open_bound, search_best_value(&s)) : search_best_value(&s);
}

/* The shortest time first, whatever it costs; then the cheapest plan that takes no longer. Each is
 * far easier than both at once. */
static void solve_time(const struct ask *ask, struct solution *out)
{
    struct ask then = *ask;
    bool was_known = out->found;
    struct totals known = out->totals;

    if (was_known)
        out->totals.microusd = INT64_MAX; /* any plan of that time will do at first */
    solve_once(ask, SOLVE_TIME_ONLY, out);
    if (!out->found)
        return;
    struct solution cheapest = *out;
    cheapest.has_picks = true;
    if (was_known && known.ns[LAYER_MID] == out->totals.ns[LAYER_MID] &&
        known.microusd < out->totals.microusd) {
        cheapest.totals = known;
        cheapest.has_picks = false;
    }
    then.goal.objective = SPEC_COST;
    then.goal.deadline_ns = out->totals.ns[LAYER_MID];
    then.cutoff = cutoff_for_second(&ask->cutoff);
    solve_once(&then, SOLVE, &cheapest);
    out->lambda = cheapest.lambda;
    out->settled = cheapest.proven;
    if (cheapest.found)
        out->totals = cheapest.totals;
    else if (was_known) /* as fast, but not at the price that is known to be possible */
        out->found = false;
}

/* ---- which search ---- */

/* Of the limit, for a search that may have to leave the question to another. */
#define FIRST_SHARE 0.25

/* What labels, or bounds alone where needs form cycles, find and prove. */
static void solve_first(const struct ask *ask, bool has_cycles, struct solution *out)
{
    const struct goal *g = &ask->goal;
    bool time_alone = g->objective == SPEC_TIME && g->budget_microusd == INT64_MAX &&
                      g->deadline_layer == LAYER_MID;
    struct ask first = *ask;
    double now_s = ask->cutoff.now_s();

    first.cutoff.end_s =
        fmin(first.cutoff.end_s, now_s + fmax(first.cutoff.end_s - now_s, 0) * FIRST_SHARE);
    if (time_alone && !has_cycles)
        solve_time(&first, out);
    else
        solve_once(&first, has_cycles ? SOLVE_BOUNDS_ONLY : SOLVE, out);
}

static void take(const struct solution *s, size_t n_stages, struct solution *out)
{
    struct pick *picks = out->picks;

    if (s->found)
        memcpy(picks, s->picks, n_stages * sizeof *picks);
    *out = *s;
    out->picks = picks;
}

/* The cheapest of the fastest plans, of which one is known. */
static void settle_cheapest(const struct ask *ask, struct solution *io)
{
    AUTO_MEM struct pick *picks = mem_zero(ask->p->n_stages, sizeof *picks);
    struct solution cheapest = {.found = true, .totals = io->totals, .picks = picks};
    struct ask then = *ask;

    then.goal.objective = SPEC_COST;
    then.goal.deadline_ns = io->totals.ns[LAYER_MID];
    then.cutoff = cutoff_for_second(&ask->cutoff);
    if (!dual_solve(&then, &cheapest))
        return;
    io->settled = cheapest.proven;
    if (!cheapest.found)
        return;
    io->totals = cheapest.totals;
    memcpy(io->picks, picks, ask->p->n_stages * sizeof *picks);
}

/* The better plan and the better bound of two searches. */
static void join(const struct goal *g, const struct solution *first, size_t n, struct solution *io)
{
    if (io->proven)
        return;
    if (first->found && (!io->found || goal_compare(g, &first->totals, &io->totals) < 0)) {
        memcpy(io->picks, first->picks, n * sizeof *io->picks);
        io->totals = first->totals;
        io->found = true;
    }
    io->bound = fmax(io->bound, first->bound);
}

/* Where needs form cycles labels are many, and the multipliers of dual.h find and prove plans
 * sooner. For cost alone bounds settle most questions at once: they come first. */
void exact_solve(const struct ask *ask, struct solution *out)
{
    size_t n = ask->p->n_stages;
    bool time_counts = ask->goal.objective != SPEC_COST || ask->goal.deadline_ns != INT64_MAX;
    bool has_cycles = dual_is_for(ask->p);
    bool dual_first = ask->method != PLAN_BY_SHAPE || (has_cycles && time_counts);
    AUTO_MEM struct pick *picks = mem_zero(n, sizeof *picks);
    struct solution first = *out;

    first.picks = picks;
    first.has_picks = false;
    if (!dual_first)
        solve_first(ask, has_cycles, &first);
    if (!dual_first && first.proven) {
        take(&first, n, out);
        if (first.found && !first.settled)
            settle_cheapest(ask, out);
    } else if (dual_solve(ask, out)) {
        if (!dual_first)
            join(&ask->goal, &first, n, out);
    } else { /* not enough memory for that */
        if (dual_first)
            solve_first(ask, true, &first);
        take(&first, n, out);
    }
}
