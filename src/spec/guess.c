#include "spec/guess.h"

#include "base/arena.h"
#include "base/hash.h"

#include <string.h>

void guess_add(struct guess_list *list, const char *what, const char *value, const char *why)
{
    uint64_t hash = hash_text(what);

    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].hash == hash && strcmp(list->items[i].what, what) == 0 &&
            strcmp(list->items[i].value, value) == 0 && strcmp(list->items[i].why, why) == 0)
            return;
    struct guess g = {arena_dup(list->arena, what), arena_dup(list->arena, value),
                      arena_dup(list->arena, why), hash};
    struct guess *items = arena_room(list->arena, list->items, list->n, &list->cap, sizeof *items);
    if (!items || !g.what || !g.value || !g.why)
        return;
    list->items = items;
    list->items[list->n++] = g;
}
