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
#define NAME_TRIES 100

struct large {
    char *path;
    int fd; /* locked */
};

struct dir_larges {
    struct store *store;
    char *project;
    int64_t session;
    pthread_mutex_t lock; /* guards what follows */
    struct large pending[PENDING_MAX];
    size_t n_pending;
    bool fan_dirty[256]; /* directories with new names */
    bool many;           /* more were written than are pending */
    int dir_fd; /* open since before the first write, so that syncfs tells of its failure */
};

struct dir_larges *dir_larges_new(struct store *s, const char *project, int64_t session)
{
    struct dir_larges *l = mem_zero(1, sizeof *l);

    l->store = s;
    l->project = mem_dup(project);
    l->session = session;
    l->dir_fd = -1;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

static void large_clear(struct large *f)
{
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    *f = (struct large){.fd = -1};
}

void dir_larges_free(struct dir_larges *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n_pending; i++)
        large_clear(&l->pending[i]);
    if (l->dir_fd >= 0)
        close(l->dir_fd);
    pthread_mutex_destroy(&l->lock);
    free(l->project);
    free(l);
}

/* ---- one file ---- */

/* A file of our own in tmp, locked before anyone can take it for a leftover. */
static int create(struct dir_larges *l, struct large *out, struct err *e)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        char name[STORE_BLOB_NAME];
        snprintf(name, sizeof name, "%" PRId64 "-new-%016" PRIx64, l->session,
                 store_random(l->store));
        AUTO_MEM char *path = dir_path(l->store, l->project, "tmp", name);
        if (store_allow(l->store, "create", path, e) < 0)
            return -1;
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
        if (fd < 0 && errno != EEXIST)
            return file_error(e, "create", path);
        int locked = fd < 0 ? 0 : dir_lock(fd, path, e);
        if (locked > 0) {
            *out = (struct large){.fd = fd, .path = TAKE(path)};
            return 0;
        }
        if (fd >= 0)
            close(fd);
        if (locked < 0)
            return -1;
    }
    return err_set(e, ERR_RETRY, "%s/%s/tmp: others remove every new file", dir_of(l->store)->root,
                   l->project);
}

struct filling {
    const struct store *store;
    const struct large *file;
    uint64_t begun; /* writeback has been started up to here */
};

static int fill(void *context, uint64_t offset, const void *bytes, size_t n, struct err *e)
{
    struct filling *f = context;
    uint64_t end = offset + n;

    /* Zeros are left out: the file is made long enough at the end, and stays sparse. */
    if (bytes && dir_pwrite(f->store, f->file->fd, f->file->path, offset, bytes, n, e) < 0)
        return -1;
    if (end - f->begun >= WRITEBACK_BYTES) {
        (void)sync_file_range(f->file->fd, (off_t)f->begun, (off_t)(end - f->begun),
                              SYNC_FILE_RANGE_WRITE);
        f->begun = end;
    }
    return 0;
}

static int move_into_place(struct dir_larges *l,
                           struct large *file,
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
        if (file_make_dirs(above, 0777, e) < 0)
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
                     struct large *file,
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

    return dir_fdatasync(l->store, l->pending[i].fd, l->pending[i].path, e);
}

static void note(struct dir_larges *l, struct large *file, const struct sha256_digest *digest)
{
    pthread_mutex_lock(&l->lock);
    if (l->n_pending == PENDING_MAX) {
        l->many = true;
        large_clear(&l->pending[0]);
        l->n_pending--;
        memmove(&l->pending[0], &l->pending[1], l->n_pending * sizeof l->pending[0]);
    }
    l->pending[l->n_pending++] = *file;
    l->fan_dirty[digest->bytes[0]] = true;
    pthread_mutex_unlock(&l->lock);
    *file = (struct large){.fd = -1};
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

int dir_larges_write(struct dir_larges *l,
                     const struct store_source *source,
                     struct store_content *out,
                     struct err *e)
{
    struct large file;

    if (open_dir(l, e) < 0 || create(l, &file, e) < 0)
        return -1;
    if (fill_file(l, &file, source, out, e) < 0) {
        unlink(file.path);
        large_clear(&file);
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
        large_clear(&l->pending[--l->n_pending]);
    return 0;
}

int dir_larges_flush(struct dir_larges *l, struct err *e)
{
    pthread_mutex_lock(&l->lock);
    int result = flush_locked(l, e);
    pthread_mutex_unlock(&l->lock);
    return result;
}
