/* store: the imported catalog of a home directory.
 *
 * HOME/catalog/gen-N/ holds one whole generation: our CSVs and the snapshot made of them. The
 * link HOME/catalog/current names the one in use. A new generation is written and synced before
 * the link is renamed over the old one, so that an interrupted import leaves one or the other. */
#ifndef CATALOG_STORE_H
#define CATALOG_STORE_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct catalog;

/* Writers take turns: ERR_RETRY when another has not finished within half a minute. Creates the
 * directory. */
struct catalog_store;
struct catalog_store *catalog_store_lock(const char *home, struct err *e);
void catalog_store_free(struct catalog_store *s);
AUTO_DEFINE(catalog_store)

/* Puts the catalog in use; older generations are removed. */
int catalog_store_put(struct catalog_store *s, const struct catalog *c, struct err *e);
/* Back to the built-in catalog. *was_out: there was an imported one. */
int catalog_store_reset(struct catalog_store *s, bool *was_out, struct err *e);

/* The imported catalog, or NULL with ERR_NOTFOUND when there is none. A damaged or outdated
 * snapshot is built again from the generation's CSVs. */
struct catalog *catalog_store_open(const char *home, struct err *e);

/* write.c: the catalog as our CSVs. offers.csv, transfers.csv and storage.csv in dir, each synced
 * to disk and put in place under its name only when whole; new ones get mode. Reading them again
 * gives the same catalog. */
int catalog_write_tables(const struct catalog *c, const char *dir, mode_t mode, struct err *e);
/* sources.csv: where the offers of each cloud came from. */
int catalog_write_sources(const struct catalog *c, const char *dir, struct err *e);

#endif
