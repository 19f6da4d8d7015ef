/* seen: what the database knows about files to be put, so that unchanged ones are not even opened.
 */
#ifndef LAKE_SEEN_H
#define LAKE_SEEN_H

#include "lake/internal.h"
#include "lake/source.h"

/* Fills in, for every file: the digest when its stamp is the one it was last read with; the newest
 * version of its path; the object when content with that digest is there. ERR_DENIED for a file of
 * the lake that the caller may not write. */
int seen_look(struct lake *l, struct source_list *list, struct err *e);

/* The object with this content: 1, 0 (or its content is gone), -1. */
int seen_object(struct lake *l, const struct sha256_digest *digest, int64_t *id_out, struct err *e);

/* The same for a file that was read: sets object and same. */
int seen_file_object(struct lake *l, struct source_file *f, struct err *e);

/* Remembers the digest of a file that was read and was quiet then. In a transaction. */
int seen_remember(struct lake *l, const struct source_list *list, size_t i, struct err *e);

#endif
