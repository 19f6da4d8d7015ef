/* Locations that the transfer table cannot tell apart. Between any location of one class and any
 * of another the move is the same, and so it is between any two of one class. problem.c, exact.c
 * and presolve.c use it. */
#include "base/mem.h"
#include "plan/internal.h"

#include <stdlib.h>
#include <string.h>

struct builder {
    const struct catalog *c;
    size_t *places; /* used ones */
    size_t n;
    uint32_t *moves; /* [i * n + k] between used locations */
    size_t *class;   /* per used location */
    size_t *first;   /* per class: its first location */
    uint64_t *hash;  /* per used location */
};

static uint32_t move_between(const struct catalog *c, size_t from, size_t to)
{
    const struct catalog_move *m = from == to ? NULL : catalog_move(c, from, to);

    return m ? (uint32_t)(m - c->moves) : CLASSES_NO_MOVE;
}

/* Equal for locations that are alike: counts the moves out and in by the other side's cloud. */
static uint64_t look_of(const struct builder *b, size_t i)
{
    uint64_t sum = b->c->places[b->places[i]].cloud;

    for (size_t k = 0; k < b->n; k++) {
        if (k == i)
            continue;
        uint64_t cloud = b->c->places[b->places[k]].cloud;
        sum += ((uint64_t)b->moves[i * b->n + k] * 2 + 1 + (cloud << 33)) * 0x9e3779b97f4a7c15u;
        sum += ((uint64_t)b->moves[k * b->n + i] * 2 + 1 + (cloud << 34)) * 0xbf58476d1ce4e5b9u;
    }
    return sum;
}

static bool alike(const struct builder *b, size_t i, size_t j)
{
    size_t n = b->n;

    if (b->hash[i] != b->hash[j] || b->moves[i * n + j] != b->moves[j * n + i])
        return false;
    for (size_t k = 0; k < n; k++)
        if (k != i && k != j &&
            (b->moves[i * n + k] != b->moves[j * n + k] ||
             b->moves[k * n + i] != b->moves[k * n + j]))
            return false;
    return true;
}

/* Being alike the first location of a class makes a location alike all of them: a third location's
 * moves to and from both are the same. */
static size_t classify(struct builder *b)
{
    size_t n_classes = 0;

    for (size_t i = 0; i < b->n; i++)
        b->hash[i] = look_of(b, i);
    for (size_t i = 0; i < b->n; i++) {
        size_t k = 0;
        while (k < n_classes && !alike(b, b->first[k], i))
            k++;
        if (k == n_classes)
            b->first[n_classes++] = i;
        b->class[i] = k;
    }
    return n_classes;
}

static void fill_moves(const struct builder *b, struct classes *x)
{
    memset(x->move, 0xff, x->n * x->n * sizeof *x->move); /* CLASSES_NO_MOVE */
    for (size_t a = 0; a < x->n; a++)
        for (size_t k = 0; k < x->n; k++)
            if (k != a)
                x->move[a * x->n + k] = b->moves[b->first[a] * b->n + b->first[k]];
    /* Within a class: any second location will do. */
    for (size_t i = 0; i < b->n; i++) {
        size_t a = b->class[i];
        if (i != b->first[a])
            x->move[a * x->n + a] = b->moves[b->first[a] * b->n + i];
    }
}

struct classes *classes_new(const struct catalog *c, const bool *used)
{
    struct classes *x = mem_zero(1, sizeof *x);
    size_t n_places = c->n_places;
    AUTO(arena) struct arena *arena = arena_new(SIZE_MAX);
    struct builder b = {.c = c, .places = arena_zero(arena, n_places, sizeof *b.places)};

    x->of_place = mem_zero(n_places, sizeof *x->of_place);
    for (size_t i = 0; i < n_places; i++) {
        x->of_place[i] = SIZE_MAX;
        if (used[i])
            b.places[b.n++] = i;
    }
    b.moves = arena_zero(arena, b.n * b.n, sizeof *b.moves);
    b.class = arena_zero(arena, b.n, sizeof *b.class);
    b.first = arena_zero(arena, b.n, sizeof *b.first);
    b.hash = arena_zero(arena, b.n, sizeof *b.hash);
    for (size_t i = 0; i < b.n; i++)
        for (size_t k = 0; k < b.n; k++)
            b.moves[i * b.n + k] = move_between(c, b.places[i], b.places[k]);
    x->n = classify(&b);
    x->move = mem_zero(x->n * x->n, sizeof *x->move);
    fill_moves(&b, x);
    for (size_t i = 0; i < b.n; i++)
        x->of_place[b.places[i]] = b.class[i];
    return x;
}

void classes_free(struct classes *x)
{
    if (!x)
        return;
    free(x->of_place);
    free(x->move);
    free(x);
}

/* ---- locations that others cover ---- */

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

void symmetry_drop(const struct plan_problem *p, struct domain *d)
{
    struct symmetry y = {.p = p, .d = d, .n_places = p->world.catalog->n_places};
    AUTO_MEM bool *used = mem_zero(y.n_places, sizeof *used);
    AUTO_MEM bool *covered = mem_zero(y.n_places, sizeof *covered);

    AUTO_MEM const struct site **sites = mem_zero(p->n_stages * y.n_places, sizeof *sites);

    y.site = sites;
    for (size_t s = 0; s < p->n_stages; s++)
        for (size_t k = 0; k < d->n[s]; k++) {
            const struct site *site = &p->stages[s].sites[d->sites[s][k]];
            used[site->place] = true;
            y.site[s * y.n_places + site->place] = site;
        }
    y.classes = p->classes;
    y.used = used;
    find_covered(&y, covered);
    for (size_t s = 0; s < p->n_stages; s++) {
        size_t kept = 0;
        for (size_t k = 0; k < d->n[s]; k++)
            if (!covered[p->stages[s].sites[d->sites[s][k]].place])
                d->sites[s][kept++] = d->sites[s][k];
        d->n[s] = kept;
    }
}
