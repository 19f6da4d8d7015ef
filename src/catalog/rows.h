/* rows: a catalog on its way in, as the rows of our CSVs with their texts interned. */
#ifndef CATALOG_ROWS_H
#define CATALOG_ROWS_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalog;
struct catalog_intern;

/* Texts are ids of rows->texts; numbers are NaN where unknown, prices where not for sale. */
struct catalog_offer_row {
    uint32_t cloud, region, zone, instance_type, accelerator;
    double vcpus, memory_gib, accelerator_count, network_gbps;
    double price_usd, spot_usd, preemptions;
};

struct catalog_transfer_row {
    uint32_t src_cloud, src_region, dst_cloud, dst_region; /* "*" where the file had nothing */
    double usd_per_gb, tier_from_gb, gbit_per_s, rtt_ms;
    uint32_t file, line; /* where it was read, for messages; 0 when copied */
};

struct catalog_storage_row {
    uint32_t cloud, region, class;
    double usd_per_gb_month, usd_per_1000_read, usd_per_1000_write, usd_per_1000_list;
};

/* Where the offers of a cloud came from. */
struct catalog_source_row {
    uint32_t cloud, source, date;
};

struct catalog_rows {
    struct catalog_intern *texts;
    struct catalog_offer_row *offers; /* no two with the same cloud, region, zone and type */
    size_t n_offers, cap_offers;
    struct map *by_key; /* to indices of offers */
    struct catalog_transfer_row *transfers;
    size_t n_transfers, cap_transfers;
    struct catalog_storage_row *storage;
    size_t n_storage, cap_storage;
    struct catalog_source_row *sources; /* one per cloud at most */
    size_t n_sources, cap_sources;
    uint32_t origin, date; /* of the whole */
    bool full;             /* a text did not fit: the rows must not be used as if whole */
};

struct catalog_rows *catalog_rows_new(void);
void catalog_rows_free(struct catalog_rows *rows);
AUTO_DEFINE(catalog_rows)

const char *catalog_rows_text(const struct catalog_rows *rows, uint32_t id);
/* The id of a text; 0, which is "", and `full` when there is no room for it. */
uint32_t catalog_rows_intern(struct catalog_rows *rows, const char *text);
uint32_t catalog_rows_intern_n(struct catalog_rows *rows, const char *text, size_t len);
/* ERR_USAGE when the rows are full. */
int catalog_rows_check(const struct catalog_rows *rows, struct err *e);

/* An offer more, ERR_USAGE past the largest catalog we take. Of two with the same cloud, region,
 * zone and type the cheaper on demand stays (then on spot, then the first); *duplicate_out says
 * that there was one. */
int catalog_rows_put(struct catalog_rows *rows,
                     const struct catalog_offer_row *offer,
                     bool *duplicate_out,
                     struct err *e);
/* The offer with the same cloud, region, zone and type, or NULL. */
const struct catalog_offer_row *catalog_rows_find(const struct catalog_rows *rows,
                                                  const struct catalog_offer_row *key);
int catalog_rows_put_transfer(struct catalog_rows *rows,
                              const struct catalog_transfer_row *transfer,
                              struct err *e);
int catalog_rows_put_storage(struct catalog_rows *rows,
                             const struct catalog_storage_row *storage,
                             struct err *e);
/* Replaces what was known about the cloud's source. */
void catalog_rows_put_source(struct catalog_rows *rows,
                             uint32_t cloud,
                             const char *source,
                             const char *date);

/* The same for the clouds of offers about whose source nothing is known. */
void catalog_rows_name_sources(struct catalog_rows *rows, const char *source, const char *date);

/* Adds what a catalog holds, but for the clouds whose source the rows have. */
int catalog_rows_copy(struct catalog_rows *rows,
                      const struct catalog *from,
                      bool transfers, /* also these tables */
                      bool storage,
                      struct err *e);

/* build.c: a snapshot of the rows; the same rows in any order give the same bytes. *bytes_out is
 * the caller's to free. ERR_USAGE: nothing has a price, a tier that is given twice, or
 * more than fits. name is what messages call the rows. */
int catalog_build(const struct catalog_rows *rows,
                  const char *name,
                  void **bytes_out,
                  size_t *len_out,
                  struct err *e);

#endif
