#include "plan/classes.h"

#include "base/mem.h"

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

    return m ? (uint32_t)(m - catalog_moves(c)) : CLASSES_NO_MOVE;
}

/* Equal for locations that are alike: counts the moves out and in by the other side's cloud. */
static uint64_t look_of(const struct builder *b, size_t i)
{
    uint64_t sum = catalog_places(b->c)[b->places[i]].cloud;

    for (size_t k = 0; k < b->n; k++) {
        if (k == i)
            continue;
        uint64_t cloud = catalog_places(b->c)[b->places[k]].cloud;
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
    size_t n_places = catalog_n_places(c);
    struct builder b = {.c = c, .places = mem_zero(n_places, sizeof *b.places)};

    x->of_place = mem_zero(n_places, sizeof *x->of_place);
    for (size_t i = 0; i < n_places; i++) {
        x->of_place[i] = SIZE_MAX;
        if (used[i])
            b.places[b.n++] = i;
    }
    b.moves = mem_zero(b.n * b.n, sizeof *b.moves);
    b.class = mem_zero(b.n, sizeof *b.class);
    b.first = mem_zero(b.n, sizeof *b.first);
    b.hash = mem_zero(b.n, sizeof *b.hash);
    for (size_t i = 0; i < b.n; i++)
        for (size_t k = 0; k < b.n; k++)
            b.moves[i * b.n + k] = move_between(c, b.places[i], b.places[k]);
    x->n = classify(&b);
    x->move = mem_zero(x->n * x->n, sizeof *x->move);
    fill_moves(&b, x);
    for (size_t i = 0; i < b.n; i++)
        x->of_place[b.places[i]] = b.class[i];
    free(b.places);
    free(b.moves);
    free(b.class);
    free(b.first);
    free(b.hash);
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
