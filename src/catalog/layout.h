/* layout: the columns of our CSVs, in the order they are written. */
#ifndef CATALOG_LAYOUT_H
#define CATALOG_LAYOUT_H

#include "catalog/report.h"

#include <stddef.h>

enum {
    OFFER_CLOUD,
    OFFER_REGION,
    OFFER_ZONE,
    OFFER_TYPE,
    OFFER_VCPUS,
    OFFER_MEMORY,
    OFFER_ACCELERATOR,
    OFFER_COUNT,
    OFFER_NETWORK,
    OFFER_PRICE,
    OFFER_SPOT,
    OFFER_PREEMPTIONS,
    OFFER_COLUMNS
};
enum {
    TRANSFER_SRC_CLOUD,
    TRANSFER_SRC_REGION,
    TRANSFER_DST_CLOUD,
    TRANSFER_DST_REGION,
    TRANSFER_USD,
    TRANSFER_TIER,
    TRANSFER_SPEED,
    TRANSFER_RTT,
    TRANSFER_COLUMNS
};
enum {
    STORAGE_CLOUD,
    STORAGE_REGION,
    STORAGE_CLASS,
    STORAGE_USD,
    STORAGE_READ,
    STORAGE_WRITE,
    STORAGE_LIST,
    STORAGE_COLUMNS
};
enum { SOURCE_CLOUD, SOURCE_TEXT, SOURCE_DATE, SOURCE_COLUMNS };

#define LAYOUT_COLUMNS_MAX OFFER_COLUMNS

struct catalog_layout {
    const char *file; /* "offers.csv" */
    const char *const *columns;
    size_t n_columns;
};

/* NULL for tables that are not of our own layout. */
const struct catalog_layout *catalog_layout_of(enum catalog_table table);

#endif
