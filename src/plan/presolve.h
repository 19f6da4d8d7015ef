/* presolve: bounds for every site of every stage, cheaper than any table of pairs of sites.
 *
 * Most locations of a cloud are alike to the transfer table, so moves are looked at between classes
 * of locations. The relaxation is small: each stage reads only from its largest producer, and the
 * time that inputs take is charged at the site's lowest price. */
#ifndef PLAN_PRESOLVE_H
#define PLAN_PRESOLVE_H

#include "plan/incumbent.h"
#include "plan/internal.h"

struct presolve;

/* Borrows problem and domain, which must not change while it lives. */
struct presolve *presolve_new(const struct plan_problem *p, const struct domain *d);
void presolve_free(struct presolve *x);
AUTO_DEFINE(presolve)

/* Fills marginal[stage][k] for the k-th site of the domain with a lower bound of cost + lambda x
 * time over all plans that use it (lambda INFINITY: of the time). path_weight is per stage, as in
 * view.h; NULL only for lambda 0. Rows are those of presolve_rows, which
 * live as long as x. */
void presolve_bounds(
    struct presolve *x, double lambda, const double *path_weight, int layer, double **marginal);
double **presolve_rows(const struct presolve *x);

/* Removes the sites from the domain that bounds for these lambdas rule out. */
void presolve_thin(const struct plan_problem *p,
                   struct domain *d,
                   const struct incumbent *incumbent,
                   const double *lambdas,
                   size_t n,
                   const double *path_weight);

#endif
