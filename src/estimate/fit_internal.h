/* fit_internal: the model behind fit.h, and the runs it is made of, for the files of this room. */
#ifndef ESTIMATE_FIT_INTERNAL_H
#define ESTIMATE_FIT_INTERNAL_H

#include "estimate/fit.h"

#include <stdbool.h>

#define FIT_COLUMNS_MAX 64
#define FIT_NO_FEATURE ((size_t)-1)

struct fit_feature {
    char *name;
    double low, high; /* of a number: the range of the runs */
    char **levels;    /* of a category: sorted; the first is what the others are compared with */
    size_t n_levels;  /* 0 = a number */
};

/* Features sorted by name. A point is one double for each: the number, or the level's index. */
struct fit_space {
    struct fit_feature features[FIT_FEATURES_MAX];
    const char *names[FIT_FEATURES_MAX]; /* borrowed from features */
    size_t n;
};

struct fit_data {
    struct fit_space space;
    size_t n;
    double *points; /* n x space.n, by rows */
    double *log_y;
};

enum fit_cpu {
    FIT_CPU_POWER,  /* cpus^b */
    FIT_CPU_AMDAHL, /* s + (1 - s) / cpus: the share s runs on one CPU, however many there are */
    FIT_CPU_CAPPED, /* s / min(cpus, 1) + (1 - s) / cpus: half a CPU is half as fast for s, too */
};

/* What the model is made of. */
struct fit_form {
    enum fit_cpu cpu;
    bool cliff;      /* a factor below cliff_mb of memory instead of memory^b */
    bool product;    /* exp(b log x log z) of the features in pair */
    size_t pair[2];  /* ascending */
    bool fixed;      /* a fixed part beside the work: not with an Amdahl term or a product */
    unsigned linear; /* beside a fixed part: bit k = the exponent of feature k is 1 */
};

struct fit_shape {
    struct fit_form form;
    double serial;   /* s above */
    double cliff_mb; /* memory below this costs time */
    double fixed_s;  /* what every run takes before the rest counts */
};

enum fit_term_kind {
    FIT_TERM_ONE,
    FIT_TERM_POWER,
    FIT_TERM_LEVEL,
    FIT_TERM_CLIFF,
    FIT_TERM_PRODUCT,
    FIT_TERM_SERIAL, /* s: not linear, so its column is the derivative by s */
    FIT_TERM_FIXED,  /* the fixed part: its column is the derivative by its logarithm */
};

struct fit_term {
    enum fit_term_kind kind;
    size_t feature;
    size_t other; /* level of a category, or second feature of a product */
};

struct fit {
    struct fit_space space;
    struct fit_shape shape;
    struct fit_term terms[FIT_COLUMNS_MAX];
    size_t n_terms;
    double beta[FIT_COLUMNS_MAX];
    bool unknown[FIT_COLUMNS_MAX]; /* the runs do not tell this one's effect; beta is 0 */
    /* "log-linear", or what was added to it, joined by '+': "amdahl" or "amdahl-capped",
     * "memory-cliff", "interaction", "fixed-part". */
    char kind[64];
    double loo_error;
    double r2; /* share of the variance of log runtime that the model explains */
    size_t n_runs;
    double sigma; /* of log y around the model */
    size_t df;
    double *inverse; /* n_terms x n_terms: of X'X */
};

/* Features of these names, which it sorts; false when two are the same. n <= FIT_FEATURES_MAX. */
bool fit_space_init(struct fit_space *space, const char **names, size_t n);
void fit_space_clear(struct fit_space *space);
/* Index of the feature, or FIT_NO_FEATURE. */
size_t fit_space_find(const struct fit_space *space, const char *name);
/* The same, when it is a number. */
size_t fit_space_number(const struct fit_space *space, const char *name);
/* The text of a value as a category has it. */
const char *fit_level_text(const struct fit_value *value, char room[static 32]);
/* Index of the level, or n_levels. */
size_t fit_level_find(const struct fit_feature *feature, const char *text);

/* Checks the runs and lays them out. */
int fit_data_init(struct fit_data *d, const struct fit_run *runs, size_t n_runs, struct err *e);
void fit_data_clear(struct fit_data *d);

/* The terms of a form, the intercept first and the serial share or the fixed part last; 0 when
 * there would be more than FIT_COLUMNS_MAX. */
size_t fit_terms(const struct fit_space *space,
                 const struct fit_form *form,
                 struct fit_term terms[static FIT_COLUMNS_MAX]);
/* The term's column at a point. */
double fit_term_at(const struct fit_term *term,
                   const struct fit_space *space,
                   const struct fit_shape *shape,
                   const double *point);
/* Whether the exponent is 1 by the form instead of estimated. */
bool fit_is_linear(const struct fit_form *form, const struct fit_term *term);
/* What of log y is not linear: the logarithm of the time on these CPUs over that on one. */
double fit_cpu_log(enum fit_cpu cpu, double serial, double cpus);
/* The name of the term's coefficient: "log(a)", "epoch", "optimizer=sgd", "memory_mb<1024",
 * "cpus*epoch", "serial(cpus)", "fixed(s)". Yours to free. */
char *fit_term_name(const struct fit_term *term,
                    const struct fit_space *space,
                    const struct fit_shape *shape);
/* log y of the model at a point; x (n_terms) = its derivatives by the coefficients. */
double fit_log_at(const struct fit *f, const double *point, double *x);
/* Writes the kind of the form, as struct fit has it. */
void fit_kind_write(const struct fit_form *form, char out[static 64]);

/* Chooses the form that predicts runs left out best, starting from log-linear. left_out (n; NULL =
 * not wanted): log y of each, predicted from all others; NAN where that cannot be. */
int fit_choose(const struct fit_data *d,
               struct fit_shape *out,
               double *loo_out,
               double *left_out,
               struct err *e);
/* One form and its mean absolute relative error, for tests; false when the runs cannot carry it. */
bool fit_judge(const struct fit_data *d,
               const struct fit_form *form,
               struct fit_shape *shape_out,
               double *loo_out);

/* The model of that shape. Takes d's space. */
struct fit *fit_build(struct fit_data *d, const struct fit_shape *shape, double loo_error);

/* ---- fit_fixed.c ---- */

/* A model c + exp(Xb) of some runs. */
struct fit_fixed {
    double beta[FIT_COLUMNS_MAX]; /* of all terms but the last, as fit_terms lists them */
    double fixed_s;               /* c, above 0 */
    double rss;                   /* of log y */
};

/* The smallest sum of squares of log y for the form and threshold of the shape, which has a fixed
 * part. Bounded and without chance: from several starts, by Levenberg and Marquardt. False when the
 * runs do not tell the fixed part from the rest. */
bool fit_fixed_solve(const struct fit_data *d,
                     const struct fit_shape *shape,
                     struct fit_fixed *out);
/* The same, and for each run that counts what a fit to all others misses it by in log y. False also
 * when a run alone decides something. */
bool fit_fixed_judge(const struct fit_data *d,
                     const struct fit_shape *shape,
                     const bool *counts,
                     struct fit_fixed *out,
                     double *residual);

/* ---- lsq.c ---- */

/* X = QR of n rows and p columns. A column that the columns before it already explain (a constant
 * beside the intercept, two options that always change together) is dropped: its coefficient is
 * 0, and the others are what they would be without it. */
struct lsq {
    size_t n, p, rank;
    double *q;        /* p columns of n, orthonormal; zero where dropped */
    double *r;        /* p x p by rows, upper triangle */
    double *leverage; /* n: diagonal of the hat matrix; 1 = the row alone decides its fit */
    bool *dropped;    /* p */
};

/* columns: p columns of n values, one after the other; finite. */
void lsq_init(struct lsq *s, size_t n, size_t p, const double *columns);
void lsq_clear(struct lsq *s);

/* residual (n) = y - Xb for the b of the smallest sum of squares, which is returned.
 * beta (p) may be NULL. */
double lsq_solve(const struct lsq *s, const double *y, double *residual, double *beta);

/* out (p x p by rows) = inverse of X'X over the columns kept, zero elsewhere. */
void lsq_inverse(const struct lsq *s, double *out);

/* The t that a Student variable of df degrees of freedom (at least 1) exceeds in absolute value
 * with probability 1 - inside. */
double lsq_student(size_t df, double inside);

#endif
