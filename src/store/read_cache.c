/* The cache of contents that driver.h declares. */
#include "base/cachedir.h"
#include "base/file.h"
#include "base/mem.h"
#include "store/driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct read_cache {
    pthread_mutex_t lock; /* guards files */
    struct cachedir files;
    char *dir;
};

struct read_cache *read_cache_new(const struct store_settings *settings)
{
    if (!settings->cache || !settings->cache_bytes)
        return NULL;
    struct read_cache *c = mem_zero(1, sizeof *c);
    c->dir = mem_dup(settings->cache);
    pthread_mutex_init(&c->lock, NULL);
    cachedir_open(&c->files, c->dir, settings->cache_bytes, false, false);
    return c;
}

void read_cache_free(struct read_cache *c)
{
    if (!c)
        return;
    cachedir_clear(&c->files);
    pthread_mutex_destroy(&c->lock);
    free(c->dir);
    free(c);
}

/* It may have been made, or removed, since the last look. */
static bool is_there(struct read_cache *c, bool make)
{
    uint64_t max_bytes = c->files.max_bytes;

    if (c->files.dir && access(c->dir, W_OK) == 0)
        return true;
    cachedir_clear(&c->files);
    cachedir_open(&c->files, c->dir, max_bytes, make, false);
    return c->files.dir;
}

int read_cache_open(struct read_cache *c, const struct store_content *content)
{
    char name[SHA256_HEX];
    struct stat st;

    if (!c || content->place.size < READ_CACHE_MIN)
        return -1;
    sha256_text(&content->digest, name);
    pthread_mutex_lock(&c->lock);
    bool found = is_there(c, false) && cachedir_touch(&c->files, name);
    AUTO_MEM char *path = found ? cachedir_path(&c->files, name) : NULL;
    pthread_mutex_unlock(&c->lock);
    int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == content->place.size)
        return fd;
    close(fd);
    read_cache_drop(c, content);
    return -1;
}

void read_cache_drop(struct read_cache *c, const struct store_content *content)
{
    char name[SHA256_HEX];

    pthread_mutex_lock(&c->lock);
    AUTO_MEM char *path = cachedir_path(&c->files, sha256_text(&content->digest, name));
    if (c->files.dir)
        (void)unlink(path);
    pthread_mutex_unlock(&c->lock);
}

static void keep(struct read_cache *c,
                 const struct store_content *content,
                 const void *bytes,
                 int from_fd)
{
    char name[SHA256_HEX];
    uint64_t size = content->place.size;
    AUTO_MEM char *fresh = NULL;

    if (!is_there(c, true) || cachedir_touch(&c->files, sha256_text(&content->digest, name)) ||
        !cachedir_room(&c->files, size))
        return;
    int fd = cachedir_begin(&c->files, &fresh);
    if (fd < 0)
        return;
    bool whole =
        bytes ? file_write_all(fd, bytes, (size_t)size) == 0 : file_copy(from_fd, fd, size) == 0;
    close(fd);
    if (!whole || !cachedir_finish(&c->files, fresh, name, size))
        (void)unlink(fresh);
}

void read_cache_keep(struct read_cache *c,
                     const struct store_content *content,
                     const void *bytes,
                     int fd)
{
    if (!c || content->place.size < READ_CACHE_MIN)
        return;
    pthread_mutex_lock(&c->lock);
    keep(c, content, bytes, fd);
    pthread_mutex_unlock(&c->lock);
}
