#include "base/mem.h"

#include "base/auto.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *or_abort(void *p, size_t n, size_t size)
{
    if (p)
        return p;
    fprintf(stderr, "tradewind: out of memory (asked for %zu x %zu bytes)\n", n, size);
    abort();
}

void *mem_zero(size_t n, size_t size)
{
    return or_abort(calloc(n ? n : 1, size ? size : 1), n, size);
}

void *mem_grow(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        return or_abort(NULL, n, size);
    return or_abort(realloc(p, bytes ? bytes : 1), n, size);
}

char *mem_dup(const char *s)
{
    return or_abort(strdup(s), strlen(s) + 1, 1);
}

char *mem_printf(const char *fmt, ...)
{
    va_list ap;
    char *s = NULL;

    va_start(ap, fmt);
    if (vasprintf(&s, fmt, ap) < 0)
        s = NULL;
    va_end(ap);
    return or_abort(s, 1, 0);
}

void *mem_room(void *p, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return or_abort(p, n, size);
    *cap = *cap ? *cap * 2 : 8;
    return mem_grow(p, *cap, size);
}

/* The first pages of an array; beyond, it doubles. */
#define PAGES_FIRST ((size_t)64 << 10)

void *mem_pages(void *p, size_t *bytes, size_t wanted)
{
    size_t grown = *bytes ? *bytes : PAGES_FIRST;

    if (p && wanted <= *bytes)
        return p;
    while (grown < wanted)
        if (__builtin_mul_overflow(grown, 2, &grown))
            return or_abort(NULL, wanted, 1);
    void *moved = p ? mremap(p, *bytes, grown, MREMAP_MAYMOVE)
                    : mmap(NULL, grown, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *bytes = grown;
    return or_abort(moved == MAP_FAILED ? NULL : moved, grown, 1);
}

void mem_pages_free(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}

void auto_free_mem(void *p)
{
    free(*(void **)p);
}

void auto_close_fd(int *fd)
{
    int why = errno;

    if (*fd >= 0)
        close(*fd);
    errno = why;
}
