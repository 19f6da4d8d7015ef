/* The Pareto frontier of an answer: its two ends, the search between them, and the plans that are
 * shown. plan.c calls it. */
#include "base/mem.h"
#include "plan/dual.h"

#include <stdlib.h>

#define PARETO_LIMIT 1000
/* Solves spent on ties, of all plans together. */
#define TIE_QUESTIONS 400

/* ---- all plans ---- */

/* The best plan for this objective, within the limits of what is asked, joins the frontier. False:
 * it is not proven. */
static bool add_end(const struct ask *ask,
                    enum spec_objective objective,
                    const struct solution *known,
                    struct frontier *out)
{
    AUTO_MEM struct pick *picks = mem_zero(ask->p->n_stages, sizeof *picks);
    struct solution s = {.picks = picks};
    struct ask end = *ask;

    if (known->proven && ask->goal.objective == objective)
        return true;
    end.goal.objective = objective;
    exact_solve(&end, &s);
    if (s.found)
        frontier_add(out, ask->arena, ask->p->n_stages, s.picks, &s.totals);
    return s.found && s.proven;
}

/* The non-dominated plans within budget and deadline. Returns the time from which on none is
 * missing: 0 unless the limit came first. */
static int64_t find_all(const struct ask *ask, const struct solution *known, struct frontier *out)
{
    int64_t complete_ns;

    frontier_add(out, ask->arena, ask->p->n_stages, known->picks, &known->totals);
    bool cheapest = add_end(ask, SPEC_COST, known, out);
    bool fastest = add_end(ask, SPEC_TIME, known, out);
    if (cheapest && fastest && out->n == 1)
        return 0;
    if (!cheapest || !fastest || !dual_frontier(ask, out, &complete_ns))
        return INT64_MAX;
    return complete_ns;
}

/* ---- the plans that are shown ---- */

/* Keeps the two ends and every k-th point between them. */
static size_t thinned_index(size_t i, size_t n, size_t limit)
{
    return n <= limit || limit < 2 ? i : i * (n - 1) / (limit - 1);
}

/* What time is worth around a point: the slope between its neighbours. */
static double slope_at(const struct frontier *f, size_t n, size_t at)
{
    const struct totals *a = &f->points[at ? at - 1 : at].totals;
    const struct totals *b = &f->points[at + 1 < n ? at + 1 : at].totals;
    double ns = (double)(a->ns[LAYER_MID] - b->ns[LAYER_MID]);

    return ns > 0 ? (double)(b->microusd - a->microusd) / ns : 0;
}

/* Of the plans with a point's cost and time, the first in order of choices. */
static void settle_point(const struct question *q,
                         double lambda,
                         size_t *questions,
                         struct frontier_point *point)
{
    struct ask exactly = q->ask;
    struct solution s = {
        .found = true, .totals = point->totals, .picks = point->picks, .lambda = lambda};

    exactly.goal = (struct goal){.objective = SPEC_COST,
                                 .budget_microusd = point->totals.microusd,
                                 .deadline_ns = point->totals.ns[LAYER_MID],
                                 .deadline_layer = LAYER_MID};
    exact_break_ties(&exactly, questions, &s);
}

/* Up to which cost no plan is missing. */
static int64_t complete_microusd(const struct frontier *f, int64_t complete_ns)
{
    size_t n = frontier_first_within(f, complete_ns);

    return n ? f->points[n - 1].totals.microusd : -1;
}

void plan_pareto(struct question *q, const struct solution *s, struct plan_answer *a)
{
    size_t limit = q->query->pareto_limit ? q->query->pareto_limit : PARETO_LIMIT;
    size_t questions = TIE_QUESTIONS;
    struct frontier f = {0};

    q->ask.cutoff = cutoff_of(q->query, q->query->share);
    int64_t complete_ns = find_all(&q->ask, s, &f);
    a->pareto_complete = complete_ns == 0;
    a->pareto_complete_microusd = complete_microusd(&f, complete_ns);
    q->ask.cutoff = cutoff_for_ties(&q->ask.cutoff);
    a->pareto_thinned = f.n > limit;
    a->n_pareto = f.n < limit ? f.n : limit;
    a->pareto = mem_zero(a->n_pareto, sizeof *a->pareto);
    for (size_t i = 0; i < a->n_pareto; i++) {
        size_t at = thinned_index(i, f.n, limit);
        struct frontier_point *point = &f.points[at];
        if (!q->query->totals_only && questions > 0 && !cutoff_is_past(&q->ask.cutoff))
            settle_point(q, slope_at(&f, f.n, at), &questions, point);
        costmodel_fill(q->ask.p, point->picks, &a->pareto[i]);
    }
    free(f.points);
}
