/* internal: metadata of one item inside a transaction, for lake/put, lake/job and lake/find. */
#ifndef LAKE_META_INTERNAL_H
#define LAKE_META_INTERNAL_H

#include "lake/core/internal.h"

/* One pair on one item, replacing an older value. In a transaction. */
int meta_put(struct lake *l, enum lake_item kind, int64_t item, const char *pair, struct err *e);
/* The same of a pair that was taken apart (lake/meta_value.h). */
struct meta_pair;
int meta_put_pair(
    struct lake *l, enum lake_item kind, int64_t item, const struct meta_pair *pair, struct err *e);
/* The key's id in this project: 1: found, 0: never used, -1. */
int meta_key_find(struct lake *l, const char *name, int64_t *id_out, struct err *e);
/* lake_tag inside a transaction of the caller. */
int meta_tag_ref(
    struct lake *l, const struct lake_ref *ref, const char *const *pairs, size_t n, struct err *e);

#endif
