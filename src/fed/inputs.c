#include "fed/inputs.h"

#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of each input in memory. Averaging reads pieces of 128 KiB in about rising order; threads are
 * apart by a few of them. */
#define WINDOW ((size_t)1 << 20)
#define BEHIND ((size_t)512 << 10)
/* So many inputs are fetched at once; of more than that each piece is a request. */
#define STREAMS_MAX 256
#define STACK_BYTES ((size_t)512 << 10)
/* One input may wait for the slowest of all. */
#define PATIENCE_S 60.0
/* Times that a fetch goes on after it broke off without having brought anything. */
#define RESUMES 5

struct stream {
    struct store *store;
    const struct fed_object *object;
    pthread_t thread;
    bool running;
    char *window;         /* byte i of the object is at i % WINDOW; NULL = no stream */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint64_t base, end; /* of what is in the window */
    bool stopped, failed;
    struct err why;
    struct store_tally tally;
};

struct fed_inputs {
    struct stream *streams;
    struct fed_source *sources;
    size_t n;
};

/* ---- fetching ---- */

static int take(void *context, const void *bytes, size_t n, struct err *e)
{
    struct stream *s = context;
    const char *from = bytes;

    pthread_mutex_lock(&s->lock);
    while (n && !s->stopped && s->end < s->object->size) {
        size_t room = WINDOW - (size_t)(s->end - s->base), at = (size_t)(s->end % WINDOW);
        if (room == 0) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        size_t some = n < room ? n : room;
        if (some > WINDOW - at)
            some = WINDOW - at;
        memcpy(s->window + at, from, some);
        from += some;
        n -= some;
        s->end += some;
        pthread_cond_broadcast(&s->changed);
    }
    bool stopped = s->stopped;
    pthread_mutex_unlock(&s->lock);
    if (stopped)
        return err_set(e, ERR_IO, "stopped");
    return n ? err_set(e, ERR_IO, "%s is longer than it was", s->object->key) : 0;
}

/* Waits before the next try, unless it is stopped. */
static bool pause_s(struct stream *s, double seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&s->lock);
    while (!s->stopped && pthread_cond_timedwait(&s->changed, &s->lock, &until) != ETIMEDOUT)
        ;
    bool stopped = s->stopped;
    pthread_mutex_unlock(&s->lock);
    return !stopped;
}

static void *fetch(void *context)
{
    struct stream *s = context;
    uint64_t size = s->object->size, before = 0;
    struct store_tally tally = {0};
    struct err why = {0};
    unsigned vain = 0;
    bool more = size > 0;

    while (more) {
        struct store_keyed_get get = {
            .offset = before,
            .etag = s->object->etag,
            .sink = take,
            .context = s,
            .expected_bytes = size - before,
            .patience_s = PATIENCE_S,
        };
        int result = store_keyed_get(s->store, s->object->key, &get, &tally, &why);
        /* Nobody else moves the end. */
        vain = s->end > before ? 0 : vain + 1;
        before = s->end;
        if (result == 0 && before < size)
            err_set(&why, ERR_RETRY, "%s broke off", s->object->key);
        more = before < size && why.kind == ERR_RETRY && vain <= RESUMES && pause_s(s, 0.1 * vain);
    }
    pthread_mutex_lock(&s->lock);
    s->failed = s->end < size;
    s->why = why;
    s->tally.reads += tally.reads;
    s->tally.read_bytes += tally.read_bytes;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- reading ---- */

struct piece {
    char *to;
    size_t n;
};

static int put_piece(void *context, const void *bytes, size_t n, struct err *e)
{
    struct piece *p = context;

    if (n > p->n)
        return err_set(e, ERR_IO, "the store sends more than was asked for");
    memcpy(p->to, bytes, n);
    p->to += n;
    p->n -= n;
    return 0;
}

static int read_apart(struct stream *s, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    struct store_tally tally = {0};
    struct piece p = {0};
    int result = -1;

    /* What broke off begins anew. */
    for (unsigned i = 0; i <= RESUMES && result < 0; i++) {
        p = (struct piece){bytes, n};
        struct store_keyed_get get = {
            .offset = offset,
            .length = n,
            .etag = s->object->etag,
            .sink = put_piece,
            .context = &p,
            .expected_bytes = n,
        };
        result = store_keyed_get(s->store, s->object->key, &get, &tally, e);
        if (result < 0 && (!e || e->kind != ERR_RETRY))
            break;
    }
    pthread_mutex_lock(&s->lock);
    s->tally.reads += tally.reads;
    s->tally.read_bytes += tally.read_bytes;
    pthread_mutex_unlock(&s->lock);
    return result == 0 && p.n ? err_set(e, ERR_IO, "%s is too short", s->object->key) : result;
}

/* Lets the stream go on: nobody is likely to look farther back than this. */
static void move_on(struct stream *s, uint64_t offset)
{
    uint64_t base = offset > BEHIND ? offset - BEHIND : 0;

    if (base > s->end)
        base = s->end;
    if (base <= s->base)
        return;
    s->base = base;
    pthread_cond_broadcast(&s->changed);
}

static void copy_out(const struct stream *s, uint64_t offset, char *to, size_t n)
{
    size_t at = (size_t)(offset % WINDOW), first = n < WINDOW - at ? n : WINDOW - at;

    memcpy(to, s->window + at, first);
    memcpy(to + first, s->window, n - first);
}

/* Whether the window will hold these bytes if we wait. */
static bool within_reach(const struct stream *s, uint64_t offset, size_t n)
{
    return s->window && n <= WINDOW - BEHIND && offset >= s->base && offset <= s->end + WINDOW;
}

static int read_input(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    struct stream *s = context;

    pthread_mutex_lock(&s->lock);
    while (within_reach(s, offset, n) && s->end < offset + n && !s->failed) {
        move_on(s, offset);
        pthread_cond_wait(&s->changed, &s->lock);
    }
    bool there = s->window && offset >= s->base && offset + n <= s->end;
    if (there) {
        copy_out(s, offset, bytes, n);
        move_on(s, offset);
    }
    bool failed = !there && s->failed;
    if (failed && e)
        *e = s->why;
    pthread_mutex_unlock(&s->lock);
    return there ? 0 : failed ? -1 : read_apart(s, offset, bytes, n, e);
}

/* ---- all of them ---- */

static int start(struct stream *s, struct err *e)
{
    pthread_attr_t attributes;

    s->window = mem_zero(WINDOW < s->object->size ? WINDOW : (size_t)s->object->size + 1, 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int error = pthread_create(&s->thread, &attributes, fetch, s);
    pthread_attr_destroy(&attributes);
    s->running = error == 0;
    return error ? err_set(e, ERR_IO, "cannot start a thread: %s", strerror(error)) : 0;
}

struct fed_inputs *fed_inputs_open(struct store *s,
                                   const struct fed_object *objects,
                                   size_t n,
                                   struct err *e)
{
    AUTO(fed_inputs) struct fed_inputs *in = mem_zero(1, sizeof *in);

    in->streams = mem_zero(n, sizeof *in->streams);
    in->sources = mem_zero(n, sizeof *in->sources);
    for (; in->n < n; in->n++) {
        struct stream *stream = &in->streams[in->n];
        *stream = (struct stream){.store = s, .object = &objects[in->n]};
        pthread_mutex_init(&stream->lock, NULL);
        pthread_cond_init(&stream->changed, NULL);
        in->sources[in->n] = (struct fed_source){
            .name = objects[in->n].key,
            .size = objects[in->n].size,
            .read = read_input,
            .context = stream,
        };
    }
    for (size_t i = 0; i < n && i < STREAMS_MAX; i++)
        if (start(&in->streams[i], e) < 0)
            return NULL;
    return TAKE(in);
}

const struct fed_source *fed_inputs_sources(const struct fed_inputs *in)
{
    return in->sources;
}

void fed_inputs_stop(struct fed_inputs *in, struct store_tally *tally)
{
    for (size_t i = 0; i < in->n; i++) {
        struct stream *s = &in->streams[i];
        pthread_mutex_lock(&s->lock);
        s->stopped = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    for (size_t i = 0; i < in->n; i++) {
        struct stream *s = &in->streams[i];
        if (s->running)
            pthread_join(s->thread, NULL);
        s->running = false;
        if (tally) {
            tally->reads += s->tally.reads;
            tally->read_bytes += s->tally.read_bytes;
        }
        s->tally = (struct store_tally){0};
    }
}

void fed_inputs_free(struct fed_inputs *in)
{
    if (!in)
        return;
    fed_inputs_stop(in, NULL);
    for (size_t i = 0; i < in->n; i++) {
        pthread_mutex_destroy(&in->streams[i].lock);
        pthread_cond_destroy(&in->streams[i].changed);
        free(in->streams[i].window);
    }
    free(in->streams);
    free(in->sources);
    free(in);
}
