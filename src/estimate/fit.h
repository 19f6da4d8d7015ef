/* fit: the run time of a command by resources and options, learned from past runs. Log-linear, or a
 * richer form where leave-one-out errors show better predictions. Pure. */
#ifndef ESTIMATE_FIT_H
#define ESTIMATE_FIT_H

#include "base/auto.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Features with a meaning of their own; every other one is an option of the command. */
#define FIT_CPUS "cpus"
#define FIT_MEMORY "memory_mb"

/* Far above any profile: they bound the time of a fit (seconds at the worst) and its memory. */
#define FIT_RUNS_MAX 2000
#define FIT_FEATURES_MAX 12
#define FIT_LEVELS_MAX 32
#define FIT_NAME_MAX_BYTES 64
#define FIT_LEVEL_MAX_BYTES 200

/* One feature of a run. The name is of letters, digits, '_', '-' and '.'. A feature that any run
 * gives as a text is a category: it has a factor for each text, and a number among the texts is
 * one of them. Else it is a number, which must be above 0. */
struct fit_value {
    const char *name;
    const char *text; /* NULL = the number */
    double number;
};

/* An option as the command line has it: a number when the text is one above 0, else the text. So
 * an option that takes 0 or "auto" in one run is a category. Both texts are borrowed. */
struct fit_value fit_value_read(const char *name, const char *text);

/* Whether it can be the name of a feature, and the text of a category. */
bool fit_name_ok(const char *name);
bool fit_level_ok(const char *text);

struct fit_run {
    const char *name; /* what an error calls it */
    const struct fit_value *values;
    size_t n_values;
    double runtime_s; /* above 0 */
};

struct fit;

/* All runs have the same features, in any order. ERR_USAGE names the run that cannot be used;
 * ERR_NOFIT when they are too few to tell the features' effects from chance. */
struct fit *fit_new(const struct fit_run *runs, size_t n_runs, struct err *e);
void fit_free(struct fit *f);
AUTO_DEFINE(fit)

/* Mean absolute relative error of the runs, each predicted by a fit of this kind to all others. A
 * run that alone tells some effect (the only one of its category) is not counted. */
double fit_loo_error(const struct fit *f);
/* Each run as a fit of the kind that fit_new chooses predicts it from all others; NAN where the run
 * alone tells some effect. predicted_s has n_runs numbers. Errors as those of fit_new. */
int fit_left_out(const struct fit_run *runs, size_t n_runs, double *predicted_s, struct err *e);
/* How many runs it was learned from. */
size_t fit_n_runs(const struct fit *f);
/* Names of the features, sorted; borrowed. */
const char *const *fit_features(const struct fit *f, size_t *n_out);

struct fit_prediction {
    double predicted_s;              /* the median: half of such runs take longer */
    double low_s, high_s;            /* 95 of 100 such runs lie between */
    double outside;                  /* the largest of factor; 1 = inside the box of the runs */
    double factor[FIT_FEATURES_MAX]; /* how far beyond the runs, by fit_features; 1 = within */
};

/* One value for each feature, in any order. ERR_USAGE when one is missing, unknown, no positive
 * number or no category of the runs; ERR_NOFIT when the result is no finite time. */
int fit_predict(const struct fit *f,
                const struct fit_value *values,
                size_t n_values,
                struct fit_prediction *out,
                struct err *e);

/* {kind, coefficients, loo_error, r2, runs, box, interval, ...}; new reference. Written with 17
 * digits (Jansson's default) and read back, the model predicts the same to the last bit. */
json_t *fit_to_json(const struct fit *f);
/* ERR_USAGE when it is no such object. */
struct fit *fit_from_json(const json_t *root, struct err *e);

#endif
