/* import_parts: declarations shared by the readers of the formats. */
#ifndef MARKET_IMPORT_PARTS_H
#define MARKET_IMPORT_PARTS_H

#include "catalog/intern.h"
#include "market/import.h"
#include "market/store.h"

#include <stdint.h>

struct csv;

#define MARKET_ROWS_MAX ((size_t)20 << 20)
#define MARKET_OFFERS_MAX ((size_t)1 << 20)
#define MARKET_TEXT_MAX_BYTES ((size_t)64 << 20)
#define MARKET_NAME_MAX_BYTES 128
/* Ten times the dearest machine; eleven years of it are below MONEY_MAX_USD. */
#define MARKET_PRICE_MAX_USD 1e4
#define DAY_S 86400.0

struct import_offer {
    uint32_t cloud, region, zone, instance_type; /* interned */
    uint32_t feed;
    uint32_t last_file; /* whose row came last, and when that was */
    double last_s;
};

/* file: index of the report it came from; 0 = was imported before. */
struct import_row {
    uint32_t offer, file;
    double at_s, usd_per_hour; /* NaN = withdrawn */
};
struct import_spell {
    uint32_t offer, file;
    struct market_spell spell;
};

struct market_import {
    const struct catalog *catalog;
    struct catalog_intern *texts;
    struct import_offer *offers;
    size_t n_offers, cap_offers;
    struct map *by_names; /* to indices of offers */
    struct import_row *rows, *on_demand;
    size_t n_rows, cap_rows, n_on_demand, cap_on_demand;
    struct import_spell *spells;
    size_t n_spells, cap_spells;
    struct market_sweep *sweeps; /* cloud: interned */
    size_t n_sweeps, cap_sweeps;
    struct market_file_report *reports; /* [0] stands for what was there */
    size_t n_reports, cap_reports;
};

/* Where in which file reading is. */
struct import_at {
    struct market_import *im;
    const struct market_source *from;
    struct market_file_report *report;
    size_t line;
};

/* Counts a row that was dropped; the first one's line and what is wrong with it are kept. */
void import_drop(struct import_at *at, enum market_drop why, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct import_names {
    const char *cloud, *region, *zone, *instance_type;
};
#define IMPORT_NO_OFFER UINT32_MAX
/* IMPORT_NO_OFFER with e set when there are too many, or a name is no name. */
uint32_t import_offer(struct market_import *im,
                      const struct import_names *names,
                      enum market_feed feed,
                      struct err *e);
/* Text that may name something: UTF-8 without control characters, not longer than we allow. */
bool import_name_good(const char *text);

/* One record; usd NaN = withdrawn. ERR_USAGE when there are more than we keep. */
int import_price(struct import_at *at, uint32_t offer, double at_s, double usd, struct err *e);
void import_on_demand(struct import_at *at, uint32_t offer, double at_s, double usd);
void import_spell(struct import_at *at, uint32_t offer, const struct market_spell *spell);

/* Offers that every sweep of probes says something about. */
size_t import_count_probed(const struct market_import *im);
/* Duplicates out, sums in, everything sorted: the bytes of the market. */
void *import_pack(struct market_import *im, size_t *len_out);

/* The price of a text; NaN and drop counted (false) when it is none. "$" in front is fine. */
bool import_parse_price(struct import_at *at, const char *text, double *out);
/* The time of a text; false and counted when it is none. Zones other than UTC are noted. */
bool import_parse_time(struct import_at *at, const char *text, double *out);
/* Midnight of a date as Americans write it: "2/24/2020". */
bool import_us_date(const char *text, double *out_s);

/* "us-east-1" of "us-east-1d" and of "use1-az4", "us-west1" of "us-west1-b"; false when the text
 * names no zone of that cloud. */
bool import_region_of_zone(const char *cloud, const char *zone, char out[static 64]);

/* The accelerator of a machine, "" and 0 when nobody knows. Borrowed from tables. */
void import_gpu(const struct catalog *catalog,
                const char *cloud,
                const char *instance_type,
                const char **gpu_out,
                double *gpus_out);
/* The type with these accelerators that a cloud's histories call by name: "p3.16xlarge"; else
 * "8xV100", written into out. */
const char *import_type_of_gpu(const char *cloud,
                               const char *gpu,
                               double gpus,
                               char out[static 64]);

int import_read_aws(struct import_at *at, struct err *e);
int import_read_csv(struct import_at *at, struct err *e);
int import_read_azure(struct import_at *at, struct err *e);
int import_read_daily(struct import_at *at, struct err *e);
int import_read_gcp(struct import_at *at, struct err *e);
int import_read_keepalive(struct import_at *at, struct err *e);

#endif
