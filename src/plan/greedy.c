/* The greedy solver, a baseline: every stage by itself, as if its outputs had to leave its cloud.
 * plan.c calls it. */
#include "plan/internal.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* Moving the stage's outputs from the location to the internet: to any other cloud. */
static int64_t egress(const struct plan_problem *p, const struct spec_stage *s, size_t place)
{
    const struct catalog *c = p->world.catalog;
    const struct catalog_place *places = c->places;
    const struct catalog_move *out = NULL;
    int64_t sum = 0;

    for (size_t i = 0; i < c->n_places && !out; i++)
        if (places[i].cloud != places[place].cloud)
            out = catalog_move(c, place, i);
    for (size_t i = 0; i < s->n_outputs && out; i++) {
        int64_t microusd = costmodel_tiered_microusd(c, out, s->outputs[i].size_gb);
        sum += microusd == NEVER ? 0 : microusd;
    }
    return sum;
}

static bool stage_totals(const struct plan_problem *p,
                         const struct pstage *stage,
                         const struct site *site,
                         const struct choice *choice,
                         struct totals *out)
{
    struct outcome o;

    if (!costmodel_outcome(stage, site, choice, site->fixed_input_s, &o))
        return false;
    out->microusd = o.compute_microusd + site->storage_microusd + site->fixed_microusd +
                    egress(p, stage->spec, site->place);
    memcpy(out->ns, o.duration_ns, sizeof out->ns);
    return true;
}

static bool pick_best(const struct ask *ask, size_t s, struct pick *best)
{
    const struct plan_problem *p = ask->p;
    const struct domain *d = &ask->domain;
    const struct pstage *stage = &p->stages[s];
    struct totals least = {0};
    bool found = false;

    for (size_t k = 0; k < d->n[s]; k++) {
        const struct site *site = &stage->sites[d->sites[s][k]];
        for (size_t i = 0; i < site->n_choices; i++) {
            struct pick pick = {site, &site->choices[i]};
            struct totals t;
            if (!stage_totals(p, stage, site, pick.choice, &t))
                continue;
            int order = found ? goal_compare(&ask->goal, &t, &least) : -1;
            if (order < 0 || (order == 0 && costmodel_compare_choices(p, &pick, best) < 0)) {
                *best = pick;
                least = t;
                found = true;
            }
        }
    }
    return found;
}

void greedy_solve(const struct ask *ask, struct solution *out)
{
    out->found = true;
    for (size_t s = 0; s < ask->p->n_stages && out->found; s++)
        out->found = pick_best(ask, s, &out->picks[s]);
    out->found = out->found && costmodel_totals(ask->p, out->picks, &out->totals) &&
                 goal_allows(&ask->goal, &out->totals);
    out->proven = false;
    out->bound = 0;
}
