/* Keeps files of a directory store open for readers. dir.c calls it. */
#include "base/file.h"
#include "base/mem.h"
#include "store/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT_MAX 64

struct kept {
    char *path; /* NULL: free, or forgotten and only open for its users */
    int fd;     /* -1: free */
    unsigned users;
    uint64_t used_at;
};

struct dir_cache {
    pthread_mutex_t lock; /* guards what follows */
    struct kept kept[KEPT_MAX];
    uint64_t now; /* counts openings */
};

struct dir_cache *dir_cache_new(void)
{
    struct dir_cache *c = mem_zero(1, sizeof *c);

    pthread_mutex_init(&c->lock, NULL);
    for (size_t i = 0; i < KEPT_MAX; i++)
        c->kept[i].fd = -1;
    return c;
}

static void drop(struct kept *k)
{
    if (k->fd >= 0)
        close(k->fd);
    free(k->path);
    *k = (struct kept){.fd = -1};
}

void dir_cache_free(struct dir_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < KEPT_MAX; i++)
        drop(&c->kept[i]);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static struct kept *find(struct dir_cache *c, const char *path)
{
    for (size_t i = 0; i < KEPT_MAX; i++)
        if (c->kept[i].path && !strcmp(c->kept[i].path, path))
            return &c->kept[i];
    return NULL;
}

/* A free entry, else the one unused for longest; NULL when all are in use. */
static struct kept *replaceable(struct dir_cache *c)
{
    struct kept *oldest = NULL;

    for (size_t i = 0; i < KEPT_MAX; i++) {
        struct kept *k = &c->kept[i];
        if (k->fd < 0)
            return k;
        if (k->users == 0 && (!oldest || k->used_at < oldest->used_at))
            oldest = k;
    }
    return oldest;
}

static bool use(struct dir_cache *c, struct kept *k, struct dir_open *out)
{
    if (!k)
        return false;
    k->users++;
    k->used_at = ++c->now;
    *out = (struct dir_open){.fd = k->fd, .slot = (int)(k - c->kept)};
    return true;
}

static int open_error(const char *path, struct err *e)
{
    if (errno == ENOENT || errno == ENOTDIR)
        return err_set(e, ERR_NOTFOUND, "blob %s is gone", path);
    /* These say nothing about the blob, and pass. */
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        return err_set(e, ERR_RETRY, "open %s: %s", path, strerror(errno));
    return file_error(e, "open", path);
}

int dir_cache_open(struct dir_cache *c, const char *path, struct dir_open *out, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    bool found = use(c, find(c, path), out);
    pthread_mutex_unlock(&c->lock);
    if (found)
        return 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return open_error(path, e);
    *out = (struct dir_open){.fd = fd, .slot = -1};
    pthread_mutex_lock(&c->lock);
    struct kept *k = find(c, path);
    if (k) {
        close(fd); /* another thread was faster */
    } else if ((k = replaceable(c))) {
        drop(k);
        k->fd = fd;
        k->path = mem_dup(path);
    }
    use(c, k, out);
    pthread_mutex_unlock(&c->lock);
    return 0;
}

void dir_cache_release(struct dir_cache *c, const struct dir_open *o)
{
    if (o->slot < 0) {
        close(o->fd);
        return;
    }
    pthread_mutex_lock(&c->lock);
    struct kept *k = &c->kept[o->slot];
    if (--k->users == 0 && !k->path)
        drop(k);
    pthread_mutex_unlock(&c->lock);
}

void dir_cache_forget(struct dir_cache *c, const char *path)
{
    pthread_mutex_lock(&c->lock);
    struct kept *k = find(c, path);
    if (k && k->users == 0) {
        drop(k);
    } else if (k) {
        free(k->path);
        k->path = NULL;
    }
    pthread_mutex_unlock(&c->lock);
}
