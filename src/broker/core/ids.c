#include "broker/core/ids.h"

#include "base/mem.h"

#include <stdlib.h>

void ids_add(struct ids *l, int64_t id)
{
    l->list = mem_room(l->list, l->n, &l->cap, sizeof *l->list);
    l->list[l->n++] = id;
}

void ids_clear(struct ids *l)
{
    free(l->list);
    *l = (struct ids){0};
}
