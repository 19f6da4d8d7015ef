/* mkcatalog: packs a directory of our CSVs into the snapshot that is linked into the program. */
#include "base/err.h"
#include "base/file.h"
#include "catalog/read.h"
#include "catalog/rows.h"

#include <stdio.h>
#include <stdlib.h>

static int make(const char *dir, void **bytes_out, size_t *len_out, struct err *e)
{
    AUTO(catalog_rows) struct catalog_rows *rows = catalog_rows_new();

    rows->origin = catalog_rows_intern(rows, "built-in");
    if (catalog_read_dir(dir, rows, e) < 0)
        return -1;
    return catalog_build(rows, dir, bytes_out, len_out, e);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    void *bytes = NULL;
    size_t len;

    if (argc != 3) {
        fprintf(stderr, "usage: mkcatalog DIR SNAPSHOT\n");
        return 2;
    }
    if (make(argv[1], &bytes, &len, &e) < 0 || file_replace(argv[2], bytes, len, 0666, &e) < 0)
        fprintf(stderr, "mkcatalog: %s\n", e.text);
    free(bytes);
    return err_exit_code(e.kind);
}
