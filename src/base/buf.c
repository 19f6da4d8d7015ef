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

char *buf_room_growing(struct buf *b, size_t n)
{
    if (b->full || n > b->max - b->len) {
        b->full = true;
        return NULL;
    }
    size_t want = b->len + n + 1;
    if (want > b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        b->cap = cap < want ? want : cap;
        b->data = mem_grow(b->data, b->cap, 1);
    }
    return b->data + b->len;
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
    if (n >= 0 && buf_room(b, (size_t)n)) {
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
