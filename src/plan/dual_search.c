/* The search: best first over sets of options. A node is bounded and thinned by multipliers; what
 * is left is split at the stage whose choice the weighings agreed on least. plan.c and ties.c reach
 * it through exact_solve. */
#include "base/mem.h"
#include "plan/dual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PASSES_ROOT 40
#define PASSES 10
/* Of annealing: before the first bounds, and where those leave something to search. */
#define STEPS_FIRST 20000
#define STEPS 100000
#define NODES_MAX_BYTES ((size_t)64 << 20)
/* Dollars x hours: an interval of times is split while its ends differ by more than this and that
 * costs the bound more than a quarter of the gap. */
#define INTERVAL_LEAST 1.0005
#define INTERVAL_SHARE 0.25
/* A split by location is worth this much less than one by duration and price. */
#define BY_PLACE 0.02
#define NANOSECONDS_H (3600 * NS_PER_S)

/* ---- for which pipelines ---- */

static size_t root_of(size_t *parent, size_t s)
{
    while (parent[s] != s)
        s = parent[s] = parent[parent[s]];
    return s;
}

/* False when the two were connected before. */
static bool connect(size_t *parent, size_t a, size_t b)
{
    size_t x = root_of(parent, a), y = root_of(parent, b);

    parent[x] = y;
    return x != y;
}

bool dual_is_for(const struct plan_problem *p)
{
    AUTO_MEM size_t *parent = mem_zero(p->n_stages, sizeof *parent);

    for (size_t s = 0; s < p->n_stages; s++)
        parent[s] = s;
    for (size_t s = 0; s < p->n_stages; s++)
        for (size_t k = 0; k < p->stages[s].spec->n_needs; k++)
            if (!connect(parent, s, p->stages[s].spec->needs[k]))
                return true;
    return false;
}

/* ---- the nodes ahead ---- */

struct ahead {
    struct dual_node **heap; /* least bound first */
    size_t n, cap;
    double dropped; /* least bound of nodes that there was no room for */
};

static void push(struct dual *d, struct ahead *a, struct dual_node *node)
{
    if ((a->n + 1) * dual_node_bytes(d) > NODES_MAX_BYTES) {
        a->dropped = fmin(a->dropped, node->bound);
        free(node);
        return;
    }
    a->heap = mem_room(a->heap, a->n, &a->cap, sizeof(struct dual_node *));
    size_t at = a->n++;
    for (; at > 0 && a->heap[(at - 1) / 2]->bound > node->bound; at = (at - 1) / 2)
        a->heap[at] = a->heap[(at - 1) / 2];
    a->heap[at] = node;
}

static struct dual_node *pop(struct ahead *a)
{
    struct dual_node *top = a->heap[0], *last = a->heap[--a->n];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < a->n; at = child) {
        if (child + 1 < a->n && a->heap[child + 1]->bound < a->heap[child]->bound)
            child++;
        if (a->heap[child]->bound >= last->bound)
            break;
        a->heap[at] = a->heap[child];
    }
    a->heap[at] = last;
    return top;
}

/* ---- splitting ---- */

/* Where a node is split: the options of a stage at one site, or those that take no longer. */
struct cut {
    size_t stage;
    bool by_place;
    size_t site;
    double ns;
};

static double ns_of(const struct dual *d, size_t s, size_t o)
{
    return d->outcomes[s][o].ns[d->aim.layer];
}

/* How much the weighings differed in the choice for a stage: in dollars and time, or in location.
 */
static double disagreement(const struct dual *d,
                           const struct dual_node *node,
                           const double *chosen,
                           size_t s,
                           struct cut *out)
{
    const struct dual_stage *stage = &d->stages[s];
    AUTO_MEM double *at_site = mem_zero(stage->n_sites, sizeof *at_site);
    double weights = 0, ns = 0, microusd = 0, differ = 0;
    size_t n = 0, most = 0;

    for (size_t o = 0; o < stage->n_options; o++) {
        if (!DUAL_HAS(node, stage, o))
            continue;
        double w = chosen[o] + 1e-6;
        weights += w;
        ns += w * ns_of(d, s, o);
        microusd += w * d->outcomes[s][o].microusd;
        at_site[stage->options[o].site] += w;
        n++;
    }
    if (n < 2)
        return -1;
    ns /= weights;
    microusd /= weights;
    double best_microusd = d->has_best ? (double)d->best.microusd + 1 : microusd * (double)d->n + 1;
    double best_ns = d->has_best ? (double)d->best.ns[d->aim.layer] + 1 : d->least_ns + 1;
    for (size_t o = 0; o < stage->n_options; o++)
        if (DUAL_HAS(node, stage, o))
            differ += (chosen[o] + 1e-6) / weights *
                      (fabs(d->outcomes[s][o].microusd - microusd) / best_microusd +
                       fabs(ns_of(d, s, o) - ns) / best_ns);
    for (size_t b = 1; b < stage->n_sites; b++)
        most = at_site[b] > at_site[most] ? b : most;
    double by_place = BY_PLACE * (1 - at_site[most] / weights);
    *out = (struct cut){.stage = s, .by_place = by_place > differ, .site = most, .ns = ns};
    return fmax(by_place, differ);
}

static bool is_first_part(const struct dual *d, const struct cut *cut, size_t option)
{
    return cut->by_place ? d->stages[cut->stage].options[option].site == cut->site
                         : ns_of(d, cut->stage, option) <= cut->ns;
}

/* Both parts of the node; where the cut does not part its options, the first of them and the
 * others. */
static void part_options(const struct dual *d,
                         const struct dual_node *node,
                         const struct cut *cut,
                         struct dual_node *a,
                         struct dual_node *b)
{
    const struct dual_stage *stage = &d->stages[cut->stage];
    size_t n = 0, n_first = 0;

    for (size_t o = 0; o < stage->n_options; o++)
        if (DUAL_HAS(node, stage, o)) {
            n++;
            n_first += is_first_part(d, cut, o);
        }
    bool parts = n_first > 0 && n_first < n;
    for (size_t o = 0, seen = 0; o < stage->n_options; o++) {
        if (!DUAL_HAS(node, stage, o))
            continue;
        dual_drop((parts ? is_first_part(d, cut, o) : seen == 0) ? b : a, stage, o);
        seen++;
    }
}

static bool split_times(const struct dual *d, const struct dual_node *node, double *middle_ns)
{
    if (d->frontier)
        return dual_frontier_middle(d, node, middle_ns);
    if (d->aim.objective != SPEC_VALUE || !d->has_best)
        return false;
    double q = node->most_ns / node->least_ns, best = dual_enough(d);

    *middle_ns = sqrt(node->least_ns * node->most_ns);
    return q > INTERVAL_LEAST &&
           sqrt(q) + 1 / sqrt(q) - 2 > INTERVAL_SHARE * (best - node->bound) / best;
}

/* False: a single plan is left, which is considered. */
static bool split(struct dual *d,
                  struct ahead *ahead,
                  const struct dual_node *node,
                  double *const *chosen)
{
    struct cut cut = {0}, candidate = {0};
    double most = -1, middle_ns;
    bool by_time = split_times(d, node, &middle_ns);

    for (size_t s = 0; s < d->n && !by_time; s++) {
        double differ = disagreement(d, node, chosen[s], s, &candidate);
        if (differ > most) {
            most = differ;
            cut = candidate;
        }
    }
    if (!by_time && most < 0)
        return false;
    struct dual_node *a = dual_node_copy(d, node), *b = dual_node_copy(d, node);
    if (by_time)
        a->most_ns = b->least_ns = middle_ns;
    else
        part_options(d, node, &cut, a, b);
    if (d->frontier) {
        a->most_ns -= by_time; /* in whole nanoseconds */
        a->bound = -a->most_ns;
        b->bound = -b->most_ns;
    }
    push(d, ahead, a);
    push(d, ahead, b);
    return true;
}

static void consider_last(struct dual *d, const struct dual_node *node)
{
    AUTO_MEM size_t *options = mem_zero(d->n, sizeof *options);
    struct dual_score score;

    for (size_t s = 0; s < d->n; s++)
        for (size_t o = 0; o < d->stages[s].n_options; o++)
            if (DUAL_HAS(node, &d->stages[s], o))
                options[s] = o;
    if (dual_score(d, options, &score))
        dual_consider(d, options, &score);
}

/* ---- the search ---- */

struct finding {
    bool proven;
    double bound; /* in the units of the search */
    double lambda;
};

/* Explores nodes until none is left that may hold a better plan, or time is up. */
static void explore(struct dual *d, struct ahead *ahead, double **chosen, struct finding *out)
{
    while (ahead->n && !cutoff_is_past(d->cutoff)) {
        struct dual_node *node = pop(ahead);
        struct dual_tuning t = {.passes = PASSES, .chosen = chosen};
        if (node->bound < dual_enough(d)) {
            AUTO_MEM struct dual_node *before = dual_node_copy(d, node);
            bool left = dual_bound(d, node, &t);
            if (left && cutoff_is_past(d->cutoff)) {
                before->bound = node->bound;
                push(d, ahead, TAKE(before));
            } else if (left && !split(d, ahead, node, chosen)) {
                consider_last(d, node);
            }
        }
        free(node);
    }
    out->proven = !ahead->n && isinf(ahead->dropped);
    out->bound = fmin(dual_enough(d), ahead->dropped);
    for (size_t i = 0; i < ahead->n; i++)
        out->bound = fmin(out->bound, ahead->heap[i]->bound);
}

/* Micro-dollars a nanosecond of plans such as those wanted. */
static double usual_rate(const struct dual *d)
{
    double microusd = 0;

    if (d->has_best)
        return (double)d->best.microusd / fmax((double)d->best.ns[LAYER_MID], 1);
    for (size_t s = 0; s < d->n; s++) {
        double least = (double)INFINITY;
        for (uint32_t k = 0; k < d->n_live[s]; k++) {
            size_t b = d->live[s][k];
            least = fmin(least, d->least_price[s][b] * d->least_run_s[s][b]);
        }
        microusd += least;
    }
    return microusd / fmax(d->least_ns, 1);
}

static void start_multipliers(struct dual *d, struct dual_node *root)
{
    double sum = usual_rate(d);

    dual_find_paths(d, root);
    if (d->aim.objective == SPEC_WEIGHTED)
        sum = d->aim.rate;
    else if (d->aim.objective == SPEC_COST && isinf(root->most_ns))
        sum = 0;
    root->n_paths = d->n_paths;
    for (size_t i = 0; i < d->n_paths; i++)
        root->multipliers[i] = (float)(sum / (double)d->n_paths);
}

/* The fastest option of every stage by itself. */
static void fastest_options(const struct dual *d, size_t *options)
{
    for (size_t s = 0; s < d->n; s++)
        for (size_t o = 1; o < d->stages[s].n_options; o++)
            if (d->stages[s].options[o].choice->estimate.run_s <
                d->stages[s].options[options[s]].choice->estimate.run_s)
                options[s] = o;
}

/* Anneals from the best plan, or from the fastest options. */
static void find_plans(struct dual *d, size_t steps)
{
    AUTO_MEM size_t *from = mem_zero(d->n, sizeof *from);

    if (d->found)
        memcpy(from, d->best_options, d->n * sizeof *from);
    else
        fastest_options(d, from);
    dual_anneal(d, from, steps);
}

/* The root of the search, bounded; NULL when it has no wanted plan. */
static struct dual_node *bounded_root(struct dual *d, double **chosen, size_t n_passes)
{
    struct dual_tuning t = {.passes = n_passes, .is_root = true, .chosen = chosen};
    AUTO_MEM struct dual_node *root = dual_node_new(d);

    root->most_ns = d->aim.limit_ns[d->aim.layer];
    bool left = dual_windows(d, root);
    root->least_ns = d->least_ns;
    if (!left)
        return NULL;
    start_multipliers(d, root);
    return dual_bound(d, root, &t) ? TAKE(root) : NULL;
}

/* How often the weighings of a node chose each option, per stage. */
static double **chosen_new(const struct dual *d)
{
    double **chosen = mem_zero(d->n, sizeof *chosen);

    for (size_t s = 0; s < d->n; s++)
        chosen[s] = mem_zero(d->stages[s].n_options, sizeof **chosen);
    return chosen;
}

static void chosen_free(const struct dual *d, double **chosen)
{
    for (size_t s = 0; s < d->n; s++)
        free(chosen[s]);
    free(chosen);
}

static void search(struct dual *d, struct finding *out)
{
    double **chosen = chosen_new(d);
    struct ahead ahead = {.dropped = (double)INFINITY};
    struct dual_node *root = bounded_root(d, chosen, PASSES_ROOT);

    out->lambda = 0;
    if (root) {
        for (size_t i = 0; i < root->n_paths; i++)
            out->lambda += (double)root->multipliers[i];
        if (d->frontier)
            dual_frontier_find_plans(d, root);
        else
            find_plans(d, STEPS);
        if (!split(d, &ahead, root, chosen))
            consider_last(d, root);
    }
    free(root);
    explore(d, &ahead, chosen, out);
    for (size_t i = 0; i < ahead.n; i++)
        free(ahead.heap[i]);
    free(ahead.heap);
    chosen_free(d, chosen);
}

/* Budget and deadline together leave no plan, by the bounds of the root alone. */
static bool is_ruled_out(struct dual *d)
{
    if (isinf(d->aim.budget_microusd) || isinf(d->aim.limit_ns[d->aim.layer]))
        return false;
    double **chosen = chosen_new(d);
    struct dual_node *root = bounded_root(d, chosen, PASSES);
    bool ruled_out = !root;
    chosen_free(d, chosen);
    free(root);
    return ruled_out;
}

static struct dual_aim aim_of(const struct goal *g)
{
    struct dual_aim aim = {.objective = g->objective,
                           .budget_microusd = (double)INFINITY,
                           .limit_ns = {(double)INFINITY, (double)INFINITY},
                           .layer = g->objective == SPEC_COST ? g->deadline_layer : LAYER_MID};

    if (g->objective == SPEC_WEIGHTED && g->weight >= 1)
        aim.objective = SPEC_TIME;
    else if (g->objective == SPEC_WEIGHTED && g->weight <= 0)
        aim.objective = SPEC_COST;
    else if (g->objective == SPEC_WEIGHTED)
        aim.rate = g->weight / (1 - g->weight) * 1e6 / NANOSECONDS_H;
    if (g->budget_microusd != INT64_MAX)
        aim.budget_microusd = (double)g->budget_microusd;
    if (g->deadline_ns != INT64_MAX)
        aim.limit_ns[g->deadline_layer] = (double)g->deadline_ns;
    return aim;
}

/* The bound in the units of goal_value. */
static double bound_of(const struct goal *g, const struct dual_aim *aim, double bound)
{
    if (g->objective == SPEC_VALUE)
        return bound / 1e6 / NANOSECONDS_H;
    if (g->objective != SPEC_WEIGHTED)
        return bound;
    if (aim->objective == SPEC_TIME)
        return bound / NANOSECONDS_H * g->weight;
    return bound / 1e6 * (1 - g->weight);
}

/* Looks for a plan of the objective that costs less, until there is none. */
static void settle_cheaper(struct dual *d, struct finding *out)
{
    double budget = d->aim.budget_microusd;

    do {
        d->aim.budget_microusd = (double)d->best.microusd - 1;
        d->may_tie = true;
        d->found = false;
        search(d, out);
    } while (d->found && out->proven && d->best.microusd > 0);
    d->aim.budget_microusd = budget;
    d->found = true;
}

/* Among plans of the least time the cheapest, among plans of the least cost the fastest; so too
 * among plans that cost nothing, which are all worth the same by dollars x hours. Among plans of
 * another objective the cheapest. */
static void settle_second(struct dual *d, struct solution *out)
{
    const struct cutoff *whole = d->cutoff;
    struct dual_aim before = d->aim;
    bool is_simple = before.objective == SPEC_COST || before.objective == SPEC_TIME;
    /* Products and sums are hardly ever equal, and then only by the way: less time for them. */
    struct cutoff cutoff = is_simple ? cutoff_for_second(whole) : cutoff_for_ties(whole);
    struct finding second = {0};

    d->cutoff = &cutoff;
    if (d->aim.objective == SPEC_COST || d->best.microusd == 0) {
        d->aim.objective = SPEC_TIME;
        d->aim.budget_microusd = (double)d->best.microusd;
        d->aim.layer = LAYER_MID;
        d->aim.limit_ns[LAYER_MID] =
            fmin(d->aim.limit_ns[LAYER_MID], (double)d->best.ns[LAYER_MID]);
        search(d, &second);
    } else if (d->aim.objective == SPEC_TIME) {
        d->aim.objective = SPEC_COST;
        d->aim.limit_ns[LAYER_MID] = (double)d->best.ns[LAYER_MID];
        d->aim.layer = LAYER_MID;
        search(d, &second);
    } else {
        settle_cheaper(d, &second);
        second.lambda = out->lambda;
    }
    d->aim = before;
    d->cutoff = whole;
    out->lambda = second.lambda;
    out->settled = second.proven;
}

/* A first plan within the limits. Where annealing finds none, the fastest plan within the budget
 * or the cheapest of all tells whether there is one. False: there is none, or time was up. */
static bool find_allowed(struct dual *d, struct finding *out)
{
    struct dual_aim aim = d->aim;
    bool limited = !isinf(aim.limit_ns[LAYER_MID]) || !isinf(aim.budget_microusd);

    if (is_ruled_out(d)) {
        out->proven = true;
        return false;
    }
    find_plans(d, STEPS_FIRST);
    if (d->found || !limited)
        return true;
    bool was_beside = d->is_beside;
    d->is_beside = true;
    d->aim.limit_ns[LAYER_MID] = d->aim.limit_ns[LAYER_HIGH] = (double)INFINITY;
    d->aim.layer = LAYER_MID;
    if (!isinf(aim.limit_ns[LAYER_MID])) {
        d->aim.objective = SPEC_TIME;
        if (find_allowed(d, out))
            search(d, out);
    } else if (!isinf(aim.budget_microusd)) {
        d->aim.objective = SPEC_COST;
        d->aim.budget_microusd = (double)INFINITY;
        search(d, out);
    }
    d->is_beside = was_beside;
    d->aim = aim;
    if (d->found && dual_allows(d, &d->best))
        return true;
    bool late_at_most = isinf(aim.limit_ns[LAYER_HIGH]);
    d->found = d->has_best = false;
    return !late_at_most;
}

void dual_aim_at(struct dual *d, const struct ask *ask)
{
    d->aim = aim_of(&ask->goal);
    d->plain = ask->method == PLAN_DUAL_PLAIN;
}

int64_t dual_search_frontier(struct dual *d)
{
    struct finding found = {0};

    search(d, &found);
    return found.proven ? 0 : (int64_t)-found.bound;
}

bool dual_solve(const struct ask *ask, struct solution *out)
{
    AUTO_CLEAR(domain) struct domain domain = domain_copy(ask->p, &ask->domain);
    struct finding first = {0};

    for (size_t s = 0; s < ask->p->n_stages; s++)
        if (!domain.n[s]) {
            *out = (struct solution){.picks = out->picks, .proven = true};
            return true;
        }
    symmetry_drop(ask->p, &domain);
    AUTO(dual) struct dual *d = dual_new(ask->p, &domain, &ask->cutoff);
    if (!d)
        return false;
    dual_aim_at(d, ask);
    if (out->found) {
        d->best = (struct dual_score){.microusd = out->totals.microusd,
                                      .ns = {out->totals.ns[0], out->totals.ns[1]}};
        d->has_best = d->may_tie = true;
    }
    if (d->has_best || find_allowed(d, &first))
        search(d, &first);
    else
        first.bound = first.lambda = 0; /* those found were of another objective */
    out->lambda = first.lambda;
    out->proven = first.proven;
    bool is_known = out->found && d->found && d->best.microusd == out->totals.microusd &&
                    d->best.ns[LAYER_MID] == out->totals.ns[LAYER_MID];
    out->settled = first.proven;
    if (first.proven && d->found && !is_known)
        settle_second(d, out);
    out->found = d->found;
    double value = goal_value(&ask->goal, (double)d->best.microusd, (double)d->best.ns[LAYER_MID]);
    out->bound = first.proven && d->found ? value
                                          : fmin(bound_of(&ask->goal, &d->aim, first.bound),
                                                 d->found ? value : (double)INFINITY);
    if (!d->found)
        return true;
    out->totals =
        (struct totals){.microusd = d->best.microusd, .ns = {d->best.ns[0], d->best.ns[1]}};
    dual_picks(d, d->best_options, out->picks);
    return true;
}
