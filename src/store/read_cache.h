/* read_cache: contents read from a remote store or written by a local job, cached in a local
 * directory (base/cachedir.h) for later reads. Every read is verified as if it came from the store.
 * Internal to src/store; for several threads. */
#ifndef STORE_READ_CACHE_H
#define STORE_READ_CACHE_H

#include "store/driver.h"

/* Smaller ones lie beside each other in packs and come many at a time. */
#define READ_CACHE_MIN ((uint64_t)64 << 10)

/* NULL when the settings ask for none. */
struct read_cache *read_cache_new(const struct store_settings *settings);
void read_cache_free(struct read_cache *c);

/* All calls: c may be NULL, nothing is kept then; failures are silent, for the store has it all. */

/* The file with this content, of the right length but not verified; -1 when there is none. */
int read_cache_open(struct read_cache *c, const struct store_content *content);
/* It turned out to hold something else. */
void read_cache_drop(struct read_cache *c, const struct store_content *content);
/* A regular file holds this content from its beginning; or these bytes are it. */
void read_cache_keep_file(struct read_cache *c, const struct store_content *content, int fd);
void read_cache_keep(struct read_cache *c, const struct store_content *content, const void *bytes);

#endif
