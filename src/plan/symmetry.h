/* symmetry: locations that need not be looked at because another serves every plan as well. */
#ifndef PLAN_SYMMETRY_H
#define PLAN_SYMMETRY_H

#include "plan/internal.h"

/* Removes from the domain the locations that another one covers: the transfer table treats both
 * alike, and whatever a stage can do at the one it can do at the other, at no higher cost and no
 * slower. Moving all of a plan's stages from the one to the other then makes nothing worse, so the
 * best cost and time stay (which of several equal plans has them does not). */
void symmetry_drop(const struct plan_problem *p, struct domain *d);

#endif
