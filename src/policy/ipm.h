/* ipm: an interior-point method for programs of many jobs on few types. For files of policy/ alone.
 *
 *   min sum cost x + shortfall_cost * sum e
 *   work   sum_j work_mj x_mj + e_m          >= 1    of each job m
 *   time   sum_j x_mj                        <= 1    of each job
 *   rows   sum_mj weight_rm unit_rj x_mj     <= most of each row r
 *
 * Each job's columns meet two rows of its own and some of few common ones. So the equations of a
 * Newton step fall into a block of 2 x 2 for each job and one dense block for the common rows: it
 * takes time O(jobs * rows^2) and memory O(jobs * types). */
#ifndef POLICY_IPM_H
#define POLICY_IPM_H

#include <stdbool.h>
#include <stddef.h>

/* So many numbers are worked on at a time: n_types and n_rows are multiples of it. Types that
 * nobody can use fill up (work 0, a cost above 0 and any quota), and rows of no units. */
#define IPM_LANES 4
/* Columns of a job: its types, then surplus of work, idle time, shortfall, and a filler. */
#define IPM_WIDTH(n_types) ((n_types) + IPM_LANES)

struct ipm_row {
    const double *unit;   /* per type; NULL = the r-th row is the quota of the r-th type: 1 there */
    const double *weight; /* per job */
    double most;          /* above 0 */
};

struct ipm_problem {
    size_t n_jobs, n_types;
    double *work;               /* jobs x width; the columns after the types are filled in here */
    double *cost;               /* the same; at least 0 */
    const struct ipm_row *rows; /* the quota of each type first, all with the same weights */
    size_t n_rows;
    double shortfall_cost; /* of all of a job's work */
    double gap;            /* between objective and bound that is aimed at, as part of them */
    double size;           /* the least that the objective counts as there; 0 = what it is */
};

struct ipm_answer {
    double *x;          /* jobs x width */
    double *shortfall;  /* per job */
    double *price;      /* of each row: its multiplier, at least 0 */
    double *work_price; /* of each job's work */
    double objective;
    double bound; /* proved from `price` alone: see ipm_bound.c */
    int iterations;
};

/* Whether it got there: then no row is violated by more than LP_TOLERANCE, and objective and bound
 * differ by no more than POLICY_GAP of the objective, or of `size`. Otherwise something else must
 * solve the problem. */
bool ipm_solve(struct ipm_problem *p, struct ipm_answer *out);
void ipm_answer_clear(struct ipm_answer *a);

#endif
