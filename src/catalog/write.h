/* write: a catalog as our CSVs. */
#ifndef CATALOG_WRITE_H
#define CATALOG_WRITE_H

#include "base/err.h"

struct catalog;

/* offers.csv, transfers.csv and storage.csv in dir, each synced to disk and put in place under its
 * name only when whole. Reading them again gives the same catalog. */
int catalog_write_tables(const struct catalog *c, const char *dir, struct err *e);
/* sources.csv: where the offers of each cloud came from. */
int catalog_write_sources(const struct catalog *c, const char *dir, struct err *e);

#endif
