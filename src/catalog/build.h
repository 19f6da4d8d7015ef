/* build: makes a snapshot of rows. The same rows in any order give the same bytes. */
#ifndef CATALOG_BUILD_H
#define CATALOG_BUILD_H

#include "base/err.h"
#include "catalog/rows.h"

#include <stddef.h>

/* *bytes_out is the caller's to free. ERR_USAGE: nothing has a price, a tier that stands twice, or
 * more than fits. name is what messages call the rows. */
int catalog_build(const struct catalog_rows *rows,
                  const char *name,
                  void **bytes_out,
                  size_t *len_out,
                  struct err *e);

#endif
