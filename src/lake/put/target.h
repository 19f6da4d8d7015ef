/* target: content that others sent to the store by a URL, read and hashed before it counts. */
#ifndef LAKE_PUT_TARGET_H
#define LAKE_PUT_TARGET_H

#include "lake/core/internal.h"

struct target_kept {
    struct store_content content;
    size_t row; /* the caller's */
};

struct target_copies {
    struct lake *l;
    struct store *store;
    int64_t session;
    struct store_writer *writer; /* once a small content is copied */
    struct target_kept *kept;
    size_t n, cap;
    char (*copied)[STORE_BLOB_NAME]; /* targets that are not needed any more */
    size_t n_copied, cap_copied;
};

int target_copies_begin(struct target_copies *t, struct lake *l, int64_t session, struct err *e);
void target_copies_clear(struct target_copies *t);

/* What was sent to the target: 1, 0 when nothing was, -1. Small content is copied into packs, where
 * its sender cannot reach it any more; large content stays. wanted_size: another length is not read
 * at all, only told. */
int target_read(struct target_copies *t,
                const char *target,
                const uint64_t *wanted_size,
                struct store_content *out,
                struct err *e);
/* Takes the content over. */
int target_keep(struct target_copies *t, struct store_content *c, size_t row);
int target_flush(struct target_copies *t, struct err *e);
/* Removes a target whose content is not what was announced: URLs write only where nothing is, so
 * the right content could not be sent to it any more. */
int target_refuse(struct target_copies *t, const char *target, struct err *e);
/* Once the copies are recorded: removes the targets they were made of. */
void target_drop_copied(struct target_copies *t);

#endif
