/* hash: SHA-256, the digest that names content, XXH3 for checksums against damage and keys of maps,
 * and the checksum of Google's objects and TensorFlow's records. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* XXH3, 64 bits: fast enough to run over a whole snapshot at every start. Not for security. */
uint64_t hash_xxh3(const void *bytes, size_t len);
/* The same of a text without its NUL. */
uint64_t hash_text(const char *s);

/* CRC-32C (Castagnoli) of what came before, whose checksum is crc, and these bytes; 0 = nothing
 * came before. */
uint32_t hash_crc32c(uint32_t crc, const void *bytes, size_t n);

#define SHA256_BYTES 32
#define SHA256_HEX (2 * SHA256_BYTES + 1)

struct sha256_digest {
    unsigned char bytes[SHA256_BYTES];
};

struct sha256_digest sha256_of(const void *bytes, size_t len);
bool sha256_equal(const struct sha256_digest *a, const struct sha256_digest *b);

/* Lower-case hexadecimal, written into out and returned. */
const char *sha256_text(const struct sha256_digest *d, char out[static SHA256_HEX]);
/* ERR_USAGE that quotes the text when it is not 64 hexadecimal digits. */
int sha256_parse(const char *text, struct sha256_digest *out, struct err *e);

/* A digest built up piece by piece. */
struct sha256;

struct sha256 *sha256_new(void);
void sha256_free(struct sha256 *s);
AUTO_DEFINE(sha256)
void sha256_add(struct sha256 *s, const void *bytes, size_t len);
/* The digest of everything added; s begins anew. */
struct sha256_digest sha256_take(struct sha256 *s);

/* The state after a whole number of blocks, and going on from such a state with the bytes that
 * follow: a long content is hashed once, and any stretch of it between two states that were kept
 * can be checked alone. What has the same state at its end is the same, as with digests. */
#define SHA256_BLOCK 64
struct sha256_digest sha256_state(const struct sha256 *s);
void sha256_resume(struct sha256 *s, const struct sha256_digest *state, uint64_t bytes_before);

#endif
