/* clp: linear programs solved by CLP, which is found at run time. For files of policy/ alone. */
#ifndef POLICY_CLP_H
#define POLICY_CLP_H

#include "base/auto.h"
#include "policy/lp.h"

/* How CLP goes about it. */
enum clp_method { CLP_DUAL, CLP_PRIMAL, CLP_BARRIER, CLP_METHODS };

/* Keeps CLP loaded from now on, for work with many small programs; NULL when it is not installed,
 * of which the first program tells. clp_release ends it. */
void *clp_hold(void);
void clp_release(void *held);

/* One attempt. *at is filled in and looked at by lp_prove; -1 when CLP is not installed (ERR_IO),
 * but a poor answer is not an error here. */
int clp_try(
    const struct lp *l, enum clp_method method, bool presolve, struct lp_point *at, struct err *e);

/* Where an answer was, for another program to start from: one with the same columns, whose rows
 * begin with the same ones. */
struct clp_basis {
    unsigned char *status; /* of columns, then rows */
    int n_columns, n_rows;
    bool has_new_costs; /* the other program's are others; else it has more rows alone */
};

/* The program's optimum, proved. Ways are tried until one proves right, first from `from` on unless
 * that is NULL; ERR_IO when none does. size: see lp_is_proved. The solver stays there with its
 * answer, to look at what lies beside it; NULL with e. The program must outlive it. */
struct clp;
struct clp *clp_open(const struct lp *l,
                     const struct clp_basis *from,
                     double size,
                     struct lp_point *at,
                     struct err *e);
void clp_free(struct clp *c);
AUTO_DEFINE(clp)
/* Multipliers of the rows where the upper sides of n rows, of which each is named once, are raised
 * that much. Takes a few steps from the answer on. */
void clp_beside(struct clp *c, const int *rows, const double *by, size_t n, double *y_out);
/* Where its answer is; *out is one that was kept before, or {0}. */
void clp_keep(const struct clp *c, struct clp_basis *out);
void clp_basis_clear(struct clp_basis *b);

#endif
