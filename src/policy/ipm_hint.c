/* ipm_hint: a good beginning. Prices of the common rows, were they known, would let the jobs fall
 * apart. A sample of the jobs with its part of the rows has about the prices of all of them, at a
 * part of the time; at these prices each job finds its own centre. */
#include "base/mem.h"
#include "policy/ipm_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool ipm_is_finite(double v)
{
    return isfinite(v);
}

bool ipm_hint_is_good(const struct ipm_hint *hint, const struct ipm_problem *p)
{
    for (size_t r = 0; r < p->n_rows; r++)
        if (!isfinite(hint->price[r]))
            return false;
    return isfinite(hint->value) && hint->value > 0;
}

/* ---- the sample ---- */

/* The k-th job of the sample: multiples of the golden section lie evenly, and follow no order that
 * jobs may have. */
static size_t sampled(size_t k, size_t n_jobs)
{
    double at = (double)k * 0.6180339887498949;

    return (size_t)((at - floor(at)) * (double)n_jobs);
}

/* As much of what a row holds as the sampled jobs have of its weights. */
static struct ipm_row sample_row(const struct ipm_row *row, size_t n_all, double *weight, size_t n)
{
    double all = 0, some = 0;

    for (size_t m = 0; m < n_all; m++)
        all += row->weight[m];
    for (size_t k = 0; k < n; k++) {
        weight[k] = row->weight[sampled(k, n_all)];
        some += weight[k];
    }
    return (struct ipm_row){
        .unit = row->unit,
        .weight = weight,
        .most = some > 0 ? row->most * some / all : row->most,
    };
}

void ipm_sample_init(struct ipm_sample *s, const struct ipm_problem *p, size_t n)
{
    size_t width = IPM_WIDTH(p->n_types);

    *s = (struct ipm_sample){
        .problem = *p,
        .rows = mem_zero(p->n_rows, sizeof *s->rows),
        .weights = mem_zero(p->n_rows * n, sizeof(double)),
    };
    s->problem.n_jobs = n;
    s->problem.rows = s->rows;
    s->problem.work = mem_zero(n * width, sizeof(double));
    s->problem.cost = mem_zero(n * width, sizeof(double));
    for (size_t k = 0; k < n; k++) {
        size_t from = sampled(k, p->n_jobs) * width;
        memcpy(s->problem.work + k * width, p->work + from, width * sizeof(double));
        memcpy(s->problem.cost + k * width, p->cost + from, width * sizeof(double));
    }
    for (size_t r = 0; r < p->n_rows; r++)
        s->rows[r] = sample_row(&p->rows[r], p->n_jobs, s->weights + r * n, n);
}

void ipm_sample_clear(struct ipm_sample *s)
{
    free(s->problem.work);
    free(s->problem.cost);
    free(s->rows);
    free(s->weights);
    *s = (struct ipm_sample){0};
}

/* ---- every job at its centre ---- */

#define NEWTON_STEPS 12
#define NEWTON_AIM 1e-3 /* of the decrement's square */
#define NEWTON_PART 0.9 /* of the way to where a reduced cost would be 0 */

/* A job whose rows' multipliers are looked for: those that make
 *     work + time + product * sum log z
 * largest, z = base - work * column's work - time * (whether it takes time). */
struct centring {
    double *base; /* per column: its cost and the prices of its rows */
    const double *does, *takes, *takes_end;
    double *total; /* scratch: per type */
    size_t n;
    double product;
    double work, time;
};

static double reduced_cost(const struct centring *c, size_t i)
{
    return c->base[i] - c->work * c->does[i] - c->time * c->takes[i];
}

/* One step of Newton's method; false when it led nowhere further. */
static bool centre_more(struct centring *c)
{
    double work = 1, time = 1, ww = 0, wt = 0, tt = 0, most = 0;

    for (size_t i = 0; i < c->n; i++) {
        double over = 1 / reduced_cost(c, i);
        double x = c->product * over, weight = x * over;
        work -= c->does[i] * x;
        time -= c->takes[i] * x;
        ww += c->does[i] * c->does[i] * weight;
        wt += c->does[i] * c->takes[i] * weight;
        tt += c->takes[i] * weight;
    }
    double determinant = ww * tt - wt * wt;
    double dwork = (tt * work - wt * time) / determinant;
    double dtime = (ww * time - wt * work) / determinant;
    double decrement = (work * dwork + time * dtime) / c->product;
    if (!(decrement > NEWTON_AIM))
        return false;
    for (size_t i = 0; i < c->n; i++) {
        double part = (dwork * c->does[i] + dtime * c->takes[i]) / reduced_cost(c, i);
        most = part > most ? part : most;
    }
    double step = most > NEWTON_PART ? NEWTON_PART / most : 1;
    c->work += step * dwork;
    c->time += step * dtime;
    return true;
}

/* Feasible multipliers near the best ones, which need not be known exactly. */
static void begin_centring(struct centring *c, double work_price, double shortfall_cost)
{
    double least = (double)INFINITY;

    c->work = fmax(fmin(work_price, shortfall_cost - c->product), c->product);
    c->work = fmin(c->work, 0.5 * (work_price + shortfall_cost));
    for (size_t i = 0; i < c->n; i++)
        if (c->takes[i] > 0)
            least = fmin(least, c->base[i] - c->work * c->does[i]);
    c->time = least - c->product;
}

/* Puts a job's columns where its centre is, at these prices of rows. */
static void begin_job(const struct ipm_columns *c,
                      size_t job,
                      const double *price,
                      struct centring *centre,
                      struct ipm_point *at)
{
    const struct ipm_problem *p = c->p;
    size_t first = c->first[job], n_types = ipm_types(c, job);
    const double *after = p->cost + job * IPM_WIDTH(p->n_types) + p->n_types - n_types;
    double work_price;

    centre->n = n_types + IPM_LANES;
    centre->does = ipm_work(c, job);
    centre->takes = centre->takes_end - centre->n;
    ipm_job_bound(p, job, price, centre->total, &work_price);
    for (size_t i = 0; i < centre->n; i++)
        centre->base[i] = i < n_types ? centre->total[ipm_type(c, job, i)] : after[i];
    begin_centring(centre, work_price, p->shortfall_cost);
    for (int k = 0; k < NEWTON_STEPS && centre_more(centre); k++)
        continue;
    at->y.work[job] = centre->work;
    at->y.time[job] = centre->time;
    for (size_t i = 0; i < centre->n; i++) {
        at->z[first + i] = reduced_cost(centre, i);
        at->x[first + i] = centre->product / at->z[first + i];
    }
}

void ipm_begin_at(const struct ipm_columns *c, const struct ipm_hint *hint, struct ipm_point *at)
{
    const struct ipm_problem *p = c->p;
    size_t width = IPM_WIDTH(p->n_types), slack = c->first[p->n_jobs];
    double *price = mem_zero(p->n_rows, sizeof *price), *use = mem_zero(p->n_rows, sizeof *use);
    double *scratch = mem_zero(3 * width, sizeof *scratch), *takes = scratch + 2 * width;
    struct centring centre = {
        .base = scratch,
        .total = scratch + width,
        .takes_end = takes + width,
        .product = hint->gap * hint->value * (double)p->n_jobs / (double)(slack + p->n_rows),
    };

    for (size_t i = 0; i < width; i++)
        takes[i] = ipm_takes_time(p, i);
    for (size_t r = 0; r < p->n_rows; r++) {
        /* No row has more room left than it holds. */
        price[r] = fmax(hint->price[r], centre.product / p->rows[r].most);
        at->y.row[r] = -price[r];
        at->z[slack + r] = price[r];
    }
    for (size_t m = 0; m < p->n_jobs; m++) {
        begin_job(c, m, price, &centre, at);
        ipm_columns_add(c, m, at->x + c->first[m], use);
    }
    for (size_t r = 0; r < p->n_rows; r++)
        at->x[slack + r] = fmax(centre.product / price[r], p->rows[r].most - use[r]);
    free(price);
    free(use);
    free(scratch);
}
