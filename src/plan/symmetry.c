#include "plan/symmetry.h"

#include "base/mem.h"
#include "plan/classes.h"

#include <stdlib.h>
#include <string.h>

/* How many locations of a class are tried as stand-ins: the first ones serve for nearly all. */
#define STAND_INS_MAX 8

struct symmetry {
    const struct plan_problem *p;
    const struct domain *d;
    const struct classes *classes;
    const bool *used;         /* locations of the domain */
    const struct site **site; /* [stage * n_places + location], NULL where the domain has none */
    size_t n_places;
};

static const struct site *site_at(const struct symmetry *y, size_t stage, size_t place)
{
    return y->site[stage * y->n_places + place];
}

/* Every choice of b has one of a that is no worse. */
static bool choices_cover(const struct site *a, const struct site *b)
{
    for (size_t i = 0; i < b->n_choices; i++) {
        bool covered = false;
        for (size_t k = 0; k < a->n_choices && !covered; k++)
            covered = costmodel_no_worse(&a->choices[k], &b->choices[i]);
        if (!covered)
            return false;
    }
    return true;
}

static bool site_covers(const struct symmetry *y,
                        size_t stage,
                        const struct site *a,
                        const struct site *b)
{
    const struct pstage *s = &y->p->stages[stage];

    if (a->boot_s > b->boot_s || a->storage_microusd > b->storage_microusd ||
        a->fixed_input_s > b->fixed_input_s || a->fixed_microusd > b->fixed_microusd)
        return false;
    for (size_t i = 0; i < s->n_datasets; i++) {
        const struct dataset *data = &y->p->datasets[s->datasets[i]];
        if (data->producer == NONE && data->microusd[a->place] > data->microusd[b->place])
            return false;
    }
    return choices_cover(a, b);
}

static bool place_covers(const struct symmetry *y, size_t a, size_t b)
{
    for (size_t s = 0; s < y->p->n_stages; s++) {
        const struct site *at_a = site_at(y, s, a), *at_b = site_at(y, s, b);
        if (at_b && (!at_a || y->d->only[s] || !site_covers(y, s, at_a, at_b)))
            return false;
    }
    return true;
}

/* Staying must be no slower than moving between two locations of the class. */
static bool staying_is_best(const struct symmetry *y, size_t class)
{
    uint32_t move = y->classes->move[class * y->classes->n + class];

    for (size_t i = 0; i < y->p->n_datasets && move != CLASSES_NO_MOVE; i++) {
        const struct dataset *data = &y->p->datasets[i];
        if (data->producer != NONE && data->size_gb * y->p->local_s_per_gb > data->seconds[move])
            return false;
    }
    return true;
}

static void find_covered(const struct symmetry *y, bool *covered)
{
    size_t n_classes = y->classes->n;
    AUTO_MEM size_t(*stand_ins)[STAND_INS_MAX] = mem_zero(n_classes, sizeof *stand_ins);
    AUTO_MEM size_t *n = mem_zero(n_classes, sizeof *n);

    for (size_t place = 0; place < y->n_places; place++) {
        size_t class = y->classes->of_place[place];
        if (!y->used[place])
            continue;
        for (size_t i = 0; i < n[class] && !covered[place]; i++)
            covered[place] =
                place_covers(y, stand_ins[class][i], place) && staying_is_best(y, class);
        if (!covered[place] && n[class] < STAND_INS_MAX)
            stand_ins[class][n[class]++] = place;
    }
}

static bool not_covered(const struct plan_problem *p, const struct site *s, const void *ctx)
{
    (void)p;
    return !((const bool *)ctx)[s->place];
}

void symmetry_drop(const struct plan_problem *p, struct domain *d)
{
    struct symmetry y = {.p = p, .d = d, .n_places = catalog_n_places(p->world.catalog)};
    AUTO_MEM bool *used = mem_zero(y.n_places, sizeof *used);
    AUTO_MEM bool *covered = mem_zero(y.n_places, sizeof *covered);

    y.site = mem_zero(p->n_stages * y.n_places, sizeof *y.site);
    for (size_t s = 0; s < p->n_stages; s++)
        for (size_t k = 0; k < d->n[s]; k++) {
            const struct site *site = &p->stages[s].sites[d->sites[s][k]];
            used[site->place] = true;
            y.site[s * y.n_places + site->place] = site;
        }
    y.classes = p->classes;
    y.used = used;
    find_covered(&y, covered);
    for (size_t s = 0; s < p->n_stages; s++)
        domain_keep(p, d, s, not_covered, covered);
    free(y.site);
}
