/* learned: estimates of a stage by the model of a profile, for estimate.c. */
#ifndef ESTIMATE_LEARNED_H
#define ESTIMATE_LEARNED_H

#include "estimate/estimate.h"

/* The profile is known, has a model, and the stage's arguments are what it takes. ERR_NOTFOUND,
 * ERR_USAGE with FILE:LINE. */
int estimate_learned_check(const struct spec *spec,
                           const struct spec_stage *stage,
                           const struct estimate_models *models,
                           struct err *e);
bool estimate_learned_run(const struct spec_stage *stage,
                          const struct catalog_kind *kind,
                          const struct estimate_models *models,
                          struct estimate *out);

void estimate_add_guess(struct guess_list *guesses,
                        const struct spec_stage *stage,
                        const char *what,
                        const char *value,
                        const char *why);

#endif
