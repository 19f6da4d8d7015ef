#include "broker/core/staging.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often a directory may be taken for a leftover between its making and its locking. */
#define ATTEMPTS 10

/* The lock of a directory; -1 when another process has the lock, or the directory is gone. */
static int try_lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat there, ours;

    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 && stat(path, &there) == 0 &&
        there.st_ino == ours.st_ino)
        return fd;
    close(fd);
    return -1;
}

static void remove_leftovers(const char *all)
{
    DIR *d = opendir(all);

    if (!d)
        return;
    for (const struct dirent *entry; (entry = readdir(d));) {
        if (entry->d_name[0] == '.')
            continue;
        AUTO_MEM char *path = mem_printf("%s/%s", all, entry->d_name);
        int lock = try_lock(path);
        if (lock < 0)
            continue;
        file_remove_tree(path);
        close(lock);
    }
    closedir(d);
}

int staging_open(const char *home, struct staging *out, struct err *e)
{
    AUTO_MEM char *all = mem_printf("%s/staging", home);

    *out = (struct staging){.lock = -1};
    if (file_make_dirs(all, 0700, e) < 0)
        return -1;
    remove_leftovers(all);
    for (int i = 0; i < ATTEMPTS && out->lock < 0; i++) {
        free(out->path);
        out->path = mem_printf("%s/XXXXXX", all);
        if (!mkdtemp(out->path)) {
            int failed = file_error(e, "make a directory in", all);
            free(TAKE(out->path));
            return failed;
        }
        out->lock = try_lock(out->path);
    }
    if (out->lock < 0) {
        free(TAKE(out->path));
        return err_set(e, ERR_RETRY, "%s: other processes keep removing new directories; try again",
                       all);
    }
    return 0;
}

void staging_clear(struct staging *s)
{
    if (s->path)
        file_remove_tree(s->path);
    if (s->lock >= 0)
        close(s->lock);
    free(s->path);
    *s = (struct staging){.lock = -1};
}
