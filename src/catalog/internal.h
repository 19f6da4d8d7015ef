/* internal: what a catalog is made of, for the files of this room. */
#ifndef CATALOG_INTERNAL_H
#define CATALOG_INTERNAL_H

#include "catalog/catalog.h"
#include "catalog/snapshot.h"

struct catalog {
    const char *strings;
    size_t strings_size;
    const struct catalog_place *places;
    size_t n_places;
    const struct catalog_kind *kinds;
    size_t n_kinds;
    const struct catalog_offer *offers;
    size_t n_offers;
    const struct catalog_move *moves;
    size_t n_moves; /* and of rules */
    const struct catalog_tier *tiers;
    size_t n_tiers;
    const struct catalog_rule *rules;
    const uint32_t *matrix;
    const double *place_storage;
    const struct snapshot_storage *storage;
    size_t n_storage;
    const struct snapshot_source *sources;
    size_t n_sources;
    const struct snapshot_meta *meta;

    const void *bytes; /* the snapshot itself */
    size_t n_bytes;
    void *owned;  /* freed with the catalog: bytes, when they were built or copied */
    void *mapped; /* unmapped with the catalog */
    size_t n_mapped;
    char *origin;
};

/* Bytes of a snapshot from malloc; the catalog frees them, also on failure. */
struct catalog *catalog_open_owned(const char *name, void *bytes, size_t len, struct err *e);
/* Maps the file. ERR_NOTFOUND when there is none. */
struct catalog *catalog_open_file(const char *path, struct err *e);

struct catalog *catalog_open_builtin(struct err *e);

/* Of the rows that fit a location best, class `standard`, else the cheapest; NULL = none. strings
 * is the string table of the rows. */
const struct snapshot_storage *storage_best(const char *strings,
                                            const struct snapshot_storage *rows,
                                            size_t n,
                                            const char *cloud,
                                            const char *region);

#endif
