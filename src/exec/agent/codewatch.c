#include "exec/agent/codewatch.h"

#include "base/mem.h"
#include "exec/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* More is no code. */
#define FILES_MAX ((size_t)1 << 20)
#define EVENTS_BYTES ((size_t)64 << 10)
/* A kernel's clock for file times ticks every 10 ms at the latest. */
#define TICK_TRIES 50
#define TICK_US 1000

struct watched {
    char *path; /* below the top */
    const char *name;
    size_t dir; /* index */
    ino_t inode;
    mode_t mode;
    struct timespec ctime;
    bool used;
};

struct codewatch {
    char *top;
    int top_fd, notify_fd;
    bool atimes;               /* access times work here */
    bool is_mounted, answered; /* as in codewatch_answer */
    char **dirs;               /* "" is the top itself */
    size_t n_dirs, cap_dirs;
    struct watched *files; /* by directory and name, so that events find them */
    size_t n_files, cap_files;
    size_t *of_watch; /* directory by watch descriptor; SIZE_MAX = none */
    size_t n_watches;
    size_t *first; /* of each directory: its first file; one more at the end */
    char doubt[200];
};

static const struct timespec old_times[2] = {{.tv_sec = 1}, {.tv_nsec = UTIME_OMIT}};

static void doubt(struct codewatch *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void doubt(struct codewatch *w, const char *fmt, ...)
{
    va_list ap;

    if (w->doubt[0])
        return;
    va_start(ap, fmt);
    vsnprintf(w->doubt, sizeof w->doubt, fmt, ap);
    va_end(ap);
}

void codewatch_doubt(struct codewatch *w, const char *why)
{
    doubt(w, "%s", why);
}

static bool is_old(const struct stat *st)
{
    return st->st_atim.tv_sec == 1 && st->st_atim.tv_nsec == 0;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* ---- the probe: what works in this directory ---- */

/* Whether an access time that was set stays, and reading moves it. */
static bool atimes_work(int dir_fd)
{
    AUTO_FD int fd = openat(dir_fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;
    char byte;

    return fd >= 0 && write(fd, "x", 1) == 1 && futimens(fd, old_times) == 0 &&
           fstat(fd, &st) == 0 && is_old(&st) && pread(fd, &byte, 1, 0) == 1 &&
           fstat(fd, &st) == 0 && !is_old(&st);
}

/* Whether an open file of a watched directory is told. */
static bool opens_are_told(const struct codewatch *w, const char *dir, int dir_fd)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    int watch = inotify_add_watch(w->notify_fd, dir, IN_OPEN | IN_ONLYDIR);

    if (watch < 0)
        return false;
    int fd = openat(dir_fd, "file", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    bool told = fd >= 0 && read(w->notify_fd, events, sizeof events) > 0;
    inotify_rm_watch(w->notify_fd, watch);
    while (read(w->notify_fd, events, sizeof events) > 0)
        continue;
    return told;
}

static void probe(struct codewatch *w)
{
    AUTO_MEM char *dir = mem_printf("%s/" CODEWATCH_PROBE, w->top);

    if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
        doubt(w, "its directory cannot be probed: %s", strerror(errno));
        return;
    }
    AUTO_FD int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    w->atimes = dir_fd >= 0 && atimes_work(dir_fd);
    if (dir_fd < 0 || !opens_are_told(w, dir, dir_fd))
        doubt(w, "this file system tells nothing of files that are opened");
    if (dir_fd >= 0)
        unlinkat(dir_fd, "file", 0);
    rmdir(dir);
}

/* ---- what is there ---- */

static size_t add_dir(struct codewatch *w, const char *path)
{
    w->dirs = mem_room(w->dirs, w->n_dirs, &w->cap_dirs, sizeof *w->dirs);
    w->dirs[w->n_dirs] = mem_dup(path);
    return w->n_dirs++;
}

static void add_file(struct codewatch *w, const char *path, size_t dir)
{
    w->files = mem_room(w->files, w->n_files, &w->cap_files, sizeof *w->files);
    struct watched *f = &w->files[w->n_files++];
    *f = (struct watched){.path = mem_dup(path), .dir = dir};
    const char *slash = strrchr(f->path, '/');
    f->name = slash ? slash + 1 : f->path;
}

static int by_place(const void *a, const void *b)
{
    const struct watched *one = a, *other = b;

    if (one->dir != other->dir)
        return one->dir < other->dir ? -1 : 1;
    return strcmp(one->name, other->name);
}

/* Links are none of the code: the lake has none. */
static void list(struct codewatch *w)
{
    char *const roots[] = {w->top, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    size_t skip = strlen(w->top) + 1;

    if (!tree)
        doubt(w, "its directory cannot be read: %s", strerror(errno));
    for (FTSENT *f; tree && (f = fts_read(tree));) {
        const char *path = f->fts_level ? f->fts_path + skip : "";
        if (f->fts_info == FTS_D)
            f->fts_number = (long)add_dir(w, path);
        else if (f->fts_info == FTS_F)
            add_file(w, path, (size_t)f->fts_parent->fts_number);
        else if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS)
            doubt(w, "its directory cannot be read: %s", strerror(f->fts_errno));
        if (w->n_files > FILES_MAX) {
            doubt(w, "its code has more than %zu files", FILES_MAX);
            break;
        }
    }
    if (tree)
        fts_close(tree);
    if (w->n_files)
        qsort(w->files, w->n_files, sizeof *w->files, by_place);
    w->first = mem_zero(w->n_dirs + 2, sizeof *w->first);
    for (size_t i = 0, dir = 0; dir <= w->n_dirs; dir++) {
        while (i < w->n_files && w->files[i].dir < dir)
            i++;
        w->first[dir] = i;
    }
}

/* ---- before the command ---- */

/* An access time of 1 is older than anything, whatever the clock does. */
static void reset(struct codewatch *w, struct timespec *last)
{
    struct stat st;

    for (size_t i = 0; i < w->n_files; i++) {
        struct watched *f = &w->files[i];
        bool set = utimensat(w->top_fd, f->path, old_times, AT_SYMLINK_NOFOLLOW) == 0;
        if (fstatat(w->top_fd, f->path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            f->used = true;
            continue;
        }
        w->atimes = w->atimes && set && is_old(&st);
        f->inode = st.st_ino;
        f->mode = st.st_mode;
        f->ctime = st.st_ctim;
        if (st.st_ctim.tv_sec > last->tv_sec ||
            (st.st_ctim.tv_sec == last->tv_sec && st.st_ctim.tv_nsec > last->tv_nsec))
            *last = st.st_ctim;
    }
}

/* Waits until a change of a file here gets another time than the last one: else a change that the
 * command makes at once could not be told from ours. */
static void wait_for_tick(const struct codewatch *w, const struct timespec *last)
{
    AUTO_FD int fd =
        openat(w->top_fd, CODEWATCH_PROBE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat st;

    for (int i = 0; fd >= 0 && i < TICK_TRIES; i++) {
        if (futimens(fd, old_times) < 0 || fstat(fd, &st) < 0 ||
            st.st_ctim.tv_sec != last->tv_sec || st.st_ctim.tv_nsec > last->tv_nsec)
            break;
        usleep(TICK_US);
    }
    if (fd >= 0 && !w->is_mounted)
        unlinkat(w->top_fd, CODEWATCH_PROBE, 0);
}

static void watch_one(struct codewatch *w, size_t dir)
{
    AUTO_MEM char *path = mem_printf("%s/%s", w->top, w->dirs[dir]);
    int watch = inotify_add_watch(w->notify_fd, path,
                                  IN_OPEN | IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW);

    if (watch < 0 && errno == ENOSPC)
        doubt(w, "the limit of inotify watches is reached (fs.inotify.max_user_watches)");
    else if (watch < 0)
        doubt(w, "its directories cannot be watched: %s", strerror(errno));
    else if ((size_t)watch >= w->n_watches)
        doubt(w, "inotify counts its watches in an unknown way");
    else
        w->of_watch[watch] = dir;
}

static void watch_all(struct codewatch *w)
{
    w->n_watches = w->n_dirs + 64;
    w->of_watch = mem_zero(w->n_watches, sizeof *w->of_watch);
    for (size_t i = 0; i < w->n_watches; i++)
        w->of_watch[i] = SIZE_MAX;
    for (size_t i = 0; i < w->n_dirs && !w->doubt[0]; i++)
        watch_one(w, i);
}

static void begin(struct codewatch *w)
{
    struct timespec last = {0};

    if (w->top_fd < 0) {
        doubt(w, "its directory cannot be opened: %s", strerror(errno));
        return;
    }
    w->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (w->notify_fd < 0) {
        doubt(w, "inotify cannot be used: %s", strerror(errno));
        return;
    }
    probe(w);
    if (!w->doubt[0])
        list(w);
    if (w->doubt[0])
        return;
    reset(w, &last);
    wait_for_tick(w, &last);
    watch_all(w);
}

struct codewatch *codewatch_new(const char *directory, bool is_mounted)
{
    struct codewatch *w = mem_zero(1, sizeof *w);

    w->is_mounted = is_mounted;
    w->top = mem_dup(directory);
    w->notify_fd = -1;
    w->top_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    begin(w);
    return w;
}

void codewatch_answer(const char *directory)
{
    AUTO_MEM char *path = mem_printf("%s/" CODEWATCH_PROBE, directory);
    AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0)
        unlink(path);
}

void codewatch_free(struct codewatch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->n_files; i++)
        free(w->files[i].path);
    for (size_t i = 0; i < w->n_dirs; i++)
        free(w->dirs[i]);
    free(w->files);
    free(w->dirs);
    free(w->of_watch);
    free(w->first);
    free(w->top);
    if (w->top_fd >= 0)
        close(w->top_fd);
    if (w->notify_fd >= 0)
        close(w->notify_fd);
    free(w);
}

/* ---- while it runs ---- */

int codewatch_fd(const struct codewatch *w)
{
    return w->doubt[0] ? -1 : w->notify_fd;
}

static void take_event(struct codewatch *w, const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW) {
        doubt(w, "more files were opened at once than inotify can tell (the queue overflowed)");
        return;
    }
    if (event->wd < 0 || (size_t)event->wd >= w->n_watches || !event->len ||
        w->of_watch[event->wd] == SIZE_MAX)
        return;
    size_t dir = w->of_watch[event->wd], low = w->first[dir], high = w->first[dir + 1];
    w->answered = w->answered || (dir == 0 && !strcmp(event->name, CODEWATCH_PROBE));
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(event->name, w->files[middle].name);
        if (order == 0) {
            w->files[middle].used = true;
            return;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
}

void codewatch_drain(struct codewatch *w)
{
    AUTO_MEM char *events = mem_zero(EVENTS_BYTES, 1);
    ssize_t n;

    while (!w->doubt[0] && w->notify_fd >= 0 &&
           (n = read(w->notify_fd, events, EVENTS_BYTES)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        for (ssize_t at = 0; at < n;) {
            struct inotify_event head;
            memcpy(&head, events + at, sizeof head);
            take_event(w, (const struct inotify_event *)(const void *)(events + at));
            at += (ssize_t)(sizeof head + head.len);
        }
    }
}

/* ---- after it ---- */

static bool was_touched(const struct codewatch *w, const struct watched *f)
{
    struct stat st;

    if (fstatat(w->top_fd, f->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    return st.st_ino != f->inode || st.st_mode != f->mode || !same_time(&st.st_ctim, &f->ctime) ||
           (w->atimes && !is_old(&st));
}

/* A state line must be able to hold it. */
static bool can_be_told(const char *path)
{
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return false;
    return strlen(path) <= STATE_PATH_MAX;
}

const char *codewatch_end(struct codewatch *w,
                          void (*visit)(void *context, const char *path),
                          void *context)
{
    size_t n = 0;

    codewatch_drain(w);
    if (w->is_mounted && !w->answered)
        doubt(w, "its container tells nothing of files that are opened in it");
    for (size_t i = 0; i < w->n_files && !w->doubt[0]; i++) {
        struct watched *f = &w->files[i];
        f->used = f->used || was_touched(w, f);
        n += f->used;
        if (f->used && !can_be_told(f->path))
            doubt(w, "a file that it used has a name that is too long or has control characters");
    }
    if (n > CODEWATCH_USED_MAX)
        doubt(w, "it used more than %d files", CODEWATCH_USED_MAX);
    for (size_t i = 0; i < w->n_files && !w->doubt[0]; i++)
        if (w->files[i].used)
            visit(context, w->files[i].path);
    return w->doubt;
}
