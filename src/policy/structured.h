/* structured: questions of one window and many columns, by the interior-point method. For files of
 * policy/ alone. */
#ifndef POLICY_STRUCTURED_H
#define POLICY_STRUCTURED_H

#include "policy/cuts.h"
#include "policy/model.h"

/* Whether the question has the structure and is large enough for it to pay. */
bool structured_fits(const struct model_ask *ask, const struct cuts *cuts);
/* Whether it is solved and proved; otherwise another solver must. */
bool structured_solve(const struct model_ask *ask,
                      const struct cuts *cuts,
                      struct model_answer *out);

#endif
