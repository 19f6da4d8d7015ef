/* Writes large contents of a directory store, each as a file of its own, and syncs them. dir.c
 * calls it. */
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "store/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files written but not flushed that are synced one by one, with their directories; when there are
 * more, the whole file system is synced once, which is quicker and needs no open file for each. */
#define PENDING_MAX 16
/* Syncing several at a time lets the file system commit them together. */
#define SYNC_THREADS 8
/* How much is written before the disk is set to work on it. */
#define WRITEBACK_BYTES ((uint64_t)8 << 20)

struct dir_larges {
    struct store *store;
    const char *project;
    int64_t session;
    pthread_mutex_t lock; /* guards what follows */
    struct dir_file pending[PENDING_MAX];
    size_t n_pending;
    bool fan_dirty[256]; /* directories with new names */
    bool many;           /* more were written than are pending */
    int dir_fd; /* open since before the first write, so that syncfs tells of its failure */
};

struct dir_larges *dir_larges_new(const struct store_writer *w)
{
    struct dir_larges *l = mem_zero(1, sizeof *l);

    l->store = w->store;
    l->project = w->project;
    l->session = w->session;
    l->dir_fd = -1;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void dir_larges_free(struct dir_larges *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n_pending; i++)
        dir_file_clear(&l->pending[i]);
    if (l->dir_fd >= 0)
        close(l->dir_fd);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- one file ---- */

struct filling {
    const struct store *store;
    const struct dir_file *file;
    uint64_t begun; /* writeback has been started up to here */
};

static int fill(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    struct filling *f = context;
    uint64_t end = offset + n;

    /* Zeros are left out: the file is made long enough at the end, and stays sparse. */
    if (bytes && dir_pwrite(f->store, f->file, offset, bytes, n, e) < 0)
        return -1;
    if (end - f->begun >= WRITEBACK_BYTES) {
        (void)sync_file_range(f->file->fd, (off_t)f->begun, (off_t)(end - f->begun),
                              SYNC_FILE_RANGE_WRITE);
        f->begun = end;
    }
    return 0;
}

static int move_into_place(struct dir_larges *l,
                           struct dir_file *file,
                           const char *name,
                           struct err *e)
{
    AUTO_MEM char *path = dir_blob_path(l->store, l->project, name);

    if (store_allow(l->store, "rename", path, e) < 0)
        return -1;
    int moved = rename(file->path, path);
    if (moved < 0 && errno == ENOENT) {
        char fan[3];
        dir_fan(name, fan);
        AUTO_MEM char *above = dir_path(l->store, l->project, "large", fan);
        if (file_make_own_dirs(above, e) < 0)
            return -1;
        moved = rename(file->path, path);
    }
    if (moved < 0)
        return file_error(e, "rename to", path);
    free(file->path);
    file->path = TAKE(path);
    return 0;
}

static int fill_file(struct dir_larges *l,
                     struct dir_file *file,
                     const struct store_source *source,
                     struct store_content *out,
                     struct err *e)
{
    struct filling f = {.store = l->store, .file = file};
    struct store_taker taker = {.write = fill, .context = &f};

    if (store_take_in(source, &taker, out, e) < 0)
        return -1;
    if (store_allow(l->store, "truncate", file->path, e) < 0)
        return -1;
    if (ftruncate(file->fd, (off_t)out->place.size) < 0)
        return file_error(e, "write", file->path);
    store_name_large(l->store, l->session, &out->digest, out->place.blob);
    return move_into_place(l, file, out->place.blob, e);
}

/* ---- many of them ---- */

static int sync_large(void *context, size_t i, struct err *e)
{
    struct dir_larges *l = context;

    return dir_fdatasync(l->store, &l->pending[i], e);
}

static void note(struct dir_larges *l, struct dir_file *file, const struct sha256_digest *digest)
{
    pthread_mutex_lock(&l->lock);
    if (l->n_pending == PENDING_MAX) {
        l->many = true;
        dir_file_clear(&l->pending[0]);
        l->n_pending--;
        memmove(&l->pending[0], &l->pending[1], l->n_pending * sizeof l->pending[0]);
    }
    l->pending[l->n_pending++] = *file;
    l->fan_dirty[digest->bytes[0]] = true;
    pthread_mutex_unlock(&l->lock);
    *file = (struct dir_file){.fd = -1};
}

static int open_dir(struct dir_larges *l, struct err *e)
{
    AUTO_MEM char *path = dir_path(l->store, l->project, "large", NULL);

    pthread_mutex_lock(&l->lock);
    if (l->dir_fd < 0)
        l->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = l->dir_fd < 0 ? file_error(e, "open", path) : 0;
    pthread_mutex_unlock(&l->lock);
    return result;
}

int dir_write_large(struct store_writer *w,
                    const struct store_source *source,
                    struct store_content *out,
                    struct err *e)
{
    struct dir_larges *l = ((struct dir_writer *)w->priv)->larges;
    AUTO_MEM char *tmp = dir_path(l->store, l->project, "tmp", NULL);
    AUTO_MEM char *front = mem_printf("%" PRId64 "-new-", l->session);
    struct dir_file file;

    if (open_dir(l, e) < 0 || dir_create(l->store, tmp, front, 0400, &file, e) < 0)
        return -1;
    if (fill_file(l, &file, source, out, e) < 0) {
        unlink(file.path);
        dir_file_clear(&file);
        return -1;
    }
    note(l, &file, &out->digest);
    return 0;
}

static int sync_fans(struct dir_larges *l, struct err *e)
{
    bool any = false;

    for (unsigned i = 0; i < 256; i++) {
        char fan[3];
        if (!l->fan_dirty[i])
            continue;
        snprintf(fan, sizeof fan, "%02x", i);
        AUTO_MEM char *path = dir_path(l->store, l->project, "large", fan);
        if (dir_sync_dir(l->store, path, e) < 0)
            return -1;
        l->fan_dirty[i] = false;
        any = true;
    }
    AUTO_MEM char *above = dir_path(l->store, l->project, "large", NULL);
    return any ? dir_sync_dir(l->store, above, e) : 0;
}

static int sync_everything(struct dir_larges *l, struct err *e)
{
    AUTO_MEM char *path = dir_path(l->store, l->project, "large", NULL);

    if (store_allow(l->store, "sync", path, e) < 0)
        return -1;
    if (syncfs(l->dir_fd) < 0)
        return file_error(e, "sync the file system of", path);
    memset(l->fan_dirty, 0, sizeof l->fan_dirty);
    l->many = false;
    return 0;
}

static int flush_locked(struct dir_larges *l, struct err *e)
{
    int result = l->many ? sync_everything(l, e)
                         : parallel_each(l->n_pending, SYNC_THREADS, sync_large, l, e);

    if (result < 0 || sync_fans(l, e) < 0)
        return -1;
    while (l->n_pending)
        dir_file_clear(&l->pending[--l->n_pending]);
    return 0;
}

int dir_larges_flush(struct dir_larges *l, struct err *e)
{
    pthread_mutex_lock(&l->lock);
    int result = flush_locked(l, e);
    pthread_mutex_unlock(&l->lock);
    return result;
}
