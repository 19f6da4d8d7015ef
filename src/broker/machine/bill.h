/* bill: the cost of a job. On this machine a job costs its price for the time its command ran. A
 * host costs from its provisioning to its release, whether it works or not: while a job has a host,
 * the job's bill is open, and the record of machines has the amount. After the release of all hosts
 * the sum goes to the job's record. A host that does not answer after the end of its job costs at
 * most until its lease expires. */
#ifndef BROKER_MACHINE_BILL_H
#define BROKER_MACHINE_BILL_H

#include "base/auto.h"
#include "lake/job/job.h"
#include "spec/config.h"

struct machines;

#define BILL_HOST "host price" /* cost_basis of such jobs */

struct open_bill {
    int64_t job;
    int64_t microusd;      /* until now, if the job still needs its hosts */
    int64_t over_microusd; /* until now, if the job is over */
    unsigned hosts;        /* not released yet */
};
/* All open bills of a home, by job. */
struct open_bills {
    struct open_bill *list;
    size_t n, cap;
};
int open_bills_read_from(struct machines *m, int64_t now_ms, struct open_bills *out, struct err *e);
int open_bills_read(const char *home, int64_t now_ms, struct open_bills *out, struct err *e);
void open_bills_clear(struct open_bills *b);
/* NULL: the job has none. */
const struct open_bill *open_bill_of(const struct open_bills *b, int64_t job);

/* Cost of a job until now_ms: by its open bill, its record, or its run time. */
int64_t bill_microusd(const struct config *c,
                      const struct open_bills *open,
                      const struct lake_job *job,
                      int64_t now_ms);

/* Puts the amount of the job's open bill, if there is one, in the place of its recorded cost. */
void bill_show(const struct open_bills *open, struct lake_job *job);
/* When a job ended; now_ms when it has not, or when its record cannot be read (l NULL, too). */
int64_t bill_over_ms(struct lake *l, int64_t job, int64_t now_ms);

/* Jobs that ended at least two minutes ago and still have hosts. */
struct bills_left {
    size_t jobs;
    int64_t first; /* one of them */
};
int bill_left_over(const struct open_bills *open,
                   struct lake *l,
                   int64_t now_ms,
                   struct bills_left *out,
                   struct err *e);

/* If the job is over and its hosts are released: writes the sum to its record and closes the bill.
 * Also closes the bill of a job that the lake does not know. Repeatable. */
int bill_close(const char *home, struct lake *l, int64_t job, struct err *e);
/* Closes every bill that can be closed, after a crash. */
int bill_close_all(const char *home, struct lake *l, struct err *e);

#endif
