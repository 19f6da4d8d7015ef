#include "cloud/retry.h"

#include "base/hash.h"
#include "base/number.h"
#include "base/time.h"
#include "cloud/driver.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define BASE_S 1.0
#define MOST_S 20.0
#define THROTTLE_BASE_S 5.0
#define THROTTLE_MOST_S 60.0
/* A longer Retry-After is the caller's business. */
#define RETRY_AFTER_MOST_S 120.0

const struct cloud_code *cloud_code_find(const struct cloud_code *table,
                                         size_t n,
                                         const char *code,
                                         const char *message)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i].code, code) == 0 &&
            (!table[i].mentions || strstr(message, table[i].mentions)))
            return &table[i];
    return NULL;
}

void cloud_wait(struct cloud *c, double seconds)
{
    const struct cloud_outside *o = &c->options.outside;

    if (o->wait) {
        o->wait(o->context, seconds);
        return;
    }
    struct timespec left = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

double cloud_retry_after_s(const char *header, int64_t now_ms)
{
    double seconds;

    if (!header)
        return 0;
    if (number_parse(header, &seconds))
        return fmax(seconds, 0);
    int64_t at_ms = time_from_http(header);
    return at_ms > now_ms ? (double)(at_ms - now_ms) / 1000 : 0;
}

/* From 0 to 1, another each time and for each cloud. */
static double draw(struct cloud *c, struct cloud_retry *r)
{
    uint64_t key[3] = {c->options.seed, hash_text(c->options.owner), r->random++};

    return (double)(hash_xxh3(key, sizeof key) >> 11) * 0x1p-53;
}

bool cloud_retry_again(struct cloud *c,
                       struct cloud_retry *r,
                       unsigned n,
                       const struct cloud_error *e)
{
    bool is_throttled = e->failure == CLOUD_THROTTLE;

    if (!is_throttled && e->failure != CLOUD_TRANSIENT && e->failure != CLOUD_UNKNOWN)
        return false;
    if (n >= CLOUD_RETRY_TRIES_MAX || r->spent + CLOUD_RETRY_COST > CLOUD_RETRY_TOKENS ||
        e->retry_after_s > RETRY_AFTER_MOST_S)
        return false;
    r->spent += CLOUD_RETRY_COST;
    double most = ldexp(is_throttled ? THROTTLE_BASE_S : BASE_S, (int)n - 1);
    double wait_s = draw(c, r) * fmin(most, is_throttled ? THROTTLE_MOST_S : MOST_S);
    cloud_wait(c, fmax(wait_s, e->retry_after_s));
    return true;
}

void cloud_retry_well(struct cloud_retry *r, unsigned n)
{
    r->spent -= n > 1 ? CLOUD_RETRY_COST : 1;
    if (r->spent < 0)
        r->spent = 0;
}
