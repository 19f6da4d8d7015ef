/* storage: which row of storage.csv is a location's. */
#ifndef CATALOG_STORAGE_H
#define CATALOG_STORAGE_H

#include "catalog/snapshot.h"

#include <stddef.h>

/* Of the rows that fit a location best, class `standard`, else the cheapest; NULL = none. strings
 * is the string table of the rows. */
const struct snapshot_storage *storage_best(const char *strings,
                                            const struct snapshot_storage *rows,
                                            size_t n,
                                            const char *cloud,
                                            const char *region);

#endif
