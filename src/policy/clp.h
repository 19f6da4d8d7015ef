/* clp: linear programs solved by CLP, loaded at run time. For files of policy/ alone. */
#ifndef POLICY_CLP_H
#define POLICY_CLP_H

#include "base/auto.h"
#include "policy/lp.h"

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
