/* throughput: iterations per second of a model on one accelerator. Built-in figures and the
 * user's table (CSV: model,batch_size,GPU...), the user's first. */
#ifndef ESTIMATE_THROUGHPUT_H
#define ESTIMATE_THROUGHPUT_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct throughputs;

/* user_csv: path of a table, or NULL for the built-in figures alone. A bad table is ERR_USAGE with
 * FILE:LINE. An empty figure is "not measured", 0 is "cannot run there". */
struct throughputs *throughputs_load(const char *user_csv, struct err *e);
void throughputs_free(struct throughputs *t);
AUTO_DEFINE(throughputs)

/* What a model written in a pipeline file stands for. */
struct throughput_model {
    const char *name;   /* as the table spells it; NULL = no such model */
    double batch_size;  /* 0 = the table names none */
    bool batch_guessed; /* not written, and the table has several */
    bool batch_unknown; /* the model is known, the batch size written is not */
};

/* model: "ResNet-50" or "ResNet-50 (batch size 128)"; case and '-', '_', ' ' do not matter.
 * Without a batch size, the row with figures for the most accelerators is meant, and of several
 * the largest batch size: of the user's rows when the user's table has the model, else of the
 * built-in ones. True when there is such a row. */
bool throughputs_find(const struct throughputs *t, const char *model, struct throughput_model *out);

/* Iterations per second on one accelerator, the user's figure before the built-in one of the same
 * batch size; 0 = cannot run there; NaN when the model or the accelerator is not covered. */
double throughputs_get(const struct throughputs *t, const char *model, const char *accelerator);

/* Speed of an accelerator over that of another: the geometric mean over all models and batch sizes
 * that were measured on both. NaN when none was. */
double throughputs_speed(const struct throughputs *t, const char *accelerator, const char *over);

/* Names of all models, each once, sorted; borrowed. */
const char *const *throughputs_models(const struct throughputs *t, size_t *n_out);

/* The one model of the user's table; NULL when it has several, or there is none. Borrowed. */
const char *throughputs_only_model(const struct throughputs *t);

#endif
