/* policy: operations that divide instances with quotas among many jobs, once or round by round, and
 * the records they answer with. */
#ifndef APP_POLICY_POLICY_H
#define APP_POLICY_POLICY_H

#include "app/core/operation.h"

struct policy_window;

#define POLICY_OPERATIONS(X) X(policy_solve) X(policy_simulate)
POLICY_OPERATIONS(OPERATION_DECLARE)

/* A type of instances. */
struct app_policy_type {
    const char *name;
    double quota;
    double shadow_price; /* of policy.solve */
    double utilisation;  /* of policy.simulate: share of the quota in use */
};

/* ---- policy.solve: struct app_policy_solved ---- */

/* A job, and what the answer lacks for it. */
struct app_policy_need {
    const char *name;
    double gang, deadline_h;   /* NAN = no deadline */
    double shortfall;          /* part of its iterations that misses the deadline; NAN = none */
    const char *without_share; /* why; NULL = it has a share */
};
/* The use of a type by a job in a window. */
struct app_policy_use {
    double from_h, to_h; /* of the window; to_h: INFINITY = it has no end */
    const char *job, *type;
    double gang, share, hours; /* share, hours: NAN = the policy leaves it open */
};
struct app_policy_solved {
    const char *policy, *status, *unit;
    const char *reason; /* NULL = there is a solution */
    double objective, bound, stretch, budget_needed_usd, elapsed_ms;
    struct field_records jobs;  /* struct app_policy_need */
    struct field_records types; /* struct app_policy_type */
    struct field_records uses;  /* struct app_policy_use, by window, job and type */
    uint64_t n_windows, windows_exact;
    bool shadow_at_most;
    /* For the fields that are maps. */
    const struct policy_window *windows;
    bool has_shares, has_hours;
};

/* ---- policy.simulate: struct app_policy_simulated, after events where requested ---- */

/* A solve or a round of a simulation. */
struct app_policy_event {
    json_t *event;
};

/* What a chart of a simulation shows: a job on a type without a break, and the state of a round. */
struct app_policy_span {
    uint64_t job, type; /* numbers among the jobs and types of the answer */
    int64_t from_ms, to_ms;
};
struct app_policy_sample {
    int64_t from_ms, to_ms;
    uint64_t running, waiting;
    int64_t cost_microusd; /* up to to_ms */
};

/* Times that never came are NaN. */
struct app_policy_job {
    const char *name;
    double arrival_h, start_h, finish_h, waited_h, run_h, lost_h, deadline_h, late_h;
    double short_known_h, shortfall;
    int64_t cost_microusd;
    uint64_t switches, restarts, preemptions;
    const int64_t *type_ms;              /* time on each type, ... */
    const struct app_policy_type *types; /* of these ... */
    size_t n_types;                      /* so many */
};

/* The steps of prices. */
struct app_policy_prices {
    uint64_t rows, out_of_order, repeated;
};

struct app_policy_simulated {
    const char *policy;
    double round_h, restart_s, makespan_h, mean_completion_h, budget_usd, budget_short_known_h;
    double bound_usd, cost_gap, bound_makespan_h, makespan_gap, solve_ms, elapsed_ms;
    int64_t seed, cost_microusd;
    uint64_t jobs_done, slo_violations, deadlines, rounds, solves, solves_short;
    uint64_t switches, restarts, preemptions;
    double end_h;           /* of the last job, or of the simulation */
    const char *unfinished; /* why jobs did not finish; NULL = all did */
    const void *self;       /* the struct itself: its bounds are a record in JSON */
    const void *prices;     /* struct app_policy_prices; NULL = prices are constant */
    const char *price_source;
    uint64_t out_of_order_line, repeated_line; /* the first; UINT64_MAX = none */
    struct field_records jobs;                 /* struct app_policy_job */
    struct field_records types;                /* struct app_policy_type */
    struct field_records spans;                /* struct app_policy_span, where requested */
    struct field_records samples; /* struct app_policy_sample, one per round, where requested */
};

#endif
