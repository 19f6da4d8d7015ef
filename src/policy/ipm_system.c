#include "base/mem.h"
#include "policy/ipm_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Jobs whose rows are subtracted from the dense block at once, while they are in the cache. */
#define BLOCK 32
/* A pivot of the dense block below this part of what it began with is rounding. */
#define PIVOT_LEAST 1e-13

size_t ipm_own_columns(const struct ipm_problem *p)
{
    return p->n_jobs * IPM_WIDTH(p->n_types);
}

double ipm_takes_time(const struct ipm_problem *p, size_t column)
{
    return column != p->n_types + IPM_SURPLUS && column != p->n_types + IPM_MISSING;
}

void ipm_duals_init(struct ipm_duals *y, const struct ipm_problem *p)
{
    *y = (struct ipm_duals){
        .work = mem_zero(p->n_jobs, sizeof(double)),
        .time = mem_zero(p->n_jobs, sizeof(double)),
        .row = mem_zero(p->n_rows, sizeof(double)),
    };
}

void ipm_duals_clear(struct ipm_duals *y)
{
    free(y->work);
    free(y->time);
    free(y->row);
    *y = (struct ipm_duals){0};
}

void ipm_system_init(struct ipm_system *s, const struct ipm_columns *c)
{
    const struct ipm_problem *p = c->p;
    size_t stride = p->n_rows;

    *s = (struct ipm_system){
        .p = p,
        .c = c,
        .stride = stride,
        .work_row = mem_zero(p->n_jobs * stride, sizeof(double)),
        .time_row = mem_zero(p->n_jobs * stride, sizeof(double)),
        .mean = mem_zero(p->n_jobs, sizeof(double)),
        .work_root = mem_zero(p->n_jobs, sizeof(double)),
        .time_root = mem_zero(p->n_jobs, sizeof(double)),
        .dense = mem_zero(stride * stride, sizeof(double)),
        .some = mem_zero(stride, sizeof(double)),
    };
}

void ipm_system_clear(struct ipm_system *s)
{
    free(s->work_row);
    free(s->time_row);
    free(s->mean);
    free(s->work_root);
    free(s->time_root);
    free(s->dense);
    free(s->some);
    *s = (struct ipm_system){0};
}

void ipm_row_prices(const struct ipm_problem *p, size_t job, const double *row, double *out)
{
    double gang = p->rows[0].weight[job];

    for (size_t j = 0; j < p->n_types; j++)
        out[j] = gang * row[j];
    for (size_t r = p->n_types; r < p->n_rows; r++) {
        double times = p->rows[r].weight[job] * row[r];
        for (size_t j = 0; times != 0 && j < p->n_types; j++)
            out[j] += times * p->rows[r].unit[j];
    }
}

/* Where a job's part of work_row and time_row begins. */
IPM_INLINE size_t row_first(const struct ipm_system *s, size_t job)
{
    return s->c->first[job] + job * (s->stride - s->p->n_types) - job * IPM_LANES;
}

/* ---- factoring ---- */

IPM_INLINE double lane_sum(const double sum[IPM_LANES])
{
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Weights of a job's columns, and what they add up to. */
struct weights {
    double *weight;           /* per column */
    const double *takes_time; /* per column: 0 or 1 */
    double time, work;        /* sums of weights, and of weights times work, that take time */
};

IPM_INLINE void weigh(
    struct weights *w, const double *x, const double *z, const double *work, size_t n)
{
    double time[IPM_LANES] = {0}, worked[IPM_LANES] = {0};

    for (size_t i = 0; i < n; i += IPM_LANES)
        for (size_t k = 0; k < IPM_LANES; k++) {
            double weight = x[i + k] / z[i + k];
            w->weight[i + k] = weight;
            time[k] += weight * w->takes_time[i + k];
            worked[k] += weight * w->takes_time[i + k] * work[i + k];
        }
    w->time = lane_sum(time);
    w->work = lane_sum(worked);
}

/* Sum of weights times squared distance of work from the mean, or from 0 without time. */
IPM_INLINE double spread(const struct weights *w, const double *work, double mean, size_t n)
{
    double sum[IPM_LANES] = {0};

    for (size_t i = 0; i < n; i += IPM_LANES)
        for (size_t k = 0; k < IPM_LANES; k++) {
            double off = work[i + k] - mean * w->takes_time[i + k];
            sum[k] += w->weight[i + k] * off * off;
        }
    return lane_sum(sum);
}

/* The job's two rows against the common ones, eliminated: time first, then work about its mean. In
 * this order every term of the pivots is positive, and nothing cancels. */
IPM_INLINE void fill_rows(struct ipm_system *s, size_t job, const double *weight)
{
    const struct ipm_problem *p = s->p;
    const double *work = ipm_work(s->c, job);
    size_t n = ipm_types(s->c, job), at = row_first(s, job);
    double *work_row = s->work_row + at, *time_row = s->time_row + at;
    double gang = p->rows[0].weight[job], mean = s->mean[job];
    double by_work = 1 / s->work_root[job], by_time = 1 / s->time_root[job];

    for (size_t r = p->n_types; r < p->n_rows; r++) {
        const double *unit = p->rows[r].unit;
        double w = 0, t = 0;
        for (size_t i = 0; i < n; i++) {
            double units = unit[ipm_type(s->c, job, i)] * weight[i];
            t += units;
            w += units * (work[i] - mean);
        }
        work_row[n + r - p->n_types] = p->rows[r].weight[job] * w * by_work;
        time_row[n + r - p->n_types] = p->rows[r].weight[job] * t * by_time;
    }
    for (size_t i = 0; i < n; i++) {
        work_row[i] = gang * weight[i] * (work[i] - mean) * by_work;
        time_row[i] = gang * weight[i] * by_time;
    }
}

IPM_INLINE void eliminate(struct ipm_system *s,
                          const struct ipm_point *at,
                          size_t job,
                          struct weights *w)
{
    size_t first = s->c->first[job], n = s->c->first[job + 1] - first;
    const double *work = ipm_work(s->c, job);

    weigh(w, at->x + first, at->z + first, work, n);
    s->mean[job] = w->work / w->time;
    s->time_root[job] = sqrt(w->time);
    s->work_root[job] = sqrt(spread(w, work, s->mean[job], n));
    fill_rows(s, job, w->weight);
}

/* The dense block before elimination: of each two rows that share a type. */
IPM_INLINE void add_weights(struct ipm_system *s, size_t job, const double *weight)
{
    const struct ipm_problem *p = s->p;
    size_t n = ipm_types(s->c, job);
    double gang = p->rows[0].weight[job];

    for (size_t i = 0; i < n; i++)
        s->dense[ipm_type(s->c, job, i) * (s->stride + 1)] += gang * gang * weight[i];
    for (size_t r = p->n_types; r < p->n_rows; r++) {
        const double *unit = p->rows[r].unit;
        double times = p->rows[r].weight[job];
        if (times == 0)
            continue;
        for (size_t i = 0; i < n; i++) {
            size_t j = ipm_type(s->c, job, i);
            s->dense[j * s->stride + r] += gang * times * unit[j] * weight[i];
        }
        for (size_t q = p->n_types; q <= r; q++) {
            double sum = 0;
            for (size_t i = 0; i < n; i++) {
                size_t j = ipm_type(s->c, job, i);
                sum += unit[j] * p->rows[q].unit[j] * weight[i];
            }
            s->dense[q * s->stride + r] += times * p->rows[q].weight[job] * sum;
        }
    }
}

/* Where few types are left: S -= work'work + time'time of this job alone. */
IPM_INLINE void subtract_few(struct ipm_system *s, size_t job)
{
    size_t n_types = s->p->n_types, extra = s->stride - n_types, n = ipm_types(s->c, job);
    const uint32_t *type = s->c->type + s->c->first[job];
    const double *work = s->work_row + row_first(s, job);
    const double *time = s->time_row + row_first(s, job);

    for (size_t i = 0; i < n; i++) {
        double *to = s->dense + type[i] * s->stride;
        for (size_t k = i; k < n; k++)
            to[type[k]] -= work[i] * work[k] + time[i] * time[k];
        for (size_t k = 0; k < extra; k++)
            to[n_types + k] -= work[i] * work[n + k] + time[i] * time[n + k];
    }
    for (size_t i = 0; i < extra; i++)
        for (size_t k = i; k < extra; k++)
            s->dense[(n_types + i) * s->stride + n_types + k] -=
                work[n + i] * work[n + k] + time[n + i] * time[n + k];
}

IPM_INLINE void factor_dense(struct ipm_system *s)
{
    double *least = mem_zero(s->stride, sizeof *least);

    for (size_t r = 0; r < s->stride; r++)
        least[r] = PIVOT_LEAST * s->dense[r * s->stride + r];
    for (size_t m = 0; s->c->type && m < s->p->n_jobs; m++)
        subtract_few(s, m);
    for (size_t m = 0; !s->c->type && m < s->p->n_jobs; m += BLOCK) {
        size_t n = s->p->n_jobs - m < BLOCK ? s->p->n_jobs - m : BLOCK;
        dense_subtract_square(s->dense, s->stride, s->work_row + m * s->stride, n);
        dense_subtract_square(s->dense, s->stride, s->time_row + m * s->stride, n);
    }
    dense_factor(s->dense, s->stride, least);
    free(least);
}

/* ---- solving ---- */

IPM_INLINE double dot(const double *a, const double *b, size_t n)
{
    double sum[IPM_LANES] = {0};

    for (size_t i = 0; i < n; i += IPM_LANES)
        for (size_t k = 0; k < IPM_LANES; k++)
            sum[k] += a[i + k] * b[i + k];
    return lane_sum(sum);
}

/* The common rows that a job has a part in, in the order of its part of work_row; or back. */
IPM_INLINE void gather(const struct ipm_system *s, size_t job, const double *row, double *out)
{
    size_t n = ipm_types(s->c, job);
    const uint32_t *type = s->c->type + s->c->first[job];

    for (size_t i = 0; i < n; i++)
        out[i] = row[type[i]];
    memcpy(out + n, row + s->p->n_types, (s->stride - s->p->n_types) * sizeof *out);
}

IPM_INLINE void scatter(const struct ipm_system *s, size_t job, const double *values, double *row)
{
    size_t n = ipm_types(s->c, job);
    const uint32_t *type = s->c->type + s->c->first[job];

    for (size_t i = 0; i < n; i++)
        row[type[i]] = values[i];
    memcpy(row + s->p->n_types, values + n, (s->stride - s->p->n_types) * sizeof *row);
}

IPM_WIDE void ipm_system_solve(const struct ipm_system *s, struct ipm_duals *y)
{
    for (size_t m = 0; m < s->p->n_jobs; m++) {
        const double *work = s->work_row + row_first(s, m), *time = s->time_row + row_first(s, m);
        size_t n = ipm_types(s->c, m) + s->stride - s->p->n_types;
        double *row = s->c->type ? s->some : y->row;
        y->work[m] = (y->work[m] - s->mean[m] * y->time[m]) / s->work_root[m];
        y->time[m] /= s->time_root[m];
        if (s->c->type)
            gather(s, m, y->row, row);
        for (size_t r = 0; r < n; r++)
            row[r] -= work[r] * y->work[m] + time[r] * y->time[m];
        if (s->c->type)
            scatter(s, m, row, y->row);
    }
    dense_solve(s->dense, s->stride, y->row);
    for (size_t m = 0; m < s->p->n_jobs; m++) {
        const double *work = s->work_row + row_first(s, m), *time = s->time_row + row_first(s, m);
        size_t n = ipm_types(s->c, m) + s->stride - s->p->n_types;
        double *row = s->c->type ? s->some : y->row;
        if (s->c->type)
            gather(s, m, y->row, row);
        y->work[m] = (y->work[m] - dot(work, row, n)) / s->work_root[m];
        y->time[m] = (y->time[m] - dot(time, row, n)) / s->time_root[m];
        y->time[m] -= s->mean[m] * y->work[m];
    }
}

IPM_WIDE void ipm_system_factor(struct ipm_system *s, const struct ipm_point *at)
{
    const struct ipm_problem *p = s->p;
    size_t n = IPM_WIDTH(p->n_types), slack = s->c->first[p->n_jobs];
    double *takes_time = mem_zero(n, sizeof(double));
    struct weights w = {.weight = mem_zero(n, sizeof(double))};

    for (size_t i = 0; i < n; i++)
        takes_time[i] = ipm_takes_time(p, i);
    memset(s->dense, 0, s->stride * s->stride * sizeof *s->dense);
    for (size_t m = 0; m < p->n_jobs; m++) {
        w.takes_time = takes_time + p->n_types - ipm_types(s->c, m);
        eliminate(s, at, m, &w);
        add_weights(s, m, w.weight);
    }
    for (size_t r = 0; r < s->stride; r++)
        s->dense[r * s->stride + r] += at->x[slack + r] / at->z[slack + r];
    factor_dense(s);
    free(w.weight);
    free(takes_time);
}
