/* Objects in a store as sources for an average. Each is fetched by one request, from its
 * beginning to its end, while it is averaged; of each only a window is in memory. When tensors lie
 * in another order than in the first input, what is not in the window costs a request of its own.
 */
#include "base/mem.h"
#include "fed/internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of each input in memory: this, or its part of what all have together, and that at least. */
#define WINDOW_MOST ((size_t)1 << 20)
#define WINDOWS_BYTES ((size_t)256 << 20)
/* So many inputs are fetched at once, each over a connection of its own, of which a function at
 * Amazon has 1,024; of more than that each piece is a request. */
#define STREAMS_MAX 900
#define STACK_BYTES ((size_t)512 << 10)
/* One input may wait for the slowest of all. */
#define STALL_S 60.0
/* Times that a fetch goes on after it broke off without having brought anything. */
#define RESUMES 5
/* Without a read for this long, and without a reader that waits for the store, no turn will come.
 */
#define TURN_S 1.0
#define TURN_LOOK_S 0.1

struct fed_inputs {
    struct stream *streams;
    struct fed_source *sources;
    size_t n, window;
    atomic_ullong reads;   /* of all streams */
    atomic_uint for_store; /* readers that wait for bytes to come */
    atomic_bool unordered; /* a thread reads in another order */
};

struct stream {
    struct fed_inputs *all;
    struct store *store;
    const struct fed_object *object;
    pthread_t thread;
    bool running;
    char *window;         /* byte i of the object is at i % all->window; NULL = no stream */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint64_t base, end; /* of what is in the window */
    uint64_t front;     /* what lies before was read */
    bool stopped, failed;
    struct err why;
    struct store_tally tally;
};

/* ---- fetching ---- */

/* Headers are read again, so that some of what was read stays a while. */
static void settle(struct stream *s)
{
    uint64_t behind = s->all->window / 4, base = s->front > behind ? s->front - behind : 0;

    base = base > s->end ? s->end : base;
    s->base = base > s->base ? base : s->base;
}

static int take(void *context, const void *bytes, size_t n, struct err *e)
{
    struct stream *s = context;
    const char *from = bytes;

    pthread_mutex_lock(&s->lock);
    while (n && !s->stopped && s->end < s->object->size) {
        settle(s);
        size_t size = s->all->window, at = (size_t)(s->end % size);
        size_t room = size - (size_t)(s->end - s->base);
        if (room == 0) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        size_t some = n < room ? n : room;
        if (some > size - at)
            some = size - at;
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

static struct timespec in_s(double seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

/* Waits before the next try, unless it is stopped. */
static bool pause_s(struct stream *s, double seconds)
{
    struct timespec until = in_s(seconds);

    pthread_mutex_lock(&s->lock);
    while (!s->stopped && pthread_cond_timedwait(&s->changed, &s->lock, &until) != ETIMEDOUT)
        ;
    bool stopped = s->stopped;
    pthread_mutex_unlock(&s->lock);
    return !stopped;
}

static void add_up(struct store_tally *sum, const struct store_tally *more)
{
    sum->reads += more->reads;
    sum->read_bytes += more->read_bytes;
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
            .key = s->object->key,
            .offset = before,
            .etag = s->object->etag,
            .sink = take,
            .context = s,
            .expected_bytes = size - before,
            .stall_s = STALL_S,
            .tally = &tally,
        };
        int result = store_keyed_get(s->store, &get, &why);
        /* No other thread moves the end. */
        vain = s->end > before ? 0 : vain + 1;
        before = s->end;
        if (result == 0 && before < size)
            err_set(&why, ERR_RETRY, "%s broke off", s->object->key);
        more = before < size && why.kind == ERR_RETRY && vain <= RESUMES && pause_s(s, 0.1 * vain);
    }
    pthread_mutex_lock(&s->lock);
    s->failed = s->end < size;
    s->why = why;
    add_up(&s->tally, &tally);
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
            .key = s->object->key,
            .offset = offset,
            .length = n,
            .etag = s->object->etag,
            .sink = put_piece,
            .context = &p,
            .expected_bytes = n,
            .tally = &tally,
        };
        result = store_keyed_get(s->store, &get, e);
        if (result < 0 && (!e || e->kind != ERR_RETRY))
            break;
    }
    pthread_mutex_lock(&s->lock);
    add_up(&s->tally, &tally);
    pthread_mutex_unlock(&s->lock);
    return result == 0 && p.n ? err_set(e, ERR_IO, "%s is too short", s->object->key) : result;
}

/* Averaging reads every input from its beginning to its end, piece by piece and once, but several
 * threads do: who is ahead of the others waits for its turn, so that the window has to hold no more
 * than what the store is ahead of them. */
static void move_on(struct stream *s, uint64_t front)
{
    s->front = front > s->front ? front : s->front;
    settle(s);
    atomic_fetch_add(&s->all->reads, 1);
    pthread_cond_broadcast(&s->changed);
}

/* Where tensors lie in another order than in the first input, no turn comes: then everybody goes on
 * as it is, and what is not in the window is a request of its own. False: so it is. */
static bool wait_for_turn(struct stream *s, uint64_t offset)
{
    unsigned long long seen = atomic_load(&s->all->reads);
    double still_s = 0;

    while (offset > s->front && !s->failed && !atomic_load(&s->all->unordered)) {
        struct timespec until = in_s(TURN_LOOK_S);
        if (pthread_cond_timedwait(&s->changed, &s->lock, &until) != ETIMEDOUT)
            continue;
        unsigned long long now = atomic_load(&s->all->reads);
        bool is_still = now == seen && atomic_load(&s->all->for_store) == 0;
        still_s = is_still ? still_s + TURN_LOOK_S : 0;
        seen = now;
        if (still_s >= TURN_S)
            atomic_store(&s->all->unordered, true);
    }
    return offset <= s->front;
}

static void wait_for_store(struct stream *s, uint64_t offset)
{
    atomic_fetch_add(&s->all->for_store, 1);
    while (s->end <= offset && offset >= s->base && !s->failed)
        pthread_cond_wait(&s->changed, &s->lock);
    atomic_fetch_sub(&s->all->for_store, 1);
}

/* What of it is in the window or comes next; how many bytes that were. */
static size_t read_window(struct stream *s, uint64_t offset, char *to, size_t n)
{
    size_t done = 0, size = s->all->window;

    while (s->window && done < n) {
        uint64_t at = offset + done;
        bool in_turn = wait_for_turn(s, at);
        /* The store brings what follows the window by itself, but no more. */
        if (in_turn || at < s->base + size)
            wait_for_store(s, at);
        if (at < s->base || at >= s->end)
            break;
        uint64_t there = s->end - at, wrap = size - at % size;
        size_t some = n - done;
        some = some > there ? (size_t)there : some;
        some = some > wrap ? (size_t)wrap : some;
        memcpy(to + done, s->window + at % size, some);
        done += some;
        move_on(s, at + some);
    }
    return done;
}

static int read_input(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    struct stream *s = context;

    pthread_mutex_lock(&s->lock);
    size_t done = read_window(s, offset, bytes, n);
    bool failed = done < n && s->failed && offset + done >= s->end;
    if (failed && e)
        *e = s->why;
    pthread_mutex_unlock(&s->lock);
    if (done == n)
        return 0;
    if (failed || read_apart(s, offset + done, (char *)bytes + done, n - done, e) < 0)
        return -1;
    pthread_mutex_lock(&s->lock);
    move_on(s, offset + n);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

/* ---- all of them ---- */

static int start(struct stream *s, struct err *e)
{
    pthread_attr_t attributes;

    s->window = mem_zero(s->all->window, 1);
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

    in->window = WINDOWS_BYTES / (n < STREAMS_MAX ? n + 1 : STREAMS_MAX);
    in->window = in->window < WINDOW_MOST ? in->window : WINDOW_MOST;
    in->streams = mem_zero(n, sizeof *in->streams);
    in->sources = mem_zero(n, sizeof *in->sources);
    for (; in->n < n; in->n++) {
        struct stream *stream = &in->streams[in->n];
        *stream = (struct stream){.all = in, .store = s, .object = &objects[in->n]};
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
        if (tally)
            add_up(tally, &s->tally);
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
