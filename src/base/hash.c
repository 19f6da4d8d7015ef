/* OpenSSL's newer interface hides the state between blocks, which is what sha256_state is for. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/hash.h"

#include "base/mem.h"
#include "base/number.h"

/* Inlined, so that the program does not load one more library at every start. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <assert.h>
#include <endian.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <nmmintrin.h>
#endif

/* ---- XXH3 ---- */

uint64_t hash_xxh3(const void *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

uint64_t hash_text(const char *s)
{
    return XXH3_64bits(s, strlen(s));
}

/* ---- SHA-256, OpenSSL's: it uses the processor's own instructions ---- */

#define STATE_WORDS 8

struct sha256 {
    SHA256_CTX context;
};

struct sha256_digest sha256_of(const void *bytes, size_t len)
{
    struct sha256_digest d;
    int good = EVP_Digest(bytes, len, d.bytes, NULL, EVP_sha256(), NULL);

    assert(good == 1);
    return d;
}

bool sha256_equal(const struct sha256_digest *a, const struct sha256_digest *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

const char *sha256_text(const struct sha256_digest *d, char out[static SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = digits[d->bytes[i] >> 4];
        out[2 * i + 1] = digits[d->bytes[i] & 15];
    }
    out[SHA256_HEX - 1] = '\0';
    return out;
}

int sha256_parse(const char *text, struct sha256_digest *out, struct err *e)
{
    if (strlen(text) != SHA256_HEX - 1)
        return err_set(e, ERR_USAGE, "\"%s\": a SHA-256 has 64 hexadecimal digits", text);
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        int high = number_hex(text[2 * i]), low = number_hex(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return err_set(e, ERR_USAGE, "\"%s\": a SHA-256 has 64 hexadecimal digits", text);
        out->bytes[i] = (unsigned char)(high << 4 | low);
    }
    return 0;
}

struct sha256 *sha256_new(void)
{
    struct sha256 *s = mem_zero(1, sizeof *s);

    SHA256_Init(&s->context);
    return s;
}

void sha256_free(struct sha256 *s)
{
    free(s);
}

void sha256_add(struct sha256 *s, const void *bytes, size_t len)
{
    SHA256_Update(&s->context, bytes, len);
}

struct sha256_digest sha256_take(struct sha256 *s)
{
    struct sha256_digest d;

    SHA256_Final(d.bytes, &s->context);
    SHA256_Init(&s->context);
    return d;
}

struct sha256_digest sha256_state(const struct sha256 *s)
{
    struct sha256_digest d;

    assert(s->context.num == 0);
    for (size_t i = 0; i < STATE_WORDS; i++)
        memcpy(d.bytes + 4 * i, &(uint32_t){htobe32(s->context.h[i])}, 4);
    return d;
}

void sha256_resume(struct sha256 *s, const struct sha256_digest *state, uint64_t bytes_before)
{
    uint64_t bits = bytes_before * 8;

    assert(bytes_before % SHA256_BLOCK == 0);
    SHA256_Init(&s->context);
    for (size_t i = 0; i < STATE_WORDS; i++) {
        uint32_t word;
        memcpy(&word, state->bytes + 4 * i, sizeof word);
        s->context.h[i] = be32toh(word);
    }
    s->context.Nl = (SHA_LONG)bits;
    s->context.Nh = (SHA_LONG)(bits >> 32);
}

/* ---- CRC-32C ---- */

#if defined __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_processor(uint32_t crc,
                                                               const unsigned char *bytes,
                                                               size_t n)
{
    uint64_t wide = crc;

    for (; n >= 8; n -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; n; n--)
        crc = _mm_crc32_u8(crc, *bytes++);
    return crc;
}
#endif

/* A nibble at a time, for processors without an instruction. */
static uint32_t by_table(uint32_t crc, const unsigned char *bytes, size_t n)
{
    /* of the reflected polynomial 0x82f63b78 */
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                       0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                       0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

uint32_t hash_crc32c(uint32_t crc, const void *bytes, size_t n)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~by_processor(~crc, bytes, n);
#endif
    return ~by_table(~crc, bytes, n);
}
