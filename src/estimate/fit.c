#include "estimate/fit.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "estimate/fit_internal.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of such runs, the share that an interval is to hold. */
#define INSIDE 0.95

static double share_explained(const struct fit_data *d, double rss)
{
    double mean = 0, total = 0;

    for (size_t i = 0; i < d->n; i++)
        mean += d->log_y[i] / (double)d->n;
    for (size_t i = 0; i < d->n; i++)
        total += pow(d->log_y[i] - mean, 2);
    return rss < total ? 1 - rss / total : 0;
}

/* Fits the linear terms at the shape chosen. */
static void solve_linear(struct fit *f, const struct fit_data *d)
{
    AUTO_MEM double *columns = mem_zero(d->n * f->n_terms, sizeof *columns);
    AUTO_MEM double *target = mem_zero(d->n, sizeof *target);
    AUTO_MEM double *residual = mem_zero(d->n, sizeof *residual);
    bool serial = f->terms[f->n_terms - 1].kind == FIT_TERM_SERIAL;
    size_t p = f->n_terms - serial, cpus = f->terms[f->n_terms - 1].feature;

    for (size_t i = 0; i < d->n; i++) {
        const double *point = d->points + i * d->space.n;
        for (size_t c = 0; c < p; c++)
            columns[c * d->n + i] = fit_term_at(&f->terms[c], &d->space, &f->shape, point);
        target[i] = d->log_y[i] - fit_cpu_log(f->shape.form.cpu, f->shape.serial, point[cpus]);
    }
    AUTO_CLEAR(lsq) struct lsq linear = {0};
    lsq_init(&linear, d->n, p, columns);
    lsq_solve(&linear, target, residual, f->beta);
    if (serial)
        f->beta[p] = f->shape.serial;
}

static void solve_fixed(struct fit *f, const struct fit_data *d)
{
    struct fit_fixed got;

    bool solved = fit_fixed_solve(d, &f->shape, &got);
    assert(solved); /* only forms that the runs can carry are chosen */
    (void)solved;
    memcpy(f->beta, got.beta, sizeof f->beta);
    f->shape.fixed_s = got.fixed_s;
    f->beta[f->n_terms - 1] = got.fixed_s;
}

/* How sure the coefficients are: by the derivatives of log y, which for a serial share and a fixed
 * part are no constants. */
static void estimate_spread(struct fit *f, const struct fit_data *d)
{
    AUTO_MEM double *columns = mem_zero(d->n * f->n_terms, sizeof *columns);
    double rss = 0, x[FIT_COLUMNS_MAX];

    for (size_t i = 0; i < d->n; i++) {
        rss += pow(d->log_y[i] - fit_log_at(f, d->points + i * d->space.n, x), 2);
        for (size_t c = 0; c < f->n_terms; c++)
            columns[c * d->n + i] = x[c];
    }
    AUTO_CLEAR(lsq) struct lsq all = {0};
    lsq_init(&all, d->n, f->n_terms, columns);
    for (size_t c = 0; c < f->n_terms; c++)
        f->unknown[c] = all.dropped[c] && !fit_is_linear(&f->shape.form, &f->terms[c]);
    f->inverse = mem_zero(f->n_terms * f->n_terms, sizeof *f->inverse);
    lsq_inverse(&all, f->inverse);
    f->df = d->n - all.rank;
    f->sigma = sqrt(rss / (double)f->df);
    f->r2 = share_explained(d, rss);
}

struct fit *fit_build(struct fit_data *d, const struct fit_shape *shape, double loo_error)
{
    struct fit *f = mem_zero(1, sizeof *f);

    f->shape = *shape;
    f->loo_error = loo_error;
    f->n_runs = d->n;
    f->n_terms = fit_terms(&d->space, &f->shape.form, f->terms);
    fit_kind_write(&f->shape.form, f->kind);
    f->space = d->space;
    if (shape->form.fixed)
        solve_fixed(f, d);
    else
        solve_linear(f, d);
    estimate_spread(f, d);
    d->space = (struct fit_space){0};
    return f;
}

struct fit *fit_new(const struct fit_run *runs, size_t n_runs, struct err *e)
{
    AUTO_CLEAR(fit_data) struct fit_data d = {0};
    struct fit_shape shape;
    double loo_error;

    if (fit_data_init(&d, runs, n_runs, e) < 0 || fit_choose(&d, &shape, &loo_error, NULL, e) < 0) {
        err_wrap(e, "fit run times");
        return NULL;
    }
    return fit_build(&d, &shape, loo_error);
}

int fit_left_out(const struct fit_run *runs, size_t n_runs, double *predicted_s, struct err *e)
{
    AUTO_CLEAR(fit_data) struct fit_data d = {0};
    struct fit_shape shape;
    double loo_error;

    if (fit_data_init(&d, runs, n_runs, e) < 0 ||
        fit_choose(&d, &shape, &loo_error, predicted_s, e) < 0)
        return err_wrap(e, "fit run times");
    for (size_t i = 0; i < n_runs; i++)
        predicted_s[i] = exp(predicted_s[i]);
    return 0;
}

void fit_free(struct fit *f)
{
    if (!f)
        return;
    fit_space_clear(&f->space);
    free(f->inverse);
    free(f);
}

double fit_loo_error(const struct fit *f)
{
    return f->loo_error;
}

size_t fit_n_runs(const struct fit *f)
{
    return f->n_runs;
}

const char *const *fit_features(const struct fit *f, size_t *n_out)
{
    *n_out = f->space.n;
    return f->space.names;
}

/* The features or levels of a model, for a message. */
static const char *list_texts(const char *const *texts, size_t n, char out[static 200])
{
    size_t at = 0;

    for (size_t i = 0; i < n && at < 199; i++) {
        int len = snprintf(out + at, 200 - at, "%s%s", i ? ", " : "", texts[i]);
        at += len > 0 ? (size_t)len : 0;
    }
    return out;
}

static int unknown_feature(const struct fit *f, const char *name, struct err *e)
{
    const char *meant = nearest(name, f->space.names, f->space.n);
    char room[200] = "";

    if (meant)
        return err_set(e, ERR_USAGE, "the model has no '%.80s'; did you mean %s?", name, meant);
    return err_set(e, ERR_USAGE, "the model has no '%.80s'; it has %s", name,
                   list_texts(f->space.names, f->space.n, room));
}

/* Where the value lies in the feature's dimension, and how far beyond the runs. */
static int place_value(const struct fit_feature *feature,
                       const struct fit_value *value,
                       double *at,
                       double *factor,
                       struct err *e)
{
    char room[32], list[200] = "";

    *factor = 1;
    if (feature->n_levels) {
        const char *text = fit_level_text(value, room);
        size_t level = fit_level_find(feature, text);
        if (level == feature->n_levels)
            return err_set(
                e, ERR_USAGE, "%s: no run had '%.80s'; there were %s", feature->name, text,
                list_texts((const char *const *)feature->levels, feature->n_levels, list));
        *at = (double)level;
        return 0;
    }
    if (value->text || !(value->number > 0) || !isfinite(value->number))
        return err_set(e, ERR_USAGE, "%s must be a number above 0, not '%.80s'", feature->name,
                       fit_level_text(value, room));
    *at = value->number;
    *factor = fmax(1, fmax(feature->low / *at, *at / feature->high));
    return 0;
}

static int place(const struct fit *f,
                 const struct fit_value *values,
                 size_t n_values,
                 double point[static FIT_FEATURES_MAX],
                 struct fit_prediction *out,
                 struct err *e)
{
    bool given[FIT_FEATURES_MAX] = {false};

    *out = (struct fit_prediction){.outside = 1};
    for (size_t i = 0; i < n_values; i++) {
        size_t k = fit_space_find(&f->space, values[i].name);
        if (k == FIT_NO_FEATURE)
            return unknown_feature(f, values[i].name, e);
        if (given[k])
            return err_set(e, ERR_USAGE, "%s is given twice", values[i].name);
        given[k] = true;
        if (place_value(&f->space.features[k], &values[i], &point[k], &out->factor[k], e) < 0)
            return -1;
        out->outside = fmax(out->outside, out->factor[k]);
    }
    for (size_t k = 0; k < f->space.n; k++)
        if (!given[k])
            return err_set(e, ERR_USAGE, "no value is given for %s", f->space.names[k]);
    return 0;
}

/* x'(X'X)^-1 x: how little the runs say about this place. */
static double leverage(const struct fit *f, const double *x)
{
    double sum = 0;

    for (size_t i = 0; i < f->n_terms; i++)
        for (size_t j = 0; j < f->n_terms; j++)
            sum += x[i] * f->inverse[i * f->n_terms + j] * x[j];
    return fmax(sum, 0);
}

/* Beyond the runs nothing shows that an effect stays what it was: the exponent of each feature may
 * be off by this. */
#define EXPONENT_DOUBT 0.1

/* Half the width, in log y, of what the distance from the runs adds to the interval. */
static double doubt_outside(const struct fit *f, const double *factor)
{
    double sum = 0;

    for (size_t i = 0; i < f->space.n; i++)
        sum = hypot(sum, EXPONENT_DOUBT * log(factor[i]));
    return sum;
}

static bool is_option(const struct fit_feature *feature)
{
    return feature->n_levels == 0 && strcmp(feature->name, FIT_CPUS) != 0 &&
           strcmp(feature->name, FIT_MEMORY) != 0;
}

/* Of a program that is mostly start-up, runs may not tell a small exponent from a fixed part beside
 * work in proportion to the option: within the box the two are alike, far outside the second is
 * much the longer. It is the line through what the power is at both ends of the box. Returns what
 * that adds to log y, for the largest exponents that the runs allow (spread: Student's t x sigma).
 */
static double doubt_start_up(const struct fit *f, const double *point, double spread)
{
    double sum = 0;

    for (size_t i = 0; i < f->n_terms && !f->shape.form.fixed; i++) {
        const struct fit_feature *option = &f->space.features[f->terms[i].feature];
        double at = point[f->terms[i].feature] / option->high, low = option->low / option->high;
        if (f->terms[i].kind != FIT_TERM_POWER || !is_option(option) || !(low < 1) ||
            (at >= low && at <= 1))
            continue;
        double most = fmin(f->beta[i] + spread * sqrt(f->inverse[i * f->n_terms + i]), 1);
        double line = 1 + (1 - pow(low, most)) * (at - 1) / (1 - low);
        if (most > 0)
            sum += fmax(0, log(line) - f->beta[i] * log(at));
    }
    return sum;
}

int fit_predict(const struct fit *f,
                const struct fit_value *values,
                size_t n_values,
                struct fit_prediction *out,
                struct err *e)
{
    double point[FIT_FEATURES_MAX] = {0}, x[FIT_COLUMNS_MAX] = {0};

    if (place(f, values, n_values, point, out, e) < 0)
        return err_wrap(e, "predict a run time");
    double log_s = fit_log_at(f, point, x);
    double spread = lsq_student(f->df, INSIDE) * f->sigma;
    double half = hypot(spread * sqrt(1 + leverage(f, x)), doubt_outside(f, out->factor));
    double start_up = doubt_start_up(f, point, spread);
    out->predicted_s = exp(log_s);
    out->low_s = exp(log_s - half);
    out->high_s = exp(log_s + fmax(half, start_up > 0 ? start_up + spread : 0));
    if (!isfinite(out->predicted_s) || out->predicted_s <= 0)
        return err_set(e, ERR_NOFIT,
                       "predict a run time: values so far beyond the runs (%.3g times) give no "
                       "finite time",
                       out->outside);
    return 0;
}
