#include "lake/core/bits.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void bits_clear(struct bits *b)
{
    free(b->words);
    *b = (struct bits){0};
}

void bits_add(struct bits *b, int64_t id)
{
    assert(id >= 0);
    size_t word = (size_t)id / 64;
    if (word >= b->n_words) {
        size_t n = word + word / 2 + 64;
        b->words = mem_grow(b->words, n, sizeof *b->words);
        memset(b->words + b->n_words, 0, (n - b->n_words) * sizeof *b->words);
        b->n_words = n;
    }
    b->words[word] |= (uint64_t)1 << (id % 64);
}

bool bits_has(const struct bits *b, int64_t id)
{
    size_t word = (size_t)id / 64;

    return id >= 0 && word < b->n_words && b->words[word] >> (id % 64) & 1;
}
