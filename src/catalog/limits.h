/* limits: the numbers a catalog may hold. A larger number is an error on import and
 * damage in a snapshot, so that no computation with prices can overflow. */
#ifndef CATALOG_LIMITS_H
#define CATALOG_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

struct limit {
    double least, most;
};

static const struct limit limit_vcpus = {0, 1e6};
static const struct limit limit_memory = {0, 1e7}; /* GiB */
static const struct limit limit_accelerators = {0, 1e6};
static const struct limit limit_gbit = {0, 1e6};
static const struct limit limit_price = {1e-9, 1e6};    /* USD per hour; a zero is no price */
static const struct limit limit_preemptions = {0, 1e4}; /* per hour */
static const struct limit limit_transfer_price = {0, 1e4};
static const struct limit limit_tier_gb = {0, 1e15};
static const struct limit limit_speed = {1e-9, 1e6}; /* Gbit/s; what never arrives has no row */
static const struct limit limit_rtt = {0, 1e6};      /* ms */
static const struct limit limit_storage = {0, 1e4};  /* USD per GB-month or 1,000 requests */

#define LIMIT_NAME_BYTES 255
#define LIMIT_OFFERS 4000000
#define LIMIT_TRANSFERS 500000
#define LIMIT_STORAGE 100000
#define LIMIT_TEXT_BYTES ((size_t)256 << 20) /* all names together */
#define LIMIT_FILE_BYTES ((size_t)1 << 30)

static inline bool limit_known(const struct limit *l, double v)
{
    return (v >= l->least) & (v <= l->most); /* false for NaN */
}
/* NaN, which stands for unknown, is fine too. */
static inline bool limit_holds(const struct limit *l, double v)
{
    return (v != v) | limit_known(l, v);
}

#endif
