/* ipm: a primal-dual interior-point method for programs of many jobs on few instance types. For
 * files of policy/ alone.
 *
 *   min sum cost x + shortfall_cost * sum e
 *   work   sum_j work_mj x_mj + e_m          >= 1    of each job m
 *   time   sum_j x_mj                        <= 1    of each job
 *   rows   sum_mj weight_rm unit_rj x_mj     <= most of each common row r
 *
 * The columns of a job meet two rows of the job's own and few common ones. So the equations of a
 * Newton step fall into a block of 2 x 2 per job and one dense block for the common rows: time
 * O(jobs * rows^2) per step, memory O(jobs * types). */
#ifndef POLICY_IPM_H
#define POLICY_IPM_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
