/* need: which content something still needs. */
#ifndef LAKE_CLEAN_NEED_H
#define LAKE_CLEAN_NEED_H

#include "lake/core/bits.h"
#include "lake/core/internal.h"

struct need {
    struct bits versions; /* ids of file versions that a set or a pin holds */
    struct bits objects;  /* ids of contents that these, or a pending session, need */
};
void need_clear(struct need *n);

/* Everything that sets, pins and pending sessions of the project need, as of the transaction it is
 * called in. keep_latest: and the newest version of every listed file. except: set versions (ids)
 * that need nothing; NULL = none. */
int need_find(
    struct lake *l, bool keep_latest, const struct bits *except, struct need *out, struct err *e);
/* Adds the file versions that are pinned themselves to n->versions. */
int need_pinned(struct lake *l, struct need *n, struct err *e);

#endif
