/* models: what profiles have learned, for the stages of a pipeline that name them. */
#ifndef BROKER_LEARN_MODELS_H
#define BROKER_LEARN_MODELS_H

#include "base/auto.h"
#include "base/err.h"
#include "estimate/estimate.h"
#include "lake/core/lake.h"
#include "spec/spec.h"

struct broker_models;

/* Whether a stage is estimated by a profile. */
bool broker_models_wanted(const struct spec *spec);

/* All profiles of the home by name; those that the spec asks for with their models, which learn
 * from the runs of the lake that they do not know yet (l NULL: they stay as they are). */
struct broker_models *broker_models_load(const char *home,
                                         struct lake *l,
                                         const struct spec *spec,
                                         struct err *e);
void broker_models_free(struct broker_models *m);
AUTO_DEFINE(broker_models)

/* Borrowed; NULL of NULL. */
const struct estimate_models *broker_models_get(const struct broker_models *m);

#endif
