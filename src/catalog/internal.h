/* internal: what a catalog is made of, for the files of this room. */
#ifndef CATALOG_INTERNAL_H
#define CATALOG_INTERNAL_H

#include "catalog/catalog.h"
#include "catalog/snapshot.h"

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

/* match.c: which row of transfers.csv prices a move. The most specific one, by the order of
 * docs/catalog.md: source region, destination cloud, destination region, source cloud. */

/* The four columns as string offsets. Every rule has prices of its own: rule i is move i. */
struct catalog_rule {
    uint32_t src_cloud, src_region, dst_cloud, dst_region;
};

#define CATALOG_NO_TEXT UINT32_MAX

/* One end of a move. */
struct match_end {
    uint32_t cloud, region;  /* string offsets; CATALOG_NO_TEXT when no row spells it */
    const char *region_text; /* NULL = unknown: only `*` matches it */
    bool is_local;           /* only rows that name `local` start there */
};

/* A rule with its patterns taken apart once, for many matches. */
struct match_region {
    const char *text;
    uint32_t offset;
    uint32_t prefix_len; /* of a pattern; its text ends in `*` */
    enum { MATCH_EXACT, MATCH_PREFIX, MATCH_SAME } how;
};
struct match_rule {
    uint32_t src_cloud, dst_cloud;
    bool any_src_cloud;
    enum { MATCH_CLOUD_ANY, MATCH_CLOUD_INTERNET, MATCH_CLOUD_SAME, MATCH_CLOUD_EXACT } dst_how;
    struct match_region src_region, dst_region;
};

/* strings is the string table the offsets belong to. */
void match_prepare(const char *strings, const struct catalog_rule *rule, struct match_rule *out);

/* What the rule says about the source alone; 0 = it does not apply. */
uint64_t match_source(const struct match_rule *rule, const struct match_end *src);
/* A greater number is a more specific rule; 0 = it does not apply. Two rules that differ never
 * draw. src_match is what match_source answered. */
uint64_t match_rank(const struct match_rule *rule,
                    uint64_t src_match,
                    const struct match_end *src,
                    const struct match_end *dst);

/* How well a region pattern (`*`, a prefix, a name) fits: 0 = not at all, more is better. */
uint32_t match_region_rank(const char *pattern, const char *region);

#endif
