/* internal: what a catalog is made of, for the files of this room. */
#ifndef CATALOG_INTERNAL_H
#define CATALOG_INTERNAL_H

#include "catalog/catalog.h"
#include "catalog/snapshot.h"

/* Bytes of a snapshot from malloc; the catalog frees them, also on failure. */
struct catalog *catalog_open_owned(const char *name, void *bytes, size_t len, struct err *e);
/* Maps the file. ERR_NOTFOUND when there is none. */
struct catalog *catalog_open_file(const char *path, struct err *e);

struct catalog *catalog_open_builtin(struct err *e);

/* Of the rows that fit a location best, class `standard`, else the cheapest; NULL = none. strings
 * is the string table of the rows. */
const struct snapshot_storage *storage_best(const char *strings,
                                            const struct snapshot_storage *rows,
                                            size_t n,
                                            const char *cloud,
                                            const char *region);

#endif
