/* lp: a linear program by columns, its solution by CLP, and the proof of an answer. For files of
 * policy/ alone. */
#ifndef POLICY_LP_H
#define POLICY_LP_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Violations below this part of a row's size are rounding. */
#define LP_TOLERANCE 1e-7

/* min cost x, lower <= A x <= upper, x >= 0. Every column of an optimal x is known to be at most 1;
 * or, where `scaled`, at most the value of scale_column, which alone has a cost then. */
struct lp {
    int n_rows, n_columns;
    double *cost;
    double *lower, *upper; /* of rows */
    int *start;            /* of each column, n_columns + 1 */
    int *row;
    double *value;
    bool *scaled;
    int scale_column; /* -1 = none */
    int n_cells, cap_cells, cap_columns, cap_rows;
};

/* Allocates room for rows and columns, which the caller adds; cells grow as needed. */
void lp_init(struct lp *l, size_t rows, size_t columns);
void lp_clear(struct lp *l);
/* Both return the number of the new row or column. */
int lp_add_row(struct lp *l, double lower, double upper);
int lp_add_column(struct lp *l, double cost, bool scaled);
/* Adds a cell to the last column, unless the value is 0. */
void lp_add_cell(struct lp *l, int row, double value);

/* A point x >= 0 and multipliers y of the rows. */
struct lp_point {
    double *x, *y;
    double objective; /* at x */
    double bound;     /* proved by y: no feasible point is below */
    double violation; /* of the worst row at x, as part of its size */
};

void lp_point_init(struct lp_point *at, const struct lp *l);
void lp_point_clear(struct lp_point *at);
/* Corrects the signs of x and y and computes objective, bound and violation from the program alone;
 * the solver's own figures are not used. */
void lp_prove(const struct lp *l, struct lp_point *at);
/* True when objective and bound agree and no row is violated. The gap is relative to the objective,
 * or to `size` if that is larger: the size of the terms when the objective is near 0. */
bool lp_is_proved(const struct lp_point *at, double size);

/* ---- clp.c ---- */

/* CLP's algorithms. */
enum clp_method { CLP_DUAL, CLP_PRIMAL, CLP_BARRIER, CLP_METHODS };

/* Keeps CLP loaded until clp_release, for many small programs. NULL when CLP is not installed; the
 * first program then fails with the reason. */
void *clp_hold(void);
void clp_release(void *held);

/* One attempt: fills in *at and calls lp_prove. -1 when CLP is not installed (ERR_IO); a poor
 * answer is not an error here. */
int clp_try(
    const struct lp *l, enum clp_method method, bool presolve, struct lp_point *at, struct err *e);

/* The basis of an answer, the start for another program with the same columns and first rows. */
struct clp_basis {
    unsigned char *status; /* of columns, then rows */
    int n_columns, n_rows;
    bool has_new_costs; /* costs of the other program differ; otherwise only rows were added */
};

/* Finds and proves the program's optimum. Tries algorithms until one is proved, first from the
 * basis `from` unless NULL; ERR_IO when none is. size: see lp_is_proved. Returns the solver with
 * its answer, for clp_beside and clp_keep; NULL with e. The program must outlive the solver. */
struct clp;
struct clp *clp_open(const struct lp *l,
                     const struct clp_basis *from,
                     double size,
                     struct lp_point *at,
                     struct err *e);
void clp_free(struct clp *c);
AUTO_DEFINE(clp)
/* Multipliers of the rows after the upper sides of n different rows are raised by these amounts.
 * Takes a few steps from the answer on. */
void clp_beside(struct clp *c, const int *rows, const double *by, size_t n, double *y_out);
/* Copies the basis of the answer; *out is an earlier basis, or {0}. */
void clp_keep(const struct clp *c, struct clp_basis *out);
void clp_basis_clear(struct clp_basis *b);

#endif
