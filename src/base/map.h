/* map: finds the numbers of things that a caller keeps in an array, by their keys. The map stores a
 * hash and a number of each; the keys stay with the caller, whose function compares them. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/auto.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;

struct map *map_new(void);
void map_free(struct map *m);
AUTO_DEFINE(map)

/* Whether the thing of this number has the key. */
typedef bool map_same(const void *things, uint32_t number, const void *key);

#define MAP_NONE UINT32_MAX
/* The number that was added with this hash and whose thing has the key, or MAP_NONE. */
uint32_t map_find(
    const struct map *m, uint64_t hash, map_same *same, const void *things, const void *key);
/* Adds a number below MAP_NONE whose key is not in the map. The lower half of the hash counts. */
void map_add(struct map *m, uint64_t hash, uint32_t number);
/* Removes what was added with this hash and number; nothing happens when it is not there. */
void map_remove(struct map *m, uint64_t hash, uint32_t number);
/* Removes everything and keeps the memory for what comes next. */
void map_clear(struct map *m);

#endif
