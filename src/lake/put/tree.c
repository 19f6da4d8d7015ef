#include "lake/put/tree.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

#define LEFTOVER ".tradewind-get-"
#define LEFTOVER_DIGITS 16
/* Two random names never meet by chance: more than this is another error. */
#define NAME_TRIES 10

int tree_open(struct tree *t, const char *path, bool create, struct err *e)
{
    *t = (struct tree){.path = mem_dup(path), .root = -1};
    /* The way by which a file without a name gets one. */
    t->unnamed = access("/proc/self/fd", X_OK) == 0;
    if (create && file_make_dirs(path, 0777, e) < 0)
        return -1;
    t->root = open(path, OPEN_DIR);
    if (t->root < 0 && (create || errno != ENOENT))
        return errno == ENOTDIR
                   ? err_set(e, ERR_USAGE, "%s is not a directory; name another one", path)
                   : file_error(e, "open", path);
    return 0;
}

void tree_forget(struct tree *t)
{
    for (size_t i = 0; i < t->n_dirs; i++) {
        if (t->dirs[i].fd >= 0)
            close(t->dirs[i].fd);
        free(t->dirs[i].path);
    }
    t->n_dirs = 0;
}

void tree_clear(struct tree *t)
{
    tree_forget(t);
    if (t->root >= 0)
        close(t->root);
    free(t->path);
    *t = (struct tree){.root = -1};
}

bool tree_full(const struct tree *t)
{
    return t->n_dirs == TREE_DIRS_MAX;
}

/* In the way, but no directory. */
static int in_the_way(
    const struct tree *t, int at, const char *name, const char *path, struct err *e)
{
    struct stat st;
    bool link = fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);

    return err_set(e, ERR_USAGE, "%s%s: %s is %s", t->path, path, name,
                   link ? "a symbolic link, and nothing is written through links"
                        : "a file there, not a directory");
}

static int open_below(
    const struct tree *t, int at, const char *name, const char *path, bool create, struct err *e)
{
    int fd = openat(at, name, OPEN_DIR | O_NOFOLLOW);

    if (fd < 0 && errno == ENOENT && create) {
        if (mkdirat(at, name, 0777) < 0 && errno != EEXIST) {
            AUTO_MEM char *shown = mem_printf("%s%s", t->path, path);
            file_error(e, "create directory for", shown);
            return -2;
        }
        fd = openat(at, name, OPEN_DIR | O_NOFOLLOW);
    }
    if (fd >= 0 || (errno == ENOENT && !create))
        return fd;
    if (errno == ENOTDIR || errno == ELOOP) {
        in_the_way(t, at, name, path, e);
        return -2;
    }
    AUTO_MEM char *shown = mem_printf("%s%s", t->path, path);
    file_error(e, "open directory for", shown);
    return -2;
}

/* The directory of path, part by part: an fd, -1 when it is not there, -2 with e. */
static int walk(const struct tree *t, const char *path, size_t len, bool create, struct err *e)
{
    int at = t->root < 0 ? -1 : fcntl(t->root, F_DUPFD_CLOEXEC, 0);
    char name[256];

    if (t->root >= 0 && at < 0) {
        file_error(e, "open", t->path);
        return -2;
    }
    for (size_t i = 1; i < len && at >= 0;) {
        size_t n = strcspn(path + i, "/");
        snprintf(name, sizeof name, "%.*s", (int)n, path + i);
        int next = open_below(t, at, name, path, create, e);
        close(at);
        at = next;
        i += n + 1;
    }
    return at;
}

int tree_dir(struct tree *t, const char *path, bool create, int *fd_out, struct err *e)
{
    size_t len = (size_t)(strrchr(path, '/') - path) + 1;

    for (size_t i = t->n_dirs; i-- > 0;) {
        const struct tree_dir *d = &t->dirs[i];
        if (strncmp(d->path, path, len) == 0 && d->path[len] == 0) {
            *fd_out = d->fd;
            return 0;
        }
    }
    int fd = walk(t, path, len, create, e);
    if (fd == -2)
        return -1;
    if (tree_full(t))
        tree_forget(t);
    t->dirs[t->n_dirs++] = (struct tree_dir){mem_printf("%.*s", (int)len, path), fd};
    *fd_out = fd;
    return 0;
}

/* Random: process numbers come again, in containers above all. */
void tree_file_name(struct tree_file *f, int dir)
{
    uint64_t random = 0;

    f->dir = dir;
    f->fd = -1;
    /* Eight bytes never come in pieces; without them the name is taken, and that is noticed. */
    if (getrandom(&random, sizeof random, 0) < 0)
        random = 0;
    snprintf(f->name, sizeof f->name, LEFTOVER "%0*" PRIx64, LEFTOVER_DIGITS, random);
}

bool tree_is_leftover(const char *name)
{
    size_t n = strlen(LEFTOVER);

    return strncmp(name, LEFTOVER, n) == 0 &&
           strspn(name + n, "0123456789abcdef") == LEFTOVER_DIGITS && !name[n + LEFTOVER_DIGITS];
}

int tree_file_create(
    struct tree_file *f, const struct tree *t, int dir, bool executable, struct err *e)
{
    mode_t mode = executable ? 0777 : 0666;

    *f = (struct tree_file){.dir = dir, .fd = -1};
    if (t->unnamed)
        f->fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    /* File systems that cannot say so in several ways. */
    for (int i = 0; f->fd < 0 && i < NAME_TRIES; i++) {
        tree_file_name(f, dir);
        f->fd = openat(dir, f->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (f->fd < 0 && errno != EEXIST)
            break;
    }
    if (f->fd >= 0)
        return 0;
    f->name[0] = 0;
    return file_error(e, "create", "a temporary file");
}

static int give_name(const struct tree_file *f, const char *name)
{
    char self[40];

    snprintf(self, sizeof self, "/proc/self/fd/%d", f->fd);
    return linkat(AT_FDCWD, self, f->dir, name, AT_SYMLINK_FOLLOW);
}

/* Only a rename replaces: the file needs a name for a moment. */
static int give_temporary_name(struct tree_file *f)
{
    struct tree_file named = *f;

    for (int i = 0; i < NAME_TRIES; i++) {
        tree_file_name(&named, f->dir);
        if (give_name(f, named.name) == 0) {
            memcpy(f->name, named.name, sizeof f->name);
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return -1;
}

static int rename_file(struct tree_file *f, const char *name, bool replace)
{
    int failed = renameat2(f->dir, f->name, f->dir, name, replace ? 0 : RENAME_NOREPLACE);

    if (failed && errno == EINVAL) /* file systems that cannot */
        failed = renameat(f->dir, f->name, f->dir, name);
    if (failed == 0)
        f->name[0] = 0;
    return failed;
}

static int close_file(struct tree_file *f)
{
    int fd = f->fd;

    f->fd = -1;
    return fd < 0 ? 0 : close(fd);
}

static int place_file(struct tree_file *f, const char *name, bool replace)
{
    if (!f->name[0] && !replace)
        return give_name(f, name) < 0 ? -1 : close_file(f);
    if (!f->name[0] && give_temporary_name(f) < 0)
        return -1;
    return close_file(f) < 0 ? -1 : rename_file(f, name, replace);
}

int tree_file_place(struct tree_file *f, const char *name, bool replace, struct err *e)
{
    if (place_file(f, name, replace) == 0)
        return 0;
    return errno == EEXIST ? err_set(e, ERR_USAGE, "%s has appeared meanwhile", name)
                           : file_error(e, "write", name);
}

void tree_file_clear(struct tree_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    if (f->name[0])
        unlinkat(f->dir, f->name, 0);
    f->name[0] = 0;
}
