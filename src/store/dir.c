#include "store/dir.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The longest path below the root is a large blob's. */
#define ROOT_MAX (PATH_MAX - STORE_PROJECT_NAME - STORE_BLOB_NAME - 32)

/* What fits the second-level cache is hashed faster than it is fetched again. */
#define READ_BYTES ((size_t)1 << 20)
#define COPY_BYTES ((size_t)256 << 10)

#define NAME_TRIES 100

static const char *const subs[] = {"packs", "large", "tmp"};

const struct dir *dir_of(const struct store *s)
{
    return s->priv;
}

/* ---- paths ---- */

char *dir_path(const struct store *s, const char *project, const char *sub, const char *name)
{
    return mem_printf("%s/%s/%s%s%s", dir_of(s)->root, project, sub, name ? "/" : "",
                      name ? name : "");
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

void dir_fan(const char *name, char out[static 3])
{
    const char *dash = strchr(name, '-');
    bool good = dash && is_hex(dash[1]) && is_hex(dash[2]);

    out[0] = good ? dash[1] : 'x';
    out[1] = good ? dash[2] : 'x';
    out[2] = '\0';
}

char *dir_blob_path(const struct store *s, const char *project, const char *name)
{
    char fan[3];

    if (!strncmp(name, "p-", 2))
        return dir_path(s, project, "packs", name);
    dir_fan(name, fan);
    return mem_printf("%s/%s/large/%s/%s", dir_of(s)->root, project, fan, name);
}

/* ---- files ---- */

int dir_lock(int fd, const char *path, struct err *e)
{
    struct stat ours, there;

    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return 0;
        if (errno != EINTR)
            return file_error(e, "lock", path);
    }
    if (fstat(fd, &ours) < 0)
        return file_error(e, "look at", path);
    if (lstat(path, &there) < 0)
        return errno == ENOENT ? 0 : file_error(e, "look at", path);
    return ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

void dir_file_clear(struct dir_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    *f = (struct dir_file){.fd = -1};
}

int dir_create(const struct store *s,
               const char *dir,
               const char *front,
               mode_t mode,
               struct dir_file *out,
               struct err *e)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        AUTO_MEM char *path = mem_printf("%s/%s%016" PRIx64, dir, front, store_random(s));
        if (store_allow(s, "create", path, e) < 0)
            return -1;
        int fd = file_open_own(path, O_RDWR | O_EXCL, mode);
        if (fd < 0 && errno != EEXIST)
            return file_error(e, "create", path);
        int locked = fd < 0 ? 0 : dir_lock(fd, path, e);
        if (locked > 0) {
            *out = (struct dir_file){.path = TAKE(path), .fd = fd};
            return 0;
        }
        if (fd >= 0)
            close(fd);
        if (locked < 0)
            return -1;
    }
    return err_set(e, ERR_RETRY, "%s: others remove every new file", dir);
}

int dir_pwrite(const struct store *s,
               const struct dir_file *f,
               uint64_t offset,
               const void *bytes,
               size_t n,
               struct err *e)
{
    if (store_allow(s, "write", f->path, e) < 0)
        return -1;
    return file_pwrite_all(f->fd, bytes, n, offset) < 0 ? file_error(e, "write", f->path) : 0;
}

int dir_fdatasync(const struct store *s, const struct dir_file *f, struct err *e)
{
    if (store_allow(s, "sync", f->path, e) < 0)
        return -1;
    return fdatasync(f->fd) < 0 ? file_error(e, "sync", f->path) : 0;
}

int dir_sync_dir(const struct store *s, const char *path, struct err *e)
{
    return store_allow(s, "sync", path, e) < 0 ? -1 : file_sync_dir(path, e);
}

/* ---- opening ---- */

static int check_url(const char *url, struct err *e)
{
    const char *path = url + strlen("dir:");

    if (path[0] != '/')
        return err_set(e, ERR_USAGE,
                       "\"%s\": the path of a store is absolute, as in dir:/data/lake", url);
    if (strlen(path) > ROOT_MAX)
        return err_set(e, ERR_USAGE, "the path of the store is too long: at most %zu bytes",
                       (size_t)ROOT_MAX);
    return 0;
}

/* Made where it is missing, and then on disk; one that is there may be on a read-only disk. */
static int make_root(const struct store *s, const char *root, struct err *e)
{
    struct stat st;

    if (stat(root, &st) == 0)
        return S_ISDIR(st.st_mode)
                   ? 0
                   : err_set(e, ERR_USAGE,
                             "%s is not a directory; give the path of one, or of one to create",
                             root);
    if (store_allow(s, "mkdir", root, e) < 0 || file_make_own_dirs(root, e) < 0)
        return -1;
    AUTO_MEM char *above = mem_dup(root);
    char *slash = strrchr(above, '/');
    slash[slash == above] = '\0';
    return dir_sync_dir(s, above, e);
}

static int dir_open_store(struct store *s, struct err *e)
{
    struct dir *d = mem_zero(1, sizeof *d);
    size_t len;

    s->priv = d;
    d->root = mem_dup(s->settings.url + strlen("dir:"));
    for (len = strlen(d->root); len > 1 && d->root[len - 1] == '/'; len--)
        d->root[len - 1] = '\0';
    d->cache = dir_cache_new();
    return make_root(s, d->root, e);
}

static void dir_close(struct store *s)
{
    struct dir *d = s->priv;

    if (!d)
        return;
    dir_cache_free(d->cache);
    free(d->root);
    free(d);
}

static int probe_file(const struct store *s, const struct dir_file *f, struct err *e)
{
    static const char text[] = "Can this directory be written and read?\n";
    char back[sizeof text];

    if (dir_pwrite(s, f, 0, text, sizeof text, e) < 0 || dir_fdatasync(s, f, e) < 0 ||
        store_allow(s, "read", f->path, e) < 0)
        return -1;
    if (file_pread_all(f->fd, back, sizeof back, 0) != sizeof back ||
        memcmp(back, text, sizeof text) != 0)
        return err_set(e, ERR_IO, "%s does not read back as it was written", f->path);
    return 0;
}

static int dir_probe(struct store *s, struct err *e)
{
    AUTO_CLEAR(dir_file) struct dir_file f = {.fd = -1};

    if (dir_create(s, dir_of(s)->root, ".probe-", FILE_OWN, &f, e) < 0)
        return -1;
    int result = probe_file(s, &f, e);
    if (unlink(f.path) < 0 && result == 0)
        return file_error(e, "delete", f.path);
    return result;
}

/* ---- writing ---- */

static int make_project(const struct store *s, const char *project, struct err *e)
{
    for (size_t i = 0; i < sizeof subs / sizeof subs[0]; i++) {
        AUTO_MEM char *path = dir_path(s, project, subs[i], NULL);
        struct stat st;
        if (stat(path, &st) == 0)
            continue;
        if (store_allow(s, "mkdir", path, e) < 0 || file_make_own_dirs(path, e) < 0)
            return -1;
    }
    return 0;
}

static int dir_writer_open(struct store_writer *w, struct err *e)
{
    if (make_project(w->store, w->project, e) < 0)
        return -1;
    struct dir_writer *dw = mem_zero(1, sizeof *dw);
    w->priv = dw;
    dw->packs = dir_packs_new(w);
    dw->larges = dir_larges_new(w);
    pthread_mutex_init(&dw->lock, NULL);
    return 0;
}

static void dir_writer_close(struct store_writer *w)
{
    struct dir_writer *dw = w->priv;

    if (!dw)
        return;
    dir_packs_free(dw->packs);
    dir_larges_free(dw->larges);
    pthread_mutex_destroy(&dw->lock);
    free(dw);
}

/* The directories may be another's, who made them and did not come to sync them. */
static int sync_project(struct store_writer *w, struct err *e)
{
    const struct store *s = w->store;
    AUTO_MEM char *project = mem_printf("%s/%s", dir_of(s)->root, w->project);

    if (dir_sync_dir(s, project, e) < 0)
        return -1;
    return dir_sync_dir(s, dir_of(s)->root, e);
}

static int flush_all(struct store_writer *w, struct err *e)
{
    struct dir_writer *dw = w->priv;

    if (dir_packs_flush(dw->packs, e) < 0 || dir_larges_flush(dw->larges, e) < 0)
        return -1;
    if (!dw->dirs_synced && sync_project(w, e) < 0)
        return -1;
    dw->dirs_synced = true;
    return 0;
}

static int dir_flush(struct store_writer *w, struct err *e)
{
    struct dir_writer *dw = w->priv;

    pthread_mutex_lock(&dw->lock);
    if (dw->why.kind == ERR_NONE)
        flush_all(w, &dw->why);
    bool failed = dw->why.kind != ERR_NONE;
    if (failed && e)
        *e = dw->why;
    pthread_mutex_unlock(&dw->lock);
    return failed ? -1 : 0;
}

/* ---- reading ---- */

static int read_open(
    int fd, const char *path, const struct store_place *range, void *bytes, struct err *e)
{
    ssize_t got = file_pread_all(fd, bytes, (size_t)range->size, range->offset);

    if (got < 0)
        return err_set(e, ERR_IO, "read %s: %s", path, strerror(errno));
    if ((uint64_t)got < range->size)
        return err_set(e, ERR_IO,
                       "blob %s is damaged: it ends at %" PRIu64 ", %" PRIu64 " bytes early", path,
                       range->offset + (uint64_t)got, range->size - (uint64_t)got);
    return 0;
}

static int dir_read(struct store *s,
                    const char *project,
                    const struct store_place *range,
                    void *bytes,
                    struct err *e)
{
    AUTO_MEM char *path = dir_blob_path(s, project, range->blob);
    uint64_t end = range->offset + range->size;
    struct dir_open file;

    if (store_allow(s, "read", path, e) < 0 || dir_cache_open(dir_of(s)->cache, path, &file, e) < 0)
        return -1;
    int result = read_open(file.fd, path, range, bytes, e);
    /* Who reads this much goes on behind it, and hashes first: time for the disk. */
    if (range->size >= COPY_BYTES && end % READ_BYTES == 0)
        posix_fadvise(file.fd, (off_t)end, READ_BYTES, POSIX_FADV_WILLNEED);
    dir_cache_release(dir_of(s)->cache, &file);
    return result;
}

static int dir_size(
    struct store *s, const char *project, const char *blob, uint64_t *out, struct err *e)
{
    AUTO_MEM char *path = dir_blob_path(s, project, blob);
    struct stat st;

    if (store_allow(s, "size", path, e) < 0)
        return -1;
    if (lstat(path, &st) == 0) {
        *out = (uint64_t)st.st_size;
        return 0;
    }
    if (errno == ENOENT || errno == ENOTDIR)
        return err_set(e, ERR_NOTFOUND, "blob %s is gone", path);
    return file_error(e, "look at", path);
}

const struct store_driver store_dir_driver = {
    .name = "dir",
    .scheme = "dir:",
    .form = "dir:PATH",
    .gap_bytes = 64 << 10,
    .read_bytes = READ_BYTES,
    .copy_bytes = COPY_BYTES,
    .check_url = check_url,
    .open = dir_open_store,
    .close = dir_close,
    .probe = dir_probe,
    .writer_open = dir_writer_open,
    .writer_close = dir_writer_close,
    .write_small = dir_write_small,
    .write_large = dir_write_large,
    .flush = dir_flush,
    .read = dir_read,
    .link = dir_link,
    .projects = dir_projects,
    .list = dir_list,
    .remove = dir_remove,
    .size = dir_size,
    .keyed_list = dir_keyed_list,
    .keyed_put = dir_keyed_put,
    .keyed_get = dir_keyed_get,
    .keyed_delete = dir_keyed_delete,
};
