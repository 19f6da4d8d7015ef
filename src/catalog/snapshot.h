/* snapshot: the one block of bytes a catalog is in use. Position-independent, in the byte order of
 * the machine, read in place; another version or byte order is refused, not converted.
 *
 * header | strings | locations | kinds | offers | moves | tiers | rules | matrix | ...
 * Every section starts at a multiple of 8. Strings are NUL-terminated, sorted and unique, "" first:
 * offsets compare as the texts do. */
#ifndef CATALOG_SNAPSHOT_H
#define CATALOG_SNAPSHOT_H

#include "base/err.h"
#include "catalog/catalog.h"

#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_VERSION 1

enum snapshot_section_id {
    SNAPSHOT_STRINGS,
    SNAPSHOT_PLACES,
    SNAPSHOT_KINDS,
    SNAPSHOT_OFFERS,
    SNAPSHOT_MOVES,
    SNAPSHOT_TIERS,
    SNAPSHOT_RULES,         /* rule i is priced by move i */
    SNAPSHOT_MATRIX,        /* uint32_t move of [source location][destination location] */
    SNAPSHOT_PLACE_STORAGE, /* double per location: USD per GB-month, NaN = no row */
    SNAPSHOT_STORAGE,
    SNAPSHOT_SOURCES,
    SNAPSHOT_META,
    SNAPSHOT_N_SECTIONS
};

#define SNAPSHOT_NO_MOVE UINT32_MAX
/* 2,048 locations make a matrix of 16 MB; all clouds together have some 500 regions today. */
#define SNAPSHOT_PLACES_MAX 2048

struct snapshot_storage {
    uint32_t cloud, region, class, reserved;
    double usd_per_gb_month;
    double usd_per_1000_read, usd_per_1000_write, usd_per_1000_list; /* NaN = unknown */
};
struct snapshot_source {
    uint32_t cloud, source, date;
};
struct snapshot_meta {
    uint32_t origin, date;
};

struct snapshot_section {
    uint64_t offset;
    uint32_t count;
    uint32_t item_size;
};

struct snapshot_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t size;
    uint64_t checksum; /* XXH3 of everything after this field */
    struct snapshot_section sections[SNAPSHOT_N_SECTIONS];
};

/* A header for sections of these counts; ERR_USAGE when they do not fit 4 GiB. */
int snapshot_lay_out(const size_t counts[SNAPSHOT_N_SECTIONS],
                     struct snapshot_header *out,
                     struct err *e);
/* Writes the checksum; bytes begin with the header. */
void snapshot_seal(void *bytes);

/* Checks everything a reader relies on and points the catalog into bytes (8-byte aligned). Damage
 * is ERR_IO; another version or byte order ERR_RETRY, since building it again helps. */
int snapshot_open(
    const char *name, const void *bytes, size_t len, struct catalog *into, struct err *e);

#endif
