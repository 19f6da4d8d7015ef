/* ipm_internal: what the files of the interior-point method share. */
#ifndef POLICY_IPM_INTERNAL_H
#define POLICY_IPM_INTERNAL_H

#include "policy/ipm.h"

#include <stdint.h>

/* Loops over whole lanes are compiled once more for processors that take four numbers at a time.
 * They give the same bits: neither version adds in another order, nor fuses products and sums.
 * Sanitizers start too late for what chooses between the two. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define IPM_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define IPM_WIDE
#endif

/* Of functions that belong into such ones. */
#define IPM_INLINE static inline __attribute__((always_inline))

/* Columns of a job after its types. */
enum { IPM_SURPLUS, IPM_IDLE, IPM_MISSING, IPM_FILLER };

/* Multipliers of the rows, or a step of them, or right sides. */
struct ipm_duals {
    double *work, *time; /* per job */
    double *row;         /* per row */
};

/* The columns that are looked at: of each job some of its types, whole lanes of them, then those
 * after the types. At first that is all of them; when it shows which types a job will not use, they
 * are dropped. The proof does not depend on it: it looks at all of them. */
struct ipm_columns {
    const struct ipm_problem *p;
    size_t *first;  /* of each job; then of the slacks of rows */
    uint32_t *type; /* per column; NULL = all jobs have all types in order */
    double *work;   /* per column; NULL = the problem's */
};

void ipm_columns_init(struct ipm_columns *c, const struct ipm_problem *p);
void ipm_columns_clear(struct ipm_columns *c);
/* How many types the job has left. */
static inline size_t ipm_types(const struct ipm_columns *c, size_t job)
{
    return c->first[job + 1] - c->first[job] - IPM_LANES;
}
static inline const double *ipm_work(const struct ipm_columns *c, size_t job)
{
    return (c->work ? c->work : c->p->work) + c->first[job];
}
/* The type of a job's i-th column. */
static inline size_t ipm_type(const struct ipm_columns *c, size_t job, size_t i)
{
    return c->type ? c->type[c->first[job] + i] : i;
}
/* out[i] = what the rows' multipliers add up to in the job's i-th column; 0 after the types. */
void ipm_columns_prices(const struct ipm_columns *c, size_t job, const double *row, double *out);
/* row += the rows of the job's columns, whose values are q. */
void ipm_columns_add(const struct ipm_columns *c, size_t job, const double *q, double *row);

/* All variables: the columns, then the slack of every row. */
struct ipm_point {
    double *x;
    double *z; /* reduced costs, above 0 from the beginning to the end: multipliers stay feasible */
    struct ipm_duals y;
};

/* Keeps of each job the `least` types of the least reduced costs at these prices of rows, when that
 * leaves much fewer columns. */
void ipm_columns_choose(struct ipm_columns *c, const double *price, size_t least);
/* Drops types that hold little of a job's weight, x / z, when that leaves much fewer columns: of
 * each job `least` stay, and all with this part of its largest weight. Returns the largest part of
 * a job's time that went with them, or 0 when nothing was dropped. */
double ipm_drop(struct ipm_columns *c, struct ipm_point *at, size_t least, double part);

/* The equations of a Newton step, factored: those of the jobs eliminated, the common rows dense. */
struct ipm_system {
    const struct ipm_problem *p;
    const struct ipm_columns *c;
    size_t stride; /* the number of rows */
    /* Per job, the job's work row against the common ones, eliminated: those of its types, then
     * those after the quotas. */
    double *work_row;
    double *time_row;  /* the same */
    double *mean;      /* per job: work at the centre of the weights */
    double *work_root; /* per job: root of the pivot */
    double *time_root; /* per job */
    double *dense;     /* stride x stride, upper triangle: the Cholesky factor */
    double *some;      /* scratch: the rows of one job */
};

/* Variables before the slacks of rows. */
size_t ipm_own_columns(const struct ipm_problem *p);
/* 1 for a job's column, counted from its first, that takes time: types, idleness and the filler. */
double ipm_takes_time(const struct ipm_problem *p, size_t column);

void ipm_duals_init(struct ipm_duals *y, const struct ipm_problem *p);
void ipm_duals_clear(struct ipm_duals *y);
/* out[j] = what the rows' multipliers add up to in the column of this job and type j. */
void ipm_row_prices(const struct ipm_problem *p, size_t job, const double *row, double *out);

void ipm_system_init(struct ipm_system *s, const struct ipm_columns *c);
void ipm_system_clear(struct ipm_system *s);
/* Weights of columns are x / z at the point. */
void ipm_system_factor(struct ipm_system *s, const struct ipm_point *at);
/* Replaces right sides by the solution. */
void ipm_system_solve(const struct ipm_system *s, struct ipm_duals *y);

/* Prices of rows that are about right. */
struct ipm_hint {
    double *price; /* per row */
    double value;  /* of the objective, per job */
    double gap; /* to begin with, as part of it: the less, the better the prices are; 0 = none are
                   known */
};

/* Whether its figures are numbers, and the value above 0. */
bool ipm_hint_is_good(const struct ipm_hint *hint, const struct ipm_problem *p);
/* For ipm.c, which is compiled as if there were no others. */
bool ipm_is_finite(double v);

/* Fills in the columns after the types. */
void ipm_fill_in(struct ipm_problem *p);
/* A point with feasible multipliers and all products x z alike, of all columns. */
void ipm_begin(const struct ipm_problem *p, struct ipm_point *at);
/* The same of the columns that were chosen, where rows have the prices of the hint and every job
 * does what is best for it. */
void ipm_begin_at(const struct ipm_columns *c, const struct ipm_hint *hint, struct ipm_point *at);

/* A problem of some of the jobs, with as large a part of what rows hold. */
struct ipm_sample {
    struct ipm_problem problem;
    struct ipm_row *rows;
    double *weights;
};

void ipm_sample_init(struct ipm_sample *s, const struct ipm_problem *p, size_t n_jobs);
void ipm_sample_clear(struct ipm_sample *s);
/* What the point amounts to, rounding settled; whether that is an answer and proved. */
bool ipm_end(const struct ipm_columns *c, const struct ipm_point *at, struct ipm_answer *a);
/* A lower bound of the objective from multipliers of the rows, all at least 0; and the best ones of
 * each job's work for them. */
double ipm_bound(const struct ipm_problem *p, const double *price, double *work_price_out);
/* The least that a job's work costs at these prices of rows; of each type what it costs then, and
 * what work is worth. */
double ipm_job_bound(const struct ipm_problem *p,
                     size_t job,
                     const double *price,
                     double *total_out,
                     double *work_price_out);

/* S -= A'A of n rows of A, upper triangle; rows are as wide as the stride. */
void dense_subtract_square(double *s, size_t stride, const double *a, size_t n);
/* S = U'U in place, upper triangle. A row whose pivot is not above least[i] depends on those before
 * it and gets no part in solutions. */
void dense_factor(double *s, size_t stride, const double *least);
void dense_solve(const double *u, size_t stride, double *x);

#endif
