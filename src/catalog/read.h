/* read: one CSV file into rows, with a report that counts what became of its lines. */
#ifndef CATALOG_READ_H
#define CATALOG_READ_H

#include "base/auto.h"
#include "base/err.h"
#include "catalog/rows.h"

#include <stddef.h>

struct csv;
struct csv_field;
struct limit;

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

/* The columns of our CSVs, in the order they are written, and where rows have them. */
enum catalog_cell {
    /* Interned texts: uint32_t. */
    CATALOG_CELL_TEXT,
    CATALOG_CELL_ACCELERATOR,
    CATALOG_CELL_CLOUD,  /* a name or `*` */
    CATALOG_CELL_REGION, /* a name, a prefix with `*`, or `*` */
    CATALOG_CELL_DST_CLOUD,
    CATALOG_CELL_DST_REGION, /* both also `=`: as the source */
    /* Numbers: double; NaN when empty. */
    CATALOG_CELL_NUMBER,
    CATALOG_CELL_PRICE, /* zero is how some price lists say "not for sale": NaN */
    CATALOG_CELL_COUNT, /* zero when empty */
};

struct catalog_column {
    const char *name;
    enum catalog_cell cell;
    size_t at; /* in a row of the table */
    const struct limit *limit;
    bool required; /* must not be empty */
};

#define LAYOUT_COLUMNS_MAX 12

struct catalog_layout {
    const char *file; /* "offers.csv" */
    const struct catalog_column *columns;
    size_t n_columns;
};

/* read_tradewind.c: NULL for tables that are not of our own layout. */
const struct catalog_layout *catalog_layout_of(enum catalog_table table);

/* What a file is, by the columns of its first line that is no remark, else by its name
 * (offers.csv); CATALOG_TABLE_UNKNOWN when it is none of ours. Reads the beginning of the file
 * only. */
int catalog_read_table(const char *path, enum catalog_table *table_out, struct err *e);

/* A table of our own layout (not CATALOG_TABLE_SKYPILOT). Anything wrong with it is ERR_USAGE with
 * file and line. Lines that begin with # are remarks; "# date: X" above the header dates the file:
 * *date_out is the interned X, 0 without one (NULL: not wanted). */
int catalog_read_tradewind(struct csv *csv,
                           enum catalog_table table,
                           struct catalog_rows *rows,
                           struct catalog_file_report *report,
                           uint32_t *date_out,
                           struct err *e);

/* SkyPilot's vms.csv of one cloud. Bad lines are dropped and counted; a file that lacks the
 * columns InstanceType, Region or Price is ERR_USAGE. */
int catalog_read_skypilot(struct csv *csv,
                          const char *cloud,
                          struct catalog_rows *rows,
                          struct catalog_file_report *report,
                          struct err *e);

/* The tables of a directory of our CSVs: offers.csv must be there, the others may be missing. */
int catalog_read_dir(const char *dir, struct catalog_rows *rows, struct err *e);

/* Text that may name something: UTF-8 without control characters, at most 255 bytes. */
bool catalog_name_good(const struct csv_field *f);

#endif
