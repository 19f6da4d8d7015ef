#include "catalog/intern.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 1024

struct entry {
    const char *text;
    uint32_t len;
    uint32_t hash;
};

struct catalog_intern {
    struct arena *arena;
    struct entry *entries;
    size_t n, cap;
    uint32_t *slots; /* entry index + 1; 0 = free. At most half full. */
    size_t n_slots;  /* a power of two */
};

struct catalog_intern *catalog_intern_new(size_t max_bytes)
{
    struct catalog_intern *t = mem_zero(1, sizeof *t);

    t->arena = arena_new(max_bytes);
    t->n_slots = SLOTS_FIRST;
    t->slots = mem_zero(t->n_slots, sizeof *t->slots);
    catalog_intern(t, "", 0);
    return t;
}

void catalog_intern_free(struct catalog_intern *t)
{
    if (!t)
        return;
    arena_free(t->arena);
    free(t->entries);
    free(t->slots);
    free(t);
}

static void double_slots(struct catalog_intern *t)
{
    free(t->slots);
    t->n_slots *= 2;
    t->slots = mem_zero(t->n_slots, sizeof *t->slots);
    for (size_t i = 0; i < t->n; i++) {
        size_t at = t->entries[i].hash & (t->n_slots - 1);
        while (t->slots[at])
            at = (at + 1) & (t->n_slots - 1);
        t->slots[at] = (uint32_t)i + 1;
    }
}

uint32_t catalog_intern(struct catalog_intern *t, const char *text, size_t len)
{
    uint32_t hash = (uint32_t)hash_xxh3(text, len);
    size_t at = hash & (t->n_slots - 1);

    for (; t->slots[at]; at = (at + 1) & (t->n_slots - 1)) {
        const struct entry *known = &t->entries[t->slots[at] - 1];
        if (known->hash == hash && known->len == len && memcmp(known->text, text, len) == 0)
            return t->slots[at] - 1;
    }
    char *copy = len < UINT32_MAX ? arena_dup_n(t->arena, text, len) : NULL;
    if (!copy || t->n >= UINT32_MAX - 1)
        return CATALOG_INTERN_FULL;
    t->entries = mem_room(t->entries, t->n, &t->cap, sizeof *t->entries);
    t->entries[t->n] = (struct entry){copy, (uint32_t)len, hash};
    t->slots[at] = (uint32_t)++t->n;
    if (t->n * 2 > t->n_slots)
        double_slots(t);
    return (uint32_t)t->n - 1;
}

const char *catalog_intern_text(const struct catalog_intern *t, uint32_t id)
{
    assert(id < t->n);
    return t->entries[id].text;
}

size_t catalog_intern_count(const struct catalog_intern *t)
{
    return t->n;
}
