/* Chooses the form of a fitted model (powers, Amdahl's law, memory cliff, interactions) by
 * leave-one-out errors. fit.c calls it. */
#include "estimate/fit_internal.h"

#include "base/mem.h"
#include "base/number.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The serial share is searched in steps of half a percent: finer than runs can tell it, and the
 * fit of a form to all runs but one is then exact without being made. */
#define SERIAL_STEPS 200
/* Thresholds that are tried; a profile has a handful of memory sizes. */
#define CLIFFS_MAX 8
/* Fewer different values cannot tell one shape from another. */
#define SHAPE_VALUES_MIN 3
/* A run that decides a coefficient alone has leverage 1: the others cannot predict it. */
#define LEVERAGE_MAX (1 - 1e-8)
/* A serial share must be about this many standard errors away from none to be taken as one: a
 * little of it that is chance would cost much on more CPUs than the runs had. */
#define SERIAL_ERRORS 2.0
/* Standard errors by which the errors of the runs must shrink for a form to be preferred. An
 * Amdahl term takes the place of a power and has as much freedom; a cliff chooses its threshold,
 * too; an interaction is one coefficient more, for the luckiest of many pairs. With 15 % noise on
 * 27 runs that are log-linear, what is chosen then predicts as well as log-linear does. */
#define CLEARLY_CLIFF 1.0
#define CLEARLY_INTERACTION 2.0
/* A fixed part bends every curve a little. Beside one, an exponent of 1 is preferred unless the
 * errors are this much smaller without: few short runs hardly tell a fixed part from an exponent,
 * and many times outside them only the exponent counts. */
#define CLEARLY_FIXED 1.0
#define CLEARLY_NOT_LINEAR 2.0
/* Differences below this are rounding. */
#define NO_DIFFERENCE 1e-9

struct judge {
    const struct fit_data *d;
    bool *counts; /* n: log-linear can predict the run from the others */
    size_t n_counting;
    bool known[FIT_FEATURES_MAX]; /* the runs tell the effect of this number apart */
    double cliffs[CLIFFS_MAX];
    size_t n_cliffs;
    double plain_loo; /* log-linear's */
    double *columns;  /* scratch: n x FIT_COLUMNS_MAX */
    double *target;   /* scratch: n */
};

struct verdict {
    struct fit_shape shape; /* fitted to all runs */
    double score;           /* its sum of squares, with the price of a serial share */
    double loo;
    double *score_without; /* n: the smallest score without the run */
    double *residual;      /* n: of the run, left out of the fit that has it */
};

static void verdict_init(struct verdict *v, const struct fit_form *form, size_t n)
{
    *v = (struct verdict){
        .shape = {.form = *form},
        .score = (double)INFINITY,
        .score_without = mem_zero(n, sizeof(double)),
        .residual = mem_zero(n, sizeof(double)),
    };
    for (size_t i = 0; i < n; i++)
        v->score_without[i] = (double)INFINITY;
}

static void verdict_clear(struct verdict *v)
{
    free(v->score_without);
    free(v->residual);
    *v = (struct verdict){0};
}

static void swap(struct verdict *a, struct verdict *b)
{
    struct verdict c = *a;

    *a = *b;
    *b = c;
}

/* The linear part of a shape over all runs. */
static size_t design(struct lsq *s,
                     const struct judge *j,
                     const struct fit_shape *shape,
                     struct fit_term terms[static FIT_COLUMNS_MAX])
{
    const struct fit_data *d = j->d;
    size_t p = fit_terms(&d->space, &shape->form, terms);

    if (p && terms[p - 1].kind == FIT_TERM_SERIAL)
        p--;
    for (size_t c = 0; c < p; c++)
        for (size_t i = 0; i < d->n; i++)
            j->columns[c * d->n + i] =
                fit_term_at(&terms[c], &d->space, shape, d->points + i * d->space.n);
    if (p)
        lsq_init(s, d->n, p, j->columns);
    return p;
}

/* What is left for the linear part once the CPUs are accounted for. */
static void set_target(const struct judge *j, enum fit_cpu cpu, double serial)
{
    const struct fit_data *d = j->d;
    size_t k = fit_space_number(&d->space, FIT_CPUS);

    for (size_t i = 0; i < d->n; i++)
        j->target[i] =
            d->log_y[i] -
            (cpu == FIT_CPU_POWER ? 0 : fit_cpu_log(cpu, serial, d->points[i * d->space.n + k]));
}

/* t standard errors away from its best value, a parameter makes the sum of squares larger by about
 * t^2 / n. */
static double serial_price(const struct fit_shape *shape, size_t n)
{
    return shape->serial > 0 ? exp(SERIAL_ERRORS * SERIAL_ERRORS / (double)n) : 1;
}

/* One shape of the form. What a fit to all runs but i leaves follows from the fit to all: its sum
 * of squares is smaller by e^2 / (1 - h), and it misses run i by e / (1 - h). So each run finds
 * the shape that the others alone would have chosen. */
static void weigh(struct verdict *v,
                  const struct judge *j,
                  const struct lsq *s,
                  const struct fit_shape *shape)
{
    double *residual = j->columns; /* the design is in s by now */

    set_target(j, shape->form.cpu, shape->serial);
    double rss = lsq_solve(s, j->target, residual, NULL);
    double price = serial_price(shape, s->n), price_without = serial_price(shape, s->n - 1);
    if (price * rss < v->score) {
        v->score = price * rss;
        v->shape = *shape;
    }
    for (size_t i = 0; i < s->n; i++) {
        double missed = residual[i] / (1 - s->leverage[i]);
        double without = price_without * (rss - residual[i] * missed);
        if (!j->counts[i] || !(without < v->score_without[i]))
            continue;
        v->score_without[i] = without;
        v->residual[i] = missed;
    }
}

/* The runs can carry this design: what is new in it is no combination of the rest, and no run
 * became indispensable. */
static bool carried(const struct judge *j, const struct lsq *s, const struct fit_term *terms)
{
    for (size_t c = 0; c < s->p; c++)
        if (s->dropped[c] && (terms[c].kind == FIT_TERM_CLIFF || terms[c].kind == FIT_TERM_PRODUCT))
            return false;
    for (size_t i = 0; i < s->n; i++)
        if (j->counts[i] && s->leverage[i] > LEVERAGE_MAX)
            return false;
    return true;
}

/* All shapes of the form with this threshold. */
static bool weigh_cliff(struct verdict *v, const struct judge *j, double cliff_mb)
{
    AUTO_CLEAR(lsq) struct lsq s = {0};
    struct fit_term terms[FIT_COLUMNS_MAX];
    struct fit_shape shape = {.form = v->shape.form, .cliff_mb = cliff_mb};
    size_t steps = shape.form.cpu == FIT_CPU_POWER ? 0 : SERIAL_STEPS;

    if (design(&s, j, &shape, terms) == 0 || !carried(j, &s, terms) ||
        s.n < s.rank + (steps ? 2 : 1))
        return false;
    for (size_t i = 0; i <= steps; i++) {
        shape.serial = (double)i / SERIAL_STEPS;
        weigh(v, j, &s, &shape);
    }
    return true;
}

/* Memory below the threshold makes runs slower, not faster. */
static bool cliff_falls(const struct judge *j, const struct fit_shape *shape)
{
    AUTO_CLEAR(lsq) struct lsq s = {0};
    struct fit_term terms[FIT_COLUMNS_MAX];
    double beta[FIT_COLUMNS_MAX] = {0};
    size_t p = design(&s, j, shape, terms);

    set_target(j, shape->form.cpu, shape->serial);
    lsq_solve(&s, j->target, j->columns, beta);
    for (size_t c = 0; c < p; c++)
        if (terms[c].kind == FIT_TERM_CLIFF)
            return beta[c] > 0;
    return false;
}

static double relative_error(const struct verdict *v, size_t run)
{
    return fabs(expm1(-v->residual[run]));
}

static bool judge_linear(const struct judge *j, const struct fit_form *form, struct verdict *v)
{
    bool any = false;

    for (size_t i = 0; i < (form->cliff ? j->n_cliffs : 1); i++)
        any |= weigh_cliff(v, j, form->cliff ? j->cliffs[i] : 0);
    return any && (!form->cliff || cliff_falls(j, &v->shape));
}

/* A threshold is chosen by all runs: the fit beside it is what each run is left out of. */
static bool judge_fixed(const struct judge *j, const struct fit_form *form, struct verdict *v)
{
    struct fit_term terms[FIT_COLUMNS_MAX];
    size_t p = fit_terms(&j->d->space, form, terms);
    struct fit_fixed got;

    for (size_t i = 0; i < (form->cliff ? j->n_cliffs : 1); i++) {
        struct fit_shape shape = {.form = *form, .cliff_mb = form->cliff ? j->cliffs[i] : 0};
        if (!fit_fixed_solve(j->d, &shape, &got) || !(got.rss < v->score))
            continue;
        v->score = got.rss;
        v->shape = shape;
    }
    if (!isfinite(v->score) || !fit_fixed_judge(j->d, &v->shape, j->counts, &got, v->residual))
        return false;
    v->shape.fixed_s = got.fixed_s;
    for (size_t c = 0; c < p; c++)
        if (terms[c].kind == FIT_TERM_CLIFF)
            return got.beta[c] > 0;
    return true;
}

/* False when the runs cannot carry the form. */
static bool judge_form(const struct judge *j, const struct fit_form *form, struct verdict *v)
{
    verdict_init(v, form, j->d->n);
    if (!(form->fixed ? judge_fixed(j, form, v) : judge_linear(j, form, v)))
        return false;
    for (size_t i = 0; i < j->d->n; i++)
        if (j->counts[i])
            v->loo += relative_error(v, i) / (double)j->n_counting;
    return true;
}

/* Compares run by run, with the standard error of the mean difference. */
static bool clearly_better(const struct judge *j, const struct verdict *a, const struct verdict *b)
{
    const struct fit_form *new = &a->shape.form, *old = &b->shape.form;
    double n = (double)j->n_counting, mean = b->loo - a->loo, squares = 0, errors = 0;

    assert(a->residual && b->residual);
    bool simpler = old->fixed && new->linear != old->linear;
    if (n < 2 || !(mean > NO_DIFFERENCE || simpler))
        return false;
    if (simpler)
        errors = -CLEARLY_NOT_LINEAR;
    if (new->fixed && !old->fixed)
        errors = CLEARLY_FIXED;
    if (new->cliff && !old->cliff)
        errors = CLEARLY_CLIFF;
    if (new->product && !old->product)
        errors = CLEARLY_INTERACTION;
    for (size_t i = 0; i < j->d->n; i++)
        if (j->counts[i])
            squares += pow(relative_error(b, i) - relative_error(a, i) - mean, 2);
    return mean >= errors * sqrt(squares / (n - 1) / n) - (simpler ? NO_DIFFERENCE : 0);
}

/* The form in use, and the best of those that are clearly better. */
struct contest {
    struct verdict current, best;
};

static void contest_clear(struct contest *c)
{
    verdict_clear(&c->current);
    verdict_clear(&c->best);
}

static void try_form(const struct judge *j, const struct fit_form *form, struct contest *c)
{
    AUTO_CLEAR(verdict) struct verdict v = {0};

    if (judge_form(j, form, &v) && clearly_better(j, &v, &c->current) && v.loo < c->best.loo &&
        v.loo <= j->plain_loo)
        swap(&v, &c->best);
}

/* How many different values the runs have for the feature; values (n) is sorted then. */
static size_t different(const struct fit_data *d, size_t k, double *values)
{
    for (size_t i = 0; i < d->n; i++)
        values[i] = d->points[i * d->space.n + k];
    return number_sort_unique(values, d->n);
}

static bool shape_known(const struct judge *j, size_t k)
{
    return k != FIT_NO_FEATURE && j->known[k] && different(j->d, k, j->columns) >= SHAPE_VALUES_MIN;
}

/* A threshold is a size that was measured: what lies between it and the next smaller one is taken
 * to be below the cliff, since nothing shows that it is not. */
static void list_cliffs(struct judge *j)
{
    size_t k = fit_space_number(&j->d->space, FIT_MEMORY);

    if (!shape_known(j, k))
        return;
    size_t n = different(j->d, k, j->columns) - 1;
    j->n_cliffs = n < CLIFFS_MAX ? n : CLIFFS_MAX;
    for (size_t i = 0; i < j->n_cliffs; i++)
        j->cliffs[i] = j->columns[1 + i * n / j->n_cliffs];
}

static void try_cpus(const struct judge *j, struct contest *c)
{
    size_t cpus = fit_space_number(&j->d->space, FIT_CPUS);
    struct fit_form form = c->current.shape.form;

    if (form.cpu != FIT_CPU_POWER || !shape_known(j, cpus))
        return;
    const struct fit_feature *f = &j->d->space.features[cpus];
    form.cpu = FIT_CPU_AMDAHL;
    try_form(j, &form, c);
    form.cpu = FIT_CPU_CAPPED;
    if (f->low < 1 && f->high > 1)
        try_form(j, &form, c);
}

static void try_products(const struct judge *j, struct contest *c)
{
    struct fit_form form = c->current.shape.form;
    size_t n = j->d->space.n;

    form.product = true;
    for (size_t a = 0; a < n && !c->current.shape.form.product; a++)
        for (size_t b = a + 1; b < n; b++) {
            form.pair[0] = a;
            form.pair[1] = b;
            if (j->known[a] && j->known[b])
                try_form(j, &form, c);
        }
}

/* An option of the command, as against a size of the machine. */
static bool is_option(const struct judge *j, size_t k)
{
    const char *name = j->d->space.names[k];

    return j->known[k] && strcmp(name, FIT_CPUS) != 0 && strcmp(name, FIT_MEMORY) != 0;
}

/* A fixed part, in place of an Amdahl term and an interaction; beside one, exponents of 1. */
static void try_fixed(const struct judge *j, struct contest *c)
{
    struct fit_form form = c->current.shape.form;
    unsigned options = 0;
    bool any = false;

    for (size_t k = 0; k < j->d->space.n; k++) {
        any |= is_option(j, k) && shape_known(j, k);
        options |= is_option(j, k) ? 1u << k : 0;
    }
    if (!any) /* CPUs alone: Amdahl's law has a fixed part of its own */
        return;
    for (size_t k = 0; form.fixed && k < j->d->space.n; k++) {
        struct fit_form simpler = form;
        simpler.linear |= options & 1u << k;
        if (simpler.linear != form.linear)
            try_form(j, &simpler, c);
    }
    if (form.fixed)
        return;
    form = (struct fit_form){.cliff = form.cliff, .fixed = true};
    try_form(j, &form, c);
    form.linear = options;
    if (options)
        try_form(j, &form, c);
}

/* The forms that have one thing more than the one in use. */
static void try_extensions(const struct judge *j, struct contest *c)
{
    struct fit_form form = c->current.shape.form;

    try_fixed(j, c);
    if (!form.fixed) {
        try_cpus(j, c);
        try_products(j, c);
    }
    if (form.cliff)
        return;
    form.cliff = true;
    try_form(j, &form, c);
}

/* Finds out what log-linear can tell from the runs: which features' effects, which runs. */
static int judge_init(struct judge *j, const struct fit_data *d, struct err *e)
{
    AUTO_CLEAR(lsq) struct lsq s = {0};
    struct fit_term terms[FIT_COLUMNS_MAX];

    *j = (struct judge){
        .d = d,
        .counts = mem_zero(d->n, sizeof *j->counts),
        .columns = mem_zero(d->n * FIT_COLUMNS_MAX, sizeof *j->columns),
        .target = mem_zero(d->n, sizeof *j->target),
    };
    if (design(&s, j, &(struct fit_shape){0}, terms) == 0)
        return err_set(e, ERR_USAGE,
                       "the runs have too many features and texts: together at most "
                       "%d effects can be fitted",
                       FIT_COLUMNS_MAX - 2);
    if (s.rank >= d->n)
        return err_set(e, ERR_NOFIT,
                       "%zu run%s cannot tell %zu effects from chance: at least %zu are needed",
                       d->n, d->n == 1 ? "" : "s", s.rank, s.rank + 1);
    for (size_t c = 0; c < s.p; c++)
        if (terms[c].kind == FIT_TERM_POWER)
            j->known[terms[c].feature] = !s.dropped[c];
    for (size_t i = 0; i < d->n; i++) {
        j->counts[i] = s.leverage[i] <= LEVERAGE_MAX;
        j->n_counting += j->counts[i];
    }
    assert(j->n_counting); /* leverages add up to the rank, so one is at most 1 - 1 / n */
    list_cliffs(j);
    return 0;
}

static void judge_clear(struct judge *j)
{
    free(j->counts);
    free(j->columns);
    free(j->target);
    *j = (struct judge){0};
}

int fit_choose(const struct fit_data *d,
               struct fit_shape *out,
               double *loo_out,
               double *left_out,
               struct err *e)
{
    AUTO_CLEAR(judge) struct judge j = {0};
    AUTO_CLEAR(contest) struct contest c = {0};

    if (judge_init(&j, d, e) < 0)
        return -1;
    judge_form(&j, &(struct fit_form){0}, &c.best);
    j.plain_loo = c.best.loo;
    do {
        swap(&c.best, &c.current);
        verdict_clear(&c.best);
        c.best.loo = (double)INFINITY;
        try_extensions(&j, &c);
    } while (isfinite(c.best.loo));
    *out = c.current.shape;
    *loo_out = c.current.loo;
    for (size_t i = 0; left_out && i < d->n; i++)
        left_out[i] = j.counts[i] ? d->log_y[i] - c.current.residual[i] : (double)NAN;
    return 0;
}

bool fit_judge(const struct fit_data *d,
               const struct fit_form *form,
               struct fit_shape *shape_out,
               double *loo_out)
{
    AUTO_CLEAR(judge) struct judge j = {0};
    AUTO_CLEAR(verdict) struct verdict v = {0};

    if (judge_init(&j, d, NULL) < 0 || !judge_form(&j, form, &v))
        return false;
    *shape_out = v.shape;
    *loo_out = v.loo;
    return true;
}
