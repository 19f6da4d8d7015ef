/* report: what an import did with each file, line by line counted. */
#ifndef CATALOG_REPORT_H
#define CATALOG_REPORT_H

#include "base/auto.h"

#include <stddef.h>

enum catalog_table {
    CATALOG_TABLE_UNKNOWN,
    CATALOG_TABLE_OFFERS,
    CATALOG_TABLE_TRANSFERS,
    CATALOG_TABLE_STORAGE,
    CATALOG_TABLE_SOURCES,
    CATALOG_TABLE_SKYPILOT,
};
/* "offers", ..., "skypilot". */
const char *catalog_table_text(enum catalog_table table);

/* Why a row is not in the catalog. */
enum catalog_drop {
    CATALOG_DROP_UNPRICED,
    CATALOG_DROP_DUPLICATE,
    CATALOG_DROP_MALFORMED,
    CATALOG_DROP_NO_HOST,
    CATALOG_DROP_HOST_ALONE,
    CATALOG_N_DROPS
};
/* "no price in any market", ... */
const char *catalog_drop_text(enum catalog_drop drop);

struct catalog_file_report {
    char *path;
    char *cloud; /* NULL when the rows name it */
    enum catalog_table table;
    size_t rows_read;
    size_t rows_kept; /* rows_read minus all dropped */
    size_t offers;    /* made of them: a GCP accelerator goes with every host it may have */
    size_t dropped[CATALOG_N_DROPS];
    size_t spot_above_on_demand; /* kept as listed */
};

struct catalog_report {
    struct catalog_file_report *files;
    size_t n_files, cap_files;
    char **unrecognised; /* files of a directory that are no table of ours */
    size_t n_unrecognised, cap_unrecognised;
};

void catalog_report_clear(struct catalog_report *r);
struct catalog_file_report *catalog_report_add(struct catalog_report *r,
                                               const char *path,
                                               enum catalog_table table);
size_t catalog_report_dropped(const struct catalog_file_report *f);

#endif
