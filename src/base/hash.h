/* hash: checksums against damage and keys of in-memory tables (XXH3). Not for security. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH3, 64 bits: fast enough to run over a whole snapshot at every start. */
uint64_t hash_xxh3(const void *bytes, size_t len);
/* A case-sensitive text hash for in-memory tables. */
uint64_t hash_text(const char *s);

#endif
