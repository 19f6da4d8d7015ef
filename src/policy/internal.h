/* internal: what the policies share. For files of policy/ alone. */
#ifndef POLICY_INTERNAL_H
#define POLICY_INTERNAL_H

#include "policy/grid.h"
#include "policy/ipm.h"
#include "policy/model.h"

/* Below this a share, or the sum of all shortfalls, is rounding. */
#define SHARE_LEAST 1e-9
#define SHORTFALL_LEAST 1e-7

/* A policy's question: the least cost at which the jobs that must finish do. */
struct elastic_ask {
    const struct grid *grid;
    const double *cost; /* per column of the grid */
    const bool *must_finish;
    bool wants_slopes;         /* as in model.h */
    struct model_start *start; /* likewise */
};

/* Solves the form in which every job may fall short at a price, so that there always is an answer.
 * Returns 1 when nothing falls short; 0 when something must: *out then has the least sum of
 * shortfalls, whatever that costs, or where the problem goes on that of the priced form; -1 with e.
 */
int elastic_solve(const struct elastic_ask *ask, struct model_answer *out, struct err *e);
/* The least sum of shortfalls within the budget: 1 when it is 0, 0, or -1 with e. */
int elastic_within(const struct elastic_ask *ask,
                   double budget_usd,
                   struct model_answer *out,
                   struct err *e);
/* How many times later all deadlines would have to be for all to finish within the budget, at
 * prices that stay; some time must be enough. */
int elastic_stretch(const struct elastic_ask *ask,
                    double budget_usd,
                    double *stretch_out,
                    struct err *e);
/* What would do for an answer that falls short of the deadlines: fills in stretch and, when the
 * budget does not do however late it is, the budget that does with it. */
int stretch_find(const struct elastic_ask *ask,
                 enum policy_form form,
                 struct policy_answer *out,
                 struct err *e);

/* What a whole job that falls short costs in the priced form at first, and where it goes on. */
double elastic_price(const struct elastic_ask *ask);

/* Starts an answer with these windows. */
void answer_init(struct policy_answer *a, const struct scope *s, const struct edges *edges);
/* Copies what x uses, in windows whose hours are multiplied by scale from first_scaled on. */
void answer_uses(struct policy_answer *a,
                 const struct grid *g,
                 const struct model_answer *found,
                 size_t first_scaled);
/* Copies what more quota is worth, in units of the answer's objective. */
void answer_shadow_prices(struct policy_answer *a, const struct model_answer *found, double unit);
/* Infeasible: takes the uses and shortfalls of the answer nearest to what was asked. */
void answer_falls_short(struct policy_answer *a,
                        const struct grid *g,
                        const struct model_answer *nearest);
/* Writes the reason: which jobs fall short, and the way out. */
void answer_reason(struct policy_answer *a, const struct scope *s);

/* The policies. */
int policy_shares(struct scope *s, enum policy_kind kind, struct policy_answer *out, struct err *e);
int policy_cost(struct scope *s, enum policy_form form, struct policy_answer *out, struct err *e);
int policy_makespan(struct scope *s, struct policy_answer *out, struct err *e);
/* Whether so many dollars are within the budget, but for rounding. */
bool policy_is_within(const struct policy_problem *p, double usd);
/* No schedule that does all work between releases and deadlines costs less; NAN when none does. */
int policy_cost_bound(const struct policy_problem *p, double *usd_out, struct err *e);
/* Whether some job (of those that must finish; NULL = all) has no usable type; then the answer says
 * so. What others fall short by beside them, within the budget, is the rest of it. */
bool policy_cannot_run(const struct scope *s, const bool *must_finish, struct policy_answer *out);
int policy_others_short(const struct elastic_ask *ask,
                        double budget_usd,
                        struct policy_answer *out,
                        struct err *e);

/* ---- the interior-point method ---- */

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

void ipm_system_init(struct ipm_system *s, const struct ipm_problem *p, const double *takes_time);
void ipm_system_clear(struct ipm_system *s);
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
