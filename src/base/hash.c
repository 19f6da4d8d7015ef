#include "base/hash.h"

/* Inlined, so that the program does not load one more library at every start. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

uint64_t hash_xxh3(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

uint64_t hash_text(const char *s)
{
    return XXH3_64bits(s, strlen(s));
}
