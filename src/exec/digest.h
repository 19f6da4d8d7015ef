/* digest: SHA-256 for the agent, which runs on machines without OpenSSL. All other code uses
 * base/hash. */
#ifndef EXEC_DIGEST_H
#define EXEC_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_BLOCK 64
#define DIGEST_TEXT 65 /* 64 hexadecimal digits and NUL */

struct digest {
    uint32_t state[8];
    uint64_t n_bytes;
    bool fast; /* by the processor's own instructions; without them when cleared after the begin */
    unsigned char block[DIGEST_BLOCK]; /* what does not fill one yet */
};

void digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t n);
/* Of everything added, in lower case; returns out. Nothing can be added after it. */
const char *digest_end(struct digest *d, char out[static DIGEST_TEXT]);

#endif
