#include "base/map.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing: a number stands in the first free slot from the one that its hash names. At most
 * half of the slots are taken, so that few are looked at. */
#define SLOTS_FIRST 64

struct slot {
    uint32_t hash;
    uint32_t number; /* MAP_NONE: free */
};

struct map {
    struct slot *slots;
    size_t n_slots; /* a power of two */
    size_t n;
};

struct map *map_new(void)
{
    struct map *m = mem_zero(1, sizeof *m);

    m->n_slots = SLOTS_FIRST;
    m->slots = mem_zero(m->n_slots, sizeof *m->slots);
    map_clear(m);
    return m;
}

void map_free(struct map *m)
{
    if (!m)
        return;
    free(m->slots);
    free(m);
}

void map_clear(struct map *m)
{
    memset(m->slots, 0xff, m->n_slots * sizeof *m->slots);
    m->n = 0;
}

static size_t next_slot(const struct map *m, size_t at)
{
    return (at + 1) & (m->n_slots - 1);
}

static bool is_free(const struct map *m, size_t at)
{
    return m->slots[at].number == MAP_NONE;
}

static void place(struct map *m, struct slot s)
{
    size_t at = s.hash & (m->n_slots - 1);

    while (!is_free(m, at))
        at = next_slot(m, at);
    m->slots[at] = s;
}

static void grow(struct map *m)
{
    struct slot *old = m->slots;
    size_t n_old = m->n_slots;

    m->n_slots *= 2;
    m->slots = mem_grow(NULL, m->n_slots, sizeof *m->slots);
    memset(m->slots, 0xff, m->n_slots * sizeof *m->slots);
    for (size_t i = 0; i < n_old; i++)
        if (old[i].number != MAP_NONE)
            place(m, old[i]);
    free(old);
}

uint32_t map_find(
    const struct map *m, uint64_t hash, map_same *same, const void *things, const void *key)
{
    uint32_t h = (uint32_t)hash;

    for (size_t at = h & (m->n_slots - 1); !is_free(m, at); at = next_slot(m, at))
        if (m->slots[at].hash == h && same(things, m->slots[at].number, key))
            return m->slots[at].number;
    return MAP_NONE;
}

void map_add(struct map *m, uint64_t hash, uint32_t number)
{
    assert(number != MAP_NONE);
    if (2 * (m->n + 1) > m->n_slots)
        grow(m);
    place(m, (struct slot){(uint32_t)hash, number});
    m->n++;
}

void map_remove(struct map *m, uint64_t hash, uint32_t number)
{
    size_t at = (uint32_t)hash & (m->n_slots - 1);

    while (!is_free(m, at) && m->slots[at].number != number)
        at = next_slot(m, at);
    if (is_free(m, at))
        return;
    m->n--;
    /* Slots behind the hole move up unless they would come before the one that their hash names. */
    for (size_t from = next_slot(m, at); !is_free(m, from); from = next_slot(m, from)) {
        size_t home = m->slots[from].hash & (m->n_slots - 1);
        if (((from - home) & (m->n_slots - 1)) < ((from - at) & (m->n_slots - 1)))
            continue;
        m->slots[at] = m->slots[from];
        at = from;
    }
    m->slots[at].number = MAP_NONE;
}
