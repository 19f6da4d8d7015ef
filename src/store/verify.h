/* verify: pieces of content against their digests. Internal to src/store. */
#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include "store/driver.h"

/* The same for a piece that is in memory. */
int verify_piece(const char *project,
                 const struct store_content *c,
                 size_t i,
                 const void *bytes,
                 size_t n,
                 struct err *e);

/* The error speaks of some bytes of a blob, not of the store as a whole. */
bool verify_is_damage(const struct err *e);
/* Threads that read from this store at once. */
unsigned verify_threads(const struct store *s);

#endif
