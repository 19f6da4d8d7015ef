/* Lists, removes and links the files of a directory store. The driver `dir` lists the functions. */
#include "base/file.h"
#include "base/mem.h"
#include "store/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct listing {
    struct store *store;
    store_visit_blob *visit;
    store_visit_project *visit_project;
    void *context;
    bool unfinished; /* what the present directory holds */
};

static int list_entry(const struct listing *l, int dir, const char *name, struct err *e)
{
    struct stat st;

    /* Gone since readdir, or not ours. */
    if (!store_name_good(name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISREG(st.st_mode))
        return 0;
    struct store_blob blob = {.name = name,
                              .size = (uint64_t)st.st_size,
                              .session = store_name_session(name),
                              .unfinished = l->unfinished};
    return l->visit(l->context, &blob, e);
}

/* With each entry's name; a directory that is not there is empty. */
static int each_entry(const struct listing *l,
                      const char *path,
                      int (*act)(const struct listing *l, int dir, const char *name, struct err *e),
                      struct err *e)
{
    if (store_allow(l->store, "list", path, e) < 0)
        return -1;
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : file_error(e, "open", path);
    int result = 0;
    struct dirent *entry;
    while (result == 0 && (errno = 0, entry = readdir(dir)))
        result = act(l, dirfd(dir), entry->d_name, e);
    if (result == 0 && errno)
        result = file_error(e, "list", path);
    closedir(dir);
    return result;
}

static int list_large(struct listing *l, const char *project, struct err *e)
{
    /* At most these: names are told by the first two digits of a digest. */
    for (unsigned i = 0; i < 256; i++) {
        AUTO_MEM char *fan = mem_printf("large/%02x", i);
        AUTO_MEM char *path = dir_path(l->store, project, fan, NULL);
        if (each_entry(l, path, list_entry, e) < 0)
            return -1;
    }
    return 0;
}

static int list_project(const struct listing *l, int dir, const char *name, struct err *e)
{
    struct stat st;

    if (store_check_project(name, NULL) < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISDIR(st.st_mode))
        return 0;
    return l->visit_project(l->context, name, e);
}

int dir_projects(struct store *s, store_visit_project *visit, void *context, struct err *e)
{
    const struct listing l = {.store = s, .visit_project = visit, .context = context};

    return each_entry(&l, dir_of(s)->root, list_project, e);
}

int dir_list(
    struct store *s, const char *project, store_visit_blob *visit, void *context, struct err *e)
{
    struct listing l = {.store = s, .visit = visit, .context = context};
    AUTO_MEM char *packs = dir_path(s, project, "packs", NULL);
    AUTO_MEM char *tmp = dir_path(s, project, "tmp", NULL);

    if (each_entry(&l, packs, list_entry, e) < 0 || list_large(&l, project, e) < 0)
        return -1;
    l.unfinished = true;
    return each_entry(&l, tmp, list_entry, e);
}

static int unlink_locked(struct store *s, const char *path, struct err *e)
{
    if (store_allow(s, "delete", path, e) < 0)
        return -1;
    if (unlink(path) < 0 && errno != ENOENT)
        return file_error(e, "delete", path);
    dir_cache_forget(dir_of(s)->cache, path);
    return 0;
}

int dir_remove(struct store *s,
               const char *project,
               const struct store_blob *blob,
               bool (*still)(void *context, const char *blob_name),
               void *context,
               struct err *e)
{
    AUTO_MEM char *path = blob->unfinished ? dir_path(s, project, "tmp", blob->name)
                                           : dir_blob_path(s, project, blob->name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : file_error(e, "open", path);
    int result = dir_lock(fd, path, e);
    if (result > 0)
        result = still(context, blob->name) ? unlink_locked(s, path, e) : 0;
    else if (result == 0 && access(path, F_OK) == 0)
        result = err_set(e, ERR_RETRY, "%s is being written to", path);
    close(fd);
    return result;
}

/* A new file at path that shares the blob's blocks. */
static bool reflink(int blob, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return false;
    bool good = ioctl(fd, FICLONE, blob) == 0;
    close(fd);
    if (!good)
        unlink(path);
    return good;
}

bool dir_link(struct store *s,
              const char *project,
              const struct store_content *content,
              const char *path,
              bool hard)
{
    AUTO_MEM char *from = dir_blob_path(s, project, content->place.blob);
    struct stat st;

    if (store_allow(s, "link", path, NULL) < 0)
        return false;
    int blob = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (blob < 0)
        return false;
    /* A pack is not handed out: it grows, and it has headers. */
    bool whole = strncmp(content->place.blob, "p-", 2) != 0 && content->place.offset == 0 &&
                 fstat(blob, &st) == 0 && (uint64_t)st.st_size == content->place.size;
    bool linked = whole && (reflink(blob, path) || (hard && link(from, path) == 0));
    close(blob);
    return linked;
}
