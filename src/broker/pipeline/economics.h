/* economics: what it costs to keep a set, and what to make it again. Pure. */
#ifndef BROKER_PIPELINE_ECONOMICS_H
#define BROKER_PIPELINE_ECONOMICS_H

#include "broker/pipeline/lineage.h"

struct economics_terms {
    double gb_month_usd; /* of 10^9 bytes */
    double months;       /* that it would be kept */
};

struct economics_set {
    size_t node; /* of the lineage */
    uint64_t only_bytes;
    /* Out. */
    double keep_usd_per_month;
    int64_t keep_microusd; /* for as many months as the terms say */
    int64_t replay_microusd;
    double replay_s;
    size_t replay_jobs;
    bool goes;
    char why[200]; /* it stays whatever it costs; "" = by its price */
};

/* In the order given, which is that of age: what goes is not there for those that come after it, so
 * that what it takes to make them again is told with it. Changes `there` of the lineage. A set that
 * cannot be made again, or for an unknown price, or that holds nothing of its own, stays;
 * so does one that is as cheap to keep. */
void economics_weigh(struct lineage *g,
                     const struct economics_terms *terms,
                     struct economics_set *sets,
                     size_t n);

#endif
