/* classes: locations that the transfer table cannot tell apart. Between any location of one class
 * and any of another the move is the same, and so it is between any two of one class. */
#ifndef PLAN_CLASSES_H
#define PLAN_CLASSES_H

#include "plan/internal.h"

#define CLASSES_NO_MOVE UINT32_MAX

struct classes {
    size_t n;
    size_t *of_place; /* per catalog location; SIZE_MAX for those not used */
    uint32_t *move;   /* [from * n + to]: index into moves of the catalog, or CLASSES_NO_MOVE */
};

/* used: which locations of the catalog count. */
struct classes *classes_new(const struct catalog *c, const bool *used);
void classes_free(struct classes *x);

/* Removes from the domain the locations that another one covers: the transfer table treats both
 * alike, and whatever a stage can do at the one it can do at the other, at no higher cost and no
 * slower. Moving all of a plan's stages from the one to the other then makes nothing worse, so the
 * best cost and time stay (which of several equal plans has them does not). */
void symmetry_drop(const struct plan_problem *p, struct domain *d);

#endif
