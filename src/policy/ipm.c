/* Mehrotra's predictor-corrector method, from a start whose multipliers are feasible. Multipliers
 * stay feasible, so that two things are left to reach: the rows, which steps of length 1 meet, and
 * small products x z of values and reduced costs.
 *
 * A step of multipliers dy makes one of reduced costs, dz = -A'dy, and one of values,
 *     dx = -x - x dz / z - correction,
 * where the correction is 0 for the predictor; the corrector's has the predictor's error of second
 * order and the centre. The rows hold after the step if A (X/Z) A' dy = b + A correction, whatever
 * x was. So every job may take the longest step of x that is open to it: the many jobs need not
 * wait for the one that is closest to its boundary. */
#include "base/arena.h"
#include "base/mem.h"
#include "policy/internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS_MAX 100
/* The part of the way to the boundary, where a value or reduced cost would be 0, that steps go: the
 * larger, the more the predictor gains. */
#define STEP_PART_LEAST 0.9
#define STEP_PART_MOST 0.995
/* Steps that all jobs can take to this part are taken alike, so that rows that hold go on to. */
#define STEP_ALIKE 0.9
/* Multipliers that cannot move this far lead nowhere. */
#define STEP_LEAST 1e-4

/* Variables lie in groups: the columns of each job, then the slacks of the common rows. */
struct ipm {
    const struct ipm_problem *p;
    size_t width;           /* columns of a job */
    size_t n;               /* variables */
    double *takes_time;     /* per column of a job: 1, or 0 for surplus and shortfall */
    double *x, *z;          /* per variable: value and reduced cost */
    double *dx, *dz;        /* their steps */
    double *correction;     /* per variable */
    struct ipm_duals y, dy; /* multipliers of rows, and their step */
    double *primal;         /* per group: length of the step of x */
    double dual;            /* length of the step of y and z */
    double products;        /* sum of x z */
    struct ipm_system equations;
};

/* ---- the start ---- */

/* Mean cost of the types' columns; where they cost nothing, that of falling short. */
static double usual_cost(const struct ipm_problem *p)
{
    double sum = 0;

    for (size_t m = 0; m < p->n_jobs; m++)
        for (size_t j = 0; j < p->n_types; j++)
            sum += p->cost[m * IPM_WIDTH(p->n_types) + j];
    return sum > 0 ? sum / ((double)p->n_jobs * (double)p->n_types) : p->shortfall_cost;
}

/* Surplus takes work away, shortfall does work without time, idleness takes time alone, and so does
 * the column that fills up, at a cost. */
static void fill_in(struct ipm_problem *p, double usual)
{
    for (size_t m = 0; m < p->n_jobs; m++) {
        double *work = p->work + m * IPM_WIDTH(p->n_types) + p->n_types;
        double *cost = p->cost + m * IPM_WIDTH(p->n_types) + p->n_types;
        work[IPM_SURPLUS] = -1;
        work[IPM_MISSING] = 1;
        cost[IPM_MISSING] = p->shortfall_cost;
        cost[IPM_FILLER] = usual;
    }
}

/* Reduced costs of the job's columns. The multiplier of work is half of the one that would make a
 * reduced cost 0. */
static void start_job(struct ipm *w, size_t job)
{
    const struct ipm_problem *p = w->p;
    const double *work = p->work + job * w->width, *cost = p->cost + job * w->width;
    double *z = w->z + job * w->width, most = (double)INFINITY;

    ipm_row_prices(p, job, w->y.row, z);
    for (size_t i = 0; i < w->width; i++) {
        z[i] = cost[i] - w->takes_time[i] * w->y.time[job] - z[i];
        if (work[i] > 0)
            most = fmin(most, z[i] / work[i]);
    }
    w->y.work[job] = 0.5 * most;
    for (size_t i = 0; i < w->width; i++)
        z[i] -= work[i] * w->y.work[job];
}

/* Feasible multipliers, and all products x z alike. */
static void start(struct ipm *w, double usual)
{
    const struct ipm_problem *p = w->p;
    size_t slack = p->n_jobs * w->width;
    double product = 2 * usual / (double)p->n_types;

    for (size_t r = 0; r < p->n_rows; r++) {
        w->y.row[r] = -2 * product / p->rows[r].most;
        w->z[slack + r] = -w->y.row[r];
    }
    for (size_t m = 0; m < p->n_jobs; m++) {
        w->y.time[m] = -2 * product;
        start_job(w, m);
    }
    for (size_t i = 0; i < w->n; i++)
        w->x[i] = product / w->z[i];
    w->products = product * (double)w->n;
}

/* ---- a direction ---- */

static size_t group_size(const struct ipm *w, size_t group)
{
    return group < w->p->n_jobs ? w->width : w->p->n_rows;
}

/* dy = b + A correction. */
IPM_WIDE static void set_right_sides(struct ipm *w)
{
    const struct ipm_problem *p = w->p;
    double *restrict row = w->dy.row;

    for (size_t r = 0; r < p->n_rows; r++)
        row[r] = p->rows[r].most + w->correction[p->n_jobs * w->width + r];
    for (size_t m = 0; m < p->n_jobs; m++) {
        const double *restrict q = w->correction + m * w->width;
        double gang = p->rows[0].weight[m];
        w->dy.work[m] = 1 + ipm_dot(p->work + m * w->width, q, w->width);
        w->dy.time[m] = 1 + ipm_dot(w->takes_time, q, w->width);
        for (size_t j = 0; j < p->n_types; j++)
            row[j] += gang * q[j];
        for (size_t r = p->n_types; r < p->n_rows; r++)
            if (p->rows[r].weight[m] != 0)
                row[r] += p->rows[r].weight[m] * ipm_dot(p->rows[r].unit, q, p->n_types);
    }
}

/* dz = -A'dy of one group. */
IPM_INLINE void set_dz(const struct ipm *w, size_t group, double *restrict dz)
{
    const double *restrict takes = w->takes_time;

    if (group == w->p->n_jobs) {
        for (size_t r = 0; r < w->p->n_rows; r++)
            dz[r] = -w->dy.row[r];
        return;
    }
    const double *restrict work = w->p->work + group * w->width;
    double by_work = w->dy.work[group], by_time = w->dy.time[group];
    ipm_row_prices(w->p, group, w->dy.row, dz);
    memset(dz + w->p->n_types, 0, IPM_LANES * sizeof *dz);
    for (size_t i = 0; i < w->width; i++)
        dz[i] = -(work[i] * by_work + takes[i] * by_time + dz[i]);
}

IPM_INLINE double largest(const double of[IPM_LANES])
{
    return fmax(fmax(of[0], of[1]), fmax(of[2], of[3]));
}

/* dx and dz, and the lengths of steps that go this part of the way to the boundary. */
IPM_WIDE static void measure(struct ipm *w, double part)
{
    double z_most[IPM_LANES] = {0}, least = 1;

    for (size_t i = 0; i <= w->p->n_jobs; i++) {
        size_t first = i * w->width, n = group_size(w, i);
        const double *restrict x = w->x + first, *restrict z = w->z + first;
        const double *restrict correction = w->correction + first;
        double *restrict dx = w->dx + first, *restrict dz = w->dz + first;
        double x_most[IPM_LANES] = {0};
        set_dz(w, i, dz);
        for (size_t j = 0; j < n; j += IPM_LANES)
            for (size_t k = 0; k < IPM_LANES; k++) {
                double z_shrinks = -dz[j + k] / z[j + k];
                double x_shrinks = 1 - z_shrinks + correction[j + k] / x[j + k];
                dx[j + k] = -x[j + k] * x_shrinks;
                z_most[k] = z_shrinks > z_most[k] ? z_shrinks : z_most[k];
                x_most[k] = x_shrinks > x_most[k] ? x_shrinks : x_most[k];
            }
        w->primal[i] = fmin(1, part / largest(x_most));
        least = fmin(least, w->primal[i]);
    }
    for (size_t i = 0; least > STEP_ALIKE && i <= w->p->n_jobs; i++)
        w->primal[i] = least;
    w->dual = fmin(1, part / largest(z_most));
}

static void find_direction(struct ipm *w, double part)
{
    set_right_sides(w);
    ipm_system_solve(&w->equations, &w->dy);
    measure(w, part);
}

/* ---- a step ---- */

/* The sum of x z after the step. */
IPM_WIDE static double products_after(const struct ipm *w)
{
    double sum[IPM_LANES] = {0}, dual = w->dual;

    for (size_t i = 0; i <= w->p->n_jobs; i++) {
        size_t first = i * w->width, n = group_size(w, i);
        const double *x = w->x + first, *z = w->z + first, *dx = w->dx + first, *dz = w->dz + first;
        double primal = w->primal[i];
        for (size_t j = 0; j < n; j += IPM_LANES)
            for (size_t k = 0; k < IPM_LANES; k++)
                sum[k] += (x[j + k] + primal * dx[j + k]) * (z[j + k] + dual * dz[j + k]);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Mehrotra's target for the products: the more the predictor gains, the less is centred. */
IPM_WIDE static double correct(struct ipm *w)
{
    double gain = products_after(w) / w->products;
    double target = gain * gain * gain * w->products / (double)w->n;
    const double *restrict dx = w->dx, *restrict dz = w->dz, *restrict z = w->z;
    double *restrict correction = w->correction;

    for (size_t i = 0; i < w->n; i++)
        correction[i] = (dx[i] * dz[i] - target) / z[i];
    return fmax(STEP_PART_LEAST, fmin(STEP_PART_MOST, 1 - gain));
}

IPM_WIDE static void move(struct ipm *w)
{
    const double *restrict dx = w->dx, *restrict dz = w->dz;
    double *restrict x = w->x, *restrict z = w->z, dual = w->dual;

    w->products = products_after(w);
    for (size_t i = 0; i <= w->p->n_jobs; i++) {
        double primal = w->primal[i];
        for (size_t k = i * w->width; k < i * w->width + group_size(w, i); k++)
            x[k] += primal * dx[k];
    }
    for (size_t k = 0; k < w->n; k++)
        z[k] += dual * dz[k];
    for (size_t m = 0; m < w->p->n_jobs; m++) {
        w->y.work[m] += dual * w->dy.work[m];
        w->y.time[m] += dual * w->dy.time[m];
    }
    for (size_t r = 0; r < w->p->n_rows; r++)
        w->y.row[r] += dual * w->dy.row[r];
}

/* One iteration; false when the step is too short to go on. */
static bool advance(struct ipm *w)
{
    ipm_system_factor(&w->equations, w->x, w->z);
    memset(w->correction, 0, w->n * sizeof *w->correction);
    find_direction(w, 1);
    find_direction(w, correct(w));
    if (!(w->dual > STEP_LEAST))
        return false;
    move(w);
    return true;
}

/* ---- all of it ---- */

static void duals_init(struct ipm_duals *y, const struct ipm_problem *p, struct arena *arena)
{
    y->work = arena_zero(arena, p->n_jobs, sizeof(double));
    y->time = arena_zero(arena, p->n_jobs, sizeof(double));
    y->row = arena_zero(arena, p->n_rows, sizeof(double));
}

static void ipm_init(struct ipm *w, const struct ipm_problem *p, struct arena *arena)
{
    size_t width = IPM_WIDTH(p->n_types), n = p->n_jobs * width + p->n_rows;
    double **const arrays[] = {&w->x, &w->z, &w->dx, &w->dz, &w->correction};

    *w = (struct ipm){.p = p, .width = width, .n = n};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        *arrays[i] = arena_zero(arena, n, sizeof(double));
    w->takes_time = arena_zero(arena, width, sizeof(double));
    w->primal = arena_zero(arena, p->n_jobs + 1, sizeof(double));
    for (size_t i = 0; i < width; i++)
        w->takes_time[i] = i != p->n_types + IPM_SURPLUS && i != p->n_types + IPM_MISSING;
    duals_init(&w->y, p, arena);
    duals_init(&w->dy, p, arena);
    ipm_system_init(&w->equations, p, w->takes_time, arena);
}

/* The products as part of the multipliers' objective: the gap, once rows hold. */
static double gap(const struct ipm *w)
{
    double sum = 0;

    for (size_t m = 0; m < w->p->n_jobs; m++)
        sum += w->y.work[m] + w->y.time[m];
    for (size_t r = 0; r < w->p->n_rows; r++)
        sum += w->p->rows[r].most * w->y.row[r];
    return w->products / fmax(fabs(sum), w->p->size);
}

bool ipm_solve(struct ipm_problem *p, struct ipm_answer *out)
{
    double usual = usual_cost(p);
    bool solved = false;
    AUTO(arena) struct arena *arena = arena_new(SIZE_MAX);
    struct ipm w;

    assert(p->n_types % IPM_LANES == 0 && p->n_rows % IPM_LANES == 0);
    *out = (struct ipm_answer){
        .x = mem_zero(p->n_jobs * IPM_WIDTH(p->n_types), sizeof(double)),
        .shortfall = mem_zero(p->n_jobs, sizeof(double)),
        .price = mem_zero(p->n_rows, sizeof(double)),
        .work_price = mem_zero(p->n_jobs, sizeof(double)),
    };
    fill_in(p, usual);
    ipm_init(&w, p, arena);
    start(&w, usual);
    for (int i = 0; i < ITERATIONS_MAX && !solved && advance(&w); i++)
        solved = gap(&w) < p->gap && ipm_prove(p, w.x, w.y.row, out);
    /* The last point may do although the gap aimed at was not reached. */
    return solved || ipm_prove(p, w.x, w.y.row, out);
}

void ipm_answer_clear(struct ipm_answer *a)
{
    free(a->x);
    free(a->shortfall);
    free(a->price);
    free(a->work_price);
    *a = (struct ipm_answer){0};
}
