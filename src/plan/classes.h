/* classes: locations that the transfer table cannot tell apart. Between any location of one class
 * and any of another the move is the same, and so it is between any two of one class. */
#ifndef PLAN_CLASSES_H
#define PLAN_CLASSES_H

#include "catalog/catalog.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLASSES_NO_MOVE UINT32_MAX

struct classes {
    size_t n;
    size_t *of_place; /* per catalog location; SIZE_MAX for those not used */
    uint32_t *move;   /* [from * n + to]: index into catalog_moves, or CLASSES_NO_MOVE */
};

/* used: which locations of the catalog count. */
struct classes *classes_new(const struct catalog *c, const bool *used);
void classes_free(struct classes *x);

#endif
