/* offline: the least cost of a job with all prices and preemptions known beforehand, with decisions
 * at the events of the scene, as for policies. A checkpoint is ready at every preemption; without a
 * deadline the job waits only while an offer cannot be launched. Exact: dynamic programming over
 * (event, offer) with the undominated pairs of cost and work, cut off by bounds from a Lagrangian
 * relaxation (docs/market.md). */
#ifndef MARKET_OFFLINE_H
#define MARKET_OFFLINE_H

#include "base/auto.h"
#include "market/replay.h"

#include <stdbool.h>
#include <stddef.h>

/* Memory that questions reuse; one a thread. */
struct market_offline;
struct market_offline *market_offline_new(void);
void market_offline_free(struct market_offline *o);
AUTO_DEFINE(market_offline)

/* What all questions about a job share: made once for many of them. The job must outlive it. */
struct market_reduced;
struct market_reduced *market_reduced_new(const struct market_job *job);
void market_reduced_free(struct market_reduced *g);
AUTO_DEFINE(market_reduced)

/* Seconds, for the hardest question. */
#define MARKET_EFFORT ((size_t)4 << 20)

struct market_offline_question {
    const struct market_job *job;
    const struct market_reduced *reduced; /* of the job; NULL = made for this question alone */
    size_t start;                         /* event */
    double work, deadline_s;
    double upper_usd;       /* the cost of a known way; INFINITY = no way is known */
    size_t effort;          /* how much may be looked at, in leases; 0 = MARKET_EFFORT */
    double gap;             /* how far above the optimum an answer may be, in parts; 0 = exact */
    struct market_log *log; /* NULL = not kept */
};

struct market_offline_answer {
    /* finished = false and upper_stands = false: it cannot be done before scene or deadline end. */
    struct market_bill bill;
    bool upper_stands; /* nothing is cheaper than upper_usd by more than the gap: no bill */
    bool proved;       /* false: the effort did not suffice */
    double bound_usd;  /* nothing is cheaper; with a proof, the cost less the gap */
    size_t effort;     /* that was spent */
};

struct market_offline_answer market_offline_solve(struct market_offline *o,
                                                  const struct market_offline_question *q);

#endif
