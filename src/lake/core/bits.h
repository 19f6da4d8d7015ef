/* bits: growing sets of small positive numbers, such as ids, and growing lists of names. All rooms
 * of the lake use them. */
#ifndef LAKE_CORE_BITS_H
#define LAKE_CORE_BITS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bits {
    uint64_t *words;
    size_t n_words;
};

void bits_clear(struct bits *b);
void bits_add(struct bits *b, int64_t id);
bool bits_has(const struct bits *b, int64_t id);
/* Adds the first column of every row. */
struct db_query;
int bits_add_rows(struct bits *b, struct db_query *q, struct err *e);

struct lake_names {
    char **items;
    size_t n, cap;
};

void lake_names_clear(struct lake_names *n);
/* A copy of the name. */
void lake_names_add(struct lake_names *n, const char *name);

#endif
