/* throughput: iterations per second of a model on one accelerator. Built-in figures and the
 * user's tables (CSV: model,batch_size,GPU...), the user's first. */
#ifndef ESTIMATE_THROUGHPUT_H
#define ESTIMATE_THROUGHPUT_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>

struct throughputs;

/* user_csv: path of a table, or NULL for the built-in figures alone. */
struct throughputs *throughputs_load(const char *user_csv, struct err *e);
void throughputs_free(struct throughputs *t);
AUTO_DEFINE(throughputs)

/* model: "ResNet-50" (then the batch size must be unique or the smallest listed is taken and
 * *batch_guessed_out says so) or "ResNet-50 (batch size 128)"; case and '-', '_', ' ' do not
 * matter. */
bool throughputs_has_model(const struct throughputs *t, const char *model);
/* NaN when that accelerator is not covered. */
double throughputs_get(const struct throughputs *t, const char *model, const char *accelerator);
/* Comma-separated names for messages; borrowed. */
const char *throughputs_models(const struct throughputs *t);

#endif
