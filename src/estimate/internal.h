/* internal: the guess of a run time where a stage has no estimate, for the files of this room. */
#ifndef ESTIMATE_INTERNAL_H
#define ESTIMATE_INTERNAL_H

#include "estimate/estimate.h"

/* Speed over that of a V100; NaN = unknown. */
double estimate_speed(const struct throughputs *table, const char *accelerator);
/* accelerator "" = none. */
double estimate_guess_s(const struct spec_stage *stage,
                        const char *accelerator,
                        const struct throughputs *table);
/* Adds what is guessed, and why. */
void estimate_guess_words(const struct spec_stage *stage,
                          const struct throughputs *table,
                          struct guess_list *guesses);

#endif
