/* A job's directory is put together from what came and what the cache of this machine
 * has.
 */
#include "base/auto.h"
#include "base/cachedir.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/modes.h"
#include "exec/digest.h"
#include "exec/reuse.h"
#include "exec/reuse_line.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/fs.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The client that removes a directory waits half a minute. */
#define KEEP_OUTPUT_S 15.0

/* ---- the cache ----
 *
 * Large files that were or will be parts of jobs on this machine, once each, named by their
 * content: ROOT/cache/xx/SHA256 of a root with jobs. Jobs get copies, so that none can change what
 * another gets. It may be removed at any time.
 *
 * Bounded: by the bytes ROOT/cache/limit says (CACHE_BYTES_MAX without it, 0 = keep nothing), and
 * by a quarter of what the disk would have free without it; the least recently used go first.
 * A user of the cache holds its lock shared, a process that removes something holds it alone. */

#define CACHE_BYTES_MAX ((uint64_t)10 << 30)
#define COPY_BYTES ((size_t)256 << 10)

struct cache {
    struct cachedir files;
    time_t mark; /* of files known to hold what their names say; 0 = none is */
};

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

/* The cache of root; without make, only one that is there already. Never fails: without a cache
 * everything is missing and nothing is kept. */
static void cache_open(struct cache *c, const char *root, bool make)
{
    AUTO_MEM char *dir = mem_printf("%s/cache", root);

    c->mark = mark_of_boot();
    cachedir_open(&c->files, dir, limit(dir), make, true);
    /* What this job uses stays; by the clock of files, which goes by ticks. */
    clock_gettime(CLOCK_REALTIME_COARSE, &c->files.since);
}

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

/* Writes the content of this name and size to an empty file. 1: done; 0: it is not there; -1: the
 * file could not be written; on a full disk the cache has made room then. */
static int cache_get(struct cache *c, const char *name, uint64_t size, int to_fd, struct err *e)
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

static bool cache_has(const struct cache *c, const char *name)
{
    AUTO_MEM char *path = cachedir_path(&c->files, name);

    return c->files.dir && access(path, F_OK) == 0;
}

/* Keeps a copy of the file, if it has this content and there is room. */
static void cache_keep_copy(struct cache *c, const char *name, uint64_t size, const char *path)
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

/* Moves the file here, whatever it holds, if that is read before the clock (time_monotonic_s) shows
 * until_s and there is room. No process may have the file open. */
static void cache_keep_move(struct cache *c, const char *path, uint64_t size, double until_s)
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

/* ---- the files of a job ---- */

static int each(FILE *list,
                int (*visit)(void *context, const struct reuse_line *w, struct err *e),
                void *context,
                struct err *e)
{
    char line[REUSE_LINE_MAX];

    for (int i = 0; fgets(line, sizeof line, list); i++) {
        struct reuse_line w;
        if (i == REUSE_FILES_MAX || !reuse_line_parse(line, &w))
            return err_set(e, ERR_USAGE, "line %d of the list of files cannot be read", i + 1);
        if (visit(context, &w, e) < 0)
            return -1;
    }
    return ferror(list) ? err_set(e, ERR_IO, "the list of files cannot be read") : 0;
}

struct stage {
    const char *dir;
    struct cache cache;
    FILE *answer;
};

static void stage_open(struct stage *s, const char *dir, bool make)
{
    AUTO_MEM char *root = mem_printf("%s/..", dir);

    s->dir = dir;
    cache_open(&s->cache, root, make);
}

/* Where it goes; the directories above it are there then. */
static char *path_for(const struct stage *s, const struct reuse_line *w, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/%s", s->dir, w->path);
    char *slash = strrchr(path, '/');

    *slash = 0;
    if (file_make_dirs(path, 0700, e) < 0)
        return NULL;
    *slash = '/';
    return TAKE(path);
}

/* 1: placed; 0: not there. */
static int place_one(struct stage *s, const struct reuse_line *w, struct err *e)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = w->mtime_s}};

    if (!cache_has(&s->cache, w->name))
        return 0;
    AUTO_MEM char *path = path_for(s, w, e);
    AUTO_FD int fd =
        path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return path ? file_error(e, "make", path) : -1;
    int there = cache_get(&s->cache, w->name, w->size, fd, e);
    if (there > 0 && (fchmod(fd, w->mode) < 0 || futimens(fd, times) < 0))
        there = file_error(e, "make", path);
    if (there == 0)
        (void)unlink(path);
    return there;
}

static int place(void *context, const struct reuse_line *w, struct err *e)
{
    struct stage *s = context;
    int there = place_one(s, w, e);

    if (there < 0)
        return -1;
    if (fputc(there ? REUSE_PLACED : REUSE_MISSING, s->answer) == EOF)
        return file_error(e, "write", "the answer");
    return 0;
}

int jobfiles_place(const char *dir, FILE *list, FILE *answer, struct err *e)
{
    struct stage s = {.answer = answer};

    stage_open(&s, dir, false);
    int result = each(list, place, &s, e);
    if (result == 0 && fflush(answer) == EOF)
        result = file_error(e, "write", "the answer");
    cachedir_clear(&s.cache.files);
    return result;
}

static int settle(void *context, const struct reuse_line *w, struct err *e)
{
    struct stage *s = context;
    AUTO_MEM char *path = mem_printf("%s/%s", s->dir, w->path);
    struct stat st;

    if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != w->size)
        return err_set(e, ERR_IO, "%s did not arrive as it was sent", w->path);
    cache_keep_copy(&s->cache, w->name, w->size, path);
    return 0;
}

int jobfiles_settle(const char *dir, FILE *list, struct err *e)
{
    struct stage s = {0};

    stage_open(&s, dir, true);
    int result = each(list, settle, &s, e);
    cachedir_clear(&s.cache.files);
    return result;
}

void jobfiles_keep_output(const struct jobdir *d)
{
    AUTO_MEM char *output = jobdir_file(d, "output");
    char *roots[] = {output, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    double until_s = time_monotonic_s() + KEEP_OUTPUT_S;
    struct stage s = {.cache = {.files = {.lock_fd = -1}}};
    const FTSENT *found;

    while (tree && time_monotonic_s() < until_s && (found = fts_read(tree))) {
        const struct stat *st = found->fts_statp;
        if (found->fts_info != FTS_F || !S_ISREG(st->st_mode) || st->st_nlink != 1 ||
            (uint64_t)st->st_size < REUSE_BYTES_MIN)
            continue;
        if (!s.dir)
            stage_open(&s, d->path, true);
        cache_keep_move(&s.cache, found->fts_path, (uint64_t)st->st_size, until_s);
    }
    if (tree)
        fts_close(tree);
    cachedir_clear(&s.cache.files);
}
