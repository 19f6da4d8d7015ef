/* Trims a solution to its limits: removes what the solver's rounding exceeds. The policies call
 * it. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/grid.h"

#include <math.h>

/* What the solver's rounding goes beyond limits is taken off, and so much more that sums stay
 * within them whatever the order they are added up in. */
#define TRIM (1 - 1e-12)

static double trim(double sum, double most)
{
    return sum > most ? most / sum * TRIM : 1;
}

/* What the columns of the slot add up to. */
static double sum_of(const struct grid_slot *s, const double *x)
{
    double sum = 0;

    for (size_t q = s->first; q < s[1].first; q++)
        sum += x[q];
    return sum;
}

/* One quota of a group in the window of these slots. */
static void trim_group(const struct grid *g,
                       const struct grid_slot *from,
                       const struct grid_slot *to,
                       const struct policy_group *group,
                       double scale,
                       double *x)
{
    const double *units = group->units;
    double sum = 0;

    for (const struct grid_slot *s = from; s < to; s++)
        for (size_t q = s->first; q < s[1].first; q++)
            sum += g->scope->p->jobs[s->job].gang * s->room * units[g->type[q]] * x[q];
    double factor = trim(sum, group->quota * scale);
    for (size_t q = from->first; factor < 1 && q < to->first; q++)
        if (units[g->type[q]] > 0)
            x[q] *= factor;
}

/* Quotas of types in one pass: there may be many. */
static void trim_quotas(const struct grid *g,
                        const struct grid_slot *from,
                        const struct grid_slot *to,
                        double scale,
                        double *x)
{
    const struct policy_problem *p = g->scope->p;
    AUTO_MEM double *used = mem_zero(p->n_types + 1, sizeof *used);

    for (const struct grid_slot *s = from; s < to; s++)
        for (size_t q = s->first; q < s[1].first; q++)
            used[g->type[q]] += p->jobs[s->job].gang * s->room * x[q];
    for (size_t j = 0; j < p->n_types; j++)
        used[j] = trim(used[j], p->types[j].quota * scale);
    for (size_t q = from->first; q < to->first; q++)
        x[q] *= used[g->type[q]];
}

void grid_trim(const struct grid *g, size_t first_scaled, double scale, double *x)
{
    const struct policy_problem *p = g->scope->p;
    const struct grid_slot *end = g->slots + g->n_slots, *to;

    for (const struct grid_slot *from = g->slots; from < end; from = to) {
        double grown = from->window >= first_scaled ? scale : 1;
        for (to = from; to < end && to->window == from->window; to++) {
            double factor = isfinite(to->hours) ? trim(sum_of(to, x), grown) : 1;
            for (size_t q = to->first; q < to[1].first; q++)
                x[q] *= factor;
        }
        if (!isfinite(g->edge[from->window + 1]))
            continue;
        trim_quotas(g, from, to, grown, x);
        for (size_t i = 0; i < p->n_groups; i++)
            trim_group(g, from, to, &p->groups[i], grown, x);
    }
}
