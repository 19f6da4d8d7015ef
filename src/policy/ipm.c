/* ipm: predictor, corrector and Gondzio's centrality corrector, from a start whose multipliers are
 * feasible and whose products x z are all alike. Multipliers stay feasible, so that what is left to
 * reach are the rows, which steps of length 1 do, and small products.
 *
 * A step of multipliers dy makes one of reduced costs, dz = -A'dy, and one of x,
 *     dx = -x - x dz / z - fix,
 * where fix is 0 for the predictor, and later what higher orders and centring add. That the rows
 * hold after it means A (X/Z) A' dy = b + A fix, whatever x was. */
#include "policy/ipm.h"

#include "base/mem.h"
#include "policy/ipm_internal.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ITERATIONS_MAX 100
/* Steps end this part of the way to where something would be 0: the more so, the more the predictor
 * promises. */
#define STEP_PART_LEAST 0.9
#define STEP_PART_MOST 0.995
/* Steps shorter than this lead nowhere. */
#define STEP_LEAST 1e-4
/* Part of the rows' violation at the start that may be left when the answer is looked at. */
#define LEFT_AIM 1e-9
/* The centrality corrector, of which a second or third does not pay: the step it is for; how much
 * longer a step it aims at and has to reach; and how far from the target a product may lie. */
#define CENTRING_FROM 0.9
#define CENTRING_AIM 0.3
#define CENTRING_GAIN 0.03
#define CENTRING_LOW 0.1
#define CENTRING_HIGH 10

/* Types are dropped once the gap, as part of the objective, is below this, and again when it has
 * shrunk so much: of each job so many stay at least, and those with this part of its largest x / z.
 * When the gap is small, more go. */
#define DROP_GAP 0.2
#define DROP_LEAST(n_types) (8 + (n_types) / 4)
#define DROP_PART 1e-3
#define DROP_AGAIN 0.5
#define DROP_MORE_GAP 0.1
#define DROP_MORE_LEAST(n_types) (4 + (n_types) / 8)
#define DROP_MORE_PART 1e-4

/* Of so many jobs on a sample of so many is solved first, until the gap is SAMPLE_AIM; with its
 * prices all of them, until it is HINT_AIM. What follows begins with the gap that such prices are
 * good for. */
#define SAMPLE_FROM 512
#define SAMPLE_JOBS 256
#define SAMPLE_AIM 0.05
#define SAMPLE_GAP 0.3
#define HINT_AIM 3e-3
#define HINT_GAP 0.03
#define HINT_LEFT 0.05
#define HINT_WORSE 1.5

struct ipm {
    const struct ipm_problem *p;
    struct ipm_columns columns;
    size_t width, n_all; /* of a job at first; of all variables */
    struct ipm_point at;
    struct ipm_system equations;
    struct ipm_duals dy, dy_more;
    double *fix, *fix_more; /* of all variables */
    double *dz;             /* scratch: of one group of variables */
    double *takes_time;     /* of a job's columns: 0 or 1 */
    bool may_drop;          /* types */
    double target;          /* for every product */
    double products;        /* sum of x z at the beginning of the step */
    double left;            /* part of the rows' first violation that is left */
    double looked_gap;      /* when it was last seen whether types can be dropped */
    double part;            /* of the way to the boundary that steps go */
    double primal, dual;    /* lengths of the step */
};

/* ---- groups of variables ---- */

/* Variables are visited a group at a time, while it is in the cache: each job's, then the slacks of
 * the rows. Sums and extremes are kept by lane, so that lanes need not wait for one another. */
struct group {
    const double *restrict dz;
    double *restrict x;
    double *restrict z;
    double *restrict fix;
    double *restrict fix_more;
    size_t n; /* whole lanes */
};

/* 0 or 1 for each of a job's columns. */
IPM_INLINE const double *takes_time(const struct ipm *w, size_t job)
{
    return w->takes_time + w->p->n_types - ipm_types(&w->columns, job);
}

/* Reduced costs of a job's columns change by this. */
IPM_INLINE void fill_job_dz(const struct ipm *w, size_t job, size_t n, const struct ipm_duals *dy)
{
    const double *restrict work = ipm_work(&w->columns, job);
    const double *restrict time = takes_time(w, job);
    double *restrict dz = w->dz;
    double dwork = dy->work[job], dtime = dy->time[job];

    ipm_columns_prices(&w->columns, job, dy->row, dz);
    for (size_t i = 0; i < n; i++)
        dz[i] = -(work[i] * dwork + time[i] * dtime + dz[i]);
}

IPM_INLINE struct group group_of(struct ipm *w, size_t i, const struct ipm_duals *dy)
{
    size_t first = w->columns.first[i], n = w->equations.stride;

    if (i < w->p->n_jobs) {
        n = w->columns.first[i + 1] - first;
        fill_job_dz(w, i, n, dy);
    } else {
        for (size_t r = 0; r < n; r++)
            w->dz[r] = -dy->row[r];
    }
    return (struct group){
        .dz = w->dz,
        .x = w->at.x + first,
        .z = w->at.z + first,
        .fix = w->fix + first,
        .fix_more = w->fix_more + first,
        .n = n,
    };
}

/* right += A q, where q are values of a job's columns. */
IPM_INLINE void add_job_rows(const struct ipm *w,
                             size_t job,
                             const double *restrict q,
                             struct ipm_duals *right)
{
    const double *restrict work = ipm_work(&w->columns, job);
    const double *restrict takes = takes_time(w, job);
    size_t n = ipm_types(&w->columns, job) + IPM_LANES;
    double worked[IPM_LANES] = {0}, time[IPM_LANES] = {0};

    for (size_t i = 0; i < n; i += IPM_LANES)
        for (size_t k = 0; k < IPM_LANES; k++) {
            worked[k] += work[i + k] * q[i + k];
            time[k] += takes[i + k] * q[i + k];
        }
    right->work[job] += (worked[0] + worked[1]) + (worked[2] + worked[3]);
    right->time[job] += (time[0] + time[1]) + (time[2] + time[3]);
    ipm_columns_add(&w->columns, job, q, right->row);
}

IPM_INLINE void add_rows(const struct ipm *w, size_t i, const double *q, struct ipm_duals *right)
{
    if (i < w->p->n_jobs) {
        add_job_rows(w, i, q, right);
        return;
    }
    for (size_t r = 0; r < w->p->n_rows; r++)
        right->row[r] += q[r];
}

/* ---- multipliers ---- */

static void clear_duals(const struct ipm *w, struct ipm_duals *y)
{
    memset(y->work, 0, w->p->n_jobs * sizeof *y->work);
    memset(y->time, 0, w->p->n_jobs * sizeof *y->time);
    memset(y->row, 0, w->equations.stride * sizeof *y->row);
}

static void set_right_sides(const struct ipm *w, struct ipm_duals *y)
{
    clear_duals(w, y);
    for (size_t m = 0; m < w->p->n_jobs; m++)
        y->work[m] = y->time[m] = 1;
    for (size_t r = 0; r < w->p->n_rows; r++)
        y->row[r] = w->p->rows[r].most;
}

static void add_duals(const struct ipm *w,
                      struct ipm_duals *to,
                      const struct ipm_duals *from,
                      double times)
{
    for (size_t m = 0; m < w->p->n_jobs; m++) {
        to->work[m] += times * from->work[m];
        to->time[m] += times * from->time[m];
    }
    for (size_t r = 0; r < w->p->n_rows; r++)
        to->row[r] += times * from->row[r];
}

static void swap_duals(struct ipm_duals *a, struct ipm_duals *b)
{
    struct ipm_duals was = *a;

    *a = *b;
    *b = was;
}

static void swap_fixes(struct ipm *w)
{
    double *was = w->fix;

    w->fix = w->fix_more;
    w->fix_more = was;
}

/* ---- lengths of steps ---- */

/* The step of x, as part of x. */
IPM_INLINE double growth(double x, double z, double dz, double fix)
{
    return -1 - dz / z - fix / x;
}

static double largest(const double of[IPM_LANES])
{
    return fmax(fmax(of[0], of[1]), fmax(of[2], of[3]));
}

/* How far the step dy with its fix can go. */
IPM_WIDE static void measure(struct ipm *w,
                             const struct ipm_duals *dy,
                             double *primal,
                             double *dual)
{
    double x_most[IPM_LANES] = {0}, z_most[IPM_LANES] = {0};

    for (size_t i = 0; i <= w->p->n_jobs; i++) {
        const struct group g = group_of(w, i, dy);
        for (size_t j = 0; j < g.n; j += IPM_LANES)
            for (size_t k = 0; k < IPM_LANES; k++) {
                double over = 1 / (g.z[j + k] * g.x[j + k]);
                double z_part = -g.dz[j + k] * g.x[j + k] * over;
                double x_part = 1 - z_part + g.fix[j + k] * g.z[j + k] * over;
                z_most[k] = z_part > z_most[k] ? z_part : z_most[k];
                x_most[k] = x_part > x_most[k] ? x_part : x_most[k];
            }
    }
    *primal = fmin(1, w->part / largest(x_most));
    *dual = fmin(1, w->part / largest(z_most));
}

/* ---- the predictor ---- */

/* What is found on the way of the predictor, by lane: how far it can go, and its products. */
struct ahead {
    double least[IPM_LANES], most[IPM_LANES]; /* of the part that z shrinks by */
    double xz[IPM_LANES], x_dz[IPM_LANES], dx_dz[IPM_LANES];
};

IPM_WIDE static struct ahead look_ahead(struct ipm *w)
{
    struct ahead a = {0};

    for (size_t i = 0; i <= w->p->n_jobs; i++) {
        const struct group g = group_of(w, i, &w->dy);
        for (size_t j = 0; j < g.n; j += IPM_LANES)
            for (size_t k = 0; k < IPM_LANES; k++) {
                double x = g.x[j + k], z = g.z[j + k], dz = g.dz[j + k], part = -dz / z;
                a.most[k] = part > a.most[k] ? part : a.most[k];
                a.least[k] = part < a.least[k] ? part : a.least[k];
                a.xz[k] += x * z;
                a.x_dz[k] += x * dz;
                a.dx_dz[k] += x * (part - 1) * dz;
            }
    }
    return a;
}

static double sum(const double of[IPM_LANES])
{
    return (of[0] + of[1]) + (of[2] + of[3]);
}

/* The target is like Mehrotra's, who takes the third power: the more the predictor gains, the less
 * is centred. x shrinks by 1 less
 * the part that z shrinks by, and dx z = -x z - x dz. */
static void predict(struct ipm *w)
{
    set_right_sides(w, &w->dy);
    ipm_system_solve(&w->equations, &w->dy);
    struct ahead a = look_ahead(w);
    double smallest = fmin(fmin(a.least[0], a.least[1]), fmin(a.least[2], a.least[3]));
    double primal = fmin(1, 1 / (1 - smallest)), dual = fmin(1, 1 / largest(a.most));
    double xz = sum(a.xz), x_dz = sum(a.x_dz);
    double gain = 1 - primal + (dual - primal) * x_dz / xz + primal * dual * sum(a.dx_dz) / xz;
    w->products = xz;
    w->target = gain * gain * gain * gain * xz / (double)w->n_all;
    w->part = fmax(STEP_PART_LEAST, fmin(STEP_PART_MOST, 1 - gain));
}

/* ---- the correctors ---- */

/* The predictor's error of second order, and the centre. */
IPM_WIDE static void correct(struct ipm *w)
{
    double target = w->target;

    set_right_sides(w, &w->dy_more);
    for (size_t i = 0; i <= w->p->n_jobs; i++) {
        const struct group g = group_of(w, i, &w->dy);
        for (size_t k = 0; k < g.n; k++) {
            double over = 1 / g.z[k];
            g.fix[k] = (-g.x[k] * (1 + g.dz[k] * over) * g.dz[k] - target) * over;
        }
        add_rows(w, i, g.fix, &w->dy_more);
    }
    ipm_system_solve(&w->equations, &w->dy_more);
    swap_duals(&w->dy, &w->dy_more);
    measure(w, &w->dy, &w->primal, &w->dual);
}

/* By how much to change a product so that it comes near the target. */
IPM_INLINE double off_centre(double product, double target)
{
    double low = CENTRING_LOW * target - product, high = CENTRING_HIGH * target - product;
    double up = low > 0 ? low : 0, down = high < 0 ? high : 0;
    double most = -CENTRING_HIGH * target;

    return up + (down > most ? down : most);
}

/* Aims at products near the target after a longer step; keeps the outcome if the step becomes
 * longer. */
IPM_WIDE static void centre(struct ipm *w)
{
    double primal = fmin(1, w->primal + CENTRING_AIM), dual = fmin(1, w->dual + CENTRING_AIM);
    double target = w->target;

    clear_duals(w, &w->dy_more);
    for (size_t i = 0; i <= w->p->n_jobs; i++) {
        const struct group g = group_of(w, i, &w->dy);
        for (size_t k = 0; k < g.n; k++) {
            double over = 1 / g.z[k];
            double dx = -g.x[k] * (1 + g.dz[k] * over) - g.fix[k];
            double product = (g.x[k] + primal * dx) * (g.z[k] + dual * g.dz[k]);
            g.fix_more[k] = -off_centre(product, target) * over;
        }
        add_rows(w, i, g.fix_more, &w->dy_more);
        for (size_t k = 0; k < g.n; k++)
            g.fix_more[k] += g.fix[k];
    }
    ipm_system_solve(&w->equations, &w->dy_more);
    add_duals(w, &w->dy_more, &w->dy, 1);
    swap_fixes(w);
    measure(w, &w->dy_more, &primal, &dual);
    if (primal + dual < w->primal + w->dual + CENTRING_GAIN) {
        swap_fixes(w);
        return;
    }
    swap_duals(&w->dy, &w->dy_more);
    w->primal = primal;
    w->dual = dual;
}

/* ---- the step ---- */

IPM_WIDE static void move(struct ipm *w)
{
    double primal = w->primal, dual = w->dual;

    for (size_t i = 0; i <= w->p->n_jobs; i++) {
        const struct group g = group_of(w, i, &w->dy);
        for (size_t k = 0; k < g.n; k++) {
            g.x[k] += primal * g.x[k] * growth(g.x[k], g.z[k], g.dz[k], g.fix[k]);
            g.z[k] += dual * g.dz[k];
        }
    }
    add_duals(w, &w->at.y, &w->dy, dual);
    w->left *= 1 - primal;
}

/* One iteration; false when the step is too short to go on. */
static bool advance(struct ipm *w)
{
    ipm_system_factor(&w->equations, &w->at);
    predict(w);
    correct(w);
    if (fmin(w->primal, w->dual) < CENTRING_FROM)
        centre(w);
    if (!(w->primal > STEP_LEAST && w->dual > STEP_LEAST))
        return false;
    move(w);
    return true;
}

/* ---- all of it ---- */

static void begin(struct ipm *w, const struct ipm_problem *p, const struct ipm_hint *hint)
{
    size_t width = IPM_WIDTH(p->n_types), stride = p->n_rows;
    struct ipm_columns columns;

    ipm_columns_init(&columns, p);
    if (hint->gap > 0)
        ipm_columns_choose(&columns, hint->price, DROP_MORE_LEAST(p->n_types));
    size_t n = columns.first[p->n_jobs] + stride;
    *w = (struct ipm){
        .p = p,
        .columns = columns,
        .width = width,
        .n_all = n,
        .at = {.x = mem_zero(n, sizeof(double)), .z = mem_zero(n, sizeof(double))},
        .fix = mem_zero(n, sizeof(double)),
        .fix_more = mem_zero(n, sizeof(double)),
        .dz = mem_zero(width > stride ? width : stride, sizeof(double)),
        .takes_time = mem_zero(width, sizeof(double)),
        .left = 1,
        .looked_gap = 1,
    };
    for (size_t i = 0; i < width; i++)
        w->takes_time[i] = ipm_takes_time(p, i);
    ipm_duals_init(&w->at.y, p);
    ipm_duals_init(&w->dy, p);
    ipm_duals_init(&w->dy_more, p);
    ipm_system_init(&w->equations, &w->columns);
    if (hint->gap > 0)
        ipm_begin_at(&w->columns, hint, &w->at);
    else
        ipm_begin(p, &w->at);
}

static void end(struct ipm *w)
{
    free(w->at.x);
    free(w->at.z);
    free(w->fix);
    free(w->fix_more);
    free(w->dz);
    free(w->takes_time);
    ipm_duals_clear(&w->at.y);
    ipm_duals_clear(&w->dy);
    ipm_duals_clear(&w->dy_more);
    ipm_system_clear(&w->equations);
    ipm_columns_clear(&w->columns);
}

/* The objective of the multipliers. The products are what that of the columns differs by from it,
 * when rows hold; they were added up before the step, so that this looks one step behind. */
static double sum_of_duals(const struct ipm *w)
{
    double sum_y = 0;

    for (size_t m = 0; m < w->p->n_jobs; m++)
        sum_y += w->at.y.work[m] + w->at.y.time[m];
    for (size_t r = 0; r < w->p->n_rows; r++)
        sum_y += w->p->rows[r].most * w->at.y.row[r];
    return fmax(fabs(sum_y), w->p->size);
}

/* Drops what has shown to be useless; the further it got, the better that shows. */
static void drop(struct ipm *w, double gap)
{
    size_t least = gap < DROP_MORE_GAP ? DROP_MORE_LEAST(w->p->n_types) : DROP_LEAST(w->p->n_types);
    double part = gap < DROP_MORE_GAP ? DROP_MORE_PART : DROP_PART;

    if (gap > DROP_GAP || gap > DROP_AGAIN * w->looked_gap)
        return;
    w->looked_gap = gap;
    w->left += ipm_drop(&w->columns, &w->at, least, part);
    w->n_all = w->columns.first[w->p->n_jobs] + w->p->n_rows;
}

/* Goes on until the gap, as part of the objective, is below this and rows hold to `left`. */
static void approach(struct ipm *w, double gap_aim, double left_aim, int *iterations)
{
    for (int i = 0; i < ITERATIONS_MAX && advance(w); i++) {
        double gap = w->products / sum_of_duals(w);
        ++*iterations;
        if ((w->left < left_aim && gap < gap_aim) || !ipm_is_finite(gap))
            break;
        if (w->may_drop)
            drop(w, gap);
    }
}

/* Whether there is an answer; part_out, whether only a part of the columns was looked at. */
static bool solve(const struct ipm_problem *p,
                  const struct ipm_hint *hint,
                  bool may_drop,
                  struct ipm_answer *out,
                  bool *part_out)
{
    struct ipm w;

    begin(&w, p, hint);
    w.may_drop = may_drop;
    approach(&w, p->gap, LEFT_AIM, &out->iterations);
    bool good = ipm_end(&w.columns, &w.at, out);
    *part_out = w.columns.type != NULL;
    end(&w);
    return good;
}

/* Goes as far as prices are right to a few hundredths of the objective, or a few thousandths. */
static void improve(const struct ipm_problem *p, double aim, struct ipm_hint *hint, int *iterations)
{
    struct ipm w;

    begin(&w, p, hint);
    w.may_drop = true;
    approach(&w, aim, HINT_LEFT, iterations);
    for (size_t r = 0; r < p->n_rows; r++)
        hint->price[r] = -w.at.y.row[r];
    hint->value = sum_of_duals(&w) / (double)p->n_jobs;
    end(&w);
}

/* Prices of a sample, made better by few columns of all jobs. False: there is no use in them; where
 * the few columns are much dearer than the sample was, others are needed. */
static bool find_hint(const struct ipm_problem *p, struct ipm_hint *hint, int *iterations)
{
    struct ipm_sample sample;

    ipm_sample_init(&sample, p, SAMPLE_JOBS);
    improve(&sample.problem, SAMPLE_AIM, hint, iterations);
    ipm_sample_clear(&sample);
    if (!ipm_hint_is_good(hint, p))
        return false;
    double value = hint->value;
    hint->gap = SAMPLE_GAP;
    improve(p, HINT_AIM, hint, iterations);
    hint->gap = HINT_GAP;
    return ipm_hint_is_good(hint, p) && hint->value < HINT_WORSE * value;
}

static bool solve_with_hint(const struct ipm_problem *p, struct ipm_answer *out)
{
    struct ipm_hint hint = {.price = mem_zero(p->n_rows, sizeof(double))};
    bool part;

    bool good = find_hint(p, &hint, &out->iterations) && solve(p, &hint, true, out, &part);
    free(hint.price);
    return good;
}

bool ipm_solve(struct ipm_problem *p, struct ipm_answer *out)
{
    static const struct ipm_hint nothing = {0};
    bool part;

    assert(p->n_types % IPM_LANES == 0 && p->n_rows % IPM_LANES == 0);
    *out = (struct ipm_answer){
        .x = mem_zero(ipm_own_columns(p), sizeof(double)),
        .shortfall = mem_zero(p->n_jobs, sizeof(double)),
        .price = mem_zero(p->n_rows, sizeof(double)),
        .work_price = mem_zero(p->n_jobs, sizeof(double)),
    };
    ipm_fill_in(p);
    /* Should something have been left out that is needed, the bound shows it. */
    return (p->n_jobs >= SAMPLE_FROM && solve_with_hint(p, out)) ||
           solve(p, &nothing, true, out, &part) || (part && solve(p, &nothing, false, out, &part));
}

void ipm_answer_clear(struct ipm_answer *a)
{
    free(a->x);
    free(a->shortfall);
    free(a->price);
    free(a->work_price);
    *a = (struct ipm_answer){0};
}
