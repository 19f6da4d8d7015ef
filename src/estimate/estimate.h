/* estimate: how long a stage runs on a kind of machine, and how sure that is. Pure. */
#ifndef ESTIMATE_ESTIMATE_H
#define ESTIMATE_ESTIMATE_H

#include "base/err.h"
#include "catalog/catalog.h"
#include "spec/guess.h"
#include "spec/spec.h"

#include <stdbool.h>

struct throughputs; /* iterations per second by model and accelerator: throughput.h */

struct estimate {
    double run_s, low_s, high_s; /* setup not included */
};

/* Checks that the stage can be estimated at all (model known, profile known ...) and adds what is
 * guessed. ERR_USAGE / ERR_NOTFOUND with FILE:LINE. Call once per stage before estimate_run. */
int estimate_check(const struct spec *spec,
                   const struct spec_stage *stage,
                   const struct throughputs *table,
                   struct guess_list *guesses,
                   struct err *e);

/* False: this kind of machine is not covered by the stage's estimate, so not eligible. */
bool estimate_run(const struct spec_stage *stage,
                  const struct catalog *catalog,
                  const struct catalog_kind *kind,
                  const struct throughputs *table,
                  struct estimate *out);

#endif
