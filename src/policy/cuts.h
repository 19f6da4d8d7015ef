/* cuts: what gangs cannot share although their instances could: of a quota of 5, two gangs of 3 do
 * not run at once. For files of policy/ alone. */
#ifndef POLICY_CUTS_H
#define POLICY_CUTS_H

#include "policy/grid.h"

/* sum of x over jobs of a gang of at least `size` on the type in the window <= most. */
struct cut {
    uint32_t window, type;
    double size, most;
    size_t nth; /* so many were found before it */
};

struct cuts {
    struct cut *list; /* by window, type, size */
    size_t n, cap;
    size_t *start; /* of window * n_types + type; one more for the end */
};

void cuts_init(struct cuts *c, const struct grid *g);
void cuts_clear(struct cuts *c);
/* Those of this type in this window; *n_out of them. */
const struct cut *cuts_of(
    const struct cuts *c, const struct grid *g, size_t window, size_t type, size_t *n_out);
/* Adds those that x, columns of the grid, violates; scale multiplies what windows from first_scaled
 * on hold. Returns how many. */
size_t cuts_find(
    struct cuts *c, const struct grid *g, const double *x, size_t first_scaled, double scale);
/* The same of those that x just keeps: with a little more of a quota they may be all that holds. */
size_t cuts_find_tight(
    struct cuts *c, const struct grid *g, const double *x, size_t first_scaled, double scale);

#endif
