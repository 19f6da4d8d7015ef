#include "spec/guess.h"

#include "base/arena.h"
#include "base/hash.h"

#include <stdbool.h>
#include <string.h>

/* Room for one more; the array moves inside the arena, doubling. */
static bool make_room(struct guess_list *list)
{
    if (list->n < list->cap)
        return true;
    size_t cap = list->cap ? list->cap * 2 : 8;
    struct guess *items = arena_alloc(list->arena, cap, sizeof *items);
    uint64_t *hashes = arena_alloc(list->arena, cap, sizeof *hashes);
    if (!items || !hashes)
        return false;
    if (list->n) {
        memcpy(items, list->items, list->n * sizeof *items);
        memcpy(hashes, list->hashes, list->n * sizeof *hashes);
    }
    list->items = items;
    list->hashes = hashes;
    list->cap = cap;
    return true;
}

void guess_add(struct guess_list *list, const char *what, const char *value, const char *why)
{
    uint64_t hash = hash_text(what);

    for (size_t i = 0; i < list->n; i++)
        if (list->hashes[i] == hash && strcmp(list->items[i].what, what) == 0 &&
            strcmp(list->items[i].value, value) == 0 && strcmp(list->items[i].why, why) == 0)
            return;
    if (!make_room(list))
        return;
    struct guess g = {arena_dup(list->arena, what), arena_dup(list->arena, value),
                      arena_dup(list->arena, why)};
    if (!g.what || !g.value || !g.why)
        return;
    list->hashes[list->n] = hash;
    list->items[list->n++] = g;
}
