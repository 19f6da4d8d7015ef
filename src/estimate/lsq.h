/* lsq: least squares by orthogonal columns, with leave-one-out errors and intervals. */
#ifndef ESTIMATE_LSQ_H
#define ESTIMATE_LSQ_H

#include <stdbool.h>
#include <stddef.h>

/* X = QR of n rows and p columns. A column that the columns before it already explain (a constant
 * beside the intercept, two options that always change together) is dropped: its coefficient is
 * 0, and the others are what they would be without it. */
struct lsq {
    size_t n, p, rank;
    double *q;        /* p columns of n, orthonormal; zero where dropped */
    double *r;        /* p x p by rows, upper triangle */
    double *leverage; /* n: diagonal of the hat matrix; 1 = the row alone decides its fit */
    bool *dropped;    /* p */
};

/* columns: p columns of n values, one after the other; finite. */
void lsq_init(struct lsq *s, size_t n, size_t p, const double *columns);
void lsq_clear(struct lsq *s);

/* residual (n) = y - Xb for the b of the smallest sum of squares, which is returned.
 * beta (p) may be NULL. */
double lsq_solve(const struct lsq *s, const double *y, double *residual, double *beta);

/* out (p x p by rows) = inverse of X'X over the columns kept, zero elsewhere. */
void lsq_inverse(const struct lsq *s, double *out);

/* The t that a Student variable of df degrees of freedom (at least 1) exceeds in absolute value
 * with probability 1 - inside. */
double lsq_student(size_t df, double inside);

#endif
