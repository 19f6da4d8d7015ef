/* Names of blobs, packs and upload targets: made and checked here for all drivers. */
#include "store/driver.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define DIGEST_DIGITS 12

uint64_t store_random(const struct store *s)
{
    uint64_t random = 0;
    ssize_t n;

    do
        n = getrandom(&random, sizeof random, 0);
    while (n < 0 && errno == EINTR);
    assert(n == sizeof random);
    return random ^ s->settings.seed;
}

void store_name_large(const struct store *s,
                      int64_t session,
                      const struct sha256_digest *digest,
                      char out[static STORE_BLOB_NAME])
{
    char hex[SHA256_HEX];

    snprintf(out, STORE_BLOB_NAME, "%" PRId64 "-%.*s-%016" PRIx64, session, DIGEST_DIGITS,
             sha256_text(digest, hex), store_random(s));
}

void store_name_pack(const struct store *s, int64_t session, char out[static STORE_BLOB_NAME])
{
    if (session)
        snprintf(out, STORE_BLOB_NAME, "%" PRId64 "-p-%016" PRIx64, session, store_random(s));
    else
        snprintf(out, STORE_BLOB_NAME, "p-%016" PRIx64, store_random(s));
}

void store_target_name(int64_t session, uint64_t n, char out[static STORE_BLOB_NAME])
{
    snprintf(out, STORE_BLOB_NAME, "%" PRId64 "-t-%" PRIu64, session, n);
}

int64_t store_name_session(const char *name)
{
    int64_t session = 0;
    const char *c = name;

    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(session, 10, &session) ||
            __builtin_add_overflow(session, *c - '0', &session))
            return 0;
    return c > name && *c == '-' ? session : 0;
}

/* Letters, digits, '.', '_' and '-', no dot first: safe in a path and in a URL. */
static bool plain(const char *text, size_t max)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    return n > 0 && n < max && text[n] == '\0' && text[0] != '.';
}

bool store_name_good(const char *name)
{
    return plain(name, STORE_BLOB_NAME);
}

int store_check_name(const char *name, struct err *e)
{
    if (store_name_good(name))
        return 0;
    return err_set(e, ERR_USAGE, "\"%.100s\" cannot be the name of a blob", name);
}

int store_check_project(const char *project, struct err *e)
{
    if (plain(project, STORE_PROJECT_NAME))
        return 0;
    return err_set(e, ERR_USAGE,
                   "\"%.100s\" cannot be the name of a project: use up to %d letters, digits, "
                   "'.', '_' and '-', the first no '.'",
                   project, STORE_PROJECT_NAME - 1);
}

int store_check_place(const char *project, const struct store_place *place, struct err *e)
{
    uint64_t end;

    if (store_check_project(project, e) < 0 || store_check_name(place->blob, e) < 0)
        return -1;
    if (__builtin_add_overflow(place->offset, place->size, &end) || end > INT64_MAX)
        return err_set(e, ERR_USAGE, "blob %s: offset %" PRIu64 " is out of range", place->blob,
                       place->offset);
    return 0;
}

void store_pack_header(uint64_t n,
                       const struct sha256_digest *digest,
                       unsigned char out[static STORE_PACK_HEADER])
{
    static const char magic[8] = {'T', 'W', 'P', 'A', 'C', 'K', '1', '\n'};

    memcpy(out, magic, sizeof magic);
    for (size_t i = 0; i < 8; i++)
        out[8 + i] = (unsigned char)(n >> (8 * i));
    memcpy(out + 16, digest->bytes, SHA256_BYTES);
}
