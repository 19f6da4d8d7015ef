/* The exhaustive solver: depth-first over every choice of every stage, leaving a branch once it
 * costs more than the best plan known. It shares the cost model with the exact solver and nothing
 * else (no dominance, no tables, no bounds), so that tests can compare the two. plan.c calls it. */
#include "base/mem.h"
#include "plan/internal.h"

#include <stdlib.h>
#include <string.h>

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
    out->proven = !en.stopped;
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
