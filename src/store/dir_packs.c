/* Writes small contents of a directory store into packs, by a thread of its own. dir.c calls it. */
#include "base/file.h"
#include "base/mem.h"
#include "store/dir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pack that has reached this is full. */
#define PACK_BYTES ((uint64_t)256 << 20)
/* One write to a pack. */
#define BUFFER_BYTES ((size_t)4 << 20)
#define BUFFERS_MAX 4
/* Full packs stay locked until the writer ends, so that gc removes no content before it is recorded
 * in the database. Of packs that hold 64 GiB together the oldest are long recorded. */
#define FULL_MAX 256

struct pack {
    char name[STORE_BLOB_NAME];
    struct dir_file file; /* fd -1: no pack */
    uint64_t end;
    bool dirty; /* written to since the last sync */
};

struct buffer {
    unsigned char *bytes;
    size_t n;
    uint64_t at; /* offset in the pack */
};

struct dir_packs {
    const struct store_writer *writer;
    struct store *store;
    const char *project;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t change;
    struct pack now;
    struct pack full[FULL_MAX];
    size_t n_full;
    bool dir_dirty;
    struct buffer buffers[BUFFERS_MAX];
    struct buffer *unused[BUFFERS_MAX];
    size_t n_unused;
    struct buffer *filling;
    /* Full ones, for the thread that writes: a file takes one write at a time, and those who fill
     * buffers have better things to do meanwhile. */
    struct buffer *queue[BUFFERS_MAX];
    size_t n_queue;
    pthread_t thread; /* once there was a full buffer */
    bool has_thread, ends;
    size_t in_flight; /* buffers to be written; now stays what it is until there are none */
    struct err why;   /* a write failed: places were given out that hold nothing */
};

struct dir_packs *dir_packs_new(const struct store_writer *w)
{
    struct dir_packs *p = mem_zero(1, sizeof *p);

    p->writer = w;
    p->store = w->store;
    p->project = w->project;
    p->now.file.fd = -1;
    for (size_t i = 0; i < BUFFERS_MAX; i++)
        p->unused[p->n_unused++] = &p->buffers[i];
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->change, NULL);
    return p;
}

void dir_packs_free(struct dir_packs *p)
{
    if (!p)
        return;
    if (p->has_thread) {
        pthread_mutex_lock(&p->lock);
        p->ends = true;
        pthread_cond_broadcast(&p->change);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    dir_file_clear(&p->now.file);
    for (size_t i = 0; i < p->n_full; i++)
        dir_file_clear(&p->full[i].file);
    for (size_t i = 0; i < BUFFERS_MAX; i++)
        free(p->buffers[i].bytes);
    pthread_cond_destroy(&p->change);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* ---- finding a pack to append to ---- */

/* 1: the pack is ours. 0: it is another's, full or gone. The file is the pack's, or closed. */
static int claim(struct dir_packs *p, struct dir_file *file, struct err *e)
{
    struct stat st = {0};
    int locked = dir_lock(file->fd, file->path, e);

    if (locked > 0 && fstat(file->fd, &st) < 0)
        locked = file_error(e, "look at", file->path);
    if (locked <= 0 || (uint64_t)st.st_size >= PACK_BYTES) {
        dir_file_clear(file);
        return locked < 0 ? -1 : 0;
    }
    p->now = (struct pack){.file = *file, .end = (uint64_t)st.st_size};
    snprintf(p->now.name, sizeof p->now.name, "%s", strrchr(file->path, '/') + 1);
    /* Who made it may not have come to sync the directory. */
    p->dir_dirty = true;
    return 1;
}

static int claim_there(struct dir_packs *p, DIR *packs, const char *path, struct err *e)
{
    struct dirent *entry;
    struct stat st;

    while ((entry = readdir(packs))) {
        const char *name = entry->d_name;
        if (strncmp(name, "p-", 2) != 0 || !store_name_good(name) ||
            fstatat(dirfd(packs), name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            (uint64_t)st.st_size >= PACK_BYTES)
            continue;
        /* One that may not be opened is left to whom it belongs. */
        int fd = openat(dirfd(packs), name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct dir_file file = {.path = fd < 0 ? NULL : mem_printf("%s/%s", path, name), .fd = fd};
        int claimed = fd < 0 ? 0 : claim(p, &file, e);
        if (claimed != 0)
            return claimed;
    }
    return 0;
}

static int claim_new(struct dir_packs *p, const char *path, struct err *e)
{
    struct dir_file file;

    /* Its lock is ours already, and it is empty. */
    if (dir_create(p->store, path, "p-", FILE_OWN, &file, e) < 0)
        return -1;
    return claim(p, &file, e) < 0 ? -1 : 0;
}

static int find_pack(struct dir_packs *p, struct err *e)
{
    AUTO_MEM char *path = dir_path(p->store, p->project, "packs", NULL);

    if (p->writer->fresh)
        return claim_new(p, path, e);
    if (store_allow(p->store, "list", path, e) < 0)
        return -1;
    DIR *packs = opendir(path);
    if (!packs)
        return file_error(e, "open", path);
    int claimed = claim_there(p, packs, path, e);
    closedir(packs);
    if (claimed != 0)
        return claimed < 0 ? -1 : 0;
    return claim_new(p, path, e);
}

/* ---- writing ---- */

static int sync_pack(struct dir_packs *p, struct pack *k, struct err *e)
{
    if (!k->dirty)
        return 0;
    if (dir_fdatasync(p->store, &k->file, e) < 0)
        return -1;
    k->dirty = false;
    return 0;
}

static int retire(struct dir_packs *p, struct err *e)
{
    if (p->n_full == FULL_MAX) {
        if (sync_pack(p, &p->full[0], e) < 0)
            return -1;
        dir_file_clear(&p->full[0].file);
        memmove(&p->full[0], &p->full[1], (FULL_MAX - 1) * sizeof p->full[0]);
        p->n_full--;
    }
    p->full[p->n_full++] = p->now;
    p->now = (struct pack){.file.fd = -1};
    return 0;
}

/* The lock is released meanwhile. */
static void write_buffer(struct dir_packs *p, struct buffer *b)
{
    struct err why = {0};
    const struct dir_file file = p->now.file;

    pthread_mutex_unlock(&p->lock);
    if (dir_pwrite(p->store, &file, b->at, b->bytes, b->n, &why) == 0)
        /* So that the disk is busy before the flush; that it cannot is no harm. */
        (void)sync_file_range(file.fd, (off_t)b->at, (off_t)b->n, SYNC_FILE_RANGE_WRITE);
    pthread_mutex_lock(&p->lock);
    if (p->why.kind == ERR_NONE)
        p->why = why;
    p->unused[p->n_unused++] = b;
    p->in_flight--;
    pthread_cond_broadcast(&p->change);
}

/* Until the end, which leaves nothing undone that a caller waits for: a flush does. */
static void *write_queue(void *context)
{
    struct dir_packs *p = context;

    pthread_mutex_lock(&p->lock);
    while (!p->ends) {
        if (p->n_queue == 0) {
            pthread_cond_wait(&p->change, &p->lock);
            continue;
        }
        struct buffer *b = p->queue[0];
        memmove(&p->queue[0], &p->queue[1], --p->n_queue * sizeof p->queue[0]);
        write_buffer(p, b);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* The one that is being filled, to be written. */
static struct buffer *take_filling(struct dir_packs *p)
{
    p->in_flight++;
    p->now.dirty = true;
    return TAKE(p->filling);
}

/* Has the buffer that is full written, by the thread if there can be one. */
static void hand_over(struct dir_packs *p)
{
    struct buffer *b = take_filling(p);

    if (!p->has_thread)
        p->has_thread = pthread_create(&p->thread, NULL, write_queue, p) == 0;
    if (!p->has_thread) {
        write_buffer(p, b);
        return;
    }
    p->queue[p->n_queue++] = b;
    pthread_cond_broadcast(&p->change);
}

static void take_buffer(struct dir_packs *p)
{
    struct buffer *b = p->unused[--p->n_unused];

    if (!b->bytes)
        b->bytes = mem_grow(NULL, BUFFER_BYTES, 1);
    b->n = 0;
    b->at = p->now.end;
    p->filling = b;
}

/* Until there is a pack, and a buffer with room for n bytes. Every wait lets others in, so all is
 * looked at anew after it. */
static int make_room(struct dir_packs *p, size_t n, struct err *e)
{
    while (p->why.kind == ERR_NONE) {
        if (p->now.file.fd < 0) {
            if (find_pack(p, e) < 0)
                return -1;
        } else if (p->filling && (p->filling->n + n > BUFFER_BYTES || p->now.end >= PACK_BYTES)) {
            hand_over(p);
        } else if (p->now.end >= PACK_BYTES && p->in_flight == 0) {
            if (retire(p, &p->why) < 0)
                break;
        } else if (p->now.end < PACK_BYTES && p->filling) {
            return 0;
        } else if (p->now.end < PACK_BYTES && p->n_unused) {
            take_buffer(p);
        } else {
            pthread_cond_wait(&p->change, &p->lock);
        }
    }
    if (e)
        *e = p->why;
    return -1;
}

static void append(struct buffer *b, const void *bytes, size_t n)
{
    assert(b->n + n <= BUFFER_BYTES);
    if (n)
        memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
}

int dir_write_small(struct store_writer *w,
                    const void *bytes,
                    size_t n,
                    const struct sha256_digest *digest,
                    struct store_place *place_out,
                    struct err *e)
{
    struct dir_packs *p = ((struct dir_writer *)w->priv)->packs;
    unsigned char header[STORE_PACK_HEADER];

    store_pack_header(n, digest, header);
    pthread_mutex_lock(&p->lock);
    int result = make_room(p, sizeof header + n, e);
    if (result == 0) {
        append(p->filling, header, sizeof header);
        append(p->filling, bytes, n);
        *place_out = (struct store_place){.offset = p->now.end + sizeof header, .size = n};
        snprintf(place_out->blob, sizeof place_out->blob, "%s", p->now.name);
        p->now.end += sizeof header + n;
    }
    pthread_mutex_unlock(&p->lock);
    return result;
}

static int flush_locked(struct dir_packs *p, struct err *e)
{
    while (p->filling || p->in_flight) {
        /* By this thread: the buffer has to be waited for anyway, and a small put needs no other.
         */
        if (p->filling)
            write_buffer(p, take_filling(p));
        else
            pthread_cond_wait(&p->change, &p->lock);
    }
    if (p->why.kind != ERR_NONE) {
        if (e)
            *e = p->why;
        return -1;
    }
    for (size_t i = 0; i < p->n_full; i++)
        if (sync_pack(p, &p->full[i], e) < 0)
            return -1;
    if (sync_pack(p, &p->now, e) < 0)
        return -1;
    if (p->dir_dirty) {
        AUTO_MEM char *path = dir_path(p->store, p->project, "packs", NULL);
        if (dir_sync_dir(p->store, path, e) < 0)
            return -1;
        p->dir_dirty = false;
    }
    return 0;
}

int dir_packs_flush(struct dir_packs *p, struct err *e)
{
    pthread_mutex_lock(&p->lock);
    int result = flush_locked(p, e);
    pthread_mutex_unlock(&p->lock);
    return result;
}
