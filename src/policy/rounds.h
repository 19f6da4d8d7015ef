/* rounds: the simulation of a policy: jobs arrive and end, prices change, machines are preempted,
 * and in every round machines are assigned by the policy's current shares. Pure: times, prices and
 * seed are arguments, and the same arguments give the same schedule and bill. docs/policies.md has
 * the rules; tests/referee/policy_rounds.py implements them a second time. */
#ifndef POLICY_ROUNDS_H
#define POLICY_ROUNDS_H

#include "policy/policy.h"

/* Times of a simulation are milliseconds from its beginning. */
#define ROUNDS_HOUR_MS 3600000.0
/* Limit of arrivals, deadlines, price steps and preemptions: a century. */
#define ROUNDS_HOURS_MAX 1e6
#define ROUNDS_PREEMPTIONS_MAX 100000
/* A simulation of more rounds has too short ones, or never ends. */
#define ROUNDS_MAX 1000000
#define ROUNDS_ROUND_MS_MAX ((int64_t)604800000)
/* Windows of min-cost-slo are merged above this number of columns, by default: a program of this
 * size takes about ten milliseconds. */
#define ROUNDS_COLUMNS_DEFAULT 4000
#define ROUNDS_NEVER INT64_MAX
/* The lease of a job that begins on a type, in restart times, unless the policy takes the type
 * away: restarts then cost at most a twentieth of the time. */
#define ROUNDS_LEASE 20

/* Instances that are preempted from at_ms until until_ms; the jobs on them stop. */
struct rounds_preemption {
    int64_t at_ms, until_ms; /* ROUNDS_NEVER = for good */
    uint32_t type;
    double instances;
};

/* Reasons to solve shares again; bits. */
enum rounds_why {
    ROUNDS_ARRIVAL = 1,
    ROUNDS_DEPARTURE = 2,
    ROUNDS_PRICE = 4,
    ROUNDS_QUOTA = 8,     /* instances preempted, or back */
    ROUNDS_DEADLINE = 16, /* a deadline passed before its job was done */
    ROUNDS_WHYS = 5,
};

/* A job's claim: a share of its time on a type; or, if fill is true, idle instances. */
struct rounds_claim {
    uint32_t job, type;
    bool fill;
    double share; /* a multiple of a billionth */
};

struct rounds_solved {
    int64_t at_ms;
    unsigned why;
    const struct policy_answer *answer;
    bool is_early;        /* with deadlines up to a round earlier than they are */
    const uint32_t *jobs; /* answer's jobs, as numbers of the trace's */
    const struct rounds_claim *claims;
    size_t n_claims;
    double seconds; /* by the watch's clock; 0 without one */
};

/* A job on its type from the beginning of a round. */
struct rounds_run {
    uint32_t job, type;
    int64_t to_ms;   /* the round's end, or the time the job ended or was preempted */
    int64_t lost_ms; /* of it: until the job worked again */
    int64_t cost_microusd;
    bool done, preempted;
};

/* An observer of the simulation; members may be NULL. */
struct rounds_watch {
    void *context;
    void (*solved)(void *context, const struct rounds_solved *s);
    void (*ran)(
        void *context, int64_t from_ms, int64_t to_ms, const struct rounds_run *runs, size_t n);
    /* Called before every round with the number of finished jobs; true ends the simulation. */
    bool (*stop)(void *context, size_t done);
    double (*clock_s)(void);
};

struct rounds_ask {
    /* Types, groups, intervals and jobs as they will be; slo_h counts from the arrival. */
    const struct policy_problem *problem;
    const double *arrival_h;                     /* per job */
    const struct rounds_preemption *preemptions; /* by at_ms */
    size_t n_preemptions;
    enum policy_kind kind;
    int64_t round_ms;
    int64_t restart_ms; /* below round_ms: time lost by a job that restarts or moves */
    uint64_t seed;      /* chooses the jobs that are preempted */
    const struct rounds_watch *watch; /* NULL = none */
};

struct rounds_job {
    int64_t arrival_ms;
    int64_t deadline_ms;         /* ROUNDS_NEVER = none */
    int64_t start_ms, finish_ms; /* ROUNDS_NEVER = not yet */
    int64_t run_ms, lost_ms;     /* on machines; of it, restarting */
    int64_t cost_microusd;
    unsigned switches; /* to another type than before */
    unsigned restarts; /* those, and after a pause */
    unsigned preemptions;
    int64_t short_known_ms; /* first time a missed deadline was foreseen, or NEVER */
    double short_part;      /* part of the iterations missing then */
    bool is_nowhere;        /* no type holds the gang, even if idle */
};

struct rounds_result {
    struct rounds_job *jobs;
    size_t n_jobs;
    int64_t *type_ms; /* per job and type: on machines */
    double *used_ms;  /* per type: instances times time */
    int64_t cost_microusd;
    int64_t first_ms, last_ms; /* first arrival; last finish, or end of the last round with work */
    size_t n_done;
    size_t rounds, solves;
    size_t failed_solves;   /* in which a job fell short */
    size_t late;            /* done after the deadline, or not at all */
    double solve_s;         /* by the watch's clock */
    int64_t broke_known_ms; /* first time the budget was known to be too small, or NEVER */
    bool stopped;
    /* Lower bounds of cost and end of any schedule of the finished work that keeps the deadlines
     * kept here, even with knowledge of the future. */
    double bound_usd, bound_end_h;
};

/* Simulates a trace. ERR_USAGE when the trace lacks a field that the policy needs, or does not end
 * within ROUNDS_MAX rounds; ERR_IO when a solver is missing or does not prove its answer. */
int rounds_simulate(const struct rounds_ask *ask, struct rounds_result *out, struct err *e);
void rounds_result_clear(struct rounds_result *r);

#endif
