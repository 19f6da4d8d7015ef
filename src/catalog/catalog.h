/* catalog: every offer of every cloud with its prices, and the prices of egress and storage.
 *
 * A catalog is one block of bytes (mapped file, built-in, or freshly built) that is checked once
 * when opened and then only read: see docs/ARCHITECTURE.md for the layout. Offers are grouped by
 * kind (what a machine is), so that filters and estimates look at thousands of kinds, not at
 * hundreds of thousands of offers. */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct catalog_place {
    uint32_t cloud, region; /* string offsets: catalog_text() */
};

/* What a machine is, wherever it stands. Sorted by (cloud, instance_type) as bytes. */
struct catalog_kind {
    uint32_t cloud, instance_type, accelerator; /* string offsets; accelerator "" = none */
    uint32_t first_offer, n_offers;
    uint32_t reserved;
    double vcpus, memory_gib, accelerator_count, network_gbps; /* NaN = unknown */
};

/* One kind at one zone of one location. Within a kind sorted by (region, zone) as bytes. */
struct catalog_offer {
    uint32_t place;
    uint32_t zone;    /* string offset; "" = not said */
    double price_usd; /* per hour; NaN = not for sale in that market */
    double spot_usd;
    double preemptions; /* per hour; NaN = unknown */
};

/* The prices of one kind of move, cheapest tier first. */
struct catalog_tier {
    double from_gb, usd_per_gb;
};
struct catalog_move {
    double gbit_per_s;            /* NaN = unknown */
    double rtt_ms;                /* 0 when unknown */
    uint32_t first_tier, n_tiers; /* tiers + first_tier */
};

struct catalog_rule;
struct snapshot_meta;
struct snapshot_source;
struct snapshot_storage;

/* Read only. Rooms above read places, kinds, offers, moves, tiers, n_storage and origin. */
struct catalog {
    const char *strings;
    size_t strings_size;
    /* Sorted by (cloud, region) as bytes; location ids are indices. `local` is not among them
     * unless an offer stands there. */
    const struct catalog_place *places;
    size_t n_places;
    const struct catalog_kind *kinds;
    size_t n_kinds;
    const struct catalog_offer *offers;
    size_t n_offers;
    const struct catalog_move *moves; /* catalog_move() points into this array */
    size_t n_moves;                   /* and of rules */
    const struct catalog_tier *tiers; /* rows of transfers.csv */
    size_t n_tiers;
    const struct catalog_rule *rules;
    const uint32_t *matrix;
    const double *place_storage;
    const struct snapshot_storage *storage; /* rows of storage.csv */
    size_t n_storage;
    const struct snapshot_source *sources;
    size_t n_sources;
    const struct snapshot_meta *meta;

    const void *bytes; /* the snapshot itself */
    size_t n_bytes;
    void *owned;  /* freed with the catalog: bytes, when they were built or copied */
    void *mapped; /* unmapped with the catalog */
    size_t n_mapped;
    char *origin; /* for people: "built-in, 2026-08-22" or a path */
};

const char *catalog_text(const struct catalog *c, uint32_t offset);
static inline bool catalog_priced(double usd)
{
    return usd > 0; /* false for NaN */
}

/* SIZE_MAX when the catalog has no offer there. */
size_t catalog_find_place(const struct catalog *c, const char *cloud, const char *region);

/* The move from one location to another, or NULL when no row allows it. Ids of offers' locations;
 * the answer comes from a table made at import, so this is cheap. src == dst is the caller's case
 * (moves within one location are free and use the local rate). */
const struct catalog_move *catalog_move(const struct catalog *c, size_t src, size_t dst);
/* The same for a source that is no offer's location: a region without offers, "local", or region
 * NULL = the cloud's rows with src_region `*` only. Matches rows one by one. */
const struct catalog_move *catalog_move_from(const struct catalog *c,
                                             const char *src_cloud,
                                             const char *src_region,
                                             size_t dst);

/* USD per GB-month of class `standard`, else of the cheapest class; NaN when there is no row. */
double catalog_storage_usd(const struct catalog *c, size_t place);

/* All that keeping data costs at a location, be there offers or not; by the same choice of row.
 * False when there is none. */
struct catalog_storage_tariff {
    double usd_per_gb_month;
    double usd_per_1000_read, usd_per_1000_write, usd_per_1000_list; /* NaN = unknown */
};
bool catalog_storage_tariff(const struct catalog *c,
                            const char *cloud,
                            const char *region,
                            struct catalog_storage_tariff *out);

/* Spelling of accelerator names: case and known variants ("RTX6000-Ada") folded away.
 * True when the offer's accelerator is what was asked for. Equal names have equal string offsets,
 * so ask once per accelerator, not per offer. */
bool catalog_same_accelerator(const char *asked, const char *listed);
/* The name this catalog uses; the argument itself when we know no better one. Borrowed. */
const char *catalog_accelerator(const char *listed);

/* The catalog in use: the imported one of home if there is one, else the built-in one. */
struct catalog *catalog_open(const char *home, struct err *e);
/* A directory of our CSVs (offers.csv; transfers.csv and storage.csv optional, plain or .gz),
 * built in memory. Missing transfers.csv or storage.csv: no rows. */
struct catalog *catalog_open_dir(const char *dir, struct err *e);
/* Bytes of a snapshot, checked as a file would be; borrowed, must outlive the catalog. */
struct catalog *catalog_open_bytes(const char *name, const void *bytes, size_t len, struct err *e);
void catalog_free(struct catalog *c);
AUTO_DEFINE(catalog)

/* The date its facts were collected or imported, "2026-08-22"; "" when unknown. */
const char *catalog_date(const struct catalog *c);
/* The same for the offers of one cloud: "built-in", "imported" or a directory. False: not known. */
bool catalog_source(const struct catalog *c,
                    const char *cloud,
                    const char **source_out,
                    const char **date_out);

#endif
