#include "base/mem.h"
#include "plan/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Branch and bound over domains. Every node is bounded by relaxations (view.h), loses the sites
 * that cannot be part of a wanted plan, and is then solved exactly by labels. Two things remain
 * for branching: tables that are too large even after that, and datasets with several readers,
 * whose transfers the relaxation charges in parts. */

#define ROUNDS_MAX 6
#define PATH_ROUNDS 6
#define LAMBDA_ROUNDS 12
#define FRONTIER_LAMBDAS 5
#define IMPROVE_CALLS 3000
/* Nodes that can only tie with the best plan are explored for their smaller time, up to this. */
#define TIE_NODES 200

struct search {
    const struct plan_problem *p;
    const struct goal *goal;
    const struct limits *limits;
    bool high;
    struct target target;
    struct pick *picks; /* of target.best, where found */
    bool found;
    struct frontier *frontier; /* wanted instead of one best plan */
    struct arena *frontier_arena;
    struct pick *scratch;
    double lambda; /* of the last slanted bound at the root */
    size_t tie_nodes;
    bool stopped;
    double open_bound; /* least bound of what was left unexplored */
};

/* ---- keeping what was found ---- */

static void frontier_insert(struct search *s, const struct pick *picks, const struct totals *t)
{
    struct frontier *f = s->frontier;
    size_t at = 0, end;

    while (at < f->n && f->points[at].totals.microusd < t->microusd)
        at++;
    if (at > 0 && f->points[at - 1].totals.ns[LAYER_MID] <= t->ns[LAYER_MID])
        return;
    if (at < f->n && f->points[at].totals.microusd == t->microusd &&
        f->points[at].totals.ns[LAYER_MID] <= t->ns[LAYER_MID])
        return;
    for (end = at; end < f->n && f->points[end].totals.ns[LAYER_MID] >= t->ns[LAYER_MID];)
        end++;
    struct pick *copy = arena_alloc(s->frontier_arena, s->p->n_stages, sizeof *copy);
    if (!copy) {
        s->stopped = true;
        return;
    }
    memcpy(copy, picks, s->p->n_stages * sizeof *copy);
    f->points = mem_room(f->points, f->n + 1, &f->cap, sizeof *f->points);
    memmove(&f->points[at + 1], &f->points[end], (f->n - end) * sizeof *f->points);
    f->n = f->n - (end - at) + 1;
    f->points[at] = (struct frontier_point){.totals = *t, .picks = copy};
}

/* Keeps the plan if it is wanted; its totals in any case. */
static bool consider(struct search *s, const struct pick *picks, struct totals *t)
{
    if (!model_totals(s->p, picks, t))
        return false;
    if (s->frontier) {
        frontier_insert(s, picks, t);
        return true;
    }
    if (!goal_allows(s->goal, t))
        return true;
    int order = s->target.has_best ? goal_compare(s->goal, t, &s->target.best) : -1;
    if (order < 0 || (order == 0 && !s->found)) {
        s->target.best = *t;
        s->target.has_best = s->found = true;
        memcpy(s->picks, picks, s->p->n_stages * sizeof *picks);
    }
    return true;
}

static double best_value(const struct search *s)
{
    return s->target.has_best ? goal_value(s->goal, (double)s->target.best.microusd,
                                           (double)s->target.best.ns[LAYER_MID])
                              : (double)INFINITY;
}

/* One stage at a time to a better choice, from the best plan found, until none helps. */
static void improve(struct search *s, const struct domain *d)
{
    AUTO_MEM struct pick *trial = mem_zero(s->p->n_stages, sizeof *trial);
    size_t calls = 0;
    bool better = s->found && !s->frontier;

    while (better) {
        better = false;
        for (size_t i = 0; i < s->p->n_stages; i++)
            for (size_t k = 0; k < d->n[i]; k++) {
                const struct site *site = &s->p->stages[i].sites[d->sites[i][k]];
                for (size_t c = 0; c < site->n_choices; c++) {
                    struct totals before = s->target.best, t;
                    if (++calls > IMPROVE_CALLS || d->only[i])
                        return;
                    memcpy(trial, s->picks, s->p->n_stages * sizeof *trial);
                    trial[i] = (struct pick){site, &site->choices[c]};
                    consider(s, trial, &t);
                    better = better || goal_compare(s->goal, &s->target.best, &before) < 0;
                }
            }
    }
}

/* ---- weighing cost against time ---- */

static bool time_matters(const struct search *s)
{
    return s->frontier || s->goal->objective != SPEC_COST || s->goal->deadline_ns != INT64_MAX;
}

static double ns_of(const struct view *v, const struct totals *t)
{
    return (double)t->ns[v->layer];
}

/* The exchange rate at which two plans are equally good. */
static double exchange(const struct view *v, const struct totals *cheap, const struct totals *fast)
{
    double ns = ns_of(v, cheap) - ns_of(v, fast);
    double microusd = (double)(fast->microusd - cheap->microusd);

    return ns > 0 && microusd > 0 ? microusd / ns : 0;
}

static bool try_lambda(
    struct search *s, struct view *v, double lambda, struct pass *out, struct totals *t)
{
    return view_pass(v, lambda, out, s->scratch) && consider(s, s->scratch, t);
}

/* Finds the rate at which the binding limit (deadline or budget) is just met: the best that a
 * weighted sum can prove. */
static bool tune_to_limit(
    struct search *s, struct view *v, struct totals cheap, struct totals fast, struct pass *out)
{
    bool any = false;

    for (size_t i = 0; i < LAMBDA_ROUNDS; i++) {
        double lambda = exchange(v, &cheap, &fast);
        struct pass pass;
        struct totals t;
        if (lambda <= 0 || !try_lambda(s, v, lambda, &pass, &t))
            break;
        *out = pass;
        any = true;
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
    return any;
}

/* Dollars times hours: the rate is the slope of the curve at the best plan so far. */
static bool tune_to_value(struct search *s, struct view *v, struct pass *out)
{
    double before = (double)INFINITY;
    bool any = false;

    for (size_t i = 0; i < LAMBDA_ROUNDS && s->found && best_value(s) < before; i++) {
        const struct totals *b = &s->target.best;
        double lambda = (double)b->microusd / fmax(ns_of(v, b), 1);
        struct totals t;
        before = best_value(s);
        if (!(lambda > 0) || !try_lambda(s, v, lambda, out, &t))
            break;
        any = true;
    }
    return any;
}

/* Micro-dollars that a nanosecond is worth under the weight. */
static double weighted_rate(double weight)
{
    return weight / (1 - weight) * 1e6 / (3600 * NS_PER_S);
}

/* Rates between the cheapest and the fastest plan, coarse to fine: each finds a plan on the
 * frontier. The first few serve as bounds. */
static int tune_to_frontier(struct search *s,
                            struct view *v,
                            struct totals cheap,
                            struct totals fast)
{
    struct {
        struct totals cheap, fast;
    } queue[64] = {{cheap, fast}};
    size_t head = 0, tail = 1;

    for (; head < tail && head < 24 && !limits_over(s->limits); head++) {
        double lambda = exchange(v, &queue[head].cheap, &queue[head].fast);
        struct pass pass;
        struct totals t;
        if (lambda <= 0 || !try_lambda(s, v, lambda, &pass, &t))
            continue;
        if (v->n_passes < 2 + FRONTIER_LAMBDAS && view_keep(v, &pass) < 0)
            return -1;
        bool between =
            t.microusd > queue[head].cheap.microusd && t.microusd < queue[head].fast.microusd;
        if (between && tail + 2 <= sizeof queue / sizeof queue[0]) {
            queue[tail].cheap = queue[head].cheap;
            queue[tail++].fast = t;
            queue[tail].cheap = t;
            queue[tail++].fast = queue[head].fast;
        }
    }
    return 0;
}

/* Settles the path weights: mixing in the critical paths of the fastest plans known until their
 * time meets its bound. */
static bool settle_paths(struct search *s,
                         struct view *v,
                         const struct pick *cheapest,
                         struct pass *fastest,
                         struct totals *t)
{
    view_mix_path(v, cheapest, 1);
    for (size_t i = 0; i < PATH_ROUNDS; i++) {
        if (!try_lambda(s, v, (double)INFINITY, fastest, t))
            return false;
        if (ns_of(v, t) <= fastest->tables.best * (1 + 1e-12) + 1 || i + 1 == PATH_ROUNDS)
            break;
        view_mix_path(v, s->scratch, i + 2);
    }
    return true;
}

static int keep_slanted(struct search *s,
                        struct view *v,
                        const struct totals *cheap,
                        const struct totals *fast)
{
    const struct goal *g = s->goal;
    bool limited = !goal_allows(g, cheap) || (g->objective == SPEC_TIME && !goal_allows(g, fast));
    struct pass pass;
    struct totals t;

    if (s->frontier)
        return tune_to_frontier(s, v, *cheap, *fast);
    if (limited && tune_to_limit(s, v, *cheap, *fast, &pass)) {
        s->lambda = pass.lambda;
        if (view_keep(v, &pass) < 0)
            return -1;
    }
    if (g->objective == SPEC_WEIGHTED && g->weight > 0 && g->weight < 1 &&
        try_lambda(s, v, weighted_rate(g->weight), &pass, &t))
        return view_keep(v, &pass);
    if (g->objective == SPEC_VALUE && tune_to_value(s, v, &pass))
        return view_keep(v, &pass);
    return 0;
}

/* Runs the passes that bound this node. False when it holds no plan at all; *bound_out is the
 * least value it can have. */
static bool bound_node(struct search *s, struct view *v, double *bound_out)
{
    AUTO_MEM struct pick *cheapest = mem_zero(s->p->n_stages, sizeof *cheapest);
    struct pass cost, time;
    struct totals cheap, fast;
    struct bound bounds[BOUNDS_MAX];

    if (!view_pass(v, 0, &cost, cheapest) || !consider(s, cheapest, &cheap) ||
        view_keep(v, &cost) < 0)
        return false;
    if (time_matters(s)) {
        if (!settle_paths(s, v, cheapest, &time, &fast) || view_keep(v, &time) < 0)
            return false;
        if (keep_slanted(s, v, &cheap, &fast) < 0)
            return false;
    }
    *bound_out = s->frontier ? 0 : target_lower_bound(&s->target, bounds, view_bounds(v, bounds));
    return !isinf(*bound_out);
}

/* ---- domains ---- */

/* Removes the sites that no wanted plan uses; returns how many. */
static size_t thin_out(const struct search *s, const struct view *v, struct domain *d)
{
    size_t removed = 0;

    for (size_t i = 0; i < v->frame->n_vars; i++) {
        size_t stage = v->frame->vars[i].index, kept = 0;
        for (size_t k = 0; k < d->n[stage]; k++) {
            struct bound bounds[BOUNDS_MAX];
            size_t n = view_site_bounds(v, i, k, bounds);
            if (!target_hopeless(&s->target, bounds, n))
                d->sites[stage][kept++] = d->sites[stage][k];
        }
        removed += d->n[stage] - kept;
        d->n[stage] = kept;
    }
    return removed;
}

/* ---- solving a node ---- */

enum node_state { NODE_DONE, NODE_BRANCH, NODE_STOPPED };

static bool same_totals(const struct totals *a, const struct totals *b)
{
    return a->microusd == b->microusd && a->ns[LAYER_MID] == b->ns[LAYER_MID];
}

/* Takes over what the labels found. NODE_BRANCH when a label's cost is only a bound, with the
 * plan behind it in s->scratch. */
static enum node_state take_labels(struct search *s, const struct label_run *run)
{
    size_t n = labels_n(run), best = NONE;
    struct totals least = {0}, t;

    for (size_t i = 0; i < n; i++) {
        struct totals label = labels_totals(run, i);
        if (s->frontier) {
            labels_picks(run, i, s->scratch);
            if (consider(s, s->scratch, &t) && !same_totals(&t, &label))
                return NODE_BRANCH;
        } else if (goal_allows(s->goal, &label) &&
                   (best == NONE || goal_compare(s->goal, &label, &least) < 0)) {
            best = i;
            least = label;
        }
    }
    if (best == NONE)
        return NODE_DONE;
    if (s->target.has_best && goal_compare(s->goal, &least, &s->target.best) > 0)
        return NODE_DONE;
    labels_picks(run, best, s->scratch);
    if (!consider(s, s->scratch, &t))
        return NODE_BRANCH;
    return same_totals(&t, &least) ? NODE_DONE : NODE_BRANCH;
}

static enum node_state solve_node(struct search *s, const struct view *v)
{
    struct label_bounds bounds = {
        .target = &s->target, .n = v->n_passes, .path_weight = v->path_weight};

    for (size_t i = 0; i < v->n_passes; i++) {
        bounds.lambda[i] = v->passes[i].lambda;
        bounds.out[i] = v->passes[i].tables.out;
    }
    AUTO(label_run)
    struct label_run *run = labels_new(v->frame, v->schedule, &bounds, s->high, s->limits);
    if (!run)
        return NODE_STOPPED;
    return take_labels(s, run);
}

/* The stage to split on: a reader of the dearest shared transfer of the plan in s->scratch, or
 * else the stage with the most sites. NONE when everything is settled. */
static size_t branch_stage(const struct search *s, const struct domain *d, bool shared)
{
    const struct plan_problem *p = s->p;
    size_t best = NONE;
    int64_t dearest = -1;

    for (size_t i = 0; i < p->n_datasets && shared; i++) {
        const struct dataset *data = &p->datasets[i];
        for (size_t k = 0; k < data->n_readers && data->n_readers > 1; k++) {
            size_t reader = data->readers[k];
            int64_t microusd;
            double seconds;
            size_t from = data->producer == NONE ? NONE : s->scratch[data->producer].site->place;
            if (d->n[reader] < 2)
                continue;
            model_move(p, data, from, s->scratch[reader].site->place, &microusd, &seconds);
            if (microusd != NEVER && microusd > dearest) {
                dearest = microusd;
                best = reader;
            }
        }
    }
    for (size_t i = 0; i < p->n_stages && best == NONE; i++)
        if (d->n[i] > 1 && (best == NONE || d->n[i] > d->n[best]))
            best = i;
    if (best == NONE || shared)
        return best;
    for (size_t i = 0; i < p->n_stages; i++)
        best = d->n[i] > d->n[best] ? i : best;
    return best;
}

static void explore(struct search *s, struct domain *d, double known_bound);

/* Where it is (the plan in s->scratch), then anywhere else. */
static void branch(struct search *s, const struct domain *d, bool shared, double bound)
{
    size_t stage = branch_stage(s, d, shared);
    if (stage == NONE)
        return;
    size_t here = d->sites[stage][0];
    for (size_t k = 0; k < d->n[stage] && s->scratch[stage].site; k++)
        if (&s->p->stages[stage].sites[d->sites[stage][k]] == s->scratch[stage].site)
            here = d->sites[stage][k];
    struct domain there = domain_copy(s->p, d), elsewhere = domain_copy(s->p, d);

    there.n[stage] = 1;
    there.sites[stage][0] = here;
    elsewhere.n[stage] = 0;
    for (size_t k = 0; k < d->n[stage]; k++)
        if (d->sites[stage][k] != here)
            elsewhere.sites[stage][elsewhere.n[stage]++] = d->sites[stage][k];
    explore(s, &there, bound);
    explore(s, &elsewhere, bound);
    domain_clear(s->p, &there);
    domain_clear(s->p, &elsewhere);
}

static void leave_open(struct search *s, double bound)
{
    s->stopped = true;
    s->open_bound = fmin(s->open_bound, bound);
}

/* Nothing better here, or only more of the same than is worth looking through. */
static bool not_worth_it(struct search *s, double bound)
{
    if (s->frontier || !s->target.has_best || bound < best_value(s))
        return false;
    return bound > best_value(s) || ++s->tie_nodes > TIE_NODES;
}

/* For cost alone: once the best plan's cost is proven, is its time, among the plans of that cost?
 * All of them lie in the thinned-out domain, so a bound on the time of that will do. */
static bool time_is_proven(struct search *s, struct view *v, double bound)
{
    struct pass pass;
    struct totals t;

    if (time_matters(s) || !s->found || s->high || bound < best_value(s))
        return false;
    /* The fastest of the cheapest: so little per nanosecond that it adds up to half a
     * micro-dollar. */
    view_mix_path(v, s->picks, 1);
    if (!try_lambda(s, v, 0.5 / (ns_of(v, &s->target.best) + 1), &pass, &t))
        return false;
    view_mix_path(v, s->picks, 1);
    return view_least_ns_of_cheapest(v) > ns_of(v, &s->target.best) - 0.5;
}

enum readiness { READY, NOT_WANTED, TOO_LARGE };

/* Bounds the node and thins it out, again while that helps: first on coarse states, then on those
 * that the labels need, with small tables first. READY: it can be solved as it stands in *v. */
static enum readiness prepare(struct search *s, struct domain *d, struct view *v, double *bound)
{
    struct frame_kind kind = {.coarse = true, .cheapest_only = !time_matters(s), .high = s->high};
    size_t max_work = VIEW_WORK_SMALL;

    for (int round = 0;; round++) {
        bool too_large;
        double least;
        if (!view_open(v, s->p, d, kind, s->goal->deadline_layer, max_work, &too_large))
            return too_large ? TOO_LARGE : NOT_WANTED;
        if (!bound_node(s, v, &least))
            return NOT_WANTED;
        *bound = fmax(*bound, least);
        if (round == 0 && *bound < best_value(s))
            improve(s, d);
        if (not_worth_it(s, *bound))
            return NOT_WANTED;
        bool again = thin_out(s, v, d) && round < ROUNDS_MAX;
        if (!again && time_is_proven(s, v, *bound))
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
        view_clear(v);
    }
}

/* Thins the domain out on the way. */
static void explore(struct search *s, struct domain *d, double known_bound)
{
    struct view v = {0};
    double bound = known_bound;

    if (s->stopped || (known_bound > 0 && limits_over(s->limits))) {
        leave_open(s, bound);
        return;
    }
    enum node_state state = NODE_DONE;
    enum readiness ready = prepare(s, d, &v, &bound);
    bool shared = ready == READY && v.frame->shared;
    if (ready == READY)
        state = solve_node(s, &v);
    else if (ready == TOO_LARGE)
        state = NODE_BRANCH;
    view_clear(&v);
    if (state == NODE_STOPPED)
        leave_open(s, bound);
    else if (state == NODE_BRANCH)
        branch(s, d, shared, bound);
}

static void search_run(struct search *s, struct domain *domain)
{
    s->scratch = mem_zero(s->p->n_stages, sizeof *s->scratch);
    s->open_bound = (double)INFINITY;
    s->target.goal = s->goal;
    s->target.time_layer = s->goal->deadline_layer;
    explore(s, domain, 0);
    free(s->scratch);
}

void exact_solve(const struct plan_problem *p,
                 struct domain *domain,
                 const struct goal *goal,
                 const struct limits *limits,
                 struct solution *out)
{
    struct search s = {.p = p,
                       .goal = goal,
                       .limits = limits,
                       .high = goal->deadline_layer == LAYER_HIGH,
                       .picks = out->picks};

    if (out->found) { /* a plan is known already: look for one as good or better */
        s.target.best = out->totals;
        s.target.has_best = true;
    }
    search_run(&s, domain);
    out->found = s.found;
    out->proven = !s.stopped;
    if (s.found)
        out->totals = s.target.best;
    out->lambda = s.lambda;
    out->bound = s.stopped ? fmin(s.open_bound, best_value(&s)) : best_value(&s);
}

bool exact_frontier(const struct plan_problem *p,
                    const struct domain *domain,
                    const struct limits *limits,
                    struct arena *arena,
                    struct frontier *out)
{
    struct goal anything = {.budget_microusd = INT64_MAX, .deadline_ns = INT64_MAX};
    struct search s = {
        .p = p, .goal = &anything, .limits = limits, .frontier = out, .frontier_arena = arena};

    struct domain d = domain_copy(p, domain);
    s.target.frontier = out;
    search_run(&s, &d);
    domain_clear(p, &d);
    return !s.stopped;
}
