/* cap: spending caps of a run (--max-cost) and of a project in a month of UTC
 * (limits.max_usd_per_month). The lake has the cost of ended jobs; running jobs and hosts count
 * with their cost so far (bill.h). */
#ifndef BROKER_MACHINE_CAP_H
#define BROKER_MACHINE_CAP_H

#include "base/err.h"
#include "broker/core/runs.h"
#include "lake/job/job.h"
#include "spec/config.h"

struct open_bills;

#define CAP_REASON 200

/* Cost of all jobs of a run so far. open NULL: reads the open bills. */
int cap_run_spent(const struct config *c,
                  const struct open_bills *open,
                  struct lake *l,
                  int64_t run,
                  int64_t now_ms,
                  int64_t *microusd_out,
                  struct err *e);
/* Cost of all jobs of the project in the month of now_ms. */
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

/* Asks every unfinished job of the project to stop. */
int cap_stop_all(struct lake *l, const char *why, struct err *e);

/* ERR_NOFIT when the month's cap is used up. */
int cap_check_month(const struct config *c, struct lake *l, struct err *e);

/* When the month of now_ms began. */
int64_t cap_month_begin_ms(int64_t now_ms);

#endif
