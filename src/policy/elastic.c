/* Elastic programs, in which every job may fall short at a price. cost.c, makespan.c and stretch.c
 * call it. */
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>
#include <stdlib.h>

/* What falling short costs at first, in costs of the most expensive column; and how often it is
 * raised when the answer falls short although none needs to. */
#define PENALTY_FIRST 10
#define PENALTY_FACTOR 1000
#define PENALTY_TRIES 4

/* The cost of all of a job's work done in its most expensive way, over all jobs. What is gained by
 * working is gained by more work than is due, too. */
static double most_expensive(const struct model_ask *ask)
{
    const struct grid *g = ask->grid;
    double most = 0;

    for (size_t q = 0; q < g->n_columns; q++)
        if (g->work[q] > 0)
            most = fmax(most, ask->cost[q] < 0 ? -ask->cost[q] / fmin(g->work[q], 1)
                                               : ask->cost[q] / g->work[q]);
    return most > 0 ? most : 1;
}

double elastic_price(const struct model_ask *ask)
{
    return PENALTY_FIRST * most_expensive(ask);
}

/* The question with nothing but shortfalls or the scale to pay for. */
static struct model_ask without_costs(const struct model_ask *ask, double budget_usd)
{
    struct model_ask least = *ask;

    least.cost = NULL;
    least.budget_usd = budget_usd;
    least.wants_slopes = false;
    return least;
}

int elastic_within(const struct model_ask *ask,
                   double budget_usd,
                   struct model_answer *out,
                   struct err *e)
{
    struct model_ask least = without_costs(ask, budget_usd);

    least.shortfall_cost = 1;
    least.first_scaled = SIZE_MAX;
    if (model_solve(&least, out, e) < 0)
        return -1;
    return out->total_shortfall <= SHORTFALL_LEAST;
}

/* The objective without what rounding of shortfalls cost. */
static void set_objective(const struct model_ask *ask, struct model_answer *a)
{
    a->objective = 0;
    for (size_t q = 0; q < ask->grid->n_columns; q++)
        a->objective += ask->cost[q] * a->x[q];
}

int elastic_solve(const struct model_ask *ask, struct model_answer *out, struct err *e)
{
    struct model_ask with_price = *ask;

    with_price.shortfall_cost = elastic_price(ask);
    with_price.budget_usd = (double)INFINITY;
    with_price.first_scaled = SIZE_MAX;
    /* A large question whose penalties get in the way of the fast method may well be one that falls
     * short, which shortfalls alone show sooner. */
    int large = model_solve_large(&with_price, out);
    if (large == 0) {
        int feasible = elastic_within(ask, (double)INFINITY, out, e);
        if (feasible <= 0)
            return feasible;
        model_answer_clear(out);
    }
    for (int i = 0; i < PENALTY_TRIES; i++) {
        bool known = i == 0 && large == 1;
        if (!known && model_solve(&with_price, out, e) < 0)
            return -1;
        if (out->total_shortfall <= SHORTFALL_LEAST) {
            set_objective(ask, out);
            return 1;
        }
        struct model_answer least = {0};
        int feasible = elastic_within(ask, (double)INFINITY, &least, e);
        if (feasible == 0 && ask->grid->scope->p->goes_on) {
            set_objective(ask, out);
            model_answer_clear(&least);
            return 0;
        }
        model_answer_clear(out);
        if (feasible <= 0) {
            *out = least;
            return feasible;
        }
        model_answer_clear(&least);
        with_price.shortfall_cost *= PENALTY_FACTOR;
    }
    return err_set(e, ERR_IO,
                   "jobs fall short although they need not: prices are too far apart in size");
}

int elastic_stretch(const struct model_ask *ask,
                    double budget_usd,
                    double *stretch_out,
                    struct err *e)
{
    struct model_answer answer;
    struct model_ask stretched = without_costs(ask, budget_usd);

    stretched.shortfall_cost = (double)INFINITY;
    stretched.first_scaled = 0;
    if (model_solve(&stretched, &answer, e) < 0)
        return -1;
    *stretch_out = answer.scale;
    model_answer_clear(&answer);
    return 0;
}
