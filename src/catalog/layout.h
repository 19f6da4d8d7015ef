/* layout: the columns of our CSVs in the order they are written, and where rows have them. */
#ifndef CATALOG_LAYOUT_H
#define CATALOG_LAYOUT_H

#include "catalog/read.h"

#include <stdbool.h>
#include <stddef.h>

struct limit;

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

#endif
