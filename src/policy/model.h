/* model: one question about a grid as a linear program, solved and proved. For files of policy/
 * alone. */
#ifndef POLICY_MODEL_H
#define POLICY_MODEL_H

#include "policy/clp.h"
#include "policy/cuts.h"
#include "policy/grid.h"

/* What questions about one grid share, {0} at first: rows for gangs that were found, and where the
 * last answer was. */
struct model_start {
    struct cuts cuts;
    struct clp_basis basis;
    int cut_row; /* of the program with that answer: the first row for gangs */
};

void model_start_clear(struct model_start *s);

/* min cost x + shortfall_cost * sum of shortfalls (+ the scale), with
 *   work      sum work x + shortfall >= 1   of jobs that must_finish
 *   time      sum x <= 1                    in each slot
 *   quotas    sum gang x <= quota           of each type and group in each window
 *   gangs     sum over gangs of at least k of x <= floor(quota / k), where it is violated otherwise
 *   budget    sum usd x <= budget_usd
 * The right sides of time, quotas and gangs of windows from first_scaled on are multiplied by the
 * scale, a column that costs 1. */
struct model_ask {
    const struct grid *grid;
    const double *cost;        /* per column; NULL = 0 */
    const bool *must_finish;   /* per job */
    double shortfall_cost;     /* INFINITY = there is none */
    double budget_usd;         /* INFINITY = none */
    size_t first_scaled;       /* SIZE_MAX = none, and no scale */
    bool wants_slopes;         /* shadow prices that hold of a little more quota */
    struct model_start *start; /* shared with other questions; NULL = none */
};

struct model_answer {
    double objective, bound; /* without the cost of shortfalls there are none of */
    double scale;
    double total_shortfall;
    double *x;            /* per column of the grid */
    double *shortfall;    /* per job */
    double *shadow_price; /* per type, over all windows */
    bool is_slope;        /* which is what a little more is worth; false: that or less is */
};

/* The program itself, without rows for gangs, for those who want to solve it another way. */
void model_program(const struct model_ask *ask, struct lp *out);

/* ERR_IO when there is no solver or no proof. */
int model_solve(const struct model_ask *ask, struct model_answer *out, struct err *e);
/* By the method for large questions of one window alone: 1 when solved, 0 when it did not get
 * there, -1 when it is no such question. */
int model_solve_large(const struct model_ask *ask, struct model_answer *out);
void model_answer_clear(struct model_answer *a);

#endif
