/* A job's directory is put together from what came and what the cache of this machine
 * has.
 */
#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "exec/agent/cache.h"
#include "exec/agent/modes.h"
#include "exec/digest.h"
#include "exec/reuse.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The client that removes a directory waits half a minute. */
#define KEEP_OUTPUT_S 15.0

struct wanted {
    char name[DIGEST_TEXT];
    uint64_t size;
    mode_t mode;
    time_t mtime_s;
    const char *path; /* in the line */
};

/* A relative path that leads nowhere else. */
static bool stays_below(const char *path)
{
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        if (!n || (n == 1 && *at == '.') || (n == 2 && !memcmp(at, "..", 2)))
            return false;
        at += n;
        if (*at == '/' && !*++at)
            return false;
    }
    return *path;
}

/* A number and the space behind it. */
static bool take_number(const char **at, int base, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(*at, &end, base);
    if (**at < '0' || **at > '9' || *end != ' ' || errno || *out > INT64_MAX)
        return false;
    *at = end + 1;
    return true;
}

static bool parse(char *line, struct wanted *out)
{
    const char *at = line + DIGEST_TEXT;
    size_t n = strlen(line);

    if (n <= DIGEST_TEXT || line[n - 1] != '\n' || line[DIGEST_TEXT - 1] != ' ')
        return false;
    line[n - 1] = line[DIGEST_TEXT - 1] = 0;
    memcpy(out->name, line, DIGEST_TEXT);
    uint64_t mode, mtime_s;
    if (!take_number(&at, 10, &out->size) || !take_number(&at, 8, &mode) ||
        !take_number(&at, 10, &mtime_s))
        return false;
    out->mode = (mode_t)mode & 07777;
    out->mtime_s = (time_t)mtime_s;
    out->path = at;
    return cachedir_good_name(out->name) && stays_below(out->path);
}

static int each(FILE *list,
                int (*visit)(void *context, const struct wanted *w, struct err *e),
                void *context,
                struct err *e)
{
    char line[REUSE_LINE_MAX];

    for (int i = 0; fgets(line, sizeof line, list); i++) {
        struct wanted w;
        if (i == REUSE_FILES_MAX || !parse(line, &w))
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
static char *path_for(const struct stage *s, const struct wanted *w, struct err *e)
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
static int place_one(struct stage *s, const struct wanted *w, struct err *e)
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

static int place(void *context, const struct wanted *w, struct err *e)
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
    cache_clear(&s.cache);
    return result;
}

static int settle(void *context, const struct wanted *w, struct err *e)
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
    cache_clear(&s.cache);
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
    cache_clear(&s.cache);
}
