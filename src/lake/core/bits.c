#include "lake/core/bits.h"

#include "base/mem.h"
#include "db/db.h"

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

int bits_add_rows(struct bits *b, struct db_query *q, struct err *e)
{
    int row;

    while ((row = db_step(q, e)) == 1)
        bits_add(b, db_int(q, 0));
    return row;
}

void lake_names_clear(struct lake_names *n)
{
    for (size_t i = 0; i < n->n; i++)
        free(n->items[i]);
    free(n->items);
    *n = (struct lake_names){0};
}

void lake_names_add(struct lake_names *n, const char *name)
{
    n->items = mem_room(n->items, n->n, &n->cap, sizeof *n->items);
    n->items[n->n++] = mem_dup(name);
}
