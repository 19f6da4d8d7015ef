#include "net/base64.h"

#include "base/mem.h"

#include <assert.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_encode(const void *bytes, size_t n)
{
    assert(n < INT_MAX / 2);
    char *text = mem_zero((n + 2) / 3 * 4 + 1, 1);
    EVP_EncodeBlock((unsigned char *)text, bytes, (int)n);
    return text;
}

char *base64_url_encode(const void *bytes, size_t n)
{
    char *text = base64_encode(bytes, n);

    for (char *c = text; *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c == '=' ? '\0' : *c;
    return text;
}

unsigned char *base64_decode(const char *text, size_t *n_out)
{
    size_t len = strlen(text), digits = strspn(text, alphabet), padding = len - digits;

    if (len % 4 || len > INT_MAX / 2 || padding > 2 || strspn(text + digits, "=") != padding)
        return NULL;
    unsigned char *bytes = mem_zero(len / 4 * 3 + 1, 1);
    if (EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)len) < 0) {
        free(bytes);
        return NULL;
    }
    *n_out = len / 4 * 3 - padding;
    bytes[*n_out] = '\0';
    return bytes;
}
