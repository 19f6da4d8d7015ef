/* dir: a store in a directory. Internal to src/store/dir*.c.
 *
 *     ROOT/<project>/packs/<name>        small contents, appended by one writer at a time
 *     ROOT/<project>/large/<aa>/<name>   one content each, mode 0444; aa = first digits of digest
 *     ROOT/<project>/tmp/<name>          large contents on their way
 *
 * A writer holds flock on every pack it appends to and on every large file in tmp; who finds a file
 * unlocked may remove it, while holding its lock. Who locks a file looks whether it is still
 * linked. */
#ifndef STORE_DIR_H
#define STORE_DIR_H

#include "store/driver.h"

#include <limits.h>
#include <pthread.h>
#include <sys/types.h>

struct dir_cache;
struct dir_packs;
struct dir_larges;

struct dir {
    char *root;
    struct dir_cache *cache;
};

/* One session's writing. */
struct dir_writer {
    struct dir_packs *packs;
    struct dir_larges *larges;
    pthread_mutex_t lock; /* one flush at a time; guards what follows */
    bool dirs_synced;
    struct err why; /* the flush that failed: no other will succeed */
};

const struct dir *dir_of(const struct store *s);

/* ROOT/project/sub[/name] into a new string. */
char *dir_path(const struct store *s, const char *project, const char *sub, const char *name);
/* Where a blob of this name lies. */
char *dir_blob_path(const struct store *s, const char *project, const char *name);
/* The two digits a large blob's directory is called by; "xx" for names without a digest. */
void dir_fan(const char *name, char out[static 3]);

/* 1: locked and still at path. 0: another holds it, or it was removed meanwhile. -1: error. */
int dir_lock(int fd, const char *path, struct err *e);
/* A file that is being written. */
struct dir_file {
    char *path;
    int fd; /* locked; -1: none */
};
void dir_file_clear(struct dir_file *f);
/* A new file of this mode, DIR/FRONT<random>, locked before another can take it for a leftover. */
int dir_create(const struct store *s,
               const char *dir,
               const char *front,
               mode_t mode,
               struct dir_file *out,
               struct err *e);
/* All n bytes at offset. */
int dir_pwrite(const struct store *s,
               const struct dir_file *f,
               uint64_t offset,
               const void *bytes,
               size_t n,
               struct err *e);
int dir_fdatasync(const struct store *s, const struct dir_file *f, struct err *e);
int dir_sync_dir(const struct store *s, const char *path, struct err *e);

/* ---- dir_cache.c: files open for reading, at most 64 beside those in use ---- */

struct dir_cache *dir_cache_new(void);
void dir_cache_free(struct dir_cache *c);
/* A descriptor to pread from; ERR_NOTFOUND when there is no such file. Give it back with
 * dir_cache_release, whatever slot it names. */
struct dir_open {
    int fd;
    int slot; /* -1: not kept */
};
int dir_cache_open(struct dir_cache *c, const char *path, struct dir_open *out, struct err *e);
void dir_cache_release(struct dir_cache *c, const struct dir_open *o);
/* The file was removed: the next who asks for it is to find out. */
void dir_cache_forget(struct dir_cache *c, const char *path);

/* ---- writing: dir_packs.c and dir_large.c ---- */

struct dir_packs *dir_packs_new(const struct store_writer *w);
void dir_packs_free(struct dir_packs *p);
int dir_packs_flush(struct dir_packs *p, struct err *e);

struct dir_larges *dir_larges_new(const struct store_writer *w);
void dir_larges_free(struct dir_larges *l);
int dir_larges_flush(struct dir_larges *l, struct err *e);

/* ---- entries of the driver's table ---- */

__typeof__(store_write_small) dir_write_small;
__typeof__(store_write_large) dir_write_large;
__typeof__(store_projects) dir_projects;
__typeof__(store_list) dir_list;
__typeof__(store_delete) dir_remove;
__typeof__(store_link) dir_link;
__typeof__(store_keyed_list) dir_keyed_list;
__typeof__(store_keyed_put) dir_keyed_put;
__typeof__(store_keyed_get) dir_keyed_get;
__typeof__(store_keyed_delete) dir_keyed_delete;

#endif
