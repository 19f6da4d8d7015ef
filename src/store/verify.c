/* Copies and streams of content, verified piece by piece. store.h and driver.h declare the
 * functions. */
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "store/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parts of a stream that are read and verified beside each other. */
#define BATCH_BYTES ((uint64_t)64 << 20)
#define BATCH_MAX 4

/* How content falls into pieces that have a digest: its parts, or itself. */
static size_t verify_pieces(const struct store_content *c)
{
    return c->part_bytes ? c->n_parts : 1;
}

/* Piece i covers n bytes from offset of the content. */
static void verify_bounds(const struct store_content *c,
                          size_t i,
                          uint64_t *offset_out,
                          uint64_t *n_out)
{
    uint64_t offset = i * c->part_bytes, left = c->place.size - offset;

    *offset_out = offset;
    *n_out = c->part_bytes && left > c->part_bytes ? c->part_bytes : left;
}

/* Takes in the bytes of piece i, with sha256_add. */
static struct sha256 *verify_begin(const struct store_content *c, size_t i)
{
    struct sha256 *sha = sha256_new();

    if (i > 0)
        sha256_resume(sha, &c->parts[i - 1], i * c->part_bytes);
    return sha;
}

/* ERR_IO "damaged" that names the blob and the offset when they are not what was stored. */
static int verify_end(
    const char *project, const struct store_content *c, size_t i, struct sha256 *sha, struct err *e)
{
    bool last = i + 1 == verify_pieces(c);
    struct sha256_digest got = last ? sha256_take(sha) : sha256_state(sha);
    uint64_t offset, n;

    if (sha256_equal(&got, last ? &c->digest : &c->parts[i]))
        return 0;
    verify_bounds(c, i, &offset, &n);
    return err_set(e, ERR_IO,
                   "blob %s of project %s is damaged: the %" PRIu64 " bytes at offset %" PRIu64
                   " have another SHA-256 than when they were stored",
                   c->place.blob, project, n, c->place.offset + offset);
}

int verify_piece(const char *project,
                 const struct store_content *c,
                 size_t i,
                 const void *bytes,
                 size_t n,
                 struct err *e)
{
    AUTO(sha256) struct sha256 *sha = verify_begin(c, i);

    sha256_add(sha, bytes, n);
    return verify_end(project, c, i, sha, e);
}

bool verify_is_damage(const struct err *e)
{
    return e->kind == ERR_NOTFOUND || e->kind == ERR_IO;
}

unsigned verify_threads(const struct store *s)
{
    return s->driver->in_flight ? s->driver->in_flight : parallel_cores();
}

/* What a database says of content is not believed before it fits together. */
static int check_content(const char *project, const struct store_content *c, struct err *e)
{
    if (store_check_place(project, &c->place, e) < 0)
        return -1;
    if (c->part_bytes == 0)
        return 0;
    uint64_t parts = c->place.size ? (c->place.size - 1) / c->part_bytes + 1 : 1;
    if (c->n_parts != parts || c->part_bytes > STORE_PIECE_MAX ||
        c->part_bytes % SHA256_BLOCK != 0 || !c->parts)
        return err_set(e, ERR_IO,
                       "blob %s of project %s: %zu digests for %" PRIu64 " parts of %" PRIu64
                       " bytes",
                       c->place.blob, project, c->n_parts, parts, c->part_bytes);
    return 0;
}

/* ---- copy ---- */

struct copying {
    struct store *store;
    const char *project;
    const struct store_content *content;
    int from_fd; /* the content in the cache; -1 = from the store */
    int fd;
    /* One thread writes at a time: others would spin in the kernel for the file's lock, while they
     * could verify. */
    pthread_mutex_t *writing;
    bool (*progress)(void *context, uint64_t more_bytes);
    void *context;
};

static bool all_zero(const unsigned char *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

/* Zeros are left out: the file is long enough already, and has holes there. */
static int put_bytes(
    const struct copying *c, uint64_t offset, const unsigned char *bytes, size_t n, struct err *e)
{
    if (all_zero(bytes, n))
        return 0;
    pthread_mutex_lock(c->writing);
    int result = file_pwrite_all(c->fd, bytes, n, offset);
    int why = errno;
    pthread_mutex_unlock(c->writing);
    return result < 0 ? err_set(e, ERR_IO, "write: %s", strerror(why)) : 0;
}

static int tell_progress(const struct copying *c, uint64_t n, struct err *e)
{
    /* What is in the cache counts once all of it turned out to be good. */
    if (c->progress && !c->progress(c->context, c->from_fd < 0 ? n : 0))
        return err_set(e, ERR_RETRY, "interrupted");
    return 0;
}

static int get_bytes(
    const struct copying *c, uint64_t offset, unsigned char *bytes, size_t n, struct err *e)
{
    if (c->from_fd < 0)
        return store_read(c->store, c->project, &c->content->place, offset, bytes, n, e);
    ssize_t got = file_pread_all(c->from_fd, bytes, n, offset);
    if (got == (ssize_t)n)
        return 0;
    return err_set(e, ERR_IO, "read from the cache: %s", got < 0 ? strerror(errno) : "cut");
}

static int copy_piece(void *context, size_t i, struct err *e)
{
    const struct copying *c = context;
    size_t most = c->store->driver->copy_bytes;
    uint64_t offset, left;
    AUTO(sha256) struct sha256 *sha = verify_begin(c->content, i);

    verify_bounds(c->content, i, &offset, &left);
    AUTO_MEM unsigned char *bytes = mem_grow(NULL, left < most ? (size_t)left + 1 : most, 1);
    while (left) {
        size_t n = left < most ? (size_t)left : most;
        if (get_bytes(c, offset, bytes, n, e) < 0)
            return -1;
        sha256_add(sha, bytes, n);
        if (put_bytes(c, offset, bytes, n, e) < 0)
            return -1;
        if (tell_progress(c, n, e) < 0)
            return -1;
        offset += n;
        left -= n;
    }
    return verify_end(c->project, c->content, i, sha, e);
}

/* First empty: where zeros are left out, nothing old may show. A file that is empty already is left
 * so: ext4 takes the cut for a file being replaced, and writes it all out when it is closed. */
static int make_room(int fd, uint64_t size, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0 || (st.st_size > 0 && ftruncate(fd, 0) < 0) ||
        ftruncate(fd, (off_t)size) < 0)
        return err_set(e, ERR_IO, "write: %s", strerror(errno));
    return 0;
}

static int copy_all(struct copying *c, struct err *e)
{
    if (make_room(c->fd, c->content->place.size, e) < 0)
        return -1;
    return parallel_each(verify_pieces(c->content), verify_threads(c->store), copy_piece, c, e);
}

/* 1: done; 0: the cache does not have it, or not as it should be; -1: interrupted. */
static int copy_kept(struct copying *c, struct err *e)
{
    struct read_cache *kept = c->store->kept;
    struct err why = {0};

    c->from_fd = read_cache_open(kept, c->content);
    if (c->from_fd < 0)
        return 0;
    int result = copy_all(c, &why);
    close(c->from_fd);
    c->from_fd = -1;
    if (result == 0)
        return tell_progress(c, c->content->place.size, e) < 0 ? -1 : 1;
    if (why.kind == ERR_RETRY)
        return err_set(e, why.kind, "%s", why.text);
    log_info("store", "not taken from the cache: %s", why.text);
    read_cache_drop(kept, c->content);
    return 0;
}

int store_copy(struct store *s,
               const char *project,
               const struct store_content *content,
               int fd,
               bool (*progress)(void *context, uint64_t more_bytes),
               void *context,
               struct err *e)
{
    pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
    struct copying c = {.store = s,
                        .project = project,
                        .content = content,
                        .from_fd = -1,
                        .fd = fd,
                        .writing = &writing,
                        .progress = progress,
                        .context = context};

    if (check_content(project, content, e) < 0)
        return -1;
    int done = copy_kept(&c, e);
    if (done)
        return done < 0 ? -1 : 0;
    if (copy_all(&c, e) < 0)
        return -1;
    read_cache_keep(s->kept, content, NULL, fd);
    return 0;
}

/* ---- stream ---- */

/* Some pieces that lie beside each other, in memory. */
struct batch {
    struct store *store;
    const char *project;
    const struct store_content *content;
    size_t first, count; /* pieces */
    uint64_t from;       /* offset of the content */
    uint64_t n;
    unsigned char *bytes;
};

static int read_chunk(void *context, size_t i, struct err *e)
{
    const struct batch *b = context;
    size_t most = b->store->driver->read_bytes;
    uint64_t at = (uint64_t)i * most, left = b->n - at;

    return store_read(b->store, b->project, &b->content->place, b->from + at, b->bytes + at,
                      left < most ? (size_t)left : most, e);
}

static int check_piece(void *context, size_t i, struct err *e)
{
    const struct batch *b = context;
    uint64_t offset, n;

    verify_bounds(b->content, b->first + i, &offset, &n);
    return verify_piece(b->project, b->content, b->first + i, b->bytes + (offset - b->from),
                        (size_t)n, e);
}

static int fetch(struct batch *b, struct err *e)
{
    size_t most = b->store->driver->read_bytes;
    size_t chunks = (size_t)((b->n + most - 1) / most);
    unsigned threads = verify_threads(b->store);

    if (parallel_each(chunks, threads, read_chunk, b, e) < 0)
        return -1;
    return parallel_each(b->count, parallel_cores(), check_piece, b, e);
}

static size_t batch_pieces(const struct store_content *c)
{
    uint64_t fit = c->part_bytes ? BATCH_BYTES / c->part_bytes : 1;

    return fit > BATCH_MAX ? BATCH_MAX : fit ? (size_t)fit : 1;
}

static void aim(struct batch *b, size_t first, size_t last)
{
    uint64_t offset, n;

    b->first = first;
    b->count = last - first + 1;
    verify_bounds(b->content, first, &b->from, &n);
    verify_bounds(b->content, last, &offset, &n);
    b->n = offset + n - b->from;
}

int store_stream(struct store *s,
                 const char *project,
                 const struct store_content *content,
                 uint64_t offset,
                 uint64_t length,
                 int (*sink)(void *context, const void *bytes, size_t n, struct err *e),
                 void *context,
                 struct err *e)
{
    if (check_content(project, content, e) < 0)
        return -1;
    uint64_t size = content->place.size;
    if (content->part_bytes == 0 && size > STORE_PIECE_MAX)
        return err_set(e, ERR_USAGE, "blob %s: %" PRIu64 " bytes without parts are too many",
                       content->place.blob, size);
    if (offset >= size || length == 0)
        return 0;
    uint64_t end = length < size - offset ? offset + length : size;
    uint64_t piece = content->part_bytes ? content->part_bytes : size;
    size_t last = (size_t)((end - 1) / piece), step = batch_pieces(content);
    struct batch b = {.store = s, .project = project, .content = content};
    AUTO_MEM unsigned char *bytes = NULL;
    for (size_t i = (size_t)(offset / piece); i <= last; i += step) {
        aim(&b, i, last - i < step ? last : i + step - 1);
        if (!bytes) /* the first batch is the largest */
            bytes = mem_grow(NULL, (size_t)b.n, 1);
        b.bytes = bytes;
        if (fetch(&b, e) < 0)
            return -1;
        uint64_t from = offset > b.from ? offset - b.from : 0;
        uint64_t to = end < b.from + b.n ? end - b.from : b.n;
        if (sink(context, bytes + from, (size_t)(to - from), e) < 0)
            return -1;
    }
    return 0;
}
