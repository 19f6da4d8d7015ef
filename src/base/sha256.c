#include "base/sha256.h"

#include "base/mem.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

struct sha256 {
    EVP_MD_CTX *context;
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

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int sha256_parse(const char *text, struct sha256_digest *out, struct err *e)
{
    if (strlen(text) != SHA256_HEX - 1)
        return err_set(e, ERR_USAGE, "\"%s\": a SHA-256 has 64 hexadecimal digits", text);
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return err_set(e, ERR_USAGE, "\"%s\": a SHA-256 has 64 hexadecimal digits", text);
        out->bytes[i] = (unsigned char)(high << 4 | low);
    }
    return 0;
}

static void begin(struct sha256 *s)
{
    int good = EVP_DigestInit_ex(s->context, EVP_sha256(), NULL);

    assert(good == 1);
}

struct sha256 *sha256_new(void)
{
    struct sha256 *s = mem_zero(1, sizeof *s);

    s->context = EVP_MD_CTX_new();
    assert(s->context);
    begin(s);
    return s;
}

void sha256_free(struct sha256 *s)
{
    if (!s)
        return;
    EVP_MD_CTX_free(s->context);
    free(s);
}

void sha256_add(struct sha256 *s, const void *bytes, size_t len)
{
    int good = EVP_DigestUpdate(s->context, bytes, len);

    assert(good == 1);
}

struct sha256_digest sha256_take(struct sha256 *s)
{
    struct sha256_digest d;
    int good = EVP_DigestFinal_ex(s->context, d.bytes, NULL);

    assert(good == 1);
    begin(s);
    return d;
}
