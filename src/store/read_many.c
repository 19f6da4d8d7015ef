/* Reads of many small contents: sorted by location, neighbours read with one request, hashed on all
 * cores. store.c calls it. */
#include "base/mem.h"
#include "base/parallel.h"
#include "store/driver.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wanted {
    const struct store_content *content;
    size_t i; /* the caller's number */
};

/* Neighbours: `count` of the wanted from `first`, and the bytes of the blob they take. */
struct span {
    size_t first, count;
    uint64_t from, to;
};

struct gathering {
    struct store *store;
    const char *project;
    const struct store_reader *reader;
    struct wanted *wanted;
    struct span *spans;
    size_t n_spans;
};

static int by_place(const void *a, const void *b)
{
    const struct store_place *p = &((const struct wanted *)a)->content->place;
    const struct store_place *q = &((const struct wanted *)b)->content->place;
    int order = strcmp(p->blob, q->blob);

    if (order != 0)
        return order;
    return (p->offset > q->offset) - (p->offset < q->offset);
}

static bool joins(const struct gathering *g, const struct span *s, const struct store_place *p)
{
    const struct store_place *first = &g->wanted[s->first].content->place;

    return !strcmp(first->blob, p->blob) && p->offset <= s->to + g->store->driver->gap_bytes &&
           p->offset + p->size <= s->from + g->store->driver->read_bytes;
}

static void make_spans(struct gathering *g, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct store_place *p = &g->wanted[k].content->place;
        struct span *last = g->n_spans ? &g->spans[g->n_spans - 1] : NULL;
        uint64_t end = p->offset + p->size;
        if (last && joins(g, last, p)) {
            last->count++;
            last->to = end > last->to ? end : last->to;
        } else {
            g->spans[g->n_spans++] =
                (struct span){.first = k, .count = 1, .from = p->offset, .to = end};
        }
    }
}

static int deliver(struct gathering *g,
                   const struct wanted *w,
                   const unsigned char *bytes,
                   struct err *e)
{
    const struct store_content *c = w->content;
    struct err why = {0};

    if (verify_piece(g->project, c, 0, bytes, (size_t)c->place.size, &why) < 0)
        return g->reader->damaged(g->reader->context, w->i, &why, e);
    if (g->reader->arrived(g->reader->context, w->i, bytes, (size_t)c->place.size, e) < 0)
        return -1;
    read_cache_keep(g->store->kept, c, bytes, -1);
    return 0;
}

/* 1: it was in the cache and has arrived; 0: it must come from the store. */
static int deliver_kept(struct gathering *g,
                        const struct wanted *w,
                        unsigned char *bytes,
                        struct err *e)
{
    const struct store_content *c = w->content;
    size_t n = (size_t)c->place.size;
    int fd = read_cache_open(g->store->kept, c);

    if (fd < 0)
        return 0;
    bool good =
        pread(fd, bytes, n, 0) == (ssize_t)n && verify_piece(g->project, c, 0, bytes, n, NULL) == 0;
    close(fd);
    if (!good)
        read_cache_drop(g->store->kept, c);
    else if (g->reader->arrived(g->reader->context, w->i, bytes, n, e) < 0)
        return -1;
    return good;
}

/* Leaves those of the n wanted that the cache does not have. */
static int take_kept(struct gathering *g, size_t *n, struct err *e)
{
    AUTO_MEM unsigned char *bytes = g->store->kept ? mem_grow(NULL, STORE_SMALL_MAX, 1) : NULL;
    size_t left = 0;

    for (size_t i = 0; i < *n; i++) {
        int done = bytes ? deliver_kept(g, &g->wanted[i], bytes, e) : 0;
        if (done < 0)
            return -1;
        if (!done)
            g->wanted[left++] = g->wanted[i];
    }
    *n = left;
    return 0;
}

static int read_range(struct gathering *g,
                      const struct span *s,
                      unsigned char *bytes,
                      struct err *e)
{
    struct store_place range = g->wanted[s->first].content->place;

    if (s->from == s->to)
        return 0;
    range.offset = s->from;
    range.size = s->to - s->from;
    return g->store->driver->read(g->store, g->project, &range, bytes, e);
}

/* What cannot be had together may be had one by one. */
static int read_singly(struct gathering *g,
                       const struct span *s,
                       unsigned char *bytes,
                       struct err *e)
{
    for (size_t k = s->first; k < s->first + s->count; k++) {
        const struct store_place *p = &g->wanted[k].content->place;
        struct span one = {.first = k, .count = 1, .from = p->offset, .to = p->offset + p->size};
        struct err why = {0};
        int result = read_range(g, &one, bytes, &why);
        if (result < 0 && !verify_is_damage(&why)) {
            *e = why;
            return -1;
        }
        result = result < 0 ? g->reader->damaged(g->reader->context, g->wanted[k].i, &why, e)
                            : deliver(g, &g->wanted[k], bytes, e);
        if (result < 0)
            return -1;
    }
    return 0;
}

static int read_span(struct gathering *g, const struct span *s, unsigned char *bytes, struct err *e)
{
    struct err why = {0};

    if (read_range(g, s, bytes, &why) < 0) {
        if (verify_is_damage(&why))
            return read_singly(g, s, bytes, e);
        *e = why;
        return -1;
    }
    for (size_t k = s->first; k < s->first + s->count; k++) {
        const struct wanted *w = &g->wanted[k];
        if (deliver(g, w, bytes + (w->content->place.offset - s->from), e) < 0)
            return -1;
    }
    return 0;
}

static int do_span(void *context, size_t i, struct err *e)
{
    struct gathering *g = context;
    const struct span *s = &g->spans[i];
    AUTO_MEM unsigned char *bytes = mem_grow(NULL, (size_t)(s->to - s->from) + 1, 1);

    return read_span(g, s, bytes, e);
}

static int check_all(const char *project,
                     const struct store_content *const *contents,
                     size_t n,
                     struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        if (store_check_place(project, &contents[i]->place, e) < 0)
            return -1;
        if (contents[i]->place.size > STORE_SMALL_MAX)
            return err_set(e, ERR_USAGE,
                           "content of %" PRIu64
                           " bytes in blob %s is too large to be read with others",
                           contents[i]->place.size, contents[i]->place.blob);
    }
    return 0;
}

int store_read_many(struct store *s,
                    const char *project,
                    const struct store_content *const *contents,
                    size_t n,
                    const struct store_reader *reader,
                    struct err *e)
{
    struct err why = {0};

    assert(s->driver->read_bytes >= STORE_SMALL_MAX);
    if (check_all(project, contents, n, e) < 0)
        return -1;
    if (n == 0)
        return 0;
    AUTO_MEM struct wanted *wanted = mem_zero(n, sizeof *wanted);
    AUTO_MEM struct span *spans = mem_zero(n, sizeof *spans);
    struct gathering g = {
        .store = s, .project = project, .reader = reader, .wanted = wanted, .spans = spans};
    for (size_t i = 0; i < n; i++)
        wanted[i] = (struct wanted){.content = contents[i], .i = i};
    if (take_kept(&g, &n, e) < 0)
        return -1;
    qsort(wanted, n, sizeof *wanted, by_place);
    make_spans(&g, n);
    int result = parallel_each(g.n_spans, verify_threads(s), do_span, &g, &why);
    if (result < 0 && e)
        *e = why;
    return result;
}
