/* A job's secrets and what it prints, in pieces of any size. The first byte says in which pieces;
 * up to four values follow, each with a line of its own, then an empty line and the log. What is no
 * secret is printed as it is, what is one never, wherever the log is cut. */
#include "base/mem.h"
#include "exec/mask.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct printed {
    char *bytes;
    size_t n;
};

static void add(struct printed *p, const char *bytes, size_t n)
{
    if (n)
        memcpy(p->bytes + p->n, bytes, n);
    p->n += n;
}

static void print(
    const struct jobfile *job, const char *log, size_t n, size_t piece, struct printed *out)
{
    struct mask m;
    const char *some;

    out->bytes = mem_zero(n + 1, 1);
    mask_init(&m, job);
    for (size_t at = 0; at < n; at += piece) {
        size_t written = mask_take(&m, log + at, n - at < piece ? n - at : piece, &some);
        add(out, some, written);
    }
    size_t rest = mask_rest(&m, &some);
    add(out, some, rest);
    mask_clear(&m);
}

/* Three stars for each longest stretch of bytes that belong to values, each byte looked at. */
static void expected(char *const *env, size_t n_env, const char *log, size_t n, struct printed *out)
{
    AUTO_MEM char *secret = mem_zero(n + 1, 1);

    for (size_t i = 0; i < n_env; i++) {
        const char *value = strchr(env[i], '=') + 1;
        size_t len = strlen(value);
        for (size_t at = 0; len >= MASK_LEAST && at + len <= n; at++)
            if (memcmp(log + at, value, len) == 0)
                memset(secret + at, 1, len);
    }
    out->bytes = mem_zero(n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        if (!secret[i])
            add(out, log + i, 1);
        else if (i == 0 || !secret[i - 1])
            add(out, "***", 3);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[VALUES_MAX] = {"A", "B", "C", "D"};
    char *env[VALUES_MAX];
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    struct printed want = {0}, got = {0};
    size_t n = 0;

    if (size < 1)
        return 0;
    for (const char *line; n < VALUES_MAX && at < end && *at != '\n'; n++) {
        line = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line ? line : end) - at);
        if (memchr(at, '\r', len))
            break; /* it begins another line of a value */
        env[n] = mem_printf("%s=%.*s", names[n], (int)len, at);
        at += len + (line != NULL);
    }
    at += at < end && *at == '\n';
    struct jobfile job = {
        .env = (const char *const *)env, .n_env = n, .secrets = names, .n_secrets = n};
    expected(env, n, at, (size_t)(end - at), &want);
    print(&job, at, (size_t)(end - at), (size_t)data[0] % 16 + 1, &got);
    assert(got.n == want.n && memcmp(got.bytes, want.bytes, got.n) == 0);
    free(want.bytes);
    free(got.bytes);
    for (size_t i = 0; i < n; i++)
        free(env[i]);
    return 0;
}
