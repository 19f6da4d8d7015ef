/* bits: a growing set of small positive numbers, such as ids. */
#ifndef LAKE_CORE_BITS_H
#define LAKE_CORE_BITS_H

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

#endif
