/* mem: allocation for sizes that the program chooses; running out of memory ends the program. Sizes
 * that come from outside belong in an arena or a buf, which have caps. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_zero(size_t n, size_t size)
    __attribute__((malloc, alloc_size(1, 2), returns_nonnull, warn_unused_result));
/* Like realloc to n * size bytes; new bytes are not zeroed. */
void *mem_grow(void *p, size_t n, size_t size)
    __attribute__((alloc_size(2, 3), returns_nonnull, warn_unused_result));
char *mem_dup(const char *s) __attribute__((malloc, returns_nonnull, warn_unused_result));
char *mem_printf(const char *fmt, ...)
    __attribute__((malloc, format(printf, 1, 2), returns_nonnull, warn_unused_result));

/* Room for one more in a growing array: doubles *cap when n == *cap. Returns the array. */
void *mem_room(void *p, size_t n, size_t *cap, size_t size)
    __attribute__((returns_nonnull, warn_unused_result));

/* An array that may grow to hundreds of megabytes: room for `wanted` bytes, of which there are
 * *bytes now (NULL and 0 at first). Its pages are moved, not copied, so that the heap keeps no
 * holes as large as the array was. New bytes are zero. Freed by mem_pages_free alone. */
void *mem_pages(void *p, size_t *bytes, size_t wanted)
    __attribute__((returns_nonnull, warn_unused_result));
void mem_pages_free(void *p, size_t bytes);

#endif
