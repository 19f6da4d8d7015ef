/* arena: memory with one lifetime. Nothing in it is freed alone; everything goes at arena_free. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/auto.h"

#include <stdarg.h>
#include <stddef.h>

struct arena;

/* cap_bytes bounds everything the arena hands out, so input from outside cannot exhaust memory. */
struct arena *arena_new(size_t cap_bytes);
void arena_free(struct arena *a);
AUTO_DEFINE(arena)

/* Zeroed and aligned for anything; NULL past the cap or on overflow of n * size. */
void *arena_alloc(struct arena *a, size_t n, size_t size)
    __attribute__((malloc, alloc_size(2, 3), warn_unused_result));
/* The same for an arena without a cap (SIZE_MAX bytes) and for sizes that the program chooses:
 * running out of memory ends the program. */
void *arena_zero(struct arena *a, size_t n, size_t size)
    __attribute__((malloc, alloc_size(2, 3), returns_nonnull, warn_unused_result));
/* An array with room for one more than n items: items itself, or a copy of twice the size. NULL
 * past the cap; *cap is the room. */
void *arena_room(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
    __attribute__((warn_unused_result));
char *arena_dup(struct arena *a, const char *s) __attribute__((malloc, warn_unused_result));
char *arena_dup_n(struct arena *a, const char *s, size_t n)
    __attribute__((malloc, warn_unused_result));
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), warn_unused_result));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0), warn_unused_result));

#endif
