/* policy: operations that divide instances with quotas among many jobs, once or round by round. */
#ifndef APP_POLICY_POLICY_H
#define APP_POLICY_POLICY_H

#include "app/core/operation.h"
#include "policy/read.h"
#include "policy/rounds.h"

extern const struct operation *const policy_operations[]; /* ends with NULL */

extern const struct operation policy_solve_operation; /* answers with struct app_policy_solved */

/* Names of enum policy_kind + 1. */
extern const char *const app_policy_kinds[POLICY_KINDS + 1];

/* clang-format off */
#define POLICY_KIND_FIELD(type)                                                                    \
    {"policy", FIELD(ENUM, type, policy), FIELD_CHOICES(app_policy_kinds), .required = true,       \
     .help = "Objective: most iterations per hour; most iterations per dollar; least cost "        \
             "without deadlines; least cost with deadlines; least time within the budget."}
/* clang-format on */

/* An answer and the problem it solves. */
struct app_policy_solved {
    const struct policy_problem *problem;
    const struct policy_answer *answer;
    enum policy_kind kind;
    double elapsed_ms;
    /* Of answer and kind, for the fields of the record. */
    const char *policy, *status, *unit, *reason;
    double objective, bound, stretch, budget_needed_usd;
};

/* ---- policy.simulate ---- */

/* Answers with struct app_policy_simulated, and with events before it where requested. */
extern const struct operation policy_simulate_operation;

/* A solve or a round of a simulation. */
struct app_policy_event {
    json_t *event;
};

/* What a chart of a simulation shows. */
struct app_policy_span {
    uint32_t job, type;
    int64_t from_ms, to_ms;
};
struct app_policy_sample {
    int64_t from_ms, to_ms;
    size_t running, waiting;
    int64_t cost_microusd; /* up to to_ms */
};
struct app_policy_story {
    struct app_policy_span *spans;
    size_t n_spans, cap_spans;
    struct app_policy_sample *samples; /* one per round */
    size_t n_samples, cap_samples;
};

struct app_policy_simulated;

/* Times that never came are NaN. */
struct app_policy_job {
    const struct app_policy_simulated *of;
    size_t number; /* among the jobs of the trace */
    const char *name;
    double arrival_h, start_h, finish_h, waited_h, run_h, lost_h, deadline_h, late_h;
    double short_known_h, shortfall;
    int64_t cost_microusd;
    uint64_t switches, restarts, preemptions;
};

/* A simulation and its result. */
struct app_policy_simulated {
    const struct rounds_ask *ask;
    const struct rounds_result *result;
    const struct app_policy_story *story; /* empty where not requested */
    const char *prices;                   /* source of price steps; NULL = there are none */
    const struct policy_price_notes *price_notes;
    const char *unfinished; /* why jobs did not finish; NULL = all did */
    /* Of the above, for the fields of the record. */
    const char *policy;
    double round_h, restart_s, makespan_h, mean_completion_h, budget_usd, budget_short_known_h;
    double bound_usd, cost_gap, bound_makespan_h, makespan_gap, solve_ms, elapsed_ms;
    int64_t seed, cost_microusd;
    uint64_t jobs_done, slo_violations, n_deadlines, rounds, solves, solves_short;
    uint64_t switches, restarts, preemptions;
    uint64_t price_rows, price_disordered, price_repeated;
    const void *self;             /* the struct itself: its bounds are a record in JSON */
    const void *self_with_prices; /* the same; NULL without price steps */
    struct field_records jobs;    /* struct app_policy_job */
};
/* Share of a type's quota in use. */
double app_policy_utilisation(const struct app_policy_simulated *s, size_t type);

#endif
