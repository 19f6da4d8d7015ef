/* verify: pieces of content against their digests. Internal to src/store. */
#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include "store/driver.h"

/* How content falls into pieces that have a digest: its parts, or itself. */
size_t verify_pieces(const struct store_content *c);
/* Piece i covers n bytes from offset of the content. */
void verify_bounds(const struct store_content *c, size_t i, uint64_t *offset_out, uint64_t *n_out);

/* Takes in the bytes of piece i, with sha256_add. */
struct sha256 *verify_begin(const struct store_content *c, size_t i);
/* ERR_IO "damaged" that names the blob and the offset when they are not what was stored. */
int verify_end(const char *project,
               const struct store_content *c,
               size_t i,
               struct sha256 *sha,
               struct err *e);
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
