/* estimate: the run time of a stage on an instance type, with its uncertainty. Pure. */
#ifndef ESTIMATE_ESTIMATE_H
#define ESTIMATE_ESTIMATE_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "spec/guess.h"
#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>

struct fit;         /* estimate/fit.h */
struct fit_value;   /* the same */
struct throughputs; /* iterations per second by model and accelerator: throughput.h */

/* What was learned of a command: the model of a profile. */
struct estimate_model {
    const char *name;
    const struct fit *fit;         /* NULL = nothing was learned yet */
    const struct fit_value *usual; /* values of features that a pipeline need not say */
    size_t n_usual;
};

struct estimate_models {
    const struct estimate_model *items;
    size_t n;
};

struct estimate {
    double run_s, low_s, high_s; /* setup not included */
};

/* Checks that the stage can be estimated at all (model known, profile known ...) and adds what is
 * guessed. ERR_USAGE / ERR_NOTFOUND with FILE:LINE. Call once per stage before estimate_run.
 * models NULL = none. */
int estimate_check(const struct spec *spec,
                   const struct spec_stage *stage,
                   const struct throughputs *table,
                   const struct estimate_models *models,
                   struct guess_list *guesses,
                   struct err *e);

/* False: this kind of machine is not covered by the stage's estimate, so not eligible. */
bool estimate_run(const struct spec_stage *stage,
                  const struct catalog *catalog,
                  const struct catalog_kind *kind,
                  const struct throughputs *table,
                  const struct estimate_models *models,
                  struct estimate *out);

/* Of a machine that was chosen: whether what was learned of the stage's command is used outside the
 * runs it was learned from, which is a guess. */
void estimate_guess_outside(const struct spec_stage *stage,
                            const struct catalog_kind *kind,
                            const struct estimate_models *models,
                            struct guess_list *guesses);

#endif
