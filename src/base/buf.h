/* buf: a growing byte string with a maximum. Always NUL-terminated; may hold any bytes. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct buf {
    char *data; /* never NULL after the first write; borrowed until the next write */
    size_t len;
    size_t cap;
    size_t max;
    bool full; /* something did not fit: the content is cut and must not be used as if whole */
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_clear(struct buf *b);

/* Where the next n bytes and a NUL go, for callers that write them there and add n to len. NULL
 * (and full) when the maximum is reached. */
char *buf_room_growing(struct buf *b, size_t n);
static inline char *buf_room(struct buf *b, size_t n)
{
    if (b->full || n >= b->cap - b->len || n > b->max - b->len)
        return buf_room_growing(b, n);
    return b->data + b->len;
}
/* -1 (and full) when the maximum is reached; callers may check `full` once at the end. */
static inline int buf_add(struct buf *b, const void *bytes, size_t n)
{
    char *at = buf_room(b, n);

    if (!at)
        return -1;
    if (n) /* bytes may be NULL otherwise */
        memcpy(at, bytes, n);
    b->len += n;
    b->data[b->len] = 0;
    return 0;
}
int buf_puts(struct buf *b, const char *s);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The text, "" when nothing was written. */
const char *buf_str(const struct buf *b);

#endif
