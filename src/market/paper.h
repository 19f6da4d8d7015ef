/* paper: the published evaluation of spot strategies ("Analysis and Exploitation of Dynamic Pricing
 * in the Public Cloud for ML Training", 2020), by its authors' rules, oddities included: a market
 * of days, machines chosen by throughput per dollar, no preemptions and no cost of moving.
 * docs/market.md has the rules. */
#ifndef MARKET_PAPER_H
#define MARKET_PAPER_H

#include "base/auto.h"
#include "base/err.h"
#include "market/series.h"

#include <stdbool.h>
#include <stddef.h>

enum market_strategy {
    MARKET_SINGLE,      /* "1xV100": p3.2xlarge in one region, chosen at the start */
    MARKET_GPU_TYPE,    /* "gpu-type": p2.xlarge or p3.2xlarge */
    MARKET_MULTI_GPU,   /* "multi-gpu": all p2 and p3 */
    MARKET_MULTI_CLOUD, /* "multi-cloud": those and Azure's NC */
    MARKET_DYNAMIC,     /* "dynamic": the same, chosen again each day */
    MARKET_N_STRATEGIES
};
extern const char *const market_strategy_texts[MARKET_N_STRATEGIES];
bool market_strategy_parse(const char *text, enum market_strategy *out);

#define MARKET_REFERENCE_GPU "V100"

#define MARKET_PAPER_GPUS_MAX 8

/* To be read alone. */
struct market_paper {
    struct arena *arena;               /* of days, starts and sold */
    struct market_paper_offer *offers; /* in the order of preference */
    size_t n_offers, cap_offers;
    const char *gpus[MARKET_PAPER_GPUS_MAX]; /* for sale: the caller looks up their speeds */
    size_t n_gpus, reference;
    double first_day; /* days since 1970; of the first start */
    size_t n_days;    /* to the horizon, which is the last one */
    size_t *starts;   /* days after first_day */
    size_t n_starts;
    bool *aws_sold, *azure_sold; /* on each day */
};

/* Which starts are replayed: days with a record of the region's p3.2xlarge. */
struct market_starts {
    size_t last;            /* so many, before the final 5; 0 = the authors' 30 */
    double from_s, until_s; /* instead: all such days between these; 0, 0 = not given */
};

/* The days of an AWS region, and all of Azure, from what was imported from them (a catalog's daily
 * history only when there is nothing else). ERR_NOFIT when there are too few days. The market must
 * outlive it. */
struct market_paper *market_paper_new(const struct market *m,
                                      const char *region,
                                      const struct market_starts *starts,
                                      struct err *e);
void market_paper_free(struct market_paper *p);
AUTO_DEFINE(market_paper)

/* Midnight, UTC. */
double market_paper_start_s(const struct market_paper *p, size_t start);
/* Every cloud that strategies may choose from has prices on that day. */
bool market_paper_covered(const struct market_paper *p, size_t start);

/* What one model would choose on each day. */
struct market_paper_model;
/* per_s: iterations per second on each of the gpus; NaN or 0 = cannot run there. ERR_NOFIT
 * when it cannot run on the reference. */
struct market_paper_model *market_paper_model_new(const struct market_paper *p,
                                                  const double *per_s,
                                                  struct err *e);
void market_paper_model_free(struct market_paper_model *m);
AUTO_DEFINE(market_paper_model)

struct market_paper_run {
    double cost_usd, hours;
    size_t switches;
    const struct market_offer *first; /* what was chosen at the start */
};
/* One job of so many days on the reference, begun on one of the start days. */
struct market_paper_run market_paper_replay(const struct market_paper_model *m,
                                            enum market_strategy strategy,
                                            double reference_days,
                                            size_t start);

/* Means over all starts. */
struct market_paper_mean {
    double cost_usd, hours, switches;
    size_t switches_max;
};
struct market_paper_mean market_paper_mean(const struct market_paper_model *m,
                                           enum market_strategy strategy,
                                           double reference_days);
/* The mean over starts of what choosing once costs beside choosing every day (figure 6). */
double market_paper_dynamic_gain(const struct market_paper_model *m, double reference_days);

#endif
