/* market: operations on price histories of spot instances, and the records they answer with. */
#ifndef APP_MARKET_MARKET_H
#define APP_MARKET_MARKET_H

#include "app/core/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct market_offer;

extern const struct operation *const market_operations[]; /* ends with NULL */

extern const struct operation market_list_operation;

/* ---- market.import ---- */

extern const struct operation market_import_operation; /* answers with struct app_market_imported */

struct app_market_count {
    const char *reason;
    uint64_t count;
};
struct app_market_dropped {
    uint64_t line;
    const char *why;
};
struct app_market_rows {
    uint64_t rows_read, rows_kept, rows_dropped, lives;
    struct field_records dropped, notes; /* struct app_market_count, none of them 0 */
};
struct app_market_file {
    const char *path, *format;
    struct app_market_rows rows;
    const void *first; /* struct app_market_dropped; NULL = no row was dropped for its content */
    struct app_market_dropped dropped; /* what first points to */
};
struct app_market_imported {
    struct app_market_rows rows;    /* of all files */
    struct field_records files;     /* struct app_market_file */
    struct field_list unrecognised; /* files of directories that hold no history */
    bool changed;
    uint64_t offers, records; /* of all histories, in use now */
};

/* ---- market.stats ---- */

extern const struct operation market_stats_operation; /* answers with struct app_market_stats */

/* Numbers that are unknown are NaN. */
struct app_market_lives {
    uint64_t count, preempted;
    double watched_hours, longest_hours, preemptions_per_hour;
};
struct app_market_offer {
    const char *cloud, *region, *zone, *instance_type;
    const char *gpu; /* NULL = unknown */
    double gpus;
    uint64_t records, changes;
    const char *begin, *end; /* times; NULL without records */
    double min_usd, mean_usd, max_usd, min_usd_per_gpu, mean_usd_per_gpu, max_usd_per_gpu;
    double on_demand_usd, reduction, cap_share, sold_share, changes_per_day;
    const void *lives; /* struct app_market_lives; NULL = none was watched */
    /* For printers and charts, and not in JSON. */
    const struct market_offer *offer;
    /* What begin, end and lives point to. */
    char times[2][32];
    struct app_market_lives lived;
};
struct app_market_cheapest {
    const char *from, *to;
    double usd_per_gpu_hour;
    const char *cloud, *region, *zone, *instance_type; /* NULL = none was for sale */
    double from_s, to_s;                               /* for charts */
    char times[2][32];                                 /* what from and to point to */
};
struct app_market_gpu {
    const char *gpu;
    uint64_t offers;
    double min_usd_per_gpu, mean_usd_per_gpu, max_usd_per_gpu, reduction, cap_share;
    double changes_per_day;
    struct field_records cheapest;    /* struct app_market_cheapest, by time */
    const struct market_offer *usual; /* for printers: the cheapest for the longest time; or NULL */
};
struct app_market_stats {
    struct field_records gpus;   /* struct app_market_gpu */
    struct field_records offers; /* struct app_market_offer */
};

/* ---- market.tables ---- */

extern const struct operation market_tables_operation; /* answers with struct app_market_tables */

/* The built-in figures, and those of the files of a request; NULL = no file. */
struct market_tables *app_market_tables(const char *on_demand,
                                        const char *sizes,
                                        const char *egress,
                                        struct err *e);

struct app_market_speedup {
    const char *model;
    json_t *throughput, *per_dollar; /* {GPU: multiple}, without the GPU compared with */
};
struct app_market_speedups {
    const char *cloud, *compared_with;
    json_t *on_demand_usd;       /* {GPU: USD per hour}, compared_with first */
    struct field_records models; /* struct app_market_speedup */
};
struct app_market_move {
    const char *model, *dataset;
    double dataset_gb, checkpoint_gb, compute_usd, dataset_usd, checkpoint_usd;
    double dataset_share, checkpoint_share;
};
struct app_market_moves {
    const char *cloud, *region, *gpu;
    int64_t compute_hours;
    struct field_records models; /* struct app_market_move */
};
struct app_market_best {
    const char *cloud, *region;
    json_t *reduction; /* {GPU: multiple} */
};
struct app_market_tables {
    const void *speedups, *moves; /* struct app_market_speedups, struct app_market_moves */
    struct field_records best;    /* struct app_market_best */
};

#endif
