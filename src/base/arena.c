#include "base/arena.h"

#include "base/mem.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* First block; later ones double up to the largest, so a big arena is a handful of blocks. */
#define BLOCK_MIN_BYTES ((size_t)4096)
#define BLOCK_MAX_BYTES ((size_t)1 << 20)

struct block {
    struct block *older;
    size_t size;
    _Alignas(max_align_t) unsigned char bytes[];
};

struct arena {
    struct block *newest;
    size_t free_in_newest;
    size_t used;
    size_t cap;
};

struct arena *arena_new(size_t cap_bytes)
{
    struct arena *a = mem_zero(1, sizeof *a);

    a->cap = cap_bytes;
    return a;
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    for (struct block *b = a->newest, *older; b; b = older) {
        older = b->older;
        free(b);
    }
    free(a);
}

static int add_block(struct arena *a, size_t bytes)
{
    size_t size = a->newest ? a->newest->size * 2 : BLOCK_MIN_BYTES;

    if (size > BLOCK_MAX_BYTES)
        size = BLOCK_MAX_BYTES;
    if (size < bytes)
        size = bytes;
    struct block *b = malloc(sizeof *b + size);
    if (!b)
        return -1;
    b->older = a->newest;
    b->size = size;
    a->newest = b;
    a->free_in_newest = size;
    return 0;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = bytes ? (bytes + align - 1) / align * align : align;
    if (bytes > a->cap - a->used)
        return NULL;
    if (bytes > a->free_in_newest && add_block(a, bytes) < 0)
        return NULL;
    void *p = a->newest->bytes + (a->newest->size - a->free_in_newest);
    a->free_in_newest -= bytes;
    a->used += bytes;
    /* Here and not for the whole block: what is never handed out is never touched. */
    return memset(p, 0, bytes);
}

void *arena_zero(struct arena *a, size_t n, size_t size)
{
    void *p = arena_alloc(a, n, size);

    assert(p);
    return p;
}

char *arena_dup_n(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1, 1);

    if (copy)
        memcpy(copy, s, n);
    return copy;
}

void *arena_room(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
    size_t grown = *cap ? *cap * 2 : 8;
    void *more = n < *cap ? items : arena_alloc(a, grown, size);

    if (!more || more == items)
        return more;
    if (n)
        memcpy(more, items, n * size);
    *cap = grown;
    return more;
}

char *arena_dup(struct arena *a, const char *s)
{
    return arena_dup_n(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    char *s = NULL;

    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n >= 0 && (s = arena_alloc(a, (size_t)n + 1, 1)))
        vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    char *s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}
