/* bill: what the jobs and machines of a month cost, one charge each, from their records. */
#ifndef APP_ADMIN_BILL_H
#define APP_ADMIN_BILL_H

#include "app/core/operation.h"

struct admin_month {
    int64_t from_ms, until_ms; /* of UTC; until is the next month's beginning */
    char text[8];              /* "2026-11" */
};
/* "2026-11"; NULL = the month of now_ms. ERR_USAGE. */
int admin_month_read(const char *text, int64_t now_ms, struct admin_month *out, struct err *e);

/* A job, or a machine that no job's record bills. Texts live during the visit. */
struct admin_charge {
    int64_t job, run; /* 0 = none */
    const char *user, *project, *name, *stage;
    const char *cloud; /* "local", a host group or a provider */
    const char *region, *zone, *machine;
    const char *instance_type; /* "" = a job's share of a machine */
    double cpus;
    uint64_t memory_mb;
    bool spot;
    int64_t from_ms, until_ms;
    int64_t microusd;
    bool
        is_measured; /* time and price are those of a machine in use; else the price is a model's */
    const char *basis;
};

/* Every charge of the month: jobs by id, then machines. A job counts in the month in which it
 * ended, one that still runs in the month of now. */
int admin_each_charge(struct app *app,
                      const struct admin_month *month,
                      int (*visit)(void *context, const struct admin_charge *charge, struct err *e),
                      void *context,
                      struct err *e);

#endif
