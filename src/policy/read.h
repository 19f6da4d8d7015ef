/* read: policy problems and traces as JSON text, checked. A trace may be JSON lines: the first has
 * the types, each other line a job or the prices from a time on. */
#ifndef POLICY_READ_H
#define POLICY_READ_H

#include "base/arena.h"
#include "policy/rounds.h"

/* 8,192 jobs on 100 types take 20 MB. */
#define POLICY_FILE_BYTES_MAX ((size_t)64 << 20)

/* Counts of price steps that were sorted or skipped. */
struct policy_price_notes {
    size_t rows;
    size_t disordered, disordered_line; /* earlier than one before it: sorted in; the first */
    size_t repeated, repeated_line;     /* a time its type had a price for: not used; the first */
};

struct policy_file {
    struct arena *arena;
    struct policy_problem problem; /* lives in the arena */
    /* Of traces. */
    const double *arrival_h; /* per job */
    const struct rounds_preemption *preemptions;
    size_t n_preemptions;
    struct policy_price_notes price_notes; /* rows = 0 where there are no steps */
};

/* Reads a problem or a trace: a problem with arrival_h of jobs, whose iterations are required, and
 * with preemptions; hours are within ROUNDS_HOURS_MAX. ERR_USAGE names the line or field: "line 3",
 * "jobs[2].gang". */
int policy_read(const char *bytes, size_t n, bool is_trace, struct policy_file *out, struct err *e);

/* The price of a type from a time on. */
struct policy_step {
    double at_h, usd_per_hour;
    size_t type;
    size_t line; /* of the file; of two steps at one time the lower one counts */
};
struct policy_steps {
    struct policy_step *list;
    size_t n, cap;
};
int policy_steps_add(struct policy_steps *s, const struct policy_step *step, struct err *e);
void policy_steps_clear(struct policy_steps *s);
/* Replaces the trace's prices by the steps, which are sorted here; fills in price_notes. */
int policy_steps_use(struct policy_steps *s, struct policy_file *file, struct err *e);
/* The same for CSV with at_h, type and price_usd_per_hour; a price holds until the next of its
 * type. name: of the file, for errors. */
int policy_read_prices(
    const char *name, const char *bytes, size_t n, struct policy_file *file, struct err *e);
void policy_file_clear(struct policy_file *f);

#endif
