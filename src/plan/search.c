#include "plan/search.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define IMPROVE_CALLS 3000

bool search_consider(struct search *s, const struct pick *picks, struct totals *t)
{
    if (!costmodel_totals(s->p, picks, t))
        return false;
    if (!goal_allows(s->goal, t))
        return true;
    int order = s->incumbent.has_best ? goal_compare(s->goal, t, &s->incumbent.best) : -1;
    if (order < 0 || (order == 0 && !s->found)) {
        s->incumbent.best = *t;
        s->incumbent.has_best = s->found = true;
        memcpy(s->picks, picks, s->p->n_stages * sizeof *picks);
    }
    return true;
}

double search_best_value(const struct search *s)
{
    return s->incumbent.has_best ? goal_value(s->goal, (double)s->incumbent.best.microusd,
                                              (double)s->incumbent.best.ns[LAYER_MID])
                                 : (double)INFINITY;
}

/* Tries every choice of one stage in the best plan; true when that made it better. */
static bool improve_stage(struct search *s, const struct domain *d, size_t stage, size_t *calls)
{
    AUTO_MEM struct pick *trial = mem_zero(s->p->n_stages, sizeof *trial);
    struct totals before = s->incumbent.best, t;

    for (size_t k = 0; k < d->n[stage] && !d->only[stage]; k++) {
        const struct site *site = &s->p->stages[stage].sites[d->sites[stage][k]];
        for (size_t c = 0; c<site->n_choices && * calls> 0; c++, --*calls) {
            memcpy(trial, s->picks, s->p->n_stages * sizeof *trial);
            trial[stage] = (struct pick){site, &site->choices[c]};
            search_consider(s, trial, &t);
        }
    }
    return goal_compare(s->goal, &s->incumbent.best, &before) < 0;
}

void search_improve(struct search *s, const struct domain *d)
{
    size_t calls = IMPROVE_CALLS;
    bool better = s->found;

    while (better && calls) {
        better = false;
        for (size_t i = 0; i < s->p->n_stages; i++)
            better = improve_stage(s, d, i, &calls) || better;
    }
}

void search_leave_open(struct search *s, double bound)
{
    s->stopped = true;
    s->open_bound = fmin(s->open_bound, bound);
}

bool search_time_matters(const struct search *s)
{
    return s->goal->objective != SPEC_COST || s->goal->deadline_ns != INT64_MAX;
}
