/* cachedir: a bounded directory of files named by the SHA-256 of their content, DIR/xx/SHA256. The
 * cache holds at most max_bytes and a quarter of the disk's free space; the least recently used
 * files go first. It may be removed at any time, and several processes may use it at once. Not for
 * several threads. */
#ifndef BASE_CACHEDIR_H
#define BASE_CACHEDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define CACHEDIR_NAME 65 /* 64 hexadecimal digits in lower case and NUL */

struct cachedir_entry;

struct cachedir {
    char *dir; /* NULL: there is none, nothing is found and nothing kept */
    uint64_t max_bytes;
    struct timespec since; /* what was used since then stays; 0 = nothing must */
    int lock_fd;           /* -1 = without a lock */
    /* What there is, least recently used first; looked up when room is needed. */
    struct cachedir_entry *entries;
    size_t n_entries, cap_entries, n_gone;
    uint64_t bytes, bound;
    double counted_s; /* when, by time_monotonic_s; 0 = not yet */
};

/* Without make, only one that is there. With lock, DIR/lock is held shared until cachedir_clear: as
 * long as another holds it, nothing is removed. */
void cachedir_open(struct cachedir *c, const char *dir, uint64_t max_bytes, bool make, bool lock);
void cachedir_clear(struct cachedir *c);

bool cachedir_good_name(const char *name);
/* Where it is or would be; the caller frees it. */
char *cachedir_path(const struct cachedir *c, const char *name);
/* Whether it is there; then it was used now. */
bool cachedir_touch(const struct cachedir *c, const char *name);

/* Makes room for this number of bytes; false when there is none. */
bool cachedir_room(struct cachedir *c, uint64_t size);
/* An empty file to write and to read, which is given up when it is not finished within the hour; -1
 * without one. The caller frees *path_out. */
int cachedir_begin(struct cachedir *c, char **path_out);
/* Gives a file on the same file system, which is complete, its name. */
bool cachedir_finish(struct cachedir *c, const char *path, const char *name, uint64_t size);
/* The disk is full: removes all that need not stay. */
void cachedir_empty(struct cachedir *c);
/* Bytes of all files. */
uint64_t cachedir_size(struct cachedir *c);

#endif
