/* write: a catalog as our CSVs, and files that are on disk when we say so. */
#ifndef CATALOG_WRITE_H
#define CATALOG_WRITE_H

#include "base/err.h"

#include <stddef.h>

struct catalog;

/* offers.csv, transfers.csv and storage.csv in dir, each synced to disk and put in place under its
 * name only when whole. Reading them again gives the same catalog. */
int catalog_write_tables(const struct catalog *c, const char *dir, struct err *e);
/* sources.csv: where the offers of each cloud came from. */
int catalog_write_sources(const struct catalog *c, const char *dir, struct err *e);
/* dir/name with these bytes, in the same way. */
int catalog_write_file(
    const char *dir, const char *name, const void *bytes, size_t len, struct err *e);

/* The directory's entries are on disk when this returns. */
int catalog_sync_dir(const char *dir, struct err *e);
/* Creates dir and the directories above it where missing. */
int catalog_make_dir(const char *dir, struct err *e);

#endif
