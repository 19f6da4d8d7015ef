/* store: the block of bytes that holds all histories. Position-independent, in the byte order of
 * the machine, read in place, with a checksum; another version or byte order is refused. The caller
 * maps the file; this room does no I/O.
 *
 * header | strings | offers | points | on-demand prices | spells | sweeps */
#ifndef MARKET_STORE_H
#define MARKET_STORE_H

#include "market/series.h"

#include <stdint.h>

enum market_section_id {
    MARKET_STRINGS,
    MARKET_OFFERS,
    MARKET_POINTS,
    MARKET_ON_DEMAND,
    MARKET_SPELLS,
    MARKET_SWEEPS,
    MARKET_N_SECTIONS
};

/* As it lies in the file: texts are offsets into the strings, series begin where the one before
 * ends. */
struct market_stored_offer {
    uint32_t cloud, region, zone, instance_type, gpu, feed;
    uint32_t n_points, n_on_demand, n_spells, reserved;
    double gpus, begin_s, end_s;
};

/* When launch probes asked for everything a cloud has: an offer without a price then could not be
 * started. */
struct market_sweep {
    double at_s;
    uint32_t cloud, reserved;
};

struct market_section {
    uint64_t offset, count;
};

struct market_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t size;
    uint64_t checksum; /* XXH3 of everything after this field */
    struct market_section sections[MARKET_N_SECTIONS];
};

/* The histories in these bytes (8-byte aligned), checked as a whole: damage is ERR_IO, another
 * version ERR_RETRY. They are released with the market, or, when release is NULL, must outlive it.
 * On failure they stay the caller's. */
struct market *market_open_bytes(const char *name,
                                 void *bytes,
                                 size_t len,
                                 void (*release)(void *bytes, size_t len),
                                 struct err *e);

/* What is to be packed, by section; all sorted as the file has them. */
struct market_pack {
    struct {
        const void *items;
        size_t count;
    } parts[MARKET_N_SECTIONS];
};
/* The bytes with their checksum, the caller's to free. */
void *market_store_pack(const struct market_pack *from, size_t *len_out);

/* By cloud, region, instance type, zone. */
int market_compare_offers(const struct market_offer *a, const struct market_offer *b);
/* Both withdrawn, or equal. */
bool market_same_price(double a, double b);

#endif
