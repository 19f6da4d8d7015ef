/* rounds_internal: what the files of the simulation share. For files of policy/ alone. */
#ifndef POLICY_ROUNDS_INTERNAL_H
#define POLICY_ROUNDS_INTERNAL_H

#include "policy/rounds.h"

#define NO_TYPE POLICY_NO_TYPE

/* A claim and what its place in the queue depends on. */
struct claim {
    struct rounds_claim is;
    double owed_ms,
        received_ms; /* of its share, since it was solved; at most a round from before */
    double ratio;    /* owed / received, this round counted as owed */
    double gang;
    int64_t arrival_ms, due_ms;
    bool is_running;     /* it was there in the round before */
    bool is_leased;      /* and has not been there for long */
    double usd_per_work; /* of fills: at the price when it was solved */
};

/* Instances of a type that go (above 0) or come back. */
struct edge {
    int64_t at_ms;
    uint32_t type;
    uint32_t preemption; /* its number */
    double instances;
};

struct sim {
    const struct rounds_ask *ask;
    const struct policy_problem *p;
    struct rounds_result *out;
    int64_t at_ms; /* the beginning of the round */
    unsigned why;  /* shares must be solved anew; 0 = they hold */

    /* Per job of the trace. */
    double *left;      /* iterations */
    uint32_t *on;      /* the type it was on up to now, or NO_TYPE */
    uint32_t *before;  /* the type it was on last, or NO_TYPE */
    int64_t *lease_ms; /* until then it keeps its place */
    bool *is_placed;   /* in this round */
    bool *is_overdue;  /* the deadline has passed */
    int64_t *due_ms;   /* the deadline, or what the policy took in its place when it had passed */

    uint32_t *queue; /* jobs by arrival; those before next_arrival are here or gone */
    size_t next_arrival;
    uint32_t *active; /* jobs that are here, by arrival */
    size_t n_active;

    int64_t *interval_ms; /* ends of the price intervals */
    size_t interval;      /* in force when shares were solved */
    struct edge *edges;   /* by time */
    size_t n_edges, next_edge;
    double *taken; /* per type */

    struct claim *claims; /* by job, type */
    size_t n_claims, cap_claims;
    struct claim **order;
    size_t cap_order;
    double *used, *used_group;
    struct rounds_run *runs;
    size_t n_runs;

    /* What a policy is asked about: the jobs that are here. */
    struct policy_type *types_now;
    struct policy_job *jobs_now;
    uint32_t *number_now; /* in the trace */
    uint32_t *on_now;
};

double rounds_hours(int64_t ms);
int64_t rounds_ms(double hours);
/* Instances there are of a type now. */
double rounds_capacity(const struct sim *s, size_t type);
/* The interval in force at a time, and a price in it. */
size_t rounds_interval(const struct sim *s, int64_t at_ms);
double rounds_price(const struct sim *s, size_t interval, size_t type);
bool rounds_uses_deadlines(enum policy_kind kind);

/* Asks the policy about the jobs that are here, and fills in the claims. */
int rounds_plan(struct sim *s, struct err *e);
/* Gives out the machines for a round: the runs, with job and type. */
void rounds_place(struct sim *s);
/* Lets the round pass: work, preemptions, the bill. */
int rounds_run(struct sim *s, struct err *e);
/* The bounds of what was done. */
void rounds_bound(const struct sim *s);

#endif
