/* cache: large files that were or will be parts of jobs on this machine, once each, named by their
 * content: ROOT/cache/xx/SHA256 of a root with jobs. Jobs get copies, so that none can change what
 * another gets. It may be removed at any time.
 *
 * Bounded: by the bytes ROOT/cache/limit says (CACHE_BYTES_MAX without it, 0 = keep nothing), and
 * by a quarter of what the disk would have free without it; the least recently used go first.
 * A user of the cache holds its lock shared, a process that removes something holds it alone. */
#ifndef EXEC_AGENT_CACHE_H
#define EXEC_AGENT_CACHE_H

#include "base/cachedir.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CACHE_BYTES_MAX ((uint64_t)10 << 30)

struct cache {
    struct cachedir files;
    time_t mark; /* of files known to hold what their names say; 0 = none is */
};

/* The cache of root; without make, only one that is there already. Never fails: without a cache
 * everything is missing and nothing is kept. */
void cache_open(struct cache *c, const char *root, bool make);
void cache_clear(struct cache *c);

/* Writes the content of this name and size to an empty file. 1: done; 0: it is not there; -1: the
 * file could not be written; on a full disk the cache has made room then. */
int cache_get(struct cache *c, const char *name, uint64_t size, int to_fd, struct err *e);
bool cache_has(const struct cache *c, const char *name);
/* Keeps a copy of the file, if it has this content and there is room. */
void cache_keep_copy(struct cache *c, const char *name, uint64_t size, const char *path);
/* Moves the file here, whatever it holds, if that is read before the clock (time_monotonic_s) shows
 * until_s and there is room. No process may have the file open. */
void cache_keep_move(struct cache *c, const char *path, uint64_t size, double until_s);

#endif
