#include "exec/frames.h"

#include "base/file.h"
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* "L 65536\n" */
#define HEAD_MAX 16

struct frames {
    char head[HEAD_MAX];
    size_t n_head;
    enum frame_kind kind;
    size_t left; /* bytes of the frame that are still to come */
    bool ended;
};

struct frames *frames_new(void)
{
    return mem_zero(1, sizeof(struct frames));
}

void frames_free(struct frames *f)
{
    free(f);
}

/* Digits without a leading zero, at most FRAME_BYTES_MAX. */
static bool read_size(const char *digits, size_t *out)
{
    size_t n = 0;

    if (*digits < '0' || *digits > '9' || (*digits == '0' && digits[1]))
        return false;
    for (; *digits >= '0' && *digits <= '9'; digits++) {
        n = n * 10 + (size_t)(*digits - '0');
        if (n > FRAME_BYTES_MAX)
            return false;
    }
    *out = n;
    return !*digits;
}

static int bad_head(struct err *e)
{
    return err_set(e, ERR_IO, "the agent's answer is not a frame");
}

/* head is a whole one, its newline cut off. */
static int take_head(struct frames *f, struct err *e)
{
    if (f->n_head < 3 || f->head[1] != ' ' || !read_size(f->head + 2, &f->left))
        return bad_head(e);
    switch (f->head[0]) {
    case 'S':
    case 'L':
        f->kind = f->head[0] == 'S' ? FRAME_STATE : FRAME_LOG;
        break;
    case 'E':
        f->kind = FRAME_END;
        break;
    default:
        return bad_head(e);
    }
    f->n_head = 0;
    f->ended = f->kind == FRAME_END;
    return (f->left == 0) == f->ended ? 0 : bad_head(e);
}

int frames_take(
    struct frames *f, const void *bytes, size_t n, frame_visit *visit, void *context, struct err *e)
{
    const char *at = bytes, *end = at + n;

    while (at < end) {
        if (f->ended)
            return err_set(e, ERR_IO, "the agent goes on after its end");
        if (f->left) {
            size_t some = (size_t)(end - at) < f->left ? (size_t)(end - at) : f->left;
            f->left -= some;
            if (visit(context, f->kind, at, some, e) < 0)
                return -1;
            at += some;
            continue;
        }
        if (*at != '\n') {
            if (f->n_head + 1 >= sizeof f->head || !*at)
                return bad_head(e);
            f->head[f->n_head++] = *at++;
            continue;
        }
        at++;
        f->head[f->n_head] = 0;
        if (take_head(f, e) < 0 || (f->ended && visit(context, FRAME_END, at, 0, e) < 0))
            return -1;
    }
    return 0;
}

int frames_write(int fd, enum frame_kind kind, const void *bytes, size_t n)
{
    char head[HEAD_MAX];
    union {
        const void *in;
        void *out;
    } body = {.in = bytes}; /* writev only reads, whatever struct iovec says */

    assert(n <= FRAME_BYTES_MAX);
    size_t n_head = (size_t)snprintf(head, sizeof head, "%c %zu\n", (char)kind, n);
    struct iovec parts[] = {{head, n_head}, {body.out, n}};
    ssize_t done;
    do
        done = writev(fd, parts, 2);
    while (done < 0 && errno == EINTR);
    if (done < 0)
        return -1;
    size_t told = (size_t)done;
    if (told < n_head && file_write_all(fd, head + told, n_head - told) < 0)
        return -1;
    size_t skip = told > n_head ? told - n_head : 0;
    return n > skip ? file_write_all(fd, (const char *)bytes + skip, n - skip) : 0;
}
