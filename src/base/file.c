#include "base/file.h"

#include "base/auto.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)256 << 10)

static int copy_by_hand(int from_fd, int to_fd, uint64_t size)
{
    AUTO_MEM char *bytes = mem_zero(COPY_BYTES, 1);

    for (uint64_t at = 0; at < size;) {
        uint64_t left = size - at;
        ssize_t n =
            file_pread_all(from_fd, bytes, left < COPY_BYTES ? (size_t)left : COPY_BYTES, at);
        if (n == 0)
            errno = EIO; /* shorter than it was said to be */
        if (n <= 0 || file_write_all(to_fd, bytes, (size_t)n) < 0)
            return -1;
        at += (uint64_t)n;
    }
    return 0;
}

int file_copy(int from_fd, int to_fd, uint64_t size)
{
    struct stat st;

    if (fstat(from_fd, &st) == 0 && (uint64_t)st.st_size == size &&
        ioctl(to_fd, FICLONE, from_fd) == 0)
        return 0;
    for (loff_t at = 0; (uint64_t)at < size;) {
        errno = 0;
        ssize_t n = copy_file_range(from_fd, &at, to_fd, NULL, (size_t)(size - (uint64_t)at), 0);
        if (n < 0 && errno == EINTR)
            continue;
        /* Between some file systems the kernel does not, or says that there was nothing. */
        if (n <= 0 && at == 0 && errno != ENOSPC && errno != EDQUOT)
            return copy_by_hand(from_fd, to_fd, size);
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return -1;
    }
    return 0;
}

int file_error(struct err *e, const char *what, const char *path)
{
    enum err_kind kind = errno == EACCES || errno == EPERM || errno == EROFS ? ERR_DENIED : ERR_IO;

    return err_set(e, kind, "%s %s: %s", what, path, strerror(errno));
}

/* offset -1: where fd stands. */
static int write_all(int fd, const char *at, size_t n, off_t offset)
{
    while (n) {
        ssize_t done = offset < 0 ? write(fd, at, n) : pwrite(fd, at, n, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        at += done;
        offset += offset < 0 ? 0 : done;
        n -= (size_t)done;
    }
    return 0;
}

int file_write_all(int fd, const void *bytes, size_t n)
{
    return write_all(fd, bytes, n, -1);
}

int file_pwrite_all(int fd, const void *bytes, size_t n, uint64_t offset)
{
    return write_all(fd, bytes, n, (off_t)offset);
}

ssize_t file_pread_all(int fd, void *bytes, size_t n, uint64_t offset)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)bytes + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

bool file_is_shared(const char *dir)
{
    struct stat st;

    return stat(dir, &st) == 0 && (st.st_mode & S_ISGID) && (st.st_mode & S_IWGRP);
}

/* Whether a group shares the directory that path is in. */
static bool is_in_shared(const char *path)
{
    const char *slash = strrchr(path, '/');
    AUTO_MEM char *dir = slash == path ? mem_dup("/")
                         : slash       ? mem_printf("%.*s", (int)(slash - path), path)
                                       : mem_dup(".");

    return file_is_shared(dir);
}

/* What the owner may, the group may, too. */
static mode_t for_group(mode_t mode)
{
    return mode | (mode & S_IRWXU) >> 3;
}

int file_open_own(const char *path, int flags, mode_t mode)
{
    int fd = open(path, flags | O_CREAT | O_CLOEXEC, mode);
    struct stat st;

    /* A file of another user's making has its mode already. */
    if (fd < 0 || !is_in_shared(path) || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
        (st.st_mode & 07777) == for_group(mode))
        return fd;
    if (fchmod(fd, for_group(mode)) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static mode_t less_umask(mode_t mode)
{
    mode_t mask = umask(0);

    umask(mask);
    return mode & ~mask;
}

int file_draft_open(struct file_draft *d, const char *path, mode_t mode, struct err *e)
{
    struct stat old;
    char *there = realpath(path, NULL);
    bool replaces = there && stat(there, &old) == 0;

    *d = (struct file_draft){.fd = -1, .path = mem_dup(path)};
    d->target = there ? there : mem_dup(path);
    if (replaces && !S_ISREG(old.st_mode))
        return err_set(
            e, ERR_USAGE,
            "write %s: not a regular file; give the path of a file, or remove what is there", path);
    char *beside = mem_printf("%s.XXXXXX", d->target);
    d->fd = mkostemp(beside, O_CLOEXEC);
    if (d->fd < 0) {
        file_error(e, "write", path);
        free(beside);
        return -1;
    }
    d->beside = beside;
    mode_t fresh = mode == FILE_OWN && is_in_shared(d->target) ? for_group(mode) : less_umask(mode);
    if (fchmod(d->fd, replaces ? old.st_mode & 07777 : fresh) < 0)
        return file_error(e, "write", path);
    return 0;
}

int file_draft_keep(struct file_draft *d, struct err *e)
{
    int fd = d->fd;
    bool synced = fsync(fd) == 0;
    int why = errno;

    d->fd = -1;
    if (close(fd) < 0 || !synced) {
        errno = synced ? errno : why;
        return file_error(e, "write", d->path);
    }
    if (rename(d->beside, d->target) < 0)
        return file_error(e, "write", d->path);
    free(d->beside);
    d->beside = NULL;
    return 0;
}

void file_draft_clear(struct file_draft *d)
{
    if (d->beside) {
        if (d->fd >= 0)
            close(d->fd);
        unlink(d->beside);
    }
    free(d->path);
    free(d->target);
    free(d->beside);
    *d = (struct file_draft){.fd = -1};
}

int file_replace(const char *path, const void *bytes, size_t len, mode_t mode, struct err *e)
{
    AUTO_CLEAR(file_draft) struct file_draft d = {0};

    if (file_draft_open(&d, path, mode, e) < 0)
        return -1;
    if (file_write_all(d.fd, bytes, len) < 0)
        return file_error(e, "write", path);
    return file_draft_keep(&d, e);
}

/* Sharing goes on from the directory above; other than mode, the setgid bit is inherited. */
static int make_dir(const char *path, mode_t mode, bool is_own)
{
    if (mkdir(path, mode) < 0)
        return errno == EEXIST ? 0 : -1;
    return is_own && is_in_shared(path) ? chmod(path, S_ISGID | for_group(mode)) : 0;
}

static int make_dirs(const char *dir, mode_t mode, bool is_own, struct err *e)
{
    AUTO_MEM char *path = mem_dup(dir);

    for (char *slash = path; slash;) {
        slash = *slash ? strchr(slash + 1, '/') : NULL;
        if (slash)
            *slash = 0;
        if (make_dir(path, mode, is_own) < 0)
            return file_error(e, "create directory", path);
        if (slash)
            *slash = '/';
    }
    return 0;
}

int file_make_dirs(const char *dir, mode_t mode, struct err *e)
{
    return make_dirs(dir, mode, false, e);
}

int file_make_own_dirs(const char *dir, struct err *e)
{
    return make_dirs(dir, S_IRWXU, true, e);
}

int file_sync_dir(const char *dir, struct err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return file_error(e, "open", dir);
    int result = fsync(fd) < 0 ? file_error(e, "sync", dir) : 0;
    close(fd);
    return result;
}

/* A tree is removed through descriptors: no path is too long, and no link is followed. What lies
 * deeper than that many descriptors is moved up to the top first. */
#define REMOVE_DEPTH 32

struct removal {
    int top_fd;
    unsigned n_moved;
    bool again;
};

/* Opens a directory, which the user's own programs may have closed to the user. */
static int open_to_empty(int at, const char *name)
{
    AUTO_FD int there = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char self[32];

    if (there < 0)
        return -1;
    snprintf(self, sizeof self, "/proc/self/fd/%d", there); /* fchmod refuses O_PATH */
    (void)chmod(self, S_IRWXU);
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void move_up(struct removal *r, int at, const char *name)
{
    char up[32];

    snprintf(up, sizeof up, ".removed-%u", r->n_moved++);
    r->again |= renameat2(at, name, r->top_fd, up, RENAME_NOREPLACE) == 0;
}

static void remove_entry(struct removal *r, int at, const char *name, int depth)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return;
    int fd = open_to_empty(at, name);
    DIR *dir = fd < 0 || depth == REMOVE_DEPTH ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        if (depth == REMOVE_DEPTH)
            move_up(r, at, name);
        return;
    }
    if (depth == 0)
        r->top_fd = fd;
    do {
        r->again = r->again && depth > 0;
        rewinddir(dir);
        for (const struct dirent *entry; (entry = readdir(dir));)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                remove_entry(r, fd, entry->d_name, depth + 1);
    } while (depth == 0 && r->again);
    closedir(dir);
    unlinkat(at, name, AT_REMOVEDIR);
}

void file_remove_tree(const char *path)
{
    struct removal r = {.top_fd = -1};

    remove_entry(&r, AT_FDCWD, path, 0);
}

void *file_map(const char *path, size_t *len_out, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        /* Callers read every byte: one fault instead of a thousand. */
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    else if (fd >= 0)
        errno = EINVAL;
    if (bytes == MAP_FAILED)
        err_set(e, errno == ENOENT || errno == ENOTDIR ? ERR_NOTFOUND : ERR_IO, "%s: %s", path,
                errno == EINVAL ? "not a regular file, or empty" : strerror(errno));
    else
        *len_out = (size_t)st.st_size;
    if (fd >= 0)
        close(fd);
    return bytes == MAP_FAILED ? NULL : bytes;
}

int file_lock(const char *path, struct err *e)
{
    int fd = file_open_own(path, O_RDWR, FILE_OWN);

    if (fd < 0)
        return file_error(e, "open", path);
    while (flock(fd, LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        file_error(e, "lock", path);
        close(fd);
        return -1;
    }
    return fd;
}

int file_walk(const char *dir,
              int depth,
              int (*each)(void *context, const char *path, struct err *e),
              void *context,
              struct err *e)
{
    struct dirent **entries;
    int n = scandir(dir, &entries, NULL, alphasort), result = 0;

    if (n < 0)
        return err_set(e, ERR_USAGE, "%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        AUTO_MEM char *path = mem_printf("%s/%s", dir, entries[i]->d_name);
        struct stat st;
        bool known = result == 0 && entries[i]->d_name[0] != '.' && stat(path, &st) == 0;
        if (known && S_ISDIR(st.st_mode) && depth > 0)
            result = file_walk(path, depth - 1, each, context, e);
        else if (known && S_ISREG(st.st_mode))
            result = each(context, path, e);
        free(entries[i]);
    }
    free(entries);
    return result;
}
