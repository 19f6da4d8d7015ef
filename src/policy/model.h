/* model: a linear program over a grid of jobs and windows, solved and proved. For files of policy/
 * alone. */
#ifndef POLICY_MODEL_H
#define POLICY_MODEL_H

#include "policy/grid.h"
#include "policy/lp.h"

/* Cuts: limits of gangs beyond those of their instances. With a quota of 5, two gangs of 3 cannot
 * run at once. */

/* sum of x over jobs of a gang of at least `size` on the type in the window <= most. */
struct cut {
    uint32_t window, type;
    double size, most;
    size_t nth; /* cuts found before this one */
};

struct cuts {
    struct cut *list; /* by window, type, size */
    size_t n, cap;
    size_t *start; /* of window * n_types + type; one more for the end */
};

void cuts_init(struct cuts *c, const struct grid *g);
void cuts_clear(struct cuts *c);
/* The *n_out cuts of this type in this window. */
const struct cut *cuts_of(
    const struct cuts *c, const struct grid *g, size_t window, size_t type, size_t *n_out);
struct model_ask;
struct model_answer;
/* Adds the cuts that an answer violates, or, if tight, those that it meets exactly: with slightly
 * more quota they may be the binding ones. Returns their number. */
size_t cuts_find(struct cuts *c,
                 const struct model_ask *ask,
                 const struct model_answer *found,
                 bool tight);

/* State that programs over one grid share, {0} at first: the cuts found so far, and the basis of
 * the last answer. */
struct model_start {
    struct cuts cuts;
    struct clp_basis basis;
    int cut_row; /* of the program with that basis: the row of the first cut */
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
    const bool *must_finish;   /* per job; NULL = all */
    double shortfall_cost;     /* INFINITY = there is none */
    double budget_usd;         /* INFINITY = none */
    size_t first_scaled;       /* SIZE_MAX = none, and no scale */
    bool wants_slopes;         /* shadow prices that hold for a small increase of quota */
    struct model_start *start; /* shared with other programs; NULL = none */
};

static inline bool model_must_finish(const struct model_ask *ask, size_t job)
{
    return !ask->must_finish || ask->must_finish[job];
}

struct model_answer {
    double objective, bound; /* without the cost of shortfalls when there are none */
    double scale;
    double total_shortfall;
    double *x;            /* per column of the grid */
    double *shortfall;    /* per job */
    double *shadow_price; /* per type, over all windows */
    bool is_slope;        /* the worth of a small increase; false: an upper limit of the worth */
};

/* The program itself, without cuts, for other solvers. */
void model_program(const struct model_ask *ask, struct lp *out);

/* ERR_IO when there is no solver or no proof. */
int model_solve(const struct model_ask *ask, struct model_answer *out, struct err *e);
/* Solves by the interior-point method alone: 1 when solved, 0 when the method fails, -1 when the
 * program lacks the structure. */
int model_solve_large(const struct model_ask *ask, struct model_answer *out);
void model_answer_clear(struct model_answer *a);

#endif
