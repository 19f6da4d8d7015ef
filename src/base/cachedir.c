#include "base/cachedir.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/time.h"

#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A file that is being written has this in front of its name; one that is older was given up. */
#define UNFINISHED '.'
#define UNFINISHED_S 3600
#define NAME_DIGITS (CACHEDIR_NAME - 1)
#define FREE_PART 4
/* Other processes add and remove, too. */
#define COUNT_EVERY_S 60

struct cachedir_entry {
    char name[CACHEDIR_NAME];
    uint64_t size;
    struct timespec used;
};

static int lock_shared(const char *dir)
{
    AUTO_MEM char *path = mem_printf("%s/lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0 && flock(fd, LOCK_SH) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void cachedir_open(struct cachedir *c, const char *dir, uint64_t max_bytes, bool make, bool lock)
{
    *c = (struct cachedir){.lock_fd = -1, .max_bytes = max_bytes};
    if (make)
        (void)mkdir(dir, 0700);
    if (lock)
        c->lock_fd = lock_shared(dir);
    if (lock ? c->lock_fd >= 0 : access(dir, W_OK) == 0)
        c->dir = mem_dup(dir);
}

void cachedir_clear(struct cachedir *c)
{
    if (c->lock_fd >= 0)
        close(c->lock_fd);
    free(c->dir);
    free(c->entries);
    *c = (struct cachedir){.lock_fd = -1};
}

bool cachedir_good_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == NAME_DIGITS && !name[NAME_DIGITS];
}

char *cachedir_path(const struct cachedir *c, const char *name)
{
    return mem_printf("%s/%.2s/%s", c->dir ? c->dir : "", name, name);
}

bool cachedir_touch(const struct cachedir *c, const char *name)
{
    static const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    AUTO_MEM char *path = cachedir_path(c, name);

    return c->dir && utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- room ---- */

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static int compare_used(const void *a, const void *b)
{
    const struct cachedir_entry *x = a, *y = b;

    return before(&x->used, &y->used) ? -1 : before(&y->used, &x->used);
}

static void count_file(struct cachedir *c, const FTSENT *found)
{
    const struct stat *st = found->fts_statp;

    if (found->fts_name[0] == UNFINISHED && time(NULL) - st->st_mtim.tv_sec > UNFINISHED_S)
        (void)unlink(found->fts_path);
    if (!cachedir_good_name(found->fts_name))
        return;
    c->entries = mem_room(c->entries, c->n_entries, &c->cap_entries, sizeof *c->entries);
    struct cachedir_entry *entry = &c->entries[c->n_entries++];
    *entry = (struct cachedir_entry){.size = (uint64_t)st->st_size, .used = st->st_atim};
    memcpy(entry->name, found->fts_name, sizeof entry->name);
    c->bytes += entry->size;
}

static void count(struct cachedir *c)
{
    char *roots[] = {c->dir, NULL};
    double now_s = time_monotonic_s();
    struct statvfs disk;
    const FTSENT *found;

    if (c->counted_s > 0 && now_s < c->counted_s + COUNT_EVERY_S)
        return;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    c->counted_s = now_s;
    c->n_entries = c->n_gone = 0;
    c->bytes = 0;
    while (tree && (found = fts_read(tree)))
        if (found->fts_info == FTS_F)
            count_file(c, found);
    if (tree)
        fts_close(tree);
    if (c->n_entries)
        qsort(c->entries, c->n_entries, sizeof *c->entries, compare_used);
    c->bound = c->max_bytes;
    if (statvfs(c->dir, &disk) == 0) {
        uint64_t part = ((uint64_t)disk.f_bavail * disk.f_frsize + c->bytes) / FREE_PART;
        c->bound = part < c->bound ? part : c->bound;
    }
}

/* Not in the future: a clock that was wrong once would keep a file for ever. */
static bool must_stay(const struct cachedir *c, const char *path)
{
    struct timespec now;
    struct stat st;

    if (c->since.tv_sec == 0 || stat(path, &st) < 0)
        return false;
    clock_gettime(CLOCK_REALTIME, &now);
    return !before(&st.st_atim, &c->since) && !before(&now, &st.st_atim);
}

/* Removes entries until at most this number of bytes is left, if the lock is free. */
static void shrink(struct cachedir *c, uint64_t bytes)
{
    bool alone = c->lock_fd < 0 || flock(c->lock_fd, LOCK_EX | LOCK_NB) == 0;

    while (alone && c->bytes > bytes && c->n_gone < c->n_entries) {
        const struct cachedir_entry *entry = &c->entries[c->n_gone++];
        AUTO_MEM char *path = cachedir_path(c, entry->name);
        if (must_stay(c, path))
            continue;
        (void)unlink(path);
        c->bytes -= entry->size;
    }
    if (c->lock_fd >= 0)
        (void)flock(c->lock_fd, LOCK_SH);
}

bool cachedir_room(struct cachedir *c, uint64_t size)
{
    if (!c->dir || size > c->max_bytes)
        return false;
    count(c);
    if (size <= c->bound && c->bytes + size > c->bound)
        shrink(c, c->bound - size);
    return c->bytes + size <= c->bound;
}

void cachedir_empty(struct cachedir *c)
{
    if (!c->dir)
        return;
    count(c);
    shrink(c, 0);
}

uint64_t cachedir_size(struct cachedir *c)
{
    if (c->dir)
        count(c);
    return c->bytes;
}

/* ---- keeping ---- */

int cachedir_begin(struct cachedir *c, char **path_out)
{
    char *path = c->dir ? mem_printf("%s/%cXXXXXX", c->dir, UNFINISHED) : NULL;
    int fd = path ? mkostemp(path, O_CLOEXEC) : -1;

    *path_out = path;
    return fd;
}

bool cachedir_finish(struct cachedir *c, const char *path, const char *name, uint64_t size)
{
    AUTO_MEM char *to = cachedir_path(c, name);
    AUTO_MEM char *above = mem_printf("%s/%.2s", c->dir, name);

    (void)mkdir(above, 0700);
    (void)chmod(path, 0400);
    if (rename(path, to) < 0)
        return false;
    c->bytes += size;
    return true;
}
