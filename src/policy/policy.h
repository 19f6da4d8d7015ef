/* policy: the allocation of many jobs to instance types with prices and quotas, as linear programs.
 * Pure: no I/O, no clock; CLP is loaded by the first call that needs it. docs/policies.md has the
 * formulas. Amounts of money are double here, since they are values of a linear program. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_JOBS_MAX 100000
#define POLICY_TYPES_MAX 1000
#define POLICY_PAIRS_MAX 10000000 /* jobs times types */
#define POLICY_GROUPS_MAX 1000
#define POLICY_INTERVALS_MAX 1000
#define POLICY_GANG_MAX 1000000
/* Every number of a problem is 0 or within these, so that no product overflows. */
#define POLICY_NUMBER_MAX 1e15
#define POLICY_NUMBER_MIN 1e-15
/* Windows are merged until the program has at most this number of columns, by default. */
#define POLICY_COLUMNS_DEFAULT 200000
#define POLICY_NO_TYPE UINT32_MAX
#define POLICY_MOVES 0.01
#define POLICY_WAITS 0.001
/* The gap between objective and bound of an optimal answer, at most, as part of the objective. */
#define POLICY_GAP 1e-6

enum policy_kind {
    POLICY_MAX_THROUGHPUT,
    POLICY_THROUGHPUT_PER_DOLLAR,
    POLICY_MIN_COST,
    POLICY_MIN_COST_SLO,
    POLICY_MIN_MAKESPAN,
    POLICY_KINDS,
};

/* Forms of min-cost-slo: shares for every window between two deadlines or price steps, or one share
 * for the whole time to a job's deadline. */
enum policy_form { POLICY_WINDOWS, POLICY_RATE };

struct policy_type {
    const char *name;
    double price_usd_per_hour;
    double quota; /* instances */
};

struct policy_job {
    const char *name;
    double gang;              /* instances the job takes at once, whole, at least 1 */
    double iterations;        /* left to do; 0 = not known */
    double slo_h;             /* hours to the deadline; INFINITY = none */
    double release_h;         /* hours until the job may begin; for min-cost and min-cost-slo */
    const double *throughput; /* per type, iterations per hour of the whole gang; 0 = cannot run */
};

/* A common quota: sum over types of units x instances <= quota, as for vCPUs of several types. */
struct policy_group {
    const char *name;
    const double *units; /* per type */
    double quota;
};

/* Prices from the end of the interval before (0 for the first) to end_h; afterwards the price of
 * the type holds. */
struct policy_interval {
    double end_h;
    const double *price_usd_per_hour; /* per type */
};

struct policy_problem {
    const struct policy_type *types;
    size_t n_types;
    const struct policy_job *jobs;
    size_t n_jobs;
    const struct policy_group *groups;
    size_t n_groups;
    const struct policy_interval *intervals;
    size_t n_intervals;
    double budget_usd;  /* INFINITY = none */
    size_t columns_max; /* 0 = POLICY_COLUMNS_DEFAULT */
    /* True when the caller acts on an answer even if deadlines cannot be kept: shortfalls then cost
     * shortfall_price in the objective. Neither a stretch nor, for merged windows, a bound of the
     * unmerged program is computed. */
    bool goes_on;
    /* With goes_on: the type each job runs on, or POLICY_NO_TYPE; NULL = no job runs. A dollar on
     * another type counts as POLICY_MOVES more, one in the last window as POLICY_WAITS more: among
     * answers of about the same cost, jobs stay on their type and do not wait. */
    const uint32_t *on_type;
};

enum policy_status {
    POLICY_OPTIMAL,
    POLICY_FEASIBLE,   /* windows were merged: the best lies between bound and objective */
    POLICY_INFEASIBLE, /* shortfall, reason, and stretch or budget_needed_usd say why */
};

struct policy_window {
    double from_h, to_h; /* INFINITY: as long as it takes */
};

/* The use of one type by one job in one window. */
struct policy_use {
    uint32_t window, job, type;
    double share; /* of the time from the beginning of the window to its end or the deadline */
    double hours;
};

/* Why a job has no share, in policies that need not give it one: max-throughput, and
 * throughput-per-dollar for jobs without deadlines. */
enum policy_idle {
    POLICY_HAS_SHARE,
    POLICY_NOWHERE, /* no type with a throughput of the job has room for its gang */
    POLICY_OUTBID,  /* other jobs make better use of the machines */
};

struct policy_answer {
    enum policy_status status;
    double objective;           /* NAN when infeasible */
    double bound;               /* no feasible answer is better */
    bool has_shares, has_hours; /* the fields of uses that this form fills in */
    struct policy_window *windows;
    size_t n_windows;
    size_t windows_exact;    /* number without merging */
    struct policy_use *uses; /* by window, job, type; of the least shortfall when infeasible */
    size_t n_uses;
    size_t n_jobs, n_types;
    enum policy_idle *idle; /* per job; NULL for the other policies */
    double *shortfall;      /* per job: the part of its iterations that is not done in time */
    double shortfall_price; /* of a whole job, in the objective's unit; 0 unless it goes on */
    /* Per type: by how much the objective would improve with one instance more, in its unit, at the
     * slope of the first part of it; shadow_at_most: by no more than that. */
    double *shadow_price;
    bool shadow_at_most;
    /* The fix: all deadlines this many times later; the smallest budget (NAN: not needed). With
     * both figures, both together. */
    double stretch, budget_needed_usd;
    char reason[400]; /* "" unless infeasible */
};

/* "max-throughput" ...; NULL past the last. */
const char *policy_kind_name(enum policy_kind kind);
/* Unit of the objective: "iterations/h", "$", ... */
const char *policy_unit(enum policy_kind kind);

/* Solves a problem. ERR_USAGE when a job or type lacks a field that the policy needs; ERR_IO when
 * the solver is missing or its answer is not proved. An infeasible problem is an answer, not an
 * error. */
int policy_solve(const struct policy_problem *p,
                 enum policy_kind kind,
                 enum policy_form form,
                 struct policy_answer *out,
                 struct err *e);
void policy_answer_clear(struct policy_answer *a);

#endif
