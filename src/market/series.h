/* series: spot prices over time. A history is a step function per offer: each record
 * holds until the offer's next one. Times are seconds since 1970, UTC; prices USD per hour for the
 * whole instance. Every record has the sum from the offer's beginning, so that two searches find
 * the cost of any interval.
 *
 * A market is read-only once it is open, and may be used from several threads at once. */
#ifndef MARKET_SERIES_H
#define MARKET_SERIES_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a record came from. A cloud's feed tells how far its histories reach. */
enum market_feed {
    MARKET_FEED_CSV,       /* our own layout: records when something changed */
    MARKET_FEED_AWS,       /* describe-spot-price-history: changes, and about one repeat a day */
    MARKET_FEED_AZURE,     /* one price a day */
    MARKET_FEED_GCP,       /* launch probes: a price when the offer could be started */
    MARKET_FEED_DAILY,     /* the catalog's history: days on which something changed */
    MARKET_FEED_KEEPALIVE, /* no prices: lives of machines */
    MARKET_N_FEEDS
};
/* "csv", "aws", "azure", "gcp", "daily", "keepalive". */
extern const char *const market_feed_texts[MARKET_N_FEEDS];

struct market_point {
    double at_s;
    double usd_per_hour; /* NaN = withdrawn: not for sale until the next point */
    double paid_usd;     /* what having it from the first point to here costs, gaps left out */
    double sold_s;       /* how long of that it was for sale */
};

struct market_on_demand {
    double at_s;
    double usd_per_hour; /* NaN = not for sale on demand from here on */
};

/* One life of one machine, from its start to its preemption. */
struct market_spell {
    double begin_s, end_s;
    double ended; /* 1 = preempted, 0 = still alive when the log ends or its owner gave it back */
};

struct market_offer {
    const char *cloud, *region, *zone, *instance_type;
    const char *gpu;                   /* "V100"; "" = unknown */
    double gpus;                       /* 0 = unknown */
    const struct market_point *points; /* ascending times, no two equal; may be none */
    size_t n_points;
    const struct market_on_demand *on_demand; /* the same; the last holds for ever */
    size_t n_on_demand;
    const struct market_spell *spells; /* by begin */
    size_t n_spells;
    /* What the history covers: from the first record to the last one of any offer of the same feed,
     * cloud and region (a day more where records are days). 0, 0 without points. */
    double begin_s, end_s;
    enum market_feed feed;
};

struct market_sweep;

struct market {
    struct market_offer *offers; /* sorted by cloud, region, instance type and zone, as bytes */
    size_t n_offers;
    const char *strings;
    const struct market_sweep *sweeps; /* by cloud and time, no two equal */
    size_t n_sweeps;
    const struct market_point *points; /* of all offers */
    size_t n_points;
    void (*release)(void *bytes, size_t len); /* NULL = the bytes are borrowed */
    void *bytes;
    size_t len;
};

void market_free(struct market *m);
AUTO_DEFINE(market)

/* USD per hour; NaN where withdrawn and outside [begin_s, end_s). */
double market_price(const struct market_offer *o, double at_s);

/* What the offer costs over [from_s, to_s) in dollars, as far as it is covered and for sale.
 * *sold_s_out (may be NULL): for how many seconds of it that is. */
double market_cost_usd(const struct market_offer *o,
                       double from_s,
                       double to_s,
                       double *sold_s_out);

/* When the price is next another one (withdrawn and back count; a record that repeats the price
 * does not), or the history begins or ends: later than after_s. INFINITY when nothing follows. */
double market_next_change(const struct market_offer *o, double after_s);

/* On-demand USD per hour in force; before the first figure, that one. NaN when unknown. */
double market_on_demand_price(const struct market_offer *o, double at_s);

/* One name per region for all spellings of histories and users: "us_east" for azure's "eastus",
 * "East US" and "us-east"; names that are not known stay as they are. Borrowed: the text itself, or
 * one that lasts. */
const char *market_region(const char *cloud, const char *region);

#endif
