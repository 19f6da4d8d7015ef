/* tables: on-demand prices, sizes of checkpoints and data sets, prices of moving them, and the
 * published tables that follow from these figures and the histories. Tables are computed on demand:
 * other prices give other tables. */
#ifndef MARKET_TABLES_H
#define MARKET_TABLES_H

#include "base/auto.h"
#include "base/err.h"
#include "market/series.h"

#include <stddef.h>

struct csv;
struct throughputs;

/* Tables of the user's, each NULL = none:
 * on demand: cloud,region,instance_type,gpu,gpus,usd_per_hour; sizes:
 * model,dataset,dataset_gb,checkpoint_gb; egress: cloud,destination,from_gb,usd_per_gb, where a
 * tier holds from its from_gb to that of the next. */
struct market_tables_from {
    struct csv *on_demand, *sizes, *egress;
};

struct market_list_price {
    const char *cloud, *region, *instance_type, *gpu;
    double gpus, usd_per_hour;
};

struct market_size {
    const char *model, *dataset;
    double dataset_gb, checkpoint_gb;
};

struct market_tier {
    const char *cloud, *destination;
    double from_gb, usd_per_gb;
    bool users;
};

/* To be read alone. */
struct market_tables {
    struct arena *arena;
    struct market_list_price *prices;
    struct market_size *sizes;
    struct market_tier *tiers; /* each cloud's and destination's together, ascending */
    size_t n_prices, cap_prices, n_user_prices;
    size_t n_sizes, cap_sizes;
    size_t n_tiers, cap_tiers;
    bool builtin; /* what is read now */
};

/* The user's rows, then those built-in ones that they do not replace. ERR_USAGE with file and line;
 * from may be NULL. */
struct market_tables *market_tables_new(const struct market_tables_from *from, struct err *e);
void market_tables_free(struct market_tables *t);
AUTO_DEFINE(market_tables)

/* On-demand USD per hour of a machine: the user's figure, else the history's own, else the built-in
 * one; NaN when unknown. */
double market_tables_on_demand(const struct market_tables *t,
                               const struct market_offer *o,
                               double at_s);
/* What it costs that so much leaves a cloud within one billing period; destination "internet",
 * "other_region" or "same_region". NaN when there is no row. */
double market_tables_egress_usd(const struct market_tables *t,
                                const char *cloud,
                                const char *destination,
                                double gb);

/* ---- table 1: throughput, and throughput per dollar on demand, beside the slowest GPU ---- */

#define MARKET_GPUS_MAX 16

struct market_speedups {
    const char *gpus[MARKET_GPUS_MAX]; /* the first is what the others are compared with */
    double usd_per_hour[MARKET_GPUS_MAX];
    size_t n;
};
/* The single-GPU machines of a cloud, cheapest first. ERR_NOFIT when there are not two. */
int market_speedups_of(const struct market_tables *t,
                       const char *cloud,
                       struct market_speedups *out,
                       struct err *e);
/* How many times faster, and more per dollar, than on the first; NaN where not measured. */
void market_speedups_row(const struct market_speedups *s,
                         const struct throughputs *speeds,
                         const char *model,
                         double faster[static MARKET_GPUS_MAX],
                         double per_dollar[static MARKET_GPUS_MAX]);

/* ---- table 2: moving data beside computing ---- */

struct market_move {
    double compute_usd;
    double dataset_usd, checkpoint_usd; /* of one transfer to the internet */
};
#define MARKET_COMPUTE_HOURS 160
/* compute: MARKET_COMPUTE_HOURS on the lowest price there was of a single GPU in a region. A
 * checkpoint moves ten thousand times, and one of these is meant. NaN where unknown. */
struct market_move market_move_of(const struct market_tables *t,
                                  const struct market *m,
                                  const char *cloud,
                                  const char *region,
                                  const char *gpu,
                                  const struct market_size *size);

/* ---- table 3: the best case of spot ---- */

/* The lowest spot price there was of a machine with one such GPU; NaN when there is none. */
double market_lowest_usd(const struct market *m,
                         const char *cloud,
                         const char *region,
                         const char *gpu);

#endif
