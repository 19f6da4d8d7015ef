/* ipm_system: the equations of a Newton step, A (X/Z) A' dy = right sides. The two rows of each job
 * are eliminated, the common rows that remain are a dense block. Called by ipm.c. */
#include "base/arena.h"
#include "policy/internal.h"

#include <math.h>
#include <string.h>

/* Jobs whose rows are subtracted from the dense block at once, while they are in the cache. */
#define BLOCK 32
/* A pivot of the dense block below this part of its first value is rounding. */
#define PIVOT_LEAST 1e-13

void ipm_system_init(struct ipm_system *s,
                     const struct ipm_problem *p,
                     const double *takes_time,
                     struct arena *arena)
{
    size_t stride = p->n_rows, width = IPM_WIDTH(p->n_types);

    *s = (struct ipm_system){.p = p, .takes_time = takes_time};
    s->work_row = arena_zero(arena, p->n_jobs * stride, sizeof(double));
    s->time_row = arena_zero(arena, p->n_jobs * stride, sizeof(double));
    s->mean = arena_zero(arena, p->n_jobs, sizeof(double));
    s->work_root = arena_zero(arena, p->n_jobs, sizeof(double));
    s->time_root = arena_zero(arena, p->n_jobs, sizeof(double));
    s->dense = arena_zero(arena, stride * stride, sizeof(double));
    s->diagonal = arena_zero(arena, stride, sizeof(double));
    s->weight = arena_zero(arena, 3 * width, sizeof(double));
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

/* ---- the dense block ---- */

/* A tile of S -= A'A stays in registers while n rows of A pass by. */
IPM_INLINE void subtract_tile(double *s, size_t stride, const double *a, const double *b, size_t n)
{
    double sum[IPM_LANES][IPM_LANES] = {{0}};

    for (size_t r = 0; r < n; r++, a += stride, b += stride)
        for (size_t i = 0; i < IPM_LANES; i++)
            for (size_t k = 0; k < IPM_LANES; k++)
                sum[i][k] += a[i] * b[k];
    for (size_t i = 0; i < IPM_LANES; i++)
        for (size_t k = 0; k < IPM_LANES; k++)
            s[i * stride + k] -= sum[i][k];
}

IPM_INLINE void subtract_square(double *s, size_t stride, const double *a, size_t n)
{
    for (size_t i = 0; i < stride; i += IPM_LANES)
        for (size_t k = i; k < stride; k += IPM_LANES)
            subtract_tile(s + i * stride + k, stride, a + i, a + k, n);
}

/* Cholesky's factor S = U'U in place, upper triangle. A row whose pivot is rounding depends on the
 * rows before and gets no part in solutions. */
IPM_INLINE void factor_dense(double *s, size_t stride, const double *diagonal)
{
    for (size_t i = 0; i < stride; i++) {
        double *row = s + i * stride;
        row[i] = sqrt(row[i] > PIVOT_LEAST * diagonal[i] ? row[i] : 1e100);
        for (size_t k = i + 1; k < stride; k++)
            row[k] /= row[i];
        for (size_t k = i + 1; k < stride; k++) {
            double *below = s + k * stride;
            for (size_t l = k; l < stride; l++)
                below[l] -= row[k] * row[l];
        }
    }
}

IPM_INLINE void solve_dense(const double *u, size_t stride, double *x)
{
    for (size_t i = 0; i < stride; i++) {
        x[i] /= u[i * stride + i];
        for (size_t k = i + 1; k < stride; k++)
            x[k] -= u[i * stride + k] * x[i];
    }
    for (size_t i = stride; i-- > 0;) {
        for (size_t k = i + 1; k < stride; k++)
            x[i] -= u[i * stride + k] * x[k];
        x[i] /= u[i * stride + i];
    }
}

/* ---- one job ---- */

/* The part of the rows after the quotas: against the job's rows and in the dense block. */
IPM_INLINE void eliminate_extra(struct ipm_system *s, size_t job, size_t r, const double *moment)
{
    const struct ipm_problem *p = s->p;
    const struct ipm_row *row = &p->rows[r];
    double gang = p->rows[0].weight[job], times = row->weight[job], work = 0, time = 0;

    for (size_t j = 0; j < p->n_types; j++) {
        double units = times * row->unit[j];
        work += units * moment[j];
        time += units * s->weight[j];
        s->dense[j * p->n_rows + r] += gang * units * s->weight[j];
    }
    s->work_row[job * p->n_rows + r] = work / s->work_root[job];
    s->time_row[job * p->n_rows + r] = time / s->time_root[job];
    for (size_t q = p->n_types; q <= r; q++) {
        double sum = 0;
        for (size_t j = 0; j < p->n_types; j++)
            sum += row->unit[j] * p->rows[q].unit[j] * s->weight[j];
        s->dense[q * p->n_rows + r] += times * p->rows[q].weight[job] * sum;
    }
}

/* Weights of columns are x / z. Time is eliminated first, then work about its mean: in this order
 * every term of the pivots is positive, and nothing cancels. */
IPM_INLINE void eliminate(struct ipm_system *s, size_t job, const double *x, const double *z)
{
    const struct ipm_problem *p = s->p;
    size_t width = IPM_WIDTH(p->n_types);
    const double *restrict work = p->work + job * width, *restrict takes = s->takes_time;
    double *restrict weight = s->weight, *restrict off = weight + width,
                     *restrict moment = off + width;
    double *work_row = s->work_row + job * p->n_rows, *time_row = s->time_row + job * p->n_rows;
    double gang = p->rows[0].weight[job];

    for (size_t i = 0; i < width; i++) {
        weight[i] = x[i] / z[i];
        off[i] = weight[i] * work[i];
    }
    double time = ipm_dot(weight, takes, width), mean = ipm_dot(off, takes, width) / time;
    for (size_t i = 0; i < width; i++) {
        off[i] = work[i] - mean * takes[i];
        moment[i] = weight[i] * off[i];
    }
    s->mean[job] = mean;
    s->time_root[job] = sqrt(time);
    s->work_root[job] = sqrt(ipm_dot(moment, off, width));
    double by_work = gang / s->work_root[job], by_time = gang / s->time_root[job];
    for (size_t j = 0; j < p->n_types; j++) {
        work_row[j] = moment[j] * by_work;
        time_row[j] = weight[j] * by_time;
        s->diagonal[j] += gang * gang * weight[j];
    }
    for (size_t r = p->n_types; r < p->n_rows; r++)
        if (p->rows[r].weight[job] != 0)
            eliminate_extra(s, job, r, moment);
}

/* ---- all jobs ---- */

IPM_WIDE void ipm_system_factor(struct ipm_system *s, const double *x, const double *z)
{
    const struct ipm_problem *p = s->p;
    size_t stride = p->n_rows, width = IPM_WIDTH(p->n_types), slack = p->n_jobs * width;

    memset(s->dense, 0, stride * stride * sizeof *s->dense);
    for (size_t r = 0; r < stride; r++)
        s->diagonal[r] = x[slack + r] / z[slack + r];
    for (size_t m = 0; m < p->n_jobs; m++)
        eliminate(s, m, x + m * width, z + m * width);
    for (size_t r = 0; r < stride; r++)
        s->diagonal[r] = s->dense[r * stride + r] += s->diagonal[r];
    for (size_t m = 0; m < p->n_jobs; m += BLOCK) {
        size_t n = p->n_jobs - m < BLOCK ? p->n_jobs - m : BLOCK;
        subtract_square(s->dense, stride, s->work_row + m * stride, n);
        subtract_square(s->dense, stride, s->time_row + m * stride, n);
    }
    factor_dense(s->dense, stride, s->diagonal);
}

IPM_WIDE void ipm_system_solve(const struct ipm_system *s, struct ipm_duals *y)
{
    size_t n = s->p->n_rows;
    double *restrict row = y->row;

    for (size_t m = 0; m < s->p->n_jobs; m++) {
        const double *work = s->work_row + m * n, *time = s->time_row + m * n;
        double by_work = (y->work[m] - s->mean[m] * y->time[m]) / s->work_root[m];
        double by_time = y->time[m] / s->time_root[m];
        for (size_t r = 0; r < n; r++)
            row[r] -= work[r] * by_work + time[r] * by_time;
        y->work[m] = by_work;
        y->time[m] = by_time;
    }
    solve_dense(s->dense, n, row);
    for (size_t m = 0; m < s->p->n_jobs; m++) {
        const double *work = s->work_row + m * n, *time = s->time_row + m * n;
        y->work[m] = (y->work[m] - ipm_dot(work, row, n)) / s->work_root[m];
        y->time[m] = (y->time[m] - ipm_dot(time, row, n)) / s->time_root[m];
        y->time[m] -= s->mean[m] * y->work[m];
    }
}
