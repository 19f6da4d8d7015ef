#include "exec/agent/cache.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/fs.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)256 << 10)
/* A file that is being written has this in front of its name; one that is older was given up. */
#define UNFINISHED '.'
#define UNFINISHED_S 3600
#define NAME_DIGITS (DIGEST_TEXT - 1)
#define FREE_PART 4

struct cache_entry {
    char name[DIGEST_TEXT];
    uint64_t size;
    struct timespec used;
};

/* ---- opening ---- */

/* Files are not synced: after a crash they may hold anything. So the time of their last change,
 * which every write moves on, is set to a number of this boot, and a file with any other is read
 * and compared before it is used. */
static time_t mark_of_boot(void)
{
    AUTO_MEM char *id = read_small_file("/proc/sys/kernel/random/boot_id", 64, NULL);
    char digits[9] = {0};

    if (!id)
        return 0;
    memcpy(digits, id, strnlen(id, sizeof digits - 1));
    return (time_t)(strtoul(digits, NULL, 16) & 0x7fffffff);
}

static int lock(const char *dir)
{
    AUTO_MEM char *path = mem_printf("%s/lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0 && flock(fd, LOCK_SH) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void cache_open(struct cache *c, const char *root, bool make)
{
    *c = (struct cache){.lock_fd = -1, .mark = mark_of_boot()};
    c->dir = mem_printf("%s/cache", root);
    /* The clock of files, which goes by ticks. */
    clock_gettime(CLOCK_REALTIME_COARSE, &c->began);
    if (make)
        (void)mkdir(c->dir, 0700);
    c->lock_fd = lock(c->dir);
    if (c->lock_fd < 0) {
        free(c->dir);
        c->dir = NULL;
    }
}

void cache_clear(struct cache *c)
{
    if (c->lock_fd >= 0)
        close(c->lock_fd);
    free(c->dir);
    free(c->entries);
    *c = (struct cache){.lock_fd = -1};
}

bool cache_good_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == NAME_DIGITS && !name[NAME_DIGITS];
}

static char *path_of(const struct cache *c, const char *name)
{
    return mem_printf("%s/%.2s/%s", c->dir, name, name);
}

/* ---- contents ---- */

/* Reads all of the file, for its digest and, when to_fd is one, into that. False: it could not be
 * read or written, or takes longer than until_s; errno says which. */
static bool read_through(int fd, int to_fd, double until_s, char out[static DIGEST_TEXT])
{
    AUTO_MEM char *bytes = mem_zero(COPY_BYTES, 1);
    struct digest d;
    ssize_t n;

    digest_begin(&d);
    for (off_t at = 0; (n = pread(fd, bytes, COPY_BYTES, at)) != 0;) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || time_monotonic_s() > until_s ||
            (to_fd >= 0 && file_write_all(to_fd, bytes, (size_t)n) < 0))
            return false;
        digest_add(&d, bytes, (size_t)n);
        at += n;
    }
    digest_end(&d, out);
    return true;
}

/* Without looking at it: shared blocks where the file system has that, else by the kernel, else by
 * hand. */
static bool copy_bytes(int fd, int to_fd, uint64_t size)
{
    char ignored[DIGEST_TEXT];
    uint64_t left = size;

    if (ioctl(to_fd, FICLONE, fd) == 0)
        return true;
    for (loff_t at = 0; left;) {
        ssize_t n = copy_file_range(fd, &at, to_fd, NULL, left, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && at == 0 && errno != ENOSPC && errno != EDQUOT && errno != EIO)
            return read_through(fd, to_fd, (double)INFINITY, ignored);
        if (n <= 0)
            return false;
        left -= (uint64_t)n;
    }
    return true;
}

/* It holds what its name says, and was used now. */
static void mark(const struct cache *c, int fd)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = c->mark}};

    (void)futimens(fd, times);
}

static bool marked(const struct cache *c, const struct stat *st)
{
    return c->mark && st->st_mtim.tv_sec == c->mark && st->st_mtim.tv_nsec == 0;
}

/* The file of this name, if it holds what that says; one that does not is removed. */
static int open_good(struct cache *c, const char *name, uint64_t size)
{
    AUTO_MEM char *path = path_of(c, name);
    char held[DIGEST_TEXT];
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -1;
    bool good =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size &&
        (marked(c, &st) || (read_through(fd, -1, (double)INFINITY, held) && !strcmp(held, name)));
    if (good)
        return fd;
    close(fd);
    (void)unlink(path);
    return -1;
}

bool cache_has(const struct cache *c, const char *name)
{
    AUTO_MEM char *path = c->dir ? path_of(c, name) : NULL;

    return path && access(path, F_OK) == 0;
}

/* ---- room ---- */

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static int compare_used(const void *a, const void *b)
{
    const struct cache_entry *x = a, *y = b;

    return before(&x->used, &y->used) ? -1 : before(&y->used, &x->used);
}

static void count_file(struct cache *c, const FTSENT *found)
{
    const struct stat *st = found->fts_statp;

    if (found->fts_name[0] == UNFINISHED && st->st_mtim.tv_sec < c->began.tv_sec - UNFINISHED_S)
        (void)unlink(found->fts_path);
    if (!cache_good_name(found->fts_name))
        return;
    c->entries = mem_room(c->entries, c->n_entries, &c->cap_entries, sizeof *c->entries);
    struct cache_entry *entry = &c->entries[c->n_entries++];
    *entry = (struct cache_entry){.size = (uint64_t)st->st_size, .used = st->st_atim};
    memcpy(entry->name, found->fts_name, sizeof entry->name);
    c->bytes += entry->size;
}

static uint64_t limit(const struct cache *c)
{
    AUTO_MEM char *path = mem_printf("%s/limit", c->dir);
    AUTO_MEM char *text = read_small_file(path, 64, NULL);
    char *end;

    if (!text)
        return CACHE_BYTES_MAX;
    errno = 0;
    unsigned long long bytes = strtoull(text, &end, 10);
    bool number = *text >= '0' && *text <= '9' && !errno && !end[strspn(end, "\n ")];
    return number ? bytes : CACHE_BYTES_MAX;
}

static void count(struct cache *c)
{
    char *roots[] = {c->dir, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    struct statvfs disk;
    const FTSENT *found;

    c->counted = true;
    while (tree && (found = fts_read(tree)))
        if (found->fts_info == FTS_F)
            count_file(c, found);
    if (tree)
        fts_close(tree);
    if (c->n_entries)
        qsort(c->entries, c->n_entries, sizeof *c->entries, compare_used);
    c->bound = limit(c);
    if (statvfs(c->dir, &disk) == 0) {
        uint64_t part = ((uint64_t)disk.f_bavail * disk.f_frsize + c->bytes) / FREE_PART;
        c->bound = part < c->bound ? part : c->bound;
    }
}

/* Not in the future: a clock that was wrong once would keep a file for ever. */
static bool used_since(const struct cache *c, const struct timespec *used)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return !before(used, &c->began) && !before(&now, used);
}

/* Removes entries, the least recently used first, until there are at most so many bytes or only
 * such as this job uses. Alone, or not at all. */
static void shrink(struct cache *c, uint64_t bytes)
{
    bool alone = flock(c->lock_fd, LOCK_EX | LOCK_NB) == 0;

    while (alone && c->bytes > bytes && c->n_gone < c->n_entries) {
        const struct cache_entry *entry = &c->entries[c->n_gone++];
        AUTO_MEM char *path = path_of(c, entry->name);
        struct stat st;
        if (stat(path, &st) == 0 && used_since(c, &st.st_atim))
            continue;
        (void)unlink(path);
        c->bytes -= entry->size;
    }
    (void)flock(c->lock_fd, LOCK_SH);
}

static bool room_for(struct cache *c, uint64_t size)
{
    if (!c->counted)
        count(c);
    if (size > c->bound)
        return false;
    if (c->bytes + size > c->bound)
        shrink(c, c->bound - size);
    return c->bytes + size <= c->bound;
}

/* The disk is full: everything goes that this job does not use. */
static void give_up_all(struct cache *c)
{
    if (!c->counted)
        count(c);
    shrink(c, 0);
}

/* ---- using ---- */

int cache_get(struct cache *c, const char *name, uint64_t size, int to_fd, struct err *e)
{
    int fd = c->dir ? open_good(c, name, size) : -1;

    if (fd < 0)
        return 0;
    mark(c, fd);
    bool copied = copy_bytes(fd, to_fd, size);
    int why = errno;
    close(fd);
    if (copied)
        return 1;
    if (why == ENOSPC || why == EDQUOT)
        give_up_all(c);
    errno = why;
    return file_error(e, "write a copy of", name);
}

/* ---- keeping ---- */

/* Gives the file its name; it is complete. */
static bool name_it(struct cache *c, int fd, const char *from, const char *name, uint64_t size)
{
    AUTO_MEM char *to = path_of(c, name);
    AUTO_MEM char *above = mem_printf("%s/%.2s", c->dir, name);

    (void)mkdir(above, 0700);
    (void)fchmod(fd, 0400);
    mark(c, fd);
    if (rename(from, to) < 0)
        return false;
    c->bytes += size;
    return true;
}

/* Whether it is there; then it was used now, good or not. */
static bool touch(const struct cache *c, const char *name)
{
    static const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    AUTO_MEM char *path = path_of(c, name);

    return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0;
}

void cache_keep_copy(struct cache *c, const char *name, uint64_t size, const char *path)
{
    char held[DIGEST_TEXT];

    if (!c->dir || touch(c, name) || !room_for(c, size))
        return;
    AUTO_MEM char *fresh = mem_printf("%s/%cXXXXXX", c->dir, UNFINISHED);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int to_fd = fd < 0 ? -1 : mkostemp(fresh, O_CLOEXEC);
    bool good = to_fd >= 0;
    if (good && ioctl(to_fd, FICLONE, fd) == 0)
        good = read_through(to_fd, -1, (double)INFINITY, held);
    else
        good = good && read_through(fd, to_fd, (double)INFINITY, held);
    good = good && !strcmp(held, name) && name_it(c, to_fd, fresh, name, size);
    if (to_fd >= 0 && !good)
        (void)unlink(fresh);
    if (to_fd >= 0)
        close(to_fd);
    if (fd >= 0)
        close(fd);
}

void cache_keep_move(struct cache *c, const char *path, uint64_t size, double until_s)
{
    char name[DIGEST_TEXT];

    if (!c->dir || !room_for(c, size))
        return;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read_through(fd, -1, until_s, name) && !touch(c, name))
        (void)name_it(c, fd, path, name, size);
    close(fd);
}
