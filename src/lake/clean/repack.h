/* repack: packs of which little is needed, written anew. */
#ifndef LAKE_CLEAN_REPACK_H
#define LAKE_CLEAN_REPACK_H

#include "lake/core/internal.h"

/* What the lake knows of a blob. */
struct repack_state {
    bool known;
    bool is_pack; /* it holds small contents only */
    uint64_t live_bytes;
};
int repack_state(struct lake *l, const char *blob, struct repack_state *out, struct err *e);

/* For store_delete: whether the lake (context) has no content in this blob. */
bool repack_unknown(void *context, const char *blob);

/* Moves what the pack holds into new packs and removes it. Content that is damaged stays where it
 * is, and the pack with it. */
int repack(struct lake *l, const char *blob, uint64_t *moved_bytes, struct err *e);

#endif
