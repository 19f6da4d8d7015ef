/* ipm_bound: what prices of the common rows prove. With prices lambda >= 0 the jobs fall apart, and
 *     sum_m phi_m(lambda) - most . lambda
 * is no more than the objective, where phi_m is the least a job's work costs when instances cost
 * lambda besides: the height at work 1 of the lower convex hull of the points (work, price) of its
 * types, (0, 0), and everything reached by shortfalls. Nothing else of the method is trusted. */
#include "base/mem.h"
#include "policy/ipm_internal.h"

#include <math.h>
#include <stdlib.h>

/* The point that follows `from` on the hull: that of the least slope among those with more work. */
static size_t next_on_hull(const double *work,
                           const double *price,
                           size_t n,
                           double from_work,
                           double from_price,
                           double *slope)
{
    size_t next = n;

    *slope = (double)INFINITY;
    for (size_t j = 0; j < n; j++) {
        if (work[j] <= from_work)
            continue;
        double rise = (price[j] - from_price) / (work[j] - from_work);
        if (rise < *slope) {
            *slope = rise;
            next = j;
        }
    }
    return next;
}

/* phi_m, and the slope of the hull at work 1: what work is worth. */
static double least_price(
    const double *work, const double *price, size_t n, double shortfall_cost, double *slope_out)
{
    double at_work = 0, at_price = 0, slope;

    for (;;) {
        size_t next = next_on_hull(work, price, n, at_work, at_price, &slope);
        *slope_out = fmin(slope, shortfall_cost);
        /* Beyond that slope the rest is cheaper left undone. */
        if (!(slope < shortfall_cost) || work[next] >= 1)
            return at_price + *slope_out * (1 - at_work);
        at_work = work[next];
        at_price = price[next];
    }
}

double ipm_job_bound(
    const struct ipm_problem *p, size_t job, const double *price, double *total, double *work_price)
{
    const double *work = p->work + job * IPM_WIDTH(p->n_types);
    const double *cost = p->cost + job * IPM_WIDTH(p->n_types);

    ipm_row_prices(p, job, price, total);
    for (size_t j = 0; j < p->n_types; j++)
        total[j] += cost[j];
    return least_price(work, total, p->n_types, p->shortfall_cost, work_price);
}

double ipm_bound(const struct ipm_problem *p, const double *price, double *work_price)
{
    double *total = mem_zero(p->n_types, sizeof *total);
    double bound = 0;

    for (size_t m = 0; m < p->n_jobs; m++)
        bound += ipm_job_bound(p, m, price, total, &work_price[m]);
    for (size_t r = 0; r < p->n_rows; r++)
        bound -= p->rows[r].most * price[r];
    free(total);
    return bound;
}
