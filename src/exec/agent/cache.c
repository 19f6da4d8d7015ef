#include "exec/agent/cache.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/jobdir.h"
#include "exec/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)256 << 10)

/* Files are not synced: after a crash they may hold anything. So the time of their last change,
 * which every write moves on, is set to a number of this boot, and a file with any other is read
 * and compared before it is used. */
static time_t mark_of_boot(void)
{
    AUTO_MEM char *id = jobdir_read_small("/proc/sys/kernel/random/boot_id", 64, NULL);
    char digits[9] = {0};

    if (!id)
        return 0;
    memcpy(digits, id, strnlen(id, sizeof digits - 1));
    return (time_t)(strtoul(digits, NULL, 16) & 0x7fffffff);
}

static uint64_t limit(const char *dir)
{
    AUTO_MEM char *path = mem_printf("%s/limit", dir);
    AUTO_MEM char *text = jobdir_read_small(path, 64, NULL);
    char *end;

    if (!text)
        return CACHE_BYTES_MAX;
    errno = 0;
    unsigned long long bytes = strtoull(text, &end, 10);
    bool number = *text >= '0' && *text <= '9' && !errno && !end[strspn(end, "\n ")];
    return number ? bytes : CACHE_BYTES_MAX;
}

void cache_open(struct cache *c, const char *root, bool make)
{
    AUTO_MEM char *dir = mem_printf("%s/cache", root);

    c->mark = mark_of_boot();
    cachedir_open(&c->files, dir, limit(dir), make, true);
    /* What this job uses stays; by the clock of files, which goes by ticks. */
    clock_gettime(CLOCK_REALTIME_COARSE, &c->files.since);
}

void cache_clear(struct cache *c)
{
    cachedir_clear(&c->files);
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
    for (uint64_t at = 0; (n = file_pread_all(fd, bytes, COPY_BYTES, at)) != 0;) {
        if (n < 0 || time_monotonic_s() > until_s ||
            (to_fd >= 0 && file_write_all(to_fd, bytes, (size_t)n) < 0))
            return false;
        digest_add(&d, bytes, (size_t)n);
        at += (uint64_t)n;
    }
    digest_end(&d, out);
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
    AUTO_MEM char *path = cachedir_path(&c->files, name);
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

/* ---- using ---- */

int cache_get(struct cache *c, const char *name, uint64_t size, int to_fd, struct err *e)
{
    AUTO_FD int fd = c->files.dir ? open_good(c, name, size) : -1;

    if (fd < 0)
        return 0;
    mark(c, fd);
    if (file_copy(fd, to_fd, size) == 0)
        return 1;
    int why = errno;
    if (why == ENOSPC || why == EDQUOT)
        cachedir_empty(&c->files);
    errno = why;
    return file_error(e, "write a copy of", name);
}

bool cache_has(const struct cache *c, const char *name)
{
    AUTO_MEM char *path = cachedir_path(&c->files, name);

    return c->files.dir && access(path, F_OK) == 0;
}

/* ---- keeping ---- */

void cache_keep_copy(struct cache *c, const char *name, uint64_t size, const char *path)
{
    char held[DIGEST_TEXT];

    if (cachedir_touch(&c->files, name) || !cachedir_room(&c->files, size))
        return;
    AUTO_MEM char *fresh = NULL;
    AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FD int to_fd = fd < 0 ? -1 : cachedir_begin(&c->files, &fresh);
    bool good = to_fd >= 0;
    if (good && ioctl(to_fd, FICLONE, fd) == 0)
        good = read_through(to_fd, -1, (double)INFINITY, held);
    else
        good = good && read_through(fd, to_fd, (double)INFINITY, held);
    if (good)
        mark(c, to_fd);
    good = good && !strcmp(held, name) && cachedir_finish(&c->files, fresh, name, size);
    if (to_fd >= 0 && !good)
        (void)unlink(fresh);
}

void cache_keep_move(struct cache *c, const char *path, uint64_t size, double until_s)
{
    char name[DIGEST_TEXT];

    if (!cachedir_room(&c->files, size))
        return;
    AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && read_through(fd, -1, until_s, name) && !cachedir_touch(&c->files, name)) {
        mark(c, fd);
        (void)cachedir_finish(&c->files, path, name, size);
    }
}
