/* ipm_internal: what the files of the interior-point method share. */
#ifndef POLICY_IPM_INTERNAL_H
#define POLICY_IPM_INTERNAL_H

#include "policy/ipm.h"

/* Columns of a job after its types. */
enum { IPM_SURPLUS, IPM_IDLE, IPM_MISSING, IPM_FILLER };

/* Multipliers of the rows, or a step of them, or right sides. */
struct ipm_duals {
    double *work, *time; /* per job */
    double *row;         /* per row */
};

/* All variables: jobs x width, then the slack of every row. */
struct ipm_point {
    double *x;
    double *z; /* reduced costs, above 0 from the beginning to the end: multipliers stay feasible */
    struct ipm_duals y;
};

/* The equations of a Newton step, factored: those of the jobs eliminated, the common rows dense. */
struct ipm_system {
    const struct ipm_problem *p;
    size_t stride;     /* the number of rows */
    double *work_row;  /* jobs x stride: the job's work row against the common ones, eliminated */
    double *time_row;  /* jobs x stride */
    double *mean;      /* per job: work at the centre of the weights */
    double *work_root; /* per job: root of the pivot */
    double *time_root; /* per job */
    double *dense;     /* stride x stride, upper triangle: the Cholesky factor */
};

/* Variables before the slacks of rows. */
size_t ipm_own_columns(const struct ipm_problem *p);
/* 1 for a job's column, counted from its first, that takes time: types, idleness and the filler. */
double ipm_takes_time(const struct ipm_problem *p, size_t column);

void ipm_duals_init(struct ipm_duals *y, const struct ipm_problem *p);
void ipm_duals_clear(struct ipm_duals *y);
/* out[j] = what the rows' multipliers add up to in the column of this job and type j. */
void ipm_row_prices(const struct ipm_problem *p, size_t job, const double *row, double *out);

void ipm_system_init(struct ipm_system *s, const struct ipm_problem *p);
void ipm_system_clear(struct ipm_system *s);
/* Weights of columns are x / z at the point. */
void ipm_system_factor(struct ipm_system *s, const struct ipm_point *at);
/* Replaces right sides by the solution. */
void ipm_system_solve(const struct ipm_system *s, struct ipm_duals *y);

/* A point with feasible multipliers and all products x z alike. */
void ipm_begin(struct ipm_problem *p, struct ipm_point *at);
/* What the point amounts to, rounding settled; whether that is an answer and proved. */
bool ipm_end(const struct ipm_problem *p, const struct ipm_point *at, struct ipm_answer *a);
/* A lower bound of the objective from multipliers of the rows, all at least 0; and the best ones of
 * each job's work for them. */
double ipm_bound(const struct ipm_problem *p, const double *price, double *work_price_out);

/* S -= A'A of n rows of A, upper triangle; rows are as wide as the stride. */
void dense_subtract_square(double *s, size_t stride, const double *a, size_t n);
/* S = U'U in place, upper triangle. A row whose pivot is not above least[i] depends on those before
 * it and gets no part in solutions. */
void dense_factor(double *s, size_t stride, const double *least);
void dense_solve(const double *u, size_t stride, double *x);

#endif
