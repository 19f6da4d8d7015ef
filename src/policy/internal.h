/* internal: declarations that the files of policy/ share, and no other room sees. */
#ifndef POLICY_INTERNAL_H
#define POLICY_INTERNAL_H

#include "base/json.h"
#include "policy/grid.h"
#include "policy/model.h"
#include "policy/read.h"
#include "policy/rounds.h"

#include <math.h>

/* ---- the policies ---- */

/* A share, or the sum of all shortfalls, below these is rounding. */
#define SHARE_LEAST 1e-9
#define SHORTFALL_LEAST 1e-7

int policy_shares(struct scope *s, enum policy_kind kind, struct policy_answer *out, struct err *e);
int policy_cost(struct scope *s, struct policy_answer *out, struct err *e);
int policy_makespan(struct scope *s, struct policy_answer *out, struct err *e);
/* True when the amount is within the budget, rounding allowed. */
bool policy_is_within(const struct policy_problem *p, double usd);
/* The lower bound of the cost of every schedule that does all work between releases and deadlines;
 * NAN when no schedule does. */
int policy_cost_bound(const struct policy_problem *p, double *usd_out, struct err *e);
/* True when a job (of those that must finish; NULL = all) has no usable type: the answer then says
 * so. policy_others_short adds the shortfalls of the other jobs within the budget. */
bool policy_cannot_run(const struct scope *s, const bool *must_finish, struct policy_answer *out);

/* ---- programs in which jobs may fall short ---- */

/* Of the questions of model.h, these functions choose shortfall_cost, budget_usd and first_scaled
 * themselves. */

/* Solves the elastic form, in which every job may fall short at a price and which is always
 * feasible. Returns 1 when nothing falls short; 0 when something must: *out then has the least sum
 * of shortfalls at any cost, or, where the problem goes on, that of the priced form; -1 with e. */
int elastic_solve(const struct model_ask *ask, struct model_answer *out, struct err *e);
/* The least sum of shortfalls within the budget: 1 when it is 0, 0, or -1 with e. */
int elastic_within(const struct model_ask *ask,
                   double budget_usd,
                   struct model_answer *out,
                   struct err *e);
/* The least factor for all deadlines with which all jobs finish within the budget, at constant
 * prices; there must be such a factor. */
int elastic_stretch(const struct model_ask *ask,
                    double budget_usd,
                    double *stretch_out,
                    struct err *e);
/* The first price of a whole job's shortfall in the priced form. */
double elastic_price(const struct model_ask *ask);
/* Marks the answer infeasible, with the least shortfalls within the budget. */
int policy_short_within(const struct model_ask *ask,
                        double budget_usd,
                        struct policy_answer *out,
                        struct err *e);
/* Fills in the fix for an answer that falls short of the deadlines: the stretch and, when the
 * budget is too small at any stretch, the budget that is enough with it. */
int stretch_find(const struct model_ask *ask, struct policy_answer *out, struct err *e);
int policy_others_short(const struct model_ask *ask,
                        double budget_usd,
                        struct policy_answer *out,
                        struct err *e);

/* ---- answers ---- */

/* Starts an answer with these windows. */
void policy_answer_init(struct policy_answer *a, const struct scope *s, const struct edges *edges);
/* Copies the uses of x, in windows whose hours are multiplied by the scale from first_scaled on. */
void policy_answer_uses(struct policy_answer *a,
                        const struct grid *g,
                        const struct model_answer *found,
                        size_t first_scaled);
/* Copies the shadow prices of quotas, in units of the answer's objective. */
void policy_answer_shadow_prices(struct policy_answer *a,
                                 const struct model_answer *found,
                                 double unit);
/* Marks the answer infeasible, with uses and shortfalls of the nearest one. */
void policy_answer_falls_short(struct policy_answer *a,
                               const struct grid *g,
                               const struct model_answer *nearest);
/* Writes the reason: the jobs that fall short, and the fix. */
void policy_answer_reason(struct policy_answer *a, const struct scope *s);

/* ---- programs of one window and many columns ---- */

/* True when the program has the structure of struct ipm_problem and is large enough for the method
 * to pay. */
bool structured_fits(const struct model_ask *ask, const struct cuts *cuts);
/* True when the program is solved and proved; otherwise the caller needs another solver. */
bool structured_solve(const struct model_ask *ask,
                      const struct cuts *cuts,
                      struct model_answer *out);

/* ---- reading ---- */

/* A trace in JSON lines: the first line has the types, each other line a job or a price step. */
struct policy_lines {
    bool used;          /* false: the file is one object */
    size_t *job_line;   /* line number of each of the root's jobs */
    json_t *prices;     /* the lines that are price steps; NULL = none */
    size_t *price_line; /* line number of each of them */
    size_t cap_jobs, cap_prices;
};

/* The file as one object, in either form; lines_out NULL: JSON lines are refused. NULL with
 * ERR_USAGE and the line. Clear the lines in any case. */
json_t *policy_json_read(const char *bytes,
                         size_t n,
                         struct policy_lines *lines_out,
                         struct err *e);
void policy_lines_clear(struct policy_lines *l);

/* ---- simulated rounds ---- */

#define NO_TYPE POLICY_NO_TYPE

/* A claim and the figures that order the queue. */
struct claim {
    struct rounds_claim is;
    double owed_ms,
        received_ms; /* of its share, since it was solved; at most a round from before */
    double ratio;    /* owed / received, this round counted as owed */
    double gang;
    int64_t arrival_ms, due_ms;
    bool is_running;     /* the job ran there in the round before */
    bool is_leased;      /* and its lease has not ended */
    double usd_per_work; /* of fills: at the price when it was solved */
};

/* Instances of a type that are preempted (above 0) or come back. */
struct edge {
    int64_t at_ms;
    uint32_t type;
    uint32_t preemption; /* its number */
    double instances;
};

struct sim {
    struct arena *arena; /* of all arrays but claims and order */
    const struct rounds_ask *ask;
    const struct policy_problem *p;
    struct rounds_result *out;
    int64_t at_ms; /* the beginning of the round */
    unsigned why;  /* reasons to solve shares again; 0 = none */

    /* Per job of the trace. */
    double *left;      /* iterations */
    uint32_t *on;      /* the type the job runs on, or NO_TYPE */
    uint32_t *before;  /* the type the job ran on last, or NO_TYPE */
    int64_t *lease_ms; /* end of the lease */
    bool *is_placed;   /* in this round */
    bool *is_overdue;  /* the deadline has passed */
    int64_t *due_ms;   /* the deadline, or the one the policy assumed after that */

    uint32_t *queue; /* jobs by arrival; those before next_arrival are active or done */
    size_t next_arrival;
    uint32_t *active; /* jobs that have arrived and are not done, by arrival */
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

    /* The policy's problem: the active jobs. */
    struct policy_type *types_now;
    struct policy_job *jobs_now;
    uint32_t *number_now; /* in the trace */
    uint32_t *on_now;
};

static inline double rounds_hours(int64_t ms)
{
    return (double)ms / ROUNDS_HOUR_MS;
}
static inline int64_t rounds_ms(double hours)
{
    return (int64_t)floor(hours * ROUNDS_HOUR_MS + 0.5);
}
/* Instances of a type that are available now. */
double rounds_capacity(const struct sim *s, size_t type);
/* The interval in force at a time. */
size_t rounds_interval(const struct sim *s, int64_t at_ms);
bool rounds_uses_deadlines(enum policy_kind kind);

/* Solves the policy for the active jobs and fills in the claims. */
int rounds_plan(struct sim *s, struct err *e);
/* Assigns machines for a round: the runs, with job and type. */
void rounds_place(struct sim *s);
/* Simulates the round: work, preemptions, the bill. */
int rounds_run(struct sim *s, struct err *e);
/* Fills in the lower bounds of cost and time. */
void rounds_bound(const struct sim *s);

/* ---- the interior-point method ---- */

/* A primal-dual interior-point method for programs of many jobs on few instance types.
 *
 *   min sum cost x + shortfall_cost * sum e
 *   work   sum_j work_mj x_mj + e_m          >= 1    of each job m
 *   time   sum_j x_mj                        <= 1    of each job
 *   rows   sum_mj weight_rm unit_rj x_mj     <= most of each common row r
 *
 * The columns of a job meet two rows of the job's own and few common ones. So the equations of a
 * Newton step fall into a block of 2 x 2 per job and one dense block for the common rows: time
 * O(jobs * rows^2) per step, memory O(jobs * types). */

/* Numbers that one vector instruction works on: n_types and n_rows are multiples of IPM_LANES.
 * Types without work (work 0, a cost above 0, any quota) and rows without units fill up. */
#define IPM_LANES 4
/* Columns of a job: the types, then surplus of work, idle time, shortfall, and one that fills up.
 */
#define IPM_WIDTH(n_types) ((n_types) + IPM_LANES)

struct ipm_row {
    const double *unit;   /* per type; NULL = row r is the quota of type r: 1 there, 0 elsewhere */
    const double *weight; /* per job */
    double most;          /* above 0 */
};

struct ipm_problem {
    size_t n_jobs, n_types;
    double *work;               /* jobs x width; ipm_solve fills in the columns after the types */
    double *cost;               /* the same; at least 0 */
    const struct ipm_row *rows; /* the quota of each type first, all with the same weights */
    size_t n_rows;
    double shortfall_cost; /* of all work of one job */
    double gap;            /* aim: the gap between objective and bound, as part of the objective */
    double size;           /* least value the objective counts as there; 0 = no such value */
};

struct ipm_answer {
    double *x;          /* jobs x width */
    double *shortfall;  /* per job */
    double *price;      /* multiplier of each row, at least 0 */
    double *work_price; /* multiplier of each job's work */
    double objective;
    double bound; /* lower bound of the objective, proved from `price` alone */
};

/* Solves the problem. True: no row is violated by more than LP_TOLERANCE, and objective and bound
 * differ by at most POLICY_GAP of the objective (or of `size`). False: the caller needs another
 * solver. */
bool ipm_solve(struct ipm_problem *p, struct ipm_answer *out);
void ipm_answer_clear(struct ipm_answer *a);

/* The lower bound that prices of the common rows, all at least 0, prove; work_price_out gets the
 * best multiplier of each job's work at these prices. */
double ipm_bound(const struct ipm_problem *p, const double *price, double *work_price_out);

/* Loops over whole lanes are compiled once more for processors that take four numbers at a time.
 * Both versions give the same bits: neither adds in another order, nor fuses products and sums.
 * Sanitizers start too late for the choice between the two. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define IPM_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define IPM_WIDE
#endif
/* Functions that become a part of an IPM_WIDE one. */
#define IPM_INLINE static inline __attribute__((always_inline))

/* Columns of a job after the types. */
enum { IPM_SURPLUS, IPM_IDLE, IPM_MISSING, IPM_FILLER };

/* Multipliers of the rows, or a step of them, or right sides. */
struct ipm_duals {
    double *work, *time; /* per job */
    double *row;         /* per common row */
};

/* The factored equations of a Newton step. */
struct ipm_system {
    const struct ipm_problem *p;
    const double *takes_time; /* per column of a job: 0 or 1; borrowed */
    double *work_row;         /* jobs x rows: the job's work row against the common rows */
    double *time_row;         /* the same of the job's time row */
    double *mean;             /* per job: work at the centre of the weights */
    double *work_root;        /* per job: root of the pivot */
    double *time_root;        /* per job */
    double *dense;            /* rows x rows, upper triangle: Cholesky's factor */
    double *diagonal;         /* per row: the diagonal before elimination */
    double *weight;           /* scratch: three numbers per column of a job */
};

void ipm_system_init(struct ipm_system *s,
                     const struct ipm_problem *p,
                     const double *takes_time,
                     struct arena *arena);
/* Factors the equations at a point: values and reduced costs of all columns, then of the slacks. */
void ipm_system_factor(struct ipm_system *s, const double *x, const double *z);
/* Replaces right sides by the solution. */
void ipm_system_solve(const struct ipm_system *s, struct ipm_duals *y);
/* out[j] = sum over the common rows of their multipliers in the column of this job and type j. */
void ipm_row_prices(const struct ipm_problem *p, size_t job, const double *row, double *out);
/* Fills in the answer at a point, rounding settled. True: the rows hold and the gap is proved. */
bool ipm_prove(const struct ipm_problem *p,
               const double *x,
               const double *row_multiplier,
               struct ipm_answer *a);

/* The sum of products of n numbers, whole lanes of them. */
IPM_INLINE double ipm_dot(const double *a, const double *b, size_t n)
{
    double sum[IPM_LANES] = {0};

    for (size_t i = 0; i < n; i += IPM_LANES)
        for (size_t k = 0; k < IPM_LANES; k++)
            sum[k] += a[i + k] * b[i + k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#endif
