/* The header's `defaults` under a stage: on YAML nodes, so that every value keeps its line. */
#include "spec/reader.h"

#include <string.h>

static struct yaml_node *new_map(struct reader *r, const struct yaml_node *like, size_t room)
{
    struct yaml_node *map = reader_alloc(r, 1, sizeof *map);
    struct yaml_entry *entries = reader_alloc(r, room, sizeof *entries);

    if (!map || !entries)
        return NULL;
    *map = *like;
    map->entries = entries;
    memcpy(entries, like->entries, like->n * sizeof *entries);
    return map;
}

const struct yaml_node *merge_maps(struct reader *r,
                                   const struct yaml_node *defaults,
                                   const struct yaml_node *own)
{
    struct yaml_node *map = new_map(r, own, own->n + defaults->n);

    if (!map)
        return own;
    for (size_t i = 0; i < defaults->n; i++)
        if (!yaml_get(own, defaults->entries[i].key))
            map->entries[map->n++] = defaults->entries[i];
    return map;
}

/* One field that both give. `resources` is left alone: its places and alternatives merge as what
 * they mean, not key by key (resources.c). */
static const struct yaml_node *merge_field(struct reader *r,
                                           const char *name,
                                           const struct yaml_node *defaults,
                                           const struct yaml_node *own)
{
    if (own->kind != YAML_MAP || defaults->kind != YAML_MAP || strcmp(name, "resources") == 0)
        return own;
    if (strcmp(name, "estimate") == 0)
        return timing_merge(r, defaults, own);
    return merge_maps(r, defaults, own);
}

const struct yaml_node *merge_defaults(struct reader *r,
                                       const struct yaml_node *defaults,
                                       const struct yaml_node *own)
{
    struct yaml_node *map = new_map(r, own, own->n + defaults->n);

    if (!map)
        return own;
    for (size_t i = 0; i < defaults->n; i++) {
        const struct yaml_entry *entry = &defaults->entries[i];
        struct yaml_entry *same = NULL;

        for (size_t k = 0; k < own->n && !same; k++)
            if (strcmp(map->entries[k].key, entry->key) == 0)
                same = &map->entries[k];
        if (!same && strcmp(entry->key, "resources") != 0) {
            map->entries[map->n++] = *entry;
        } else if (same) {
            /* The entry is ours; the node it shows is shared and stays as it is. */
            struct yaml_node *merged = reader_alloc(r, 1, sizeof *merged);
            if (!merged)
                return own;
            *merged = *merge_field(r, entry->key, entry->value, same->value);
            same->value = merged;
        }
    }
    return map;
}
