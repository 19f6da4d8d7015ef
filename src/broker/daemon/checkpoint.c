#include "broker/daemon/checkpoint.h"

#include "base/auto.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/core/home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)

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
    AUTO_FD int fd =
        file_make_dirs(all, 0700, NULL) < 0 ? -1 : open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    (void)fd;
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

static int copy_file(const char *from, const char *to, const struct stat *st)
{
    AUTO_FD int source = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int target = source < 0 ? -1
                            : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                   (st->st_mode & 0777) | S_IRUSR | S_IWUSR);
    int result = target < 0 ? -1 : file_copy(source, target, (uint64_t)st->st_size);

    /* A full disk or a quota may be reported by close alone. */
    return target >= 0 && close(target) < 0 ? -1 : result;
}

static int copy_link(const char *from, const char *to)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof target - 1);

    if (n < 0)
        return -1;
    target[n] = '\0';
    return symlink(target, to);
}

/* -1 with errno. Anything but files, directories and links is left out. */
static int copy_entry(const FTSENT *f, const char *to)
{
    switch (f->fts_info) {
    case FTS_D:
        return f->fts_level == FTS_ROOTLEVEL ? 0 : mkdir(to, 0700);
    case FTS_F:
        return copy_file(f->fts_path, to, f->fts_statp);
    case FTS_SL:
    case FTS_SLNONE:
        return copy_link(f->fts_path, to);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        errno = f->fts_errno;
        return -1;
    default:
        return 0;
    }
}

int checkpoint_fill(const char *home, int64_t id, const char *directory, struct err *e)
{
    AUTO_MEM char *from = broker_job_path(home, id, "checkpoint");
    char *const roots[] = {from, NULL};
    int result = 0;

    if (access(from, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (file_make_dirs(directory, 0700, e) < 0)
        return -1;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (const FTSENT *f; result == 0 && tree && (f = fts_read(tree));) {
        AUTO_MEM char *to = mem_printf("%s%s", directory, f->fts_path + strlen(from));
        result = copy_entry(f, to);
    }
    if (!tree || result < 0)
        result = file_error(e, "copy the checkpoint", from);
    if (tree)
        fts_close(tree);
    return result;
}
