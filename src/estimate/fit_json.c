/* Writes a fitted model as JSON and reads it back. Profiles store models in this form. */
#include "estimate/fit_internal.h"

#include "base/json.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *box_to_json(const struct fit_space *space)
{
    json_t *box = json_object();

    for (size_t i = 0; i < space->n; i++) {
        const struct fit_feature *f = &space->features[i];
        json_t *range = json_array();
        for (size_t k = 0; k < f->n_levels; k++)
            json_array_append_new(range, json_string(f->levels[k]));
        if (f->n_levels == 0) {
            json_array_append_new(range, json_real(f->low));
            json_array_append_new(range, json_real(f->high));
        }
        json_object_set_new(box, f->name, range);
    }
    return box;
}

static json_t *coefficients_to_json(const struct fit *f)
{
    json_t *all = json_object();

    for (size_t i = 0; i < f->n_terms; i++) {
        AUTO_MEM char *name = fit_term_name(&f->terms[i], &f->space, &f->shape);
        json_object_set_new(all, name, f->unknown[i] ? json_null() : json_real(f->beta[i]));
    }
    return all;
}

json_t *fit_to_json(const struct fit *f)
{
    json_t *root = json_object(), *inverse = json_array(), *interval = json_object();

    json_object_set_new(root, "kind", json_string(f->kind));
    json_object_set_new(root, "coefficients", coefficients_to_json(f));
    json_object_set_new(root, "loo_error", json_real(f->loo_error));
    json_object_set_new(root, "r2", json_real(f->r2));
    json_object_set_new(root, "runs", json_integer((json_int_t)f->n_runs));
    json_object_set_new(root, "box", box_to_json(&f->space));
    if (f->shape.form.cliff)
        json_object_set_new(root, "cliff_mb", json_real(f->shape.cliff_mb));
    for (size_t i = 0; i < f->n_terms * f->n_terms; i++)
        json_array_append_new(inverse, json_real(f->inverse[i]));
    json_object_set_new(interval, "sigma", json_real(f->sigma));
    json_object_set_new(interval, "df", json_integer((json_int_t)f->df));
    json_object_set_new(interval, "inverse", inverse);
    json_object_set_new(root, "interval", interval);
    return root;
}

static int bad(struct err *e, const char *what)
{
    return err_set(e, ERR_USAGE, "a stored model of run times: %s; fit it again", what);
}

/* Strings in ascending order: the levels of a category. */
static bool read_levels(struct fit_feature *f, const json_t *range)
{
    f->levels = mem_zero(FIT_LEVELS_MAX, sizeof *f->levels);
    for (size_t i = 0; i < json_array_size(range); i++) {
        const char *text = json_string_value(json_array_get(range, i));
        if (!text || !fit_level_ok(text) || (i && strcmp(f->levels[i - 1], text) >= 0))
            return false;
        f->levels[f->n_levels++] = mem_dup(text);
    }
    return true;
}

static bool read_range(struct fit_feature *f, const json_t *range)
{
    size_t n = json_array_size(range);
    const json_t *low = json_array_get(range, 0), *high = json_array_get(range, 1);

    if (n == 0 || n > FIT_LEVELS_MAX)
        return false;
    if (json_is_string(low))
        return read_levels(f, range);
    f->low = json_number_value(low);
    f->high = json_number_value(high);
    return n == 2 && json_is_number(low) && json_is_number(high) && f->low > 0 && f->low <= f->high;
}

static int read_box(struct fit_space *space, json_t *box, struct err *e)
{
    const char *names[FIT_FEATURES_MAX], *name;
    json_t *range;
    size_t n = json_object_size(box);

    if (n == 0 || n > FIT_FEATURES_MAX)
        return bad(e, "its box has no features, or too many");
    n = 0;
    json_object_foreach(box, name, range)
    {
        names[n++] = name;
        if (!fit_name_ok(name))
            return bad(e, "its box has a feature without a proper name");
    }
    fit_space_init(space, names, n); /* an object has no key twice */
    for (size_t i = 0; i < n; i++)
        if (!read_range(&space->features[i], json_object_get(box, space->names[i])))
            return bad(e, "a feature of its box has neither two numbers nor sorted texts");
    return 0;
}

/* The pair of an interaction stands in its coefficient's name, "cpus*epoch". */
static bool read_pair(struct fit *f, json_t *coefficients)
{
    struct fit_form *form = &f->shape.form;

    for (size_t a = 0; a < f->space.n; a++)
        for (size_t b = a + 1; b < f->space.n; b++) {
            struct fit_term term = {.kind = FIT_TERM_PRODUCT, .feature = a, .other = b};
            AUTO_MEM char *name = fit_term_name(&term, &f->space, &f->shape);
            if (!json_object_get(coefficients, name))
                continue;
            form->pair[0] = a;
            form->pair[1] = b;
            return f->space.features[a].n_levels == 0 && f->space.features[b].n_levels == 0;
        }
    return false;
}

/* The form whose kind is written; there are few enough to try them all. */
static bool read_kind(struct fit *f, const char *kind)
{
    for (int cpu = FIT_CPU_POWER; cpu <= FIT_CPU_CAPPED; cpu++)
        for (int extra = 0; extra < 8; extra++) {
            struct fit_form form = {.cpu = (enum fit_cpu)cpu,
                                    .cliff = extra & 1,
                                    .product = extra & 2,
                                    .fixed = extra & 4};
            fit_kind_write(&form, f->kind);
            f->shape.form = form;
            if (strcmp(f->kind, kind) == 0)
                return !form.fixed || (form.cpu == FIT_CPU_POWER && !form.product);
        }
    return false;
}

static int read_form(struct fit *f, const json_t *root, struct err *e)
{
    const char *kind = json_string_value(json_object_get(root, "kind"));
    const json_t *cliff = json_object_get(root, "cliff_mb");
    const struct fit_form *form = &f->shape.form;

    if (!kind || !read_kind(f, kind))
        return bad(e, "its kind is unknown");
    if (form->cpu != FIT_CPU_POWER && fit_space_number(&f->space, FIT_CPUS) == FIT_NO_FEATURE)
        return bad(e, "its kind needs CPUs, and it has none");
    if (form->cliff && (fit_space_number(&f->space, FIT_MEMORY) == FIT_NO_FEATURE ||
                        !json_is_number(cliff) || !(json_number_value(cliff) > 0)))
        return bad(e, "its kind needs memory and cliff_mb, and it has not both");
    f->shape.cliff_mb = form->cliff ? json_number_value(cliff) : 0;
    if (form->product && !read_pair(f, json_object_get(root, "coefficients")))
        return bad(e, "its kind needs the coefficient of two features, and it has none");
    return 0;
}

static int read_coefficients(struct fit *f, const json_t *all, struct err *e)
{
    f->n_terms = fit_terms(&f->space, &f->shape.form, f->terms);
    if (f->n_terms == 0 || json_object_size(all) != f->n_terms)
        return bad(e, "it has not the coefficients of its kind");
    for (size_t i = 0; i < f->n_terms; i++) {
        AUTO_MEM char *name = fit_term_name(&f->terms[i], &f->space, &f->shape);
        const json_t *value = json_object_get(all, name);
        f->unknown[i] = json_is_null(value);
        f->beta[i] = json_number_value(value);
        if (!f->unknown[i] && !json_is_number(value))
            return bad(e, "it has not the coefficients of its kind");
        if (f->terms[i].kind == FIT_TERM_SERIAL)
            f->shape.serial = f->beta[i];
        if (f->terms[i].kind == FIT_TERM_FIXED)
            f->shape.fixed_s = f->beta[i];
        if (!(f->shape.serial >= 0 && f->shape.serial <= 1))
            return bad(e, "its serial share is not between 0 and 1");
        if (!(f->shape.fixed_s >= 0 && isfinite(f->shape.fixed_s)))
            return bad(e, "its fixed part is not a time");
    }
    return 0;
}

static int read_interval(struct fit *f, const json_t *interval, struct err *e)
{
    const json_t *inverse = json_object_get(interval, "inverse");
    const json_t *sigma = json_object_get(interval, "sigma");
    json_int_t df = json_integer_value(json_object_get(interval, "df"));
    size_t n = f->n_terms * f->n_terms;

    f->sigma = json_number_value(sigma);
    f->df = df > 0 && df < FIT_RUNS_MAX ? (size_t)df : 0;
    if (!json_is_number(sigma) || !(f->sigma >= 0) || f->df == 0 || json_array_size(inverse) != n)
        return bad(e, "it does not say how sure it is");
    f->inverse = mem_zero(n, sizeof *f->inverse);
    for (size_t i = 0; i < n; i++) {
        if (!json_is_number(json_array_get(inverse, i)))
            return bad(e, "it does not say how sure it is");
        f->inverse[i] = json_number_value(json_array_get(inverse, i));
    }
    return 0;
}

static int read_quality(struct fit *f, const json_t *root, struct err *e)
{
    const json_t *loo = json_object_get(root, "loo_error"), *r2 = json_object_get(root, "r2");
    json_int_t runs = json_integer_value(json_object_get(root, "runs"));

    if (!json_is_number(loo) || !json_is_number(r2) || runs < 1 || runs > FIT_RUNS_MAX)
        return bad(e, "loo_error, r2 or runs is missing");
    f->loo_error = json_number_value(loo);
    f->r2 = json_number_value(r2);
    f->n_runs = (size_t)runs;
    return 0;
}

struct fit *fit_from_json(const json_t *root, struct err *e)
{
    AUTO(fit) struct fit *f = mem_zero(1, sizeof *f);

    if (read_box(&f->space, json_object_get(root, "box"), e) < 0 || read_form(f, root, e) < 0 ||
        read_coefficients(f, json_object_get(root, "coefficients"), e) < 0 ||
        read_interval(f, json_object_get(root, "interval"), e) < 0 || read_quality(f, root, e) < 0)
        return NULL;
    return TAKE(f);
}
