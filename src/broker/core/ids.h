/* ids: a growing list of the numbers of jobs or runs, for visitors that may not change what they
 * visit. */
#ifndef BROKER_CORE_IDS_H
#define BROKER_CORE_IDS_H

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>

struct ids {
    int64_t *list;
    size_t n, cap;
};

static inline void ids_add(struct ids *l, int64_t id)
{
    l->list = mem_room(l->list, l->n, &l->cap, sizeof *l->list);
    l->list[l->n++] = id;
}

static inline void ids_clear(struct ids *l)
{
    free(l->list);
}

#endif
