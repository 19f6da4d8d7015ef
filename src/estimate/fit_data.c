/* The features of a profile's runs, numbers and categories, as rows for the least-squares fit.
 * fit.c and fit_json.c use them. */
#include "estimate/fit_internal.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/utf8.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fit_value fit_value_read(const char *name, const char *text)
{
    double number;

    if (number_parse(text, &number) && number > 0)
        return (struct fit_value){.name = name, .number = number};
    return (struct fit_value){.name = name, .text = text};
}

void fit_space_clear(struct fit_space *space)
{
    for (size_t i = 0; i < space->n; i++) {
        struct fit_feature *f = &space->features[i];
        for (size_t k = 0; k < f->n_levels; k++)
            free(f->levels[k]);
        free(f->levels);
        free(f->name);
    }
    *space = (struct fit_space){0};
}

size_t fit_space_find(const struct fit_space *space, const char *name)
{
    for (size_t i = 0; i < space->n; i++)
        if (strcmp(space->names[i], name) == 0)
            return i;
    return FIT_NO_FEATURE;
}

size_t fit_space_number(const struct fit_space *space, const char *name)
{
    size_t i = fit_space_find(space, name);

    return i != FIT_NO_FEATURE && space->features[i].n_levels == 0 ? i : FIT_NO_FEATURE;
}

bool fit_name_ok(const char *name)
{
    size_t len = strlen(name);

    if (len == 0 || len > FIT_NAME_MAX_BYTES)
        return false;
    for (const char *p = name; *p; p++)
        if (!isascii((unsigned char)*p) || (!isalnum((unsigned char)*p) && !strchr("_-.", *p)))
            return false;
    return true;
}

bool fit_level_ok(const char *text)
{
    size_t len = strlen(text), line;

    return len <= FIT_LEVEL_MAX_BYTES && utf8_first_bad(text, len, &line) == len;
}

const char *fit_level_text(const struct fit_value *value, char room[static 32])
{
    if (value->text)
        return value->text;
    snprintf(room, 32, "%.15g", value->number);
    return room;
}

size_t fit_level_find(const struct fit_feature *feature, const char *text)
{
    size_t i = 0;

    while (i < feature->n_levels && strcmp(feature->levels[i], text) != 0)
        i++;
    return i;
}

static int compare_texts(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

static const struct fit_value *find_value(const struct fit_run *run, const char *name)
{
    for (size_t i = 0; i < run->n_values; i++)
        if (strcmp(run->values[i].name, name) == 0)
            return &run->values[i];
    return NULL;
}

bool fit_space_init(struct fit_space *space, const char **names, size_t n)
{
    qsort(names, n, sizeof *names, compare_texts);
    for (size_t i = 0; i < n; i++) {
        if (i && strcmp(names[i], names[i - 1]) == 0)
            return false;
        space->features[i].name = mem_dup(names[i]);
        space->names[i] = space->features[i].name;
        space->n++;
    }
    return true;
}

/* The features are those of the first run; every run must have just these. */
static int read_names(struct fit_space *space, const struct fit_run *run, struct err *e)
{
    const char *names[FIT_FEATURES_MAX];

    if (run->n_values == 0 || run->n_values > FIT_FEATURES_MAX)
        return err_set(e, ERR_USAGE, "run %s has %zu features; from 1 to %d can be fitted",
                       run->name, run->n_values, FIT_FEATURES_MAX);
    for (size_t i = 0; i < run->n_values; i++) {
        names[i] = run->values[i].name;
        if (!fit_name_ok(names[i]))
            return err_set(
                e, ERR_USAGE,
                "run %s: '%.80s' is not a feature's name; use at most %d letters, digits, "
                "'_', '-' and '.'",
                run->name, names[i], FIT_NAME_MAX_BYTES);
    }
    if (!fit_space_init(space, names, run->n_values))
        return err_set(e, ERR_USAGE, "run %s has two values for a feature", run->name);
    return 0;
}

static int check_run(const struct fit_space *space, const struct fit_run *run, struct err *e)
{
    if (!(run->runtime_s > 0) || !isfinite(run->runtime_s))
        return err_set(e, ERR_USAGE,
                       "run %s: its runtime is %g s and must be above 0; leave it out", run->name,
                       run->runtime_s);
    for (size_t k = 0; k < space->n; k++) {
        const struct fit_value *v = find_value(run, space->names[k]);
        if (!v)
            return err_set(e, ERR_USAGE, "run %s has no %s, which other runs have; leave it out",
                           run->name, space->names[k]);
        if (v->text && !fit_level_ok(v->text))
            return err_set(e, ERR_USAGE, "run %s: %s is not a text of at most %d bytes", run->name,
                           v->name, FIT_LEVEL_MAX_BYTES);
        if (!v->text && (!(v->number > 0) || !isfinite(v->number)))
            return err_set(e, ERR_USAGE, "run %s: %s is %g and must be above 0; leave the run out",
                           run->name, v->name, v->number);
    }
    if (run->n_values != space->n)
        return err_set(e, ERR_USAGE, "run %s has %zu features and other runs %zu; leave it out",
                       run->name, run->n_values, space->n);
    return 0;
}

/* Of a run that check_run has passed. */
static const struct fit_value *value_of(const struct fit_run *run, const struct fit_feature *f)
{
    const struct fit_value *v = find_value(run, f->name);

    assert(v);
    return v;
}

/* Makes the feature a category of all texts that the runs have for it. */
static int read_levels(struct fit_feature *f, const struct fit_run *runs, size_t n, struct err *e)
{
    f->levels = mem_zero(FIT_LEVELS_MAX, sizeof *f->levels);
    for (size_t i = 0; i < n; i++) {
        char room[32];
        const char *text = fit_level_text(value_of(&runs[i], f), room);
        if (fit_level_find(f, text) < f->n_levels)
            continue;
        if (f->n_levels == FIT_LEVELS_MAX)
            return err_set(e, ERR_USAGE,
                           "run %s: %s has more than %d different texts; leave runs out, or make "
                           "it a positive number",
                           runs[i].name, f->name, FIT_LEVELS_MAX);
        f->levels[f->n_levels++] = mem_dup(text);
    }
    qsort(f->levels, f->n_levels, sizeof *f->levels, compare_texts);
    return 0;
}

static int read_feature(struct fit_data *d, size_t k, const struct fit_run *runs, struct err *e)
{
    struct fit_feature *f = &d->space.features[k];
    bool category = false;

    for (size_t i = 0; i < d->n; i++)
        category |= value_of(&runs[i], f)->text != NULL;
    if (category && read_levels(f, runs, d->n, e) < 0)
        return -1;
    for (size_t i = 0; i < d->n; i++) {
        const struct fit_value *v = value_of(&runs[i], f);
        char room[32];
        double at = category ? (double)fit_level_find(f, fit_level_text(v, room)) : v->number;
        d->points[i * d->space.n + k] = at;
        f->low = i ? fmin(f->low, at) : at;
        f->high = i ? fmax(f->high, at) : at;
    }
    return 0;
}

int fit_data_init(struct fit_data *d, const struct fit_run *runs, size_t n_runs, struct err *e)
{
    *d = (struct fit_data){.n = n_runs};
    if (n_runs == 0)
        return err_set(e, ERR_NOFIT, "there are no runs to learn from");
    if (n_runs > FIT_RUNS_MAX)
        return err_set(e, ERR_USAGE, "%zu runs are more than the %d that can be fitted", n_runs,
                       FIT_RUNS_MAX);
    if (read_names(&d->space, &runs[0], e) < 0)
        return -1;
    d->points = mem_zero(n_runs * d->space.n, sizeof *d->points);
    d->log_y = mem_zero(n_runs, sizeof *d->log_y);
    for (size_t i = 0; i < n_runs; i++) {
        if (check_run(&d->space, &runs[i], e) < 0)
            return -1;
        d->log_y[i] = log(runs[i].runtime_s);
    }
    for (size_t k = 0; k < d->space.n; k++)
        if (read_feature(d, k, runs, e) < 0)
            return -1;
    return 0;
}

void fit_data_clear(struct fit_data *d)
{
    fit_space_clear(&d->space);
    free(d->points);
    free(d->log_y);
    *d = (struct fit_data){0};
}
