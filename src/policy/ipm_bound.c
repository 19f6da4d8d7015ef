/* ipm_bound: the answer that a point of the interior-point method amounts to, and its proof. With
 * prices lambda >= 0 of the common rows the jobs fall apart, and
 *     sum_m phi_m(lambda) - most . lambda
 * is at most the objective. phi_m is the least cost of a job's work when instances cost lambda
 * besides: the height at work 1 of the lower convex hull of the points (work, price) of the job's
 * types, (0, 0), and the points that shortfalls reach. The proof trusts nothing else of the method.
 * Called by ipm.c. */
#include "base/auto.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>
#include <string.h>

/* ---- the lower bound ---- */

/* The point after (from_work, from_price) on the hull: least slope among those with more work. */
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

/* phi_m, and the slope of the hull at work 1, which is the price of work. */
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

double ipm_bound(const struct ipm_problem *p, const double *price, double *work_price)
{
    AUTO_MEM double *total = mem_zero(p->n_types, sizeof *total);
    double bound = 0;

    for (size_t m = 0; m < p->n_jobs; m++) {
        size_t first = m * IPM_WIDTH(p->n_types);
        ipm_row_prices(p, m, price, total);
        for (size_t j = 0; j < p->n_types; j++)
            total[j] += p->cost[first + j];
        bound += least_price(p->work + first, total, p->n_types, p->shortfall_cost, &work_price[m]);
    }
    for (size_t r = 0; r < p->n_rows; r++)
        bound -= p->rows[r].most * price[r];
    return bound;
}

/* ---- the answer ---- */

/* Adds the job's x to the objective and to `use` of the rows (last: the most time of a job).
 * Scaling x takes up rounding: the work is done to the full, or falls short. */
static void settle_job(const struct ipm_problem *p, struct ipm_answer *a, size_t job, double *use)
{
    const double *does = p->work + job * IPM_WIDTH(p->n_types);
    const double *cost = p->cost + job * IPM_WIDTH(p->n_types);
    double *x = a->x + job * IPM_WIDTH(p->n_types), work = 0, time = 0;

    a->shortfall[job] = x[p->n_types + IPM_MISSING];
    for (size_t j = 0; j < p->n_types; j++)
        work += does[j] * x[j];
    if (work > 0 && work + a->shortfall[job] < 1)
        for (size_t j = 0; j < p->n_types; j++)
            x[j] *= (1 - a->shortfall[job]) / work;
    for (size_t j = 0; j < p->n_types; j++) {
        time += x[j];
        use[j] += p->rows[j].weight[job] * x[j];
        a->objective += cost[j] * x[j];
    }
    for (size_t r = p->n_types; r < p->n_rows; r++)
        for (size_t j = 0; j < p->n_types; j++)
            use[r] += p->rows[r].weight[job] * p->rows[r].unit[j] * x[j];
    a->objective += p->shortfall_cost * a->shortfall[job];
    use[p->n_rows] = fmax(use[p->n_rows], time);
}

bool ipm_prove(const struct ipm_problem *p,
               const double *x,
               const double *row_multiplier,
               struct ipm_answer *a)
{
    AUTO_MEM double *use = mem_zero(p->n_rows + 1, sizeof *use);

    a->objective = 0;
    memcpy(a->x, x, p->n_jobs * IPM_WIDTH(p->n_types) * sizeof *x);
    for (size_t m = 0; m < p->n_jobs; m++)
        settle_job(p, a, m, use);
    double worst = use[p->n_rows] - 1; /* violation, as part of the row's limit */
    for (size_t r = 0; r < p->n_rows; r++) {
        worst = fmax(worst, use[r] / p->rows[r].most - 1);
        a->price[r] = fmax(0, -row_multiplier[r]);
    }
    a->bound = fmax(0, ipm_bound(p, a->price, a->work_price)); /* no cost is below 0 */
    bool proved = fabs(a->objective - a->bound) <= POLICY_GAP * fmax(fabs(a->objective), p->size);
    /* A point that violates rows within LP_TOLERANCE may be cheaper than any that does not. */
    a->bound = fmin(a->bound, a->objective);
    return proved && worst <= LP_TOLERANCE;
}
