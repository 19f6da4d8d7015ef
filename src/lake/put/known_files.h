/* known_files: the digests, versions and objects that the database has of files to be put, so that
 * put does not open unchanged files. */
#ifndef LAKE_PUT_KNOWN_FILES_H
#define LAKE_PUT_KNOWN_FILES_H

#include "lake/core/internal.h"
#include "lake/put/source.h"

/* Fills in, for every file: the digest when its stamp is the one it was last read with; the newest
 * version of its path; the object when content with that digest is there. ERR_DENIED for a file of
 * the lake that the caller may not write. */
int known_look(struct lake *l, struct source_list *list, struct err *e);

/* The object with this content: 1, 0 (or its content is gone), -1. */
int known_object(struct lake *l,
                 const struct sha256_digest *digest,
                 int64_t *id_out,
                 struct err *e);

/* The same for a file that was read: sets object and same. */
int known_file_object(struct lake *l, struct source_file *f, struct err *e);

/* Remembers the digests of files that were read and were quiet then: rows for known_remember, to be
 * flushed. In a transaction. */
struct db_rows *known_rows_new(struct lake *l);
int known_remember(struct db_rows *rows, const struct source_list *list, size_t i, struct err *e);

/* Marks the files whose paths are vacant. In the transaction in which they are to stay so. */
int known_vacant(struct lake *l, struct source_list *list, struct err *e);

#endif
