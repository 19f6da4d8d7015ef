/* Objects under keys as files below the root of a directory store: ROOT/<key>. A writer writes a
 * new object as ROOT/.tmp/<name>, holds its lock until the file is synced, then links or renames it
 * to its key. Replacing and deleting under a condition hold the lock of ROOT/.lock. The driver
 * `dir` lists the functions. */
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/dir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TMP ".tmp"
#define DEPTH_MAX 64
#define OBJECTS_MAX 1000000
#define CHUNK ((size_t)256 << 10)
/* Directories that are empty are removed by the process that emptied them, perhaps just before a
 * file goes into them. */
#define MKDIR_TRIES 100

static char *key_path(const struct store *s, const char *key)
{
    return mem_printf("%s/%s", dir_of(s)->root, key);
}

/* A file is replaced by another one, never written again: its number and time tell it. */
static void etag_of(const struct stat *st, char out[static STORE_ETAG])
{
    snprintf(out, STORE_ETAG, "%" PRIx64 "-%" PRIx64 ".%lx-%" PRIx64, (uint64_t)st->st_ino,
             (uint64_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, (uint64_t)st->st_size);
}

static int64_t modified_ms(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* ---- listing ---- */

struct walk {
    const struct store *store;
    const struct store_keyed_list *list;
    size_t n;
};

static int visit_dir(struct walk *w, const char *key, unsigned depth, struct err *e);

static int visit_entry(struct walk *w, const char *key, unsigned depth, struct err *e)
{
    AUTO_MEM char *path = key_path(w->store, key);
    struct stat st;
    char etag[STORE_ETAG];

    /* It may have gone meanwhile. */
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : file_error(e, "look at", path);
    if (S_ISDIR(st.st_mode))
        return visit_dir(w, key, depth + 1, e);
    if (!S_ISREG(st.st_mode))
        return 0;
    if (++w->n > OBJECTS_MAX)
        return err_set(e, ERR_IO, "%s: more than %d objects", dir_of(w->store)->root, OBJECTS_MAX);
    etag_of(&st, etag);
    const struct store_keyed o = {key, (uint64_t)st.st_size, etag, modified_ms(&st)};
    return w->list->visit(w->list->context, &o, e);
}

static int visit_dir(struct walk *w, const char *key, unsigned depth, struct err *e)
{
    AUTO_MEM char *path = key_path(w->store, key);
    int result = 0;

    if (depth > DEPTH_MAX)
        return err_set(e, ERR_IO, "%s: directories are nested too deeply", path);
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? 0 : file_error(e, "list", path);
    for (const struct dirent *entry; result == 0 && (entry = readdir(d));) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_MEM char *below = mem_printf("%s%s%s", key, *key ? "/" : "", entry->d_name);
        result = store_keyed_check(below, NULL) < 0 ? 0 : visit_entry(w, below, depth, e);
    }
    closedir(d);
    return result;
}

int dir_keyed_list(struct store *s, struct store_keyed_list *list, struct err *e)
{
    struct walk w = {.store = s, .list = list};
    size_t n = strlen(list->prefix);
    AUTO_MEM char *key = mem_printf("%.*s", n ? (int)n - 1 : 0, list->prefix);

    list->tally->lists++;
    if (store_allow(s, "list", list->prefix, e) < 0)
        return -1;
    list->now_ms = time_epoch_ms();
    return visit_dir(&w, key, 0, e);
}

/* ---- writing ---- */

static void draft_clear(struct dir_file *d)
{
    if (d->path)
        unlink(d->path);
    dir_file_clear(d);
}

/* Removes files that dead writers left behind: their locks are free. */
static void remove_left(const char *tmp)
{
    DIR *d = opendir(tmp);

    for (const struct dirent *entry; d && (entry = readdir(d));) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_MEM char *path = mem_printf("%s/%s", tmp, entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && dir_lock(fd, path, NULL) > 0)
            unlink(path);
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
}

static int draft_open(const struct store *s, struct dir_file *out, struct err *e)
{
    AUTO_MEM char *tmp = key_path(s, TMP);

    if (file_make_own_dirs(tmp, e) < 0)
        return -1;
    remove_left(tmp);
    return dir_create(s, tmp, "", FILE_OWN, out, e);
}

static int draft_fill(const struct store *s,
                      const struct dir_file *d,
                      const struct store_keyed_put *put,
                      struct err *e)
{
    if (!put->pull)
        return put->n ? dir_pwrite(s, d, 0, put->bytes, (size_t)put->n, e) : 0;
    AUTO_MEM char *chunk = mem_zero(CHUNK, 1);
    for (uint64_t at = 0; at < put->n;) {
        size_t n = put->n - at < CHUNK ? (size_t)(put->n - at) : CHUNK;
        if (put->pull(put->context, at, chunk, n, e) < 0 || dir_pwrite(s, d, at, chunk, n, e) < 0)
            return -1;
        at += n;
    }
    return 0;
}

/* Removes the directories above a file that are empty now, up to the root. */
static void remove_empty(const struct store *s, const char *key)
{
    AUTO_MEM char *path = key_path(s, key);
    size_t root = strlen(dir_of(s)->root);

    for (char *slash; (slash = strrchr(path, '/')) && slash > path + root;) {
        *slash = '\0';
        if (rmdir(path) < 0)
            return;
    }
}

static int take_lock(const struct store *s, struct err *e)
{
    AUTO_MEM char *path = key_path(s, ".lock");

    return file_lock(path, e);
}

static bool has_etag(const char *path, const char *etag)
{
    struct stat st;
    char there[STORE_ETAG];

    if (lstat(path, &st) < 0)
        return false;
    etag_of(&st, there);
    return strcmp(there, etag) == 0;
}

/* 0: in its place. 1: the condition does not hold. -1 with errno. */
static int try_place(const struct dir_file *d, const char *path, const struct store_keyed_put *put)
{
    if (put->condition == STORE_ABSENT && link(d->path, path) < 0)
        return errno == EEXIST ? 1 : -1;
    if (put->condition == STORE_MATCH && !has_etag(path, put->etag))
        return 1;
    return put->condition != STORE_ABSENT && rename(d->path, path) < 0 ? -1 : 0;
}

static int place(const struct store *s,
                 const struct dir_file *d,
                 const char *path,
                 const struct store_keyed_put *put,
                 struct err *e)
{
    AUTO_MEM char *dir = mem_dup(path);
    int result = -1;

    *strrchr(dir, '/') = '\0';
    if (store_allow(s, "rename", path, e) < 0)
        return -1;
    for (int i = 0; i < MKDIR_TRIES; i++) {
        if (file_make_own_dirs(dir, e) < 0)
            return -1;
        result = try_place(d, path, put);
        if (result >= 0 || errno != ENOENT)
            break;
    }
    if (result < 0)
        return file_error(e, "create", path);
    /* The directory may be gone together with the file, which another deleted at once. */
    if (result == 0 && dir_sync_dir(s, dir, e) < 0 && access(dir, F_OK) == 0)
        return -1;
    return result;
}

int dir_keyed_put(struct store *s, const struct store_keyed_put *put, struct err *e)
{
    AUTO_MEM char *path = key_path(s, put->key);
    AUTO_CLEAR(draft) struct dir_file draft = {.fd = -1};
    struct stat st;

    put->tally->writes++;
    if (draft_open(s, &draft, e) < 0 || draft_fill(s, &draft, put, e) < 0 ||
        dir_fdatasync(s, &draft, e) < 0)
        return -1;
    assert(draft.path);
    if (fstat(draft.fd, &st) < 0)
        return file_error(e, "look at", draft.path);
    etag_of(&st, put->etag_out);
    int lock = put->condition == STORE_MATCH ? take_lock(s, e) : 0;
    if (lock < 0)
        return -1;
    int result = place(s, &draft, path, put, e);
    if (put->condition == STORE_MATCH)
        close(lock);
    if (result == 0)
        put->tally->written_bytes += put->n;
    return result;
}

/* ---- reading ---- */

static int pour(int fd, const char *path, const struct store_keyed_get *get, struct err *e)
{
    AUTO_MEM char *chunk = mem_zero(CHUNK, 1);

    uint64_t end = get->length ? get->offset + get->length : UINT64_MAX;
    for (uint64_t at = get->offset; at < end;) {
        ssize_t n = file_pread_all(fd, chunk, end - at < CHUNK ? (size_t)(end - at) : CHUNK, at);
        if (n < 0)
            return file_error(e, "read", path);
        if (n == 0)
            return 0;
        if (get->sink(get->context, chunk, (size_t)n, e) < 0)
            return -1;
        at += (uint64_t)n;
        get->tally->read_bytes += (uint64_t)n;
    }
    return 0;
}

int dir_keyed_get(struct store *s, const struct store_keyed_get *get, struct err *e)
{
    AUTO_MEM char *path = key_path(s, get->key);
    struct stat st;
    char etag[STORE_ETAG];

    get->tally->reads++;
    if (store_allow(s, "read", path, e) < 0)
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? err_set(e, ERR_NOTFOUND, "%s does not exist", path)
                               : file_error(e, "open", path);
    int result = fstat(fd, &st) < 0 ? file_error(e, "look at", path) : 0;
    etag_of(&st, etag);
    if (result == 0 && get->etag && strcmp(get->etag, etag) != 0)
        result = err_set(e, ERR_RETRY, "%s was written again meanwhile", path);
    if (result == 0)
        result = pour(fd, path, get, e);
    close(fd);
    return result;
}

int dir_keyed_delete(struct store *s, const char *key, struct store_tally *tally, struct err *e)
{
    AUTO_MEM char *path = key_path(s, key);

    tally->deletes++;
    if (store_allow(s, "delete", path, e) < 0)
        return -1;
    int lock = take_lock(s, e);
    if (lock < 0)
        return -1;
    int result =
        unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR ? file_error(e, "delete", path) : 0;
    close(lock);
    if (result == 0)
        remove_empty(s, key);
    return result;
}
