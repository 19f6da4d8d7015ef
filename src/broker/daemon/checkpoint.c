#include "broker/daemon/checkpoint.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)
#define COPY_BYTES ((size_t)1 << 30)
/* Deeper than any path that can be opened. */
#define DEPTH_MAX 2048

static char *mark_of(const char *home, int64_t id)
{
    return mem_printf("%s/" BROKER_CHECKPOINTS "/%" PRId64, home, id);
}

/* ---- keeping ---- */

void checkpoint_keep(const char *home, int64_t id)
{
    AUTO_MEM char *directory = broker_job_path(home, id, "checkpoint");
    AUTO_MEM char *all = broker_path(home, BROKER_CHECKPOINTS);
    AUTO_MEM char *mark = mark_of(home, id);

    /* Nothing was saved in it. */
    if (rmdir(directory) == 0 || errno == ENOENT)
        return;
    int fd =
        file_make_dirs(all, 0700, NULL) < 0 ? -1 : open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

void checkpoint_drop(const char *home, int64_t id)
{
    AUTO_MEM char *directory = broker_job_path(home, id, "checkpoint");
    AUTO_MEM char *mark = mark_of(home, id);

    file_remove_tree(directory);
    unlink(mark);
}

void checkpoint_expire(const char *home, int64_t now_ms)
{
    AUTO_MEM char *all = broker_path(home, BROKER_CHECKPOINTS);
    DIR *d = opendir(all);

    if (!d)
        return;
    for (const struct dirent *entry; (entry = readdir(d));) {
        struct stat st;
        int64_t id = strtoll(entry->d_name, NULL, 10);
        if (id > 0 && fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            now_ms - (int64_t)st.st_mtim.tv_sec * 1000 > CHECKPOINT_DAYS * DAY_MS)
            checkpoint_drop(home, id);
    }
    closedir(d);
}

bool checkpoint_is_there(const char *home, int64_t id)
{
    AUTO_MEM char *directory = broker_job_path(home, id, "checkpoint");
    DIR *d = opendir(directory);
    bool there = false;

    if (!d)
        return false;
    for (const struct dirent *entry; !there && (entry = readdir(d));)
        there = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(d);
    return there;
}

/* ---- copying ---- */

static int copy_bytes(int from, int to)
{
    ssize_t n;

    while ((n = sendfile(to, from, NULL, COPY_BYTES)) > 0 || (n < 0 && errno == EINTR))
        continue;
    return n < 0 ? -1 : 0;
}

static int copy_file(int from_dir, int to_dir, const char *name, const struct stat *st)
{
    int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int to = from < 0 ? -1
                      : openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                               (st->st_mode & 0777) | S_IRUSR | S_IWUSR);
    int result = to < 0 ? -1 : copy_bytes(from, to);

    if (from >= 0)
        close(from);
    /* What a full disk or a quota refuses may be told only now. */
    if (to >= 0 && close(to) < 0)
        result = -1;
    return result;
}

static int copy_link(int from_dir, int to_dir, const char *name)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(from_dir, name, target, sizeof target - 1);

    if (n < 0)
        return -1;
    target[n] = '\0';
    return symlinkat(target, to_dir, name);
}

static int copy_tree(int from_dir, int to_dir, size_t depth);

static int copy_directory(int from_dir, int to_dir, const char *name, size_t depth)
{
    int from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int to = -1;

    if (from >= 0 && mkdirat(to_dir, name, 0700) == 0)
        to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int result = to < 0 ? -1 : copy_tree(from, to, depth + 1);
    if (to >= 0)
        close(to);
    else if (from >= 0)
        close(from);
    return result;
}

static int copy_entry(int from_dir, int to_dir, const char *name, size_t depth)
{
    struct stat st;

    if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (S_ISREG(st.st_mode))
        return copy_file(from_dir, to_dir, name, &st);
    if (S_ISLNK(st.st_mode))
        return copy_link(from_dir, to_dir, name);
    return S_ISDIR(st.st_mode) ? copy_directory(from_dir, to_dir, name, depth) : 0;
}

/* Takes from_dir over. -1 with errno. */
static int copy_tree(int from_dir, int to_dir, size_t depth)
{
    DIR *d = fdopendir(from_dir);
    int result = 0;

    if (!d) {
        close(from_dir);
        return -1;
    }
    if (depth > DEPTH_MAX) {
        errno = ENAMETOOLONG;
        result = -1;
    }
    for (const struct dirent *entry; result == 0 && (entry = readdir(d));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = copy_entry(from_dir, to_dir, entry->d_name, depth);
    int why = errno;
    closedir(d);
    errno = why;
    return result;
}

int checkpoint_fill(const char *home, int64_t id, const char *directory, struct err *e)
{
    AUTO_MEM char *from = broker_job_path(home, id, "checkpoint");
    int source = open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (source < 0 && errno == ENOENT)
        return 0;
    if (source < 0)
        return file_error(e, "read", from);
    if (file_make_dirs(directory, 0700, e) < 0) {
        close(source);
        return -1;
    }
    int to = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0) {
        close(source);
        return file_error(e, "open", directory);
    }
    int result = copy_tree(source, to, 0) < 0 ? file_error(e, "copy the checkpoint", from) : 0;
    close(to);
    return result;
}
