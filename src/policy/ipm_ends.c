/* ipm_ends: where the interior-point method begins, and what its last point amounts to. */
#include "base/mem.h"
#include "policy/ipm_internal.h"
#include "policy/lp.h"
#include "policy/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the beginning ---- */

/* Of the types' columns; 0 when they cost nothing. */
static double mean_cost(const struct ipm_problem *p)
{
    double sum = 0;

    for (size_t m = 0; m < p->n_jobs; m++)
        for (size_t j = 0; j < p->n_types; j++)
            sum += p->cost[m * IPM_WIDTH(p->n_types) + j];
    return sum / ((double)p->n_jobs * (double)p->n_types);
}

/* What a column costs, when any does, and otherwise what can fall short. */
static double usual_cost(const struct ipm_problem *p)
{
    double mean = mean_cost(p);

    return mean > 0 ? mean : p->shortfall_cost;
}

/* Surplus is work too much; idleness takes time alone; shortfall does work without time; the filler
 * takes time and costs something. */
void ipm_fill_in(struct ipm_problem *p)
{
    double mean = usual_cost(p);

    for (size_t m = 0; m < p->n_jobs; m++) {
        double *work = p->work + m * IPM_WIDTH(p->n_types) + p->n_types;
        double *cost = p->cost + m * IPM_WIDTH(p->n_types) + p->n_types;
        work[IPM_SURPLUS] = -1;
        work[IPM_MISSING] = 1;
        cost[IPM_MISSING] = p->shortfall_cost;
        cost[IPM_FILLER] = mean;
    }
}

/* The multiplier of the job's work: half of what would make a reduced cost 0. */
static void begin_job(const struct ipm_problem *p, struct ipm_duals *y, size_t job, double *z)
{
    size_t n = IPM_WIDTH(p->n_types);
    const double *work = p->work + job * n, *cost = p->cost + job * n;
    double most = (double)INFINITY;

    ipm_row_prices(p, job, y->row, z);
    for (size_t i = 0; i < n; i++) {
        double price = i < p->n_types ? z[i] : 0;
        z[i] = cost[i] - ipm_takes_time(p, i) * y->time[job] - price;
        if (work[i] > 0)
            most = fmin(most, z[i] / work[i]);
    }
    y->work[job] = 0.5 * most;
    for (size_t i = 0; i < n; i++)
        z[i] -= work[i] * y->work[job];
}

void ipm_begin(const struct ipm_problem *p, struct ipm_point *at)
{
    size_t own = ipm_own_columns(p);
    double cost = mean_cost(p), mean = usual_cost(p);
    /* Where types cost nothing, time does: reduced costs begin near the mean. */
    double time_cost = cost > 0 ? 0 : 1.5 * mean;
    /* With it x is about half of the time in all, and half of every row is left. Shortfalls alone
     * take more of them to begin with. */
    double product = (cost > 0 ? 0.5 : 1.5) * mean / (double)p->n_types;

    for (size_t r = 0; r < p->n_rows; r++) {
        at->y.row[r] = -2 * product / p->rows[r].most;
        at->z[own + r] = -at->y.row[r];
    }
    for (size_t m = 0; m < p->n_jobs; m++) {
        at->y.time[m] = -2 * product - time_cost;
        begin_job(p, &at->y, m, at->z + m * IPM_WIDTH(p->n_types));
    }
    for (size_t i = 0; i < own + p->n_rows; i++)
        at->x[i] = product / at->z[i];
}

/* ---- the end ---- */

/* Rows take up the last rounding: work is done to the full, or falls short. */
static void settle_job(const struct ipm_problem *p, struct ipm_answer *a, size_t job, double *use)
{
    const double *does = p->work + job * IPM_WIDTH(p->n_types);
    const double *cost = p->cost + job * IPM_WIDTH(p->n_types);
    double *x = a->x + job * IPM_WIDTH(p->n_types), work = 0, time = 0;

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

/* The values of a job's columns; those that were dropped are 0. */
static void take_job(const struct ipm_columns *c,
                     const struct ipm_point *at,
                     size_t job,
                     struct ipm_answer *a)
{
    const double *x = at->x + c->first[job];
    double *out = a->x + job * IPM_WIDTH(c->p->n_types);
    size_t n = ipm_types(c, job);

    memset(out, 0, IPM_WIDTH(c->p->n_types) * sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[c->type ? c->type[c->first[job] + i] : i] = x[i];
    a->shortfall[job] = x[n + IPM_MISSING];
}

bool ipm_end(const struct ipm_columns *c, const struct ipm_point *at, struct ipm_answer *a)
{
    const struct ipm_problem *p = c->p;
    double *use = mem_zero(p->n_rows + 1, sizeof *use); /* the last one: the most time of a job */

    a->objective = 0;
    for (size_t m = 0; m < p->n_jobs; m++) {
        take_job(c, at, m, a);
        settle_job(p, a, m, use);
    }
    double worst = use[p->n_rows] - 1; /* violation, as part of what a row holds */
    for (size_t r = 0; r < p->n_rows; r++) {
        worst = fmax(worst, use[r] / p->rows[r].most - 1);
        a->price[r] = fmax(0, -at->y.row[r]);
    }
    a->bound = fmax(0, ipm_bound(p, a->price, a->work_price)); /* nothing costs less than 0 */
    free(use);
    bool proved = fabs(a->objective - a->bound) <= POLICY_GAP * fmax(fabs(a->objective), p->size);
    /* What rows are violated by may make the point cheaper than any that is not. */
    a->bound = fmin(a->bound, a->objective);
    return proved && worst <= LP_TOLERANCE;
}
