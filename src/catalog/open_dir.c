/* Opens a directory of CSV files as a catalog, without importing it. Commands with `--catalog DIR`
 * call it. */
#include "catalog/build.h"
#include "catalog/internal.h"
#include "catalog/read.h"

struct catalog *catalog_open_dir(const char *dir, struct err *e)
{
    AUTO(catalog_rows) struct catalog_rows *rows = catalog_rows_new();
    void *bytes;
    size_t len;

    if (catalog_read_dir(dir, rows, e) < 0)
        return NULL;
    if (catalog_build(rows, dir, &bytes, &len, e) < 0)
        return NULL;
    return catalog_open_owned(dir, bytes, len, e);
}
