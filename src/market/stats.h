/* stats: summary figures of a price history. */
#ifndef MARKET_STATS_H
#define MARKET_STATS_H

#include "market/series.h"

#include <stddef.h>

struct market_stats {
    double min_usd, mean_usd, max_usd; /* per hour, while for sale; the mean over time */
    double covered_s, sold_s;
    size_t changes; /* another price, or withdrawn, or back; a record that repeats is none */
    double changes_per_day;
    double on_demand_usd; /* as given; NaN = unknown */
    double reduction;     /* on demand / lowest spot */
    double cap_share;     /* of the time for sale, at the on-demand price or above */
};
/* NaN where it has no points, or nothing was for sale. */
struct market_stats market_stats_of(const struct market_offer *o, double on_demand_usd);

/* The offer with the lowest price per GPU, from one change of it to the next. */
struct market_cheapest {
    double from_s, to_s;
    const struct market_offer *offer; /* NULL = none was for sale */
    double usd_per_gpu_hour;
};
/* Over all of these offers with a known number of GPUs; the first among equals. Neighbours differ
 * in offer or price. *n_out; the caller frees it. */
struct market_cheapest *market_cheapest_of(const struct market_offer *const *offers,
                                           size_t n,
                                           size_t *n_out);

/* How long machines lived. */
struct market_lives {
    size_t n, preempted;
    double watched_s, longest_s;
    double preemptions_per_hour; /* preempted / watched; NaN without any */
};
struct market_lives market_lives_of(const struct market_offer *o);

#endif
