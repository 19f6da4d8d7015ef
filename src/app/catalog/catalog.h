/* catalog: operations on the price catalog: offers, transfer and storage prices. */
#ifndef APP_CATALOG_CATALOG_H
#define APP_CATALOG_CATALOG_H

#include "app/core/operation.h"

struct catalog;

/* info: struct app_catalog_info, and clouds; list: struct app_catalog_found, and offers; show:
 * offers; import: struct app_catalog_imported; update: struct app_catalog_updated; export: struct
 * app_catalog_exported; reset: struct app_catalog_reset. */
/* clang-format off */
#define CATALOG_OPERATIONS(X)                                                                      \
    X(catalog_import) X(catalog_update) X(catalog_reset) X(catalog_info) X(catalog_list)           \
    X(catalog_show) X(catalog_export)
/* clang-format on */
CATALOG_OPERATIONS(OPERATION_DECLARE)

/* ---- what the files of src/app/catalog share ---- */

/* The catalog in use. The caller frees it. */
struct catalog *app_catalog_open(struct app *app, struct err *e);
/* NULL for "": as texts of the catalog say that something is not known. */
static inline const char *app_catalog_known(const char *text)
{
    return text && *text ? text : NULL;
}

/* The request of an update from the price lists of clouds. */
struct app_catalog_from {
    struct field_list clouds, regions; /* no regions: those of the catalog in use */
    bool dry_run;
};
/* from.c: reads the lists of the clouds, and puts their offers in use unless it is a dry run. */
int app_catalog_update_from(struct app *app,
                            const struct app_catalog_from *from,
                            struct answer *out,
                            struct err *e);
extern const struct record app_catalog_updated_cloud_record, app_catalog_call_record;
extern const struct record app_catalog_drop_record;

/* ---- records ---- */

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
    const char *cloud, *source, *date; /* source, date: NULL = not known */
    uint64_t regions, kinds, offers, priced_on_demand, priced_spot;
};

/* What an import did. */
struct app_catalog_drop {
    const char *reason;
    uint64_t count;
};
struct app_catalog_file {
    const char *file, *format, *table;
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

/* What the price list of a cloud changed. */
struct app_catalog_change {
    const char *region, *zone, *instance_type, *market;
    double was_usd_per_hour, now_usd_per_hour;
};
struct app_catalog_updated_cloud {
    const char *cloud, *source, *date;
    struct field_list regions;
    uint64_t items, items_dropped;
    struct field_records dropped; /* struct app_catalog_drop */
    uint64_t offers, added, changed, unchanged, gone, kept, elsewhere;
    struct field_list notes;
    struct field_records largest; /* struct app_catalog_change */
};
struct app_catalog_call {
    const char *method, *url, *action;
    uint64_t count;
};
struct app_catalog_updated {
    struct app_catalog_imported imported;
    struct field_records clouds; /* struct app_catalog_updated_cloud */
    struct field_records calls;  /* struct app_catalog_call */
    bool dry_run;
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
