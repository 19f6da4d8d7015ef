/* bill: what a job has cost until now. On this machine that is its price for as long as its command
 * ran. A host costs from renting to giving back, whatever it does meanwhile: as long as a job has
 * one, its bill is open, and the record of machines says how much it is. Once all its hosts are
 * given back the sum goes to the job's own record. A host that cannot be given back after its job
 * is over, because it does not answer, costs no longer than its lease lasts. */
#ifndef BROKER_MACHINE_BILL_H
#define BROKER_MACHINE_BILL_H

#include "base/auto.h"
#include "lake/job/job.h"
#include "spec/config.h"

struct machines;

#define BILL_HOST "host price" /* cost_basis of such jobs */

struct open_bill {
    int64_t job;
    int64_t microusd;      /* until now, should the job need its hosts */
    int64_t over_microusd; /* the same, should it be over */
    unsigned hosts;        /* not given back yet */
};
/* All of a home, by job. */
struct open_bills {
    struct open_bill *list;
    size_t n, cap;
};
int open_bills_read_from(struct machines *m, int64_t now_ms, struct open_bills *out, struct err *e);
int open_bills_read(const char *home, int64_t now_ms, struct open_bills *out, struct err *e);
void open_bills_clear(struct open_bills *b);
/* NULL: it has none. */
const struct open_bill *open_bill_of(const struct open_bills *b, int64_t job);

/* What a job has cost until now_ms: by its open bill, its record, or the time that it runs. */
int64_t bill_microusd(const struct config *c,
                      const struct open_bills *open,
                      const struct lake_job *job,
                      int64_t now_ms);

/* While its bill is open, job tells what that is instead of what its record has. */
void bill_show(const struct open_bills *open, struct lake_job *job);
/* When a job came to its end; now_ms when it has not, or cannot be asked for (l NULL, too). */
int64_t bill_over_ms(struct lake *l, int64_t job, int64_t now_ms);

/* Jobs that have been over for two minutes and more, and still have hosts: nobody could clear
 * those, or nobody has. */
struct bills_left {
    size_t jobs;
    int64_t first; /* one of them */
};
int bill_left_over(const struct open_bills *open,
                   struct lake *l,
                   int64_t now_ms,
                   struct bills_left *out,
                   struct err *e);

/* If the job is over and its hosts are given back, its record gets the sum, and the bill is closed;
 * so is that of a job that no lake has. Repeatable. */
int bill_close(const char *home, struct lake *l, int64_t job, struct err *e);
/* Every bill that can be, after somebody was killed in between. */
int bill_close_all(const char *home, struct lake *l, struct err *e);

#endif
