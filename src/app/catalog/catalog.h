/* catalog: operations on the price catalog: offers, transfer and storage prices. */
#ifndef APP_CATALOG_CATALOG_H
#define APP_CATALOG_CATALOG_H

#include "app/core/operation.h"

extern const struct operation *const catalog_operations[]; /* ends with NULL */

extern const struct operation catalog_info_operation; /* struct app_catalog_info, and clouds */
extern const struct operation catalog_list_operation; /* struct app_catalog_found, and offers */
extern const struct operation catalog_show_operation; /* offers */
/* Both answer with struct app_catalog_imported. */
extern const struct operation catalog_import_operation, catalog_update_operation;
extern const struct operation catalog_export_operation; /* struct app_catalog_exported */
extern const struct operation catalog_reset_operation;  /* struct app_catalog_reset */

/* An instance type at a location, with its prices. NULL and NAN = unknown, or not for sale. */
struct app_catalog_offer {
    const char *cloud, *region, *zone, *instance_type;
    double vcpus, memory_gib;
    const char *accelerator;
    double accelerator_count, network_gbps;
    double price_usd_per_hour, spot_usd_per_hour, preemptions_per_hour;
};

struct app_catalog_found {
    uint64_t offers; /* that pass the filters, with those past the limit */
};

struct app_catalog_info {
    const char *origin, *date;
    uint64_t places, kinds, offers, transfers, storage;
};
struct app_catalog_cloud {
    const char *name, *source, *date; /* source, date: NULL = not known */
    uint64_t regions, kinds, offers, on_demand, spot;
};

/* What an import did. */
struct app_catalog_drop {
    const char *reason;
    uint64_t count;
};
struct app_catalog_file {
    const char *path, *format, *table;
    const char *cloud; /* NULL = the rows name it */
    uint64_t rows_read, rows_kept, rows_dropped, offers;
    struct field_records dropped; /* struct app_catalog_drop */
    uint64_t spot_above_on_demand;
};
struct app_catalog_size {
    const char *origin;
    uint64_t offers, places;
};
struct app_catalog_imported {
    uint64_t rows_read, rows_kept, rows_dropped, offers;
    struct field_records files; /* struct app_catalog_file */
    struct field_list not_recognised, without_transfers;
    const void *catalog; /* struct app_catalog_size: the catalog in use afterwards */
};

struct app_catalog_exported {
    const char *directory;
    uint64_t offers, transfers, storage;
};

struct app_catalog_reset {
    bool was_imported;
    const char *origin; /* of the catalog in use afterwards */
};

#endif
