/* read: a policy problem, or a trace of one, as JSON text, checked. */
#ifndef POLICY_READ_H
#define POLICY_READ_H

#include "base/arena.h"
#include "policy/rounds.h"

/* 8,192 jobs on 100 types take 20 MB. */
#define POLICY_FILE_BYTES_MAX ((size_t)64 << 20)

/* What was odd about a file of prices. */
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
    struct policy_price_notes price_notes; /* rows = 0 without such a file */
};

/* ERR_USAGE names the place, as "line 3" or "jobs[2].gang". */
int policy_read(const char *bytes, size_t n, struct policy_file *out, struct err *e);
/* The same with arrival_h of jobs, whose iterations must be known, and with preemptions; hours are
 * within ROUNDS_HOURS_MAX. */
int policy_read_trace(const char *bytes, size_t n, struct policy_file *out, struct err *e);
/* Prices in place of those the trace has: CSV with at_h, type and price_usd_per_hour, each of which
 * holds until the next of its type. name: of the file, for errors. price_notes has what was odd. */
int policy_read_prices(
    const char *name, const char *bytes, size_t n, struct policy_file *file, struct err *e);
void policy_file_clear(struct policy_file *f);

#endif
