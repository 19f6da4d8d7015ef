/* The Pareto frontier on any DAG, as the search of dual_search.c: a node is a set of options and an
 * interval of times, and wanted are plans of that interval that are cheaper than all points of the
 * frontier so far that are as fast. Intervals are split until a single step of the staircase is
 * left, and walked from the slowest plan to the fastest: what is left open tells from which time on
 * the frontier is complete. pareto.c calls it. */
#include "base/mem.h"
#include "plan/dual.h"

#include <math.h>
#include <string.h>

/* Of annealing, for each rate; rates are such multiples of the slope between the ends. */
#define STEPS 2000
static const double rates[] = {0.05, 0.2, 0.5, 1, 2, 5, 20};
/* Plans that one round of single changes looks at. */
#define CHANGES 1000000

static int64_t ns_of(const struct dual *d, size_t point)
{
    return d->frontier->points[point].totals.ns[LAYER_MID];
}

static double cost_of(const struct dual *d, size_t point)
{
    return (double)d->frontier->points[point].totals.microusd;
}

/* A plan that takes from the point's time to end_ns is wanted when it costs less than the point. */
struct step {
    size_t point;
    double end_ns;
};

/* The slowest step of the node; false when there is none. */
static bool first_step(const struct dual *d, const struct dual_node *node, struct step *out)
{
    *out = (struct step){frontier_first_within(d->frontier, (int64_t)node->most_ns), node->most_ns};
    return node->least_ns <= node->most_ns;
}

static bool next_step(const struct dual *d, const struct dual_node *node, struct step *io)
{
    if (io->point == d->frontier->n || (double)ns_of(d, io->point) <= node->least_ns)
        return false;
    io->end_ns = (double)ns_of(d, io->point) - 1;
    io->point++;
    return true;
}

/* What the plans of a step weigh at most. */
static double weight_of(const struct dual *d, const struct step *step, double lambda)
{
    if (step->point == d->frontier->n)
        return (double)INFINITY;
    return cost_of(d, step->point) - 0.5 + (lambda > 0 ? lambda * (step->end_ns + 0.5) : 0);
}

double dual_frontier_wanted(const struct dual *d,
                            const struct dual_node *node,
                            double lambda,
                            double *at_ns)
{
    struct step step;
    double most = 0;

    *at_ns = node->most_ns;
    for (bool more = first_step(d, node, &step); more; more = next_step(d, node, &step)) {
        double weight = weight_of(d, &step, lambda);
        if (weight > most) {
            most = weight;
            *at_ns = step.end_ns;
        }
    }
    return most;
}

bool dual_frontier_narrow(const struct dual *d, struct dual_node *node, double phi, double lambda)
{
    double least_ns = (double)INFINITY, most_ns = -1;
    struct step step;

    for (bool more = first_step(d, node, &step); more; more = next_step(d, node, &step)) {
        if (weight_of(d, &step, lambda) <= phi)
            continue;
        most_ns = fmax(most_ns, step.end_ns);
        least_ns = step.point < d->frontier->n ? (double)ns_of(d, step.point) : 0;
    }
    node->most_ns = fmin(node->most_ns, most_ns);
    node->least_ns = fmax(node->least_ns, fmax(least_ns, d->least_ns));
    return node->least_ns <= node->most_ns;
}

bool dual_frontier_middle(const struct dual *d, const struct dual_node *node, double *middle_ns)
{
    struct step step;
    size_t first = 0, last = 0;

    for (bool more = first_step(d, node, &step), is_first = true; more;
         more = next_step(d, node, &step), is_first = false) {
        first = is_first ? step.point : first;
        last = step.point;
    }
    if (first == last)
        return false;
    *middle_ns = (double)ns_of(d, first + (last - first) / 2);
    return true;
}

/* ---- plans ---- */

bool dual_frontier_keep(struct dual *d, const size_t *options, const struct dual_score *score)
{
    AUTO_MEM struct pick *picks = NULL;
    struct totals t = {.microusd = score->microusd, .ns = {score->ns[0], score->ns[1]}};
    size_t at = frontier_first_within(d->frontier, t.ns[LAYER_MID]);

    if (at < d->frontier->n && d->frontier->points[at].totals.microusd <= t.microusd)
        return false;
    picks = mem_zero(d->n, sizeof *picks);
    dual_picks(d, options, picks);
    int added = frontier_add(d->frontier, d->frontier_arena, d->n, picks, &t);
    d->is_full |= added < 0;
    return added > 0;
}

/* False when a pick is none of the options. */
static bool options_of(const struct dual *d, const struct pick *picks, size_t *options)
{
    for (size_t s = 0; s < d->n; s++) {
        const struct dual_stage *stage = &d->stages[s];
        size_t o = 0;
        while (o < stage->n_options && stage->options[o].choice != picks[s].choice)
            o++;
        if (o == stage->n_options)
            return false;
        options[s] = o;
    }
    return true;
}

/* Single changes of one point's plan, within the node. */
static void change_each(struct dual *d,
                        const struct dual_node *node,
                        size_t *options,
                        size_t *changes)
{
    struct dual_score score;

    for (size_t s = 0; s < d->n; s++) {
        size_t keep = options[s];
        for (size_t o = 0; o < d->stages[s].n_options; o++) {
            options[s] = o;
            if (!DUAL_HAS(node, &d->stages[s], o) || o == keep || !*changes)
                continue;
            --*changes;
            if (dual_score(d, options, &score))
                dual_consider(d, options, &score);
        }
        options[s] = keep;
    }
}

/* Single changes of all points, and of those that this finds. */
static void look_around(struct dual *d, const struct dual_node *node)
{
    AUTO_MEM size_t *options = mem_zero(d->n, sizeof *options);
    size_t changes = CHANGES;
    struct frontier *f = d->frontier;

    while (changes > 0 && !cutoff_is_past(d->cutoff)) {
        size_t i = 0;
        while (i < f->n && f->points[i].is_explored)
            i++;
        if (i == f->n)
            return;
        f->points[i].is_explored = true;
        if (options_of(d, f->points[i].picks, options))
            change_each(d, node, options, &changes);
    }
}

void dual_frontier_find_plans(struct dual *d, const struct dual_node *root)
{
    struct frontier *f = d->frontier;
    const struct totals *cheap = &f->points[0].totals, *fast = &f->points[f->n - 1].totals;
    double slope = (double)(fast->microusd - cheap->microusd) /
                   (double)(cheap->ns[LAYER_MID] - fast->ns[LAYER_MID]);
    AUTO_MEM size_t *options = mem_zero(d->n, sizeof *options);

    if (d->plain)
        return;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        size_t from = (f->n - 1) * i / (sizeof rates / sizeof *rates - 1);
        d->aim.rate = slope * rates[i];
        if (options_of(d, f->points[from].picks, options))
            dual_anneal(d, options, STEPS);
    }
    look_around(d, root);
}

/* ---- the search ---- */

bool dual_frontier(const struct ask *ask, struct frontier *io, int64_t *complete_ns)
{
    AUTO_CLEAR(domain) struct domain domain = domain_copy(ask->p, &ask->domain);

    symmetry_drop(ask->p, &domain);
    AUTO(dual) struct dual *d = dual_new(ask->p, &domain, &ask->cutoff);
    if (!d)
        return false;
    dual_aim_at(d, ask);
    d->frontier = io;
    d->frontier_arena = ask->arena;
    d->aim.objective = SPEC_WEIGHTED;
    d->aim.layer = LAYER_MID;
    d->aim.limit_ns[LAYER_MID] = (double)io->points[0].totals.ns[LAYER_MID] - 1;
    *complete_ns = dual_search_frontier(d);
    return !d->is_full;
}
