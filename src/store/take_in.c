/* One read of a source feeds stages that run beside each other: the digest of the whole, the
 * driver's writing and, where they are wanted, digests of the parts by themselves. Each goes
 * through the chunks in order, so the whole is as fast as its slowest stage (the digest, which
 * cannot be split), and the memory is that of the ring of chunks, whatever the size of the file. */
#include "base/file.h"
#include "base/mem.h"
#include "store/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOTS 16
#define STAGES_MAX 3

struct chunk {
    const unsigned char *bytes;
    uint64_t offset;
    size_t n;
    bool zero; /* nothing but zero bytes */
};

struct intake;

struct stage {
    int (*work)(struct intake *in, const struct chunk *c, struct err *e);
    struct intake *in;
    pthread_t thread;
    bool started; /* else the reading thread does its work */
    size_t done;  /* chunks */
};

struct intake {
    const struct store_source *source;
    const struct store_taker *taker;
    struct store_content *out;
    struct stat before;
    uint64_t size;
    struct sha256 *whole, *part;
    struct sha256_digest *part_digests; /* NULL = not wanted */
    /* Data begins at data_from and goes on to data_to; before it is a hole. */
    uint64_t data_from, data_to;
    bool sparse;

    unsigned char *memory; /* n_slots chunks */
    size_t n_slots;
    unsigned char *zeros; /* one chunk */
    struct stage stages[STAGES_MAX];
    size_t n_stages;

    pthread_mutex_t lock; /* guards what follows, and done of the stages */
    pthread_cond_t change;
    struct chunk ring[SLOTS];
    size_t filled; /* chunks so far */
    bool over;     /* no more will come */
    bool failed;
    struct err why;
};

/* The part size for content of this size. */
static uint64_t store_part_bytes(uint64_t size)
{
    uint64_t part = STORE_PART_BYTES;

    while (size > part * STORE_PARTS_MAX && part < STORE_PIECE_MAX)
        part *= 2;
    return part;
}

/* ---- stages ---- */

/* Chunks never cross the border of a part: parts are multiples of STORE_CHUNK_BYTES. */
static int hash_whole(struct intake *in, const struct chunk *c, struct err *e)
{
    uint64_t end = c->offset + c->n;

    (void)e;
    sha256_add(in->whole, c->bytes, c->n);
    if (end % in->out->part_bytes == 0 && end < in->size)
        in->out->parts[c->offset / in->out->part_bytes] = sha256_state(in->whole);
    return 0;
}

static int hash_parts(struct intake *in, const struct chunk *c, struct err *e)
{
    uint64_t part_bytes = in->out->part_bytes, end = c->offset + c->n;

    (void)e;
    sha256_add(in->part, c->bytes, c->n);
    if (end % part_bytes == 0 || end == in->size)
        in->part_digests[c->offset / part_bytes] = sha256_take(in->part);
    return 0;
}

static int hand_over(struct intake *in, const struct chunk *c, struct err *e)
{
    return in->taker->write(in->taker->context, c->offset, c->zero ? NULL : c->bytes, c->n, e);
}

/* ---- the ring ---- */

static void fail(struct intake *in, const struct err *why)
{
    pthread_mutex_lock(&in->lock);
    if (!in->failed)
        in->why = *why;
    in->failed = true;
    pthread_cond_broadcast(&in->change);
    pthread_mutex_unlock(&in->lock);
}

static void *run_stage(void *argument)
{
    struct stage *st = argument;
    struct intake *in = st->in;
    struct err why = {0};

    pthread_mutex_lock(&in->lock);
    for (;;) {
        while (!in->failed && !in->over && st->done == in->filled)
            pthread_cond_wait(&in->change, &in->lock);
        if (in->failed || st->done == in->filled)
            break;
        struct chunk c = in->ring[st->done % in->n_slots];
        pthread_mutex_unlock(&in->lock);
        if (st->work(in, &c, &why) < 0)
            fail(in, &why);
        pthread_mutex_lock(&in->lock);
        st->done++;
        pthread_cond_broadcast(&in->change);
    }
    pthread_mutex_unlock(&in->lock);
    return NULL;
}

static size_t slowest(const struct intake *in)
{
    size_t least = in->filled;

    for (size_t i = 0; i < in->n_stages; i++)
        if (in->stages[i].started && in->stages[i].done < least)
            least = in->stages[i].done;
    return least;
}

/* Memory for the next chunk; NULL when a stage failed. */
static unsigned char *free_slot(struct intake *in)
{
    pthread_mutex_lock(&in->lock);
    while (!in->failed && in->filled - slowest(in) >= in->n_slots)
        pthread_cond_wait(&in->change, &in->lock);
    bool failed = in->failed;
    size_t slot = in->filled % in->n_slots;
    pthread_mutex_unlock(&in->lock);
    return failed ? NULL : in->memory + slot * STORE_CHUNK_BYTES;
}

static int pass_on(struct intake *in, const struct chunk *c, struct err *e)
{
    pthread_mutex_lock(&in->lock);
    in->ring[in->filled++ % in->n_slots] = *c;
    pthread_cond_broadcast(&in->change);
    pthread_mutex_unlock(&in->lock);
    for (size_t i = 0; i < in->n_stages; i++)
        if (!in->stages[i].started && in->stages[i].work(in, c, e) < 0)
            return -1;
    return 0;
}

/* ---- reading ---- */

static int changed(const struct intake *in, struct err *e)
{
    return err_set(e, ERR_CHANGED, "%s changed while it was read", in->source->name);
}

/* Where the file system does not know of holes, everything is data. */
static bool in_hole(struct intake *in, uint64_t offset, size_t n)
{
    if (!in->sparse)
        return false;
    if (offset >= in->data_to) {
        off_t from = lseek(in->source->fd, (off_t)offset, SEEK_DATA);
        in->data_from = from >= 0 ? (uint64_t)from : errno == ENXIO ? in->size : offset;
        off_t to = from >= 0 ? lseek(in->source->fd, from, SEEK_HOLE) : -1;
        in->data_to = to >= 0 ? (uint64_t)to : in->size;
    }
    return in->data_from >= offset + n;
}

static int read_chunk(struct intake *in, unsigned char *memory, struct chunk *c, struct err *e)
{
    if (in_hole(in, c->offset, c->n)) {
        c->bytes = in->zeros;
        c->zero = true;
        return 0;
    }
    ssize_t n = file_pread_all(in->source->fd, memory, c->n, c->offset);
    if (n < 0)
        return err_set(e, ERR_IO, "read %s: %s", in->source->name, strerror(errno));
    if ((size_t)n < c->n)
        return changed(in, e);
    c->bytes = memory;
    c->zero = memory[0] == 0 && memcmp(memory, memory + 1, c->n - 1) == 0;
    return 0;
}

static int read_all(struct intake *in, struct err *e)
{
    const struct store_source *source = in->source;

    for (uint64_t offset = 0; offset < in->size;) {
        uint64_t left = in->size - offset;
        struct chunk c = {.offset = offset,
                          .n = left < STORE_CHUNK_BYTES ? (size_t)left : STORE_CHUNK_BYTES};
        unsigned char *memory = free_slot(in);
        if (!memory)
            return -1;
        if (read_chunk(in, memory, &c, e) < 0 || pass_on(in, &c, e) < 0)
            return -1;
        if (source->progress && !source->progress(source->context, c.n))
            return err_set(e, ERR_RETRY, "%s: interrupted", source->name);
        offset += c.n;
    }
    return 0;
}

/* ---- putting it together ---- */

static int look_at_source(struct intake *in, struct err *e)
{
    if (fstat(in->source->fd, &in->before) < 0)
        return err_set(e, ERR_IO, "read %s: %s", in->source->name, strerror(errno));
    if (!S_ISREG(in->before.st_mode))
        return err_set(e, ERR_USAGE, "%s is not a regular file", in->source->name);
    in->size = (uint64_t)in->before.st_size;
    in->sparse = (uint64_t)in->before.st_blocks * 512 < in->size;
    if (in->size > STORE_PIECE_MAX * STORE_PARTS_MAX)
        return err_set(e, ERR_USAGE, "%s is too large: at most 8 TiB", in->source->name);
    posix_fadvise(in->source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int look_again(const struct intake *in, struct err *e)
{
    struct stat now;

    if (fstat(in->source->fd, &now) < 0)
        return err_set(e, ERR_IO, "read %s: %s", in->source->name, strerror(errno));
    if (now.st_size != in->before.st_size || !same_time(&now.st_mtim, &in->before.st_mtim) ||
        !same_time(&now.st_ctim, &in->before.st_ctim))
        return changed(in, e);
    return 0;
}

static void plan_stages(struct intake *in)
{
    in->stages[in->n_stages++].work = hash_whole;
    if (in->part_digests)
        in->stages[in->n_stages++].work = hash_parts;
    if (in->taker->write)
        in->stages[in->n_stages++].work = hand_over;
    for (size_t i = 0; i < in->n_stages; i++)
        in->stages[i].in = in;
}

/* A file of one part is done by the calling thread alone: there are often many, from many threads
 * already. */
static int run(struct intake *in, struct err *e)
{
    bool threads = in->n_slots > 1;

    for (size_t i = 0; threads && i < in->n_stages; i++) {
        struct stage *st = &in->stages[i];
        st->started = true;
        if (pthread_create(&st->thread, NULL, run_stage, st) != 0)
            st->started = false;
    }
    struct err why = {0};
    if (read_all(in, &why) < 0)
        fail(in, &why);
    pthread_mutex_lock(&in->lock);
    in->over = true;
    pthread_cond_broadcast(&in->change);
    pthread_mutex_unlock(&in->lock);
    for (size_t i = 0; i < in->n_stages; i++)
        if (in->stages[i].started)
            pthread_join(in->stages[i].thread, NULL);
    if (in->failed && e)
        *e = in->why;
    return in->failed ? -1 : 0;
}

static int take_in(struct intake *in, struct err *e)
{
    struct store_content *out = in->out;
    off_t kept = lseek(in->source->fd, 0, SEEK_CUR);

    out->place.size = in->size;
    out->part_bytes = store_part_bytes(in->size);
    out->n_parts = in->size ? (size_t)((in->size - 1) / out->part_bytes + 1) : 1;
    out->parts = mem_zero(out->n_parts, sizeof *out->parts);
    if (in->taker->part_digests)
        in->part_digests = *in->taker->part_digests = mem_zero(out->n_parts, sizeof *out->parts);
    plan_stages(in);
    int result = run(in, e);
    if (kept >= 0)
        lseek(in->source->fd, kept, SEEK_SET);
    if (result < 0)
        return -1;
    out->digest = sha256_take(in->whole);
    out->parts[out->n_parts - 1] = out->digest;
    return look_again(in, e);
}

int store_take_in(const struct store_source *source,
                  const struct store_taker *taker,
                  struct store_content *out,
                  struct err *e)
{
    struct intake in = {.source = source, .taker = taker, .out = out};

    if (look_at_source(&in, e) < 0)
        return -1;
    in.n_slots = in.size > STORE_PART_BYTES ? SLOTS : 1;
    AUTO_MEM unsigned char *memory = mem_grow(NULL, in.n_slots, STORE_CHUNK_BYTES);
    AUTO_MEM unsigned char *zeros = mem_zero(1, STORE_CHUNK_BYTES);
    AUTO(sha256) struct sha256 *whole = sha256_new();
    AUTO(sha256) struct sha256 *part = sha256_new();
    in.memory = memory;
    in.zeros = zeros;
    in.whole = whole;
    in.part = part;
    pthread_mutex_init(&in.lock, NULL);
    pthread_cond_init(&in.change, NULL);
    int result = take_in(&in, e);
    pthread_cond_destroy(&in.change);
    pthread_mutex_destroy(&in.lock);
    return result;
}
