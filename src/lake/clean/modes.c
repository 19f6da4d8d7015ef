/* Who may read what lies in a home and its store. `fsck --fix-modes`, `init --shared` and `doctor`
 * call it. */
#include "base/file.h"
#include "base/mem.h"
#include "lake/clean/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a group that shares a home has of it; a name ending in "*" stands for all that begin so.
 * Jobs and their secrets stay with the user who runs the broker. */
static const char *const shared_names[] = {"lake.db*", "runs.db*", "machines.db*", "config.yaml",
                                           "catalog",  "market",   "session.lock", "profiles",
                                           "cache",    "objects"};

static bool is_name(const char *pattern, const char *name)
{
    size_t n = strcspn(pattern, "*");

    return strncmp(pattern, name, n) == 0 && (pattern[n] == '*' || strlen(name) == n);
}

static bool is_shared_name(const char *name)
{
    for (size_t i = 0; i < sizeof shared_names / sizeof shared_names[0]; i++)
        if (is_name(shared_names[i], name))
            return true;
    return false;
}

struct walk {
    const struct lake_modes *modes;
    struct lake_modes_report *report;
    int top_fd;
    size_t skip; /* of a path, to what is below the top */
    bool is_shared, is_home;
};

static mode_t wanted_mode(const struct stat *st, bool shared)
{
    mode_t own = S_ISDIR(st->st_mode) ? S_IRWXU : st->st_mode & S_IRWXU;
    mode_t group = S_ISDIR(st->st_mode) ? S_ISGID | S_IRWXG : own >> 3;

    return shared ? own | group : own;
}

static bool is_right(const struct walk *w, const struct stat *st, mode_t wanted, bool shared)
{
    /* The setgid bit of a directory that is not shared is inherited, and gives nothing away. */
    if (!shared)
        return (st->st_mode & 0777) == wanted || !(st->st_mode & 077);
    return (st->st_mode & 07777) == wanted &&
           (w->modes->group == LAKE_MODES_ANY_GROUP || st->st_gid == w->modes->group);
}

/* Opens what lies below the top, through no link; -1 with errno. */
static int open_below(int top_fd, const char *below)
{
    int fd = openat(top_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (below += strspn(below, "/"); fd >= 0 && *below; below += strspn(below, "/")) {
        AUTO_FD int up = fd;
        AUTO_MEM char *name = mem_printf("%.*s", (int)strcspn(below, "/"), below);
        fd = openat(up, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        below += strlen(name);
    }
    return fd;
}

/* Takes away what others may; 0, or -1 with errno. A member of the group that shares a directory
 * can put a link where a file was: what is changed is what was looked at, or nothing. */
static int fix(const struct walk *w, const FTSENT *f, mode_t wanted, bool shared)
{
    gid_t group = w->modes->group;
    AUTO_FD int fd = open_below(w->top_fd, f->fts_path + w->skip);
    char path[32];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (st.st_dev != f->fts_statp->st_dev || st.st_ino != f->fts_statp->st_ino) {
        errno = ENOENT;
        return -1;
    }
    if (shared && group != LAKE_MODES_ANY_GROUP &&
        fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) < 0)
        return -1;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* fchmod refuses O_PATH */
    return chmod(path, wanted);
}

static void look_at(const struct walk *w, const FTSENT *f, bool shared)
{
    struct lake_modes_report *r = w->report;
    mode_t wanted = wanted_mode(f->fts_statp, shared);

    if (is_right(w, f->fts_statp, wanted, shared))
        return;
    if (!r->wrong++)
        snprintf(r->first, sizeof r->first, "%s", f->fts_path);
    /* Gone meanwhile: others work here. */
    if (!w->modes->fix || fix(w, f, wanted, shared) == 0 || errno == ENOENT || errno == ELOOP ||
        errno == ENOTDIR)
        return;
    if (!r->failed++)
        snprintf(r->first_failed, sizeof r->first_failed, "%s: %s", f->fts_path, strerror(errno));
}

static int walk(struct walk *w, const char *root, struct err *e)
{
    AUTO_MEM char *path = mem_dup(root);
    char *const roots[] = {path, NULL};
    AUTO_FD int top_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    FTS *tree = top_fd < 0 ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    bool shared = w->is_shared;

    if (!tree)
        return file_error(e, "read", root);
    w->top_fd = top_fd;
    w->skip = strlen(root);
    for (FTSENT *f; (f = fts_read(tree));) {
        if (w->modes->most && w->report->seen >= w->modes->most)
            break;
        if (w->is_home && f->fts_level == 1)
            shared = w->is_shared && is_shared_name(f->fts_name);
        if (f->fts_info != FTS_D && f->fts_info != FTS_F && f->fts_info != FTS_DNR)
            continue;
        w->report->seen++;
        look_at(w, f, f->fts_level == 0 ? w->is_shared : shared);
    }
    fts_close(tree);
    return 0;
}

int lake_modes(const struct lake_modes *modes, struct lake_modes_report *out, struct err *e)
{
    struct walk home = {.modes = modes,
                        .report = out,
                        .is_shared = modes->share || file_is_shared(modes->home),
                        .is_home = true};
    struct walk store = home;
    size_t n = strlen(modes->home);

    *out = (struct lake_modes_report){.is_shared = home.is_shared};
    if (walk(&home, modes->home, e) < 0)
        return -1;
    bool is_inside =
        modes->store && strncmp(modes->store, modes->home, n) == 0 && modes->store[n] == '/';
    if (!modes->store || is_inside || access(modes->store, F_OK) < 0)
        return 0;
    store.is_home = false;
    store.is_shared = modes->share || file_is_shared(modes->store);
    return walk(&store, modes->store, e);
}
