/* slopes: what a little more of a quota is worth. For files of policy/ alone. */
#ifndef POLICY_SLOPES_H
#define POLICY_SLOPES_H

#include "policy/clp.h"
#include "policy/policy.h"

/* An answer, and where its program has the quotas: the row of the first type in the first window,
 * with those of the next window `stride` rows later. */
struct slopes_ask {
    struct clp *solver;
    const struct lp *lp;
    const struct lp_point *at;
    const struct policy_type *types;
    size_t n_types, n_windows;
    int quota_row, stride;
    size_t first_scaled; /* window; as in model.h */
};

/* By how much one instance more of each type lowers the objective, by the multipliers at hand. */
void slopes_of(const struct slopes_ask *ask, const double *y, double *worth_out);
/* The same of the first small part of an instance. Where more limits meet in the answer than it
 * takes to hold it, multipliers are some of many, and promise too much as a rule: so the program is
 * looked at with a little more of the quota. */
void slopes_find(const struct slopes_ask *ask, double *worth_out);

#endif
