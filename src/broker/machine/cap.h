/* cap: what may be spent: by a run (--max-cost), and by a project in a month of UTC
 * (limits.max_usd_per_month). What jobs have cost is in the lake; what runs, or has a host, costs
 * as much as it has taken so far (bill.h). */
#ifndef BROKER_MACHINE_CAP_H
#define BROKER_MACHINE_CAP_H

#include "base/err.h"
#include "broker/core/runs.h"
#include "lake/job/job.h"
#include "spec/config.h"

#define CAP_REASON 200

/* All that the jobs of a run have cost so far. */
int cap_run_spent(const struct config *c,
                  struct lake *l,
                  int64_t run,
                  int64_t now_ms,
                  int64_t *microusd_out,
                  struct err *e);
/* All jobs of the project in the month of now_ms. */
int cap_month_spent(
    const struct config *c, struct lake *l, int64_t now_ms, int64_t *microusd_out, struct err *e);

/* Whether the cap is used up: 1, and out says "spending cap ...: 1.23 of 1.20 USD"; 0; -1. */
int cap_run_over(const struct config *c,
                 struct lake *l,
                 const struct run *run,
                 int64_t now_ms,
                 char out[static CAP_REASON],
                 struct err *e);
int cap_month_over(const struct config *c,
                   struct lake *l,
                   int64_t now_ms,
                   char out[static CAP_REASON],
                   struct err *e);

/* Asks every job of the project that is not over to end. */
int cap_stop_all(struct lake *l, const char *why, struct err *e);

/* ERR_NOFIT that says so when nothing may be begun this month any more. */
int cap_check_month(const struct config *c, struct lake *l, struct err *e);

/* When the month of now_ms began. */
int64_t cap_month_begin_ms(int64_t now_ms);

#endif
