/* Fits models with a fixed part, c + exp(Xb), by damped least squares of log y. fit.c and
 * fit_choose.c call it. */
#include "estimate/fit_internal.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the search begins: shares of the shortest run. The last ones are for runs that are nearly
 * all start-up. */
static const double starts[] = {0.1, 0.4, 0.7, 0.9, 0.97, 0.995};
#define STARTS (sizeof starts / sizeof *starts)
#define STEPS_MAX 60
/* A step that gains less than this share is the last. */
#define GAIN_LEAST 1e-13
/* Squares of log y below this are rounding. */
#define NO_RESIDUAL 1e-26
/* The fixed part is at least this share of the shortest run: less is none. */
#define SHARE_LEAST 1e-4
/* Runs more than effects: with one, a fixed part and an exponent explain any curve. */
#define SPARE_RUNS 2
#define DAMPING_MAX 1e12
#define LEVERAGE_MAX (1 - 1e-8)
/* Work, in n n p p, up to which each run is truly left out; beyond it the fit to all others follows
 * from the derivatives of the fit to all, which so many runs hardly bend. */
#define LEAVE_OUT_WORK 4e6
/* Work, in n p p, up to which the search begins at every start instead of at the best. */
#define START_WORK 2e5

struct problem {
    const struct fit_data *d;
    size_t n, p;      /* runs; columns that are estimated, without the fixed part */
    size_t terms;     /* of the form, without the fixed part */
    size_t *term;     /* p: which term a column is */
    double *columns;  /* p columns of n */
    double *offset;   /* n: what terms with an exponent of 1 add to the logarithm of the work */
    double shortest;  /* log of the shortest run */
    double longest;   /* the same */
    size_t without;   /* a run that is left out; n = none */
    double *jacobian; /* scratch: (n + p + 1) x (p + 1) */
    double *target;   /* scratch: n + p + 1 */
    double *rest;     /* the same */
};

static void problem_clear(struct problem *q)
{
    free(q->term);
    free(q->columns);
    free(q->offset);
    free(q->jacobian);
    free(q->target);
    free(q->rest);
}

/* Columns that those before them explain are left out for good: damping would hide that they
 * are. */
static void keep_columns(struct problem *q, const double *all)
{
    AUTO_CLEAR(lsq) struct lsq s = {0};

    lsq_init(&s, q->n, q->terms, all);
    for (size_t c = 0; c < q->terms; c++) {
        if (s.dropped[c])
            continue;
        memcpy(q->columns + q->p * q->n, all + c * q->n, q->n * sizeof *all);
        q->term[q->p++] = c;
    }
}

static bool problem_init(struct problem *q,
                         const struct fit_data *d,
                         const struct fit_shape *shape,
                         struct fit_term terms[static FIT_COLUMNS_MAX])
{
    size_t n = d->n, p = fit_terms(&d->space, &shape->form, terms);

    if (p < 2 || terms[p - 1].kind != FIT_TERM_FIXED)
        return false;
    *q = (struct problem){.d = d, .n = n, .terms = p - 1, .without = n};
    AUTO_MEM double *all = mem_zero(n * p, sizeof *all);
    q->term = mem_zero(p, sizeof *q->term);
    q->columns = mem_zero(n * p, sizeof *q->columns);
    q->offset = mem_zero(n, sizeof *q->offset);
    q->jacobian = mem_zero((n + p) * p, sizeof *q->jacobian);
    q->target = mem_zero(n + p, sizeof *q->target);
    q->rest = mem_zero(n + p, sizeof *q->rest);
    q->shortest = q->longest = d->log_y[0];
    for (size_t i = 0; i < n; i++) {
        const double *point = d->points + i * d->space.n;
        q->shortest = fmin(q->shortest, d->log_y[i]);
        q->longest = fmax(q->longest, d->log_y[i]);
        for (size_t c = 0; c + 1 < p; c++) {
            double x = fit_term_at(&terms[c], &d->space, shape, point);
            if (fit_is_linear(&shape->form, &terms[c]))
                q->offset[i] += x;
            else
                all[c * n + i] = x;
        }
    }
    keep_columns(q, all);
    return n >= q->p + 1 + SPARE_RUNS;
}

/* ---- one fit ---- */

/* The logarithm of the fixed part stands behind the p coefficients. */
struct guess {
    double at[FIT_COLUMNS_MAX];
    double rss;
};

static double log_work(const struct problem *q, const struct guess *g, size_t run)
{
    double sum = q->offset[run];

    for (size_t c = 0; c < q->p; c++)
        sum += g->at[c] * q->columns[c * q->n + run];
    return sum;
}

static double residual_of(const struct problem *q, const struct guess *g, size_t run)
{
    return q->d->log_y[run] - log(exp(g->at[q->p]) + exp(log_work(q, g, run)));
}

static void weigh(const struct problem *q, struct guess *g)
{
    g->rss = 0;
    for (size_t i = 0; i < q->n; i++)
        if (i != q->without)
            g->rss += pow(residual_of(q, g, i), 2);
    if (!isfinite(g->rss))
        g->rss = (double)INFINITY;
}

/* The p + 1 columns of derivatives, with so many rows below those of the runs. */
static void fill_jacobian(const struct problem *q, const struct guess *g, size_t more)
{
    size_t rows = q->n + more;

    memset(q->jacobian, 0, rows * (q->p + 1) * sizeof *q->jacobian);
    for (size_t i = 0; i < q->n; i++) {
        double work = exp(log_work(q, g, i)), share = work / (work + exp(g->at[q->p]));
        if (i == q->without)
            continue;
        for (size_t c = 0; c < q->p; c++)
            q->jacobian[c * rows + i] = share * q->columns[c * q->n + i];
        q->jacobian[q->p * rows + i] = 1 - share;
    }
}

/* One step from g with this much damping. */
static struct guess step(const struct problem *q, const struct guess *g, double damping)
{
    size_t p = q->p + 1, rows = q->n + p;
    struct guess next = *g;
    double change[FIT_COLUMNS_MAX] = {0};

    fill_jacobian(q, g, p);
    memset(q->target, 0, rows * sizeof *q->target);
    for (size_t i = 0; i < q->n; i++)
        if (i != q->without)
            q->target[i] = residual_of(q, g, i);
    for (size_t c = 0; c < p; c++) {
        double length = 0;
        for (size_t i = 0; i < q->n; i++)
            length += pow(q->jacobian[c * rows + i], 2);
        q->jacobian[c * rows + q->n + c] = sqrt(damping * fmax(length, 1e-12));
    }
    AUTO_CLEAR(lsq) struct lsq s = {0};
    lsq_init(&s, rows, p, q->jacobian);
    lsq_solve(&s, q->target, q->rest, change);
    for (size_t c = 0; c < p; c++)
        next.at[c] += change[c];
    next.at[q->p] = fmin(fmax(next.at[q->p], q->shortest + log(SHARE_LEAST)), q->longest);
    weigh(q, &next);
    return next;
}

static void descend(const struct problem *q, struct guess *g)
{
    double damping = 1e-3, enough = NO_RESIDUAL * (double)q->n;

    for (int i = 0; i < STEPS_MAX && g->rss > enough && damping < DAMPING_MAX; i++) {
        struct guess next = step(q, g, damping);
        if (!(next.rss < g->rss)) {
            damping *= 10;
            continue;
        }
        bool last = next.rss > (1 - GAIN_LEAST) * g->rss;
        *g = next;
        damping = fmax(damping / 10, 1e-12);
        if (last)
            break;
    }
}

/* With the fixed part given, the rest is nearly linear: log(y - c), each weighted by the share of
 * the work, which is what an error of y makes of it. */
static struct guess begin(const struct problem *q, double share)
{
    struct guess g = {0};
    double fixed = share * exp(q->shortest);

    for (size_t i = 0; i < q->n; i++) {
        double y = exp(q->d->log_y[i]), weight = (y - fixed) / y;
        for (size_t c = 0; c < q->p; c++)
            q->jacobian[c * q->n + i] = weight * q->columns[c * q->n + i];
        q->target[i] = weight * (log(y - fixed) - q->offset[i]);
    }
    AUTO_CLEAR(lsq) struct lsq s = {0};
    lsq_init(&s, q->n, q->p, q->jacobian);
    lsq_solve(&s, q->target, q->rest, g.at);
    g.at[q->p] = log(fixed);
    weigh(q, &g);
    return g;
}

static struct guess search(const struct problem *q)
{
    bool all = (double)q->n * (double)q->p * (double)q->p <= START_WORK;
    struct guess best = {.rss = (double)INFINITY};

    for (size_t i = 0; i < STARTS; i++) {
        struct guess g = begin(q, starts[i]);
        if (all)
            descend(q, &g);
        if (g.rss < best.rss)
            best = g;
    }
    if (!all)
        descend(q, &best);
    return best;
}

/* The fixed part is one, and the runs tell it from the rest; s is the design of the derivatives. */
static bool is_told(const struct problem *q, const struct guess *g, struct lsq *s)
{
    if (!isfinite(g->rss) || g->at[q->p] <= q->shortest + 2 * log(SHARE_LEAST) / 3)
        return false;
    fill_jacobian(q, g, 0);
    lsq_init(s, q->n, q->p + 1, q->jacobian);
    return s->rank == q->p + 1;
}

/* Fits all runs of d. False: they do not have the shape, or do not tell its fixed part. */
static bool solve(struct problem *q,
                  const struct fit_data *d,
                  const struct fit_shape *shape,
                  struct fit_term *terms,
                  struct guess *g,
                  struct lsq *s)
{
    if (!problem_init(q, d, shape, terms))
        return false;
    *g = search(q);
    return is_told(q, g, s);
}

static void give(const struct problem *q,
                 const struct guess *g,
                 const struct fit_shape *shape,
                 const struct fit_term *terms,
                 struct fit_fixed *out)
{
    *out = (struct fit_fixed){.fixed_s = exp(g->at[q->p]), .rss = g->rss};
    for (size_t c = 0; c < q->p; c++)
        out->beta[q->term[c]] = g->at[c];
    for (size_t c = 0; c < q->terms; c++)
        if (fit_is_linear(&shape->form, &terms[c]))
            out->beta[c] = 1;
}

bool fit_fixed_solve(const struct fit_data *d, const struct fit_shape *shape, struct fit_fixed *out)
{
    AUTO_CLEAR(problem) struct problem q = {0};
    AUTO_CLEAR(lsq) struct lsq s = {0};
    struct fit_term terms[FIT_COLUMNS_MAX];
    struct guess g;

    if (!solve(&q, d, shape, terms, &g, &s))
        return false;
    give(&q, &g, shape, terms, out);
    return true;
}

bool fit_fixed_judge(const struct fit_data *d,
                     const struct fit_shape *shape,
                     const bool *counts,
                     struct fit_fixed *out,
                     double *residual)
{
    AUTO_CLEAR(problem) struct problem q = {0};
    AUTO_CLEAR(lsq) struct lsq s = {0};
    struct fit_term terms[FIT_COLUMNS_MAX];
    struct guess g;

    if (!solve(&q, d, shape, terms, &g, &s))
        return false;
    bool each = pow((double)q.n * (double)(q.p + 1), 2) <= LEAVE_OUT_WORK;
    for (size_t i = 0; i < q.n; i++) {
        struct guess other = g;
        if (!counts[i])
            continue;
        if (s.leverage[i] > LEVERAGE_MAX)
            return false;
        if (each) {
            q.without = i;
            weigh(&q, &other);
            descend(&q, &other);
        }
        residual[i] =
            each ? residual_of(&q, &other, i) : residual_of(&q, &g, i) / (1 - s.leverage[i]);
    }
    give(&q, &g, shape, terms, out);
    return true;
}
