#include "catalog/intern.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const char *text;
    size_t len;
};

struct catalog_intern {
    struct arena *arena;
    struct entry *entries;
    size_t n, cap;
    struct map *by_text;
};

struct catalog_intern *catalog_intern_new(size_t max_bytes)
{
    struct catalog_intern *t = mem_zero(1, sizeof *t);

    t->arena = arena_new(max_bytes);
    t->by_text = map_new();
    catalog_intern(t, "", 0);
    return t;
}

void catalog_intern_free(struct catalog_intern *t)
{
    if (!t)
        return;
    arena_free(t->arena);
    free(t->entries);
    map_free(t->by_text);
    free(t);
}

static bool same_text(const void *entries, uint32_t i, const void *key)
{
    const struct entry *known = (const struct entry *)entries + i, *asked = key;

    return known->len == asked->len && memcmp(known->text, asked->text, asked->len) == 0;
}

uint32_t catalog_intern(struct catalog_intern *t, const char *text, size_t len)
{
    const struct entry asked = {text, len};
    uint64_t hash = hash_xxh3(text, len);
    uint32_t known = map_find(t->by_text, hash, same_text, t->entries, &asked);

    if (known != MAP_NONE)
        return known;
    char *copy = arena_dup_n(t->arena, text, len);
    if (!copy || t->n >= CATALOG_INTERN_FULL)
        return CATALOG_INTERN_FULL;
    t->entries = mem_room(t->entries, t->n, &t->cap, sizeof *t->entries);
    t->entries[t->n] = (struct entry){copy, len};
    map_add(t->by_text, hash, (uint32_t)t->n);
    return (uint32_t)t->n++;
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
