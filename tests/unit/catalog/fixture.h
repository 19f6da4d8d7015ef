/* fixture: small catalogs from CSV text. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "base/csv.h"
#include "catalog/catalog.h"
#include "catalog/internal.h"
#include "catalog/read.h"
#include "catalog/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIXTURE_OFFERS                                                                             \
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,"              \
    "network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
#define FIXTURE_TRANSFERS                                                                          \
    "src_cloud,src_region,dst_cloud,dst_region,usd_per_gb,tier_from_gb,gbit_per_s,rtt_ms\n"
#define FIXTURE_STORAGE                                                                            \
    "cloud,region,class,usd_per_gb_month,usd_per_1000_read,usd_per_1000_write,"                    \
    "usd_per_1000_list\n"

static inline int fixture_read(struct catalog_rows *rows,
                               enum catalog_table table,
                               const char *header,
                               const char *text,
                               struct catalog_file_report *report,
                               struct err *e)
{
    static const char *const names[] = {[CATALOG_TABLE_OFFERS] = "offers.csv",
                                        [CATALOG_TABLE_TRANSFERS] = "transfers.csv",
                                        [CATALOG_TABLE_STORAGE] = "storage.csv"};
    char *all = NULL;

    if (asprintf(&all, "%s%s", header, text) < 0)
        abort();
    struct csv *csv = csv_from_memory(names[table], all, strlen(all));
    int result = catalog_read_tradewind(csv, table, rows, report, NULL, e);
    csv_free(csv);
    free(all);
    return result;
}

/* The snapshot's bytes, or NULL; the caller frees them. Texts are rows without their header. */
static inline void *fixture_bytes(
    const char *offers, const char *transfers, const char *storage, size_t *len_out, struct err *e)
{
    struct catalog_rows *rows = catalog_rows_new();
    struct catalog_file_report report = {0};
    void *bytes = NULL;

    rows->origin = catalog_rows_intern(rows, "test");
    if (fixture_read(rows, CATALOG_TABLE_OFFERS, FIXTURE_OFFERS, offers, &report, e) < 0 ||
        fixture_read(rows, CATALOG_TABLE_TRANSFERS, FIXTURE_TRANSFERS, transfers, &report, e) < 0 ||
        fixture_read(rows, CATALOG_TABLE_STORAGE, FIXTURE_STORAGE, storage, &report, e) < 0 ||
        catalog_build(rows, "test", &bytes, len_out, e) < 0)
        bytes = NULL;
    catalog_rows_free(rows);
    return bytes;
}

static inline struct catalog *fixture(const char *offers,
                                      const char *transfers,
                                      const char *storage,
                                      struct err *e)
{
    size_t len;
    void *bytes = fixture_bytes(offers, transfers, storage, &len, e);

    return bytes ? catalog_open_owned("test", bytes, len, e) : NULL;
}

#endif
