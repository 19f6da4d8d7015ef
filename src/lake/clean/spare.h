/* spare: set versions whose content could be let go, since jobs can make it again. */
#ifndef LAKE_CLEAN_SPARE_H
#define LAKE_CLEAN_SPARE_H

#include "lake/clean/clean.h"
#include "lake/core/bits.h"
#include "lake/core/internal.h"

struct spares {
    struct lake_spare *items; /* by age; refs owned; only_bytes not filled in */
    size_t n, cap;
    /* Ids of set versions: these, and those made of them by hand, which come back with them. */
    struct bits without;
};
void spares_clear(struct spares *s);

/* only: ids; n 0 = all. As of the transaction it is called in. */
int spares_find(struct lake *l, const int64_t *only, size_t n, struct spares *out, struct err *e);
/* Ids of the contents they hold. */
int spares_contents(struct lake *l, const struct spares *s, struct bits *out, struct err *e);

#endif
