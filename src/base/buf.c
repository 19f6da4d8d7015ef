#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){.max = max_bytes};
}

void buf_clear(struct buf *b)
{
    free(b->data);
    buf_init(b, b->max);
}

/* Room for n more bytes and the NUL, or full. */
static int reserve(struct buf *b, size_t n)
{
    if (b->full || n > b->max - b->len) {
        b->full = true;
        return -1;
    }
    size_t want = b->len + n + 1;
    if (want > b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        b->cap = cap < want ? want : cap;
        b->data = mem_grow(b->data, b->cap, 1);
    }
    return 0;
}

int buf_add_growing(struct buf *b, const void *bytes, size_t n)
{
    if (reserve(b, n) < 0)
        return -1;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = 0;
    return 0;
}

int buf_puts(struct buf *b, const char *s)
{
    return buf_add(b, s, strlen(s));
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    int result = -1;

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n >= 0 && reserve(b, (size_t)n) == 0) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
        result = 0;
    }
    va_end(again);
    return result;
}

const char *buf_str(const struct buf *b)
{
    return b->data ? b->data : "";
}
