/* ids: a growing list of the numbers of jobs or runs. */
#ifndef BROKER_CORE_IDS_H
#define BROKER_CORE_IDS_H

#include <stddef.h>
#include <stdint.h>

struct ids {
    int64_t *list;
    size_t n, cap;
};
void ids_add(struct ids *l, int64_t id);
void ids_clear(struct ids *l);

#endif
