/* The baselines beside the exact solver, which plan.c calls. */
#include "base/mem.h"
#include "plan/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- greedy: every stage by itself, as if its outputs had to leave its cloud ---- */

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

/* ---- exhaustive ---- */

/* Depth-first over every choice of every stage, leaving a branch once it costs more than the best
 * plan known. It shares the cost model with the exact solver and nothing else (no dominance, no
 * tables, no bounds), so that tests can compare the two. */

#define CHOICES_MAX 100000

/* Choices of one stage, in tie order. */
struct picks {
    struct pick *items;
    size_t n, cap;
};

struct enumeration {
    const struct ask *ask;
    const struct plan_problem *p;
    struct picks *choices; /* per stage */
    struct pick *picks;
    struct solution *best;
    size_t leaves;
    bool stopped;
    size_t stage; /* being collected */
    bool too_many;
};

static void collect(void *ctx, const struct choice *c)
{
    struct enumeration *e = ctx;
    const struct pstage *stage = &e->p->stages[e->stage];
    const struct domain *d = &e->ask->domain;
    struct picks *list = &e->choices[e->stage];

    for (size_t i = 0; i < d->n[e->stage]; i++) {
        const struct site *site = &stage->sites[d->sites[e->stage][i]];
        if (site->place != c->offer->place)
            continue;
        struct choice *copy = arena_alloc(e->ask->arena, 1, sizeof *copy);
        if (!copy || list->n >= CHOICES_MAX) {
            e->too_many = true;
            return;
        }
        *copy = *c;
        list->items = mem_room(list->items, list->n, &list->cap, sizeof *list->items);
        list->items[list->n++] = (struct pick){site, copy};
    }
}

/* What the stages from 0 to depth must cost at least: compute with the inputs they cannot avoid,
 * and storage. */
static int64_t least_cost(const struct enumeration *e, size_t depth)
{
    int64_t sum = 0;

    for (size_t s = 0; s < depth; s++) {
        struct outcome o;
        if (!costmodel_outcome(&e->p->stages[s], e->picks[s].site, e->picks[s].choice,
                               e->picks[s].site->fixed_input_s, &o))
            return NEVER;
        sum += o.compute_microusd + e->picks[s].site->storage_microusd;
    }
    return sum;
}

static void descend(struct enumeration *e, size_t depth)
{
    const struct goal *goal = &e->ask->goal;
    struct totals t;

    if (depth == e->p->n_stages) {
        if (++e->leaves % 1024 == 0 && cutoff_is_past(&e->ask->cutoff))
            e->stopped = true;
        if (!costmodel_totals(e->p, e->picks, &t) || !goal_allows(goal, &t))
            return;
        /* Leaves come in tie order, so the first of equals stays. */
        if (e->best->found && goal_compare(goal, &t, &e->best->totals) >= 0)
            return;
        e->best->found = true;
        e->best->totals = t;
        memcpy(e->best->picks, e->picks, e->p->n_stages * sizeof *e->picks);
        return;
    }
    for (size_t i = 0; i < e->choices[depth].n && !e->stopped; i++) {
        e->picks[depth] = e->choices[depth].items[i];
        int64_t least = least_cost(e, depth + 1);
        if (least == NEVER || least > goal->budget_microusd)
            continue;
        if (e->best->found && goal->objective == SPEC_COST && least > e->best->totals.microusd)
            continue;
        descend(e, depth + 1);
    }
}

int exhaustive_solve(const struct ask *ask, struct solution *out, struct err *e)
{
    const struct plan_problem *p = ask->p;
    AUTO_MEM struct picks *choices = mem_zero(p->n_stages, sizeof *choices);
    AUTO_MEM struct pick *picks = mem_zero(p->n_stages, sizeof *picks);
    struct enumeration en = {.ask = ask, .p = p, .choices = choices, .picks = picks, .best = out};

    for (en.stage = 0; en.stage < p->n_stages && !en.too_many; en.stage++) {
        eligible_each(p, en.stage, NULL, 0, collect, &en);
        costmodel_sort_picks(p, choices[en.stage].items, choices[en.stage].n);
    }
    out->found = false;
    if (!en.too_many)
        descend(&en, 0);
    out->proven = out->settled = !en.stopped;
    out->bound = out->found && out->proven ? goal_value(&ask->goal, (double)out->totals.microusd,
                                                        (double)out->totals.ns[LAYER_MID])
                                           : 0;
    for (size_t s = 0; s < p->n_stages; s++)
        free(choices[s].items);
    if (en.too_many)
        return err_set(e, ERR_USAGE,
                       "the exhaustive solver is for small cases: over %d choices for one stage; "
                       "use --solver exact, or narrow it down with --cloud or --region",
                       CHOICES_MAX);
    return 0;
}
