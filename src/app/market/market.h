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

/* ---- market.replay and market.sweep ---- */

extern const struct operation market_replay_operation; /* answers with struct app_market_replayed */
extern const struct operation market_sweep_operation;  /* answers with struct app_market_swept */

/* Clouds of a replay in mode market. */
struct app_market_clouds {
    struct field_list used, left_out;
    struct field_list unmeasured; /* used, without a life on record */
};
/* clang-format off */
#define MARKET_CLOUDS_FIELDS(type, at, absent)                                                     \
    {"clouds", FIELD(LIST, type, at used), .is_absent = absent, .help = "Clouds used."},           \
    {"left_out_clouds", FIELD(LIST, type, at left_out), .is_absent = absent,                       \
     .help = "Clouds whose histories cover too few of the starts."},                               \
    {"clouds_without_measured_preemptions", FIELD(LIST, type, at unmeasured),                      \
     .is_absent = absent, .help = "Clouds without a recorded life of an instance."}
/* clang-format on */

/* A strategy, or an optimum in hindsight. */
struct app_market_row {
    const char *name;
    double mean_cost_usd, reduction, mean_hours, switches_mean, preemptions_mean;
    uint64_t switches_max;
    json_t *costs_usd; /* of each covered start */
    uint64_t late;
    bool has_deadline; /* late counts */
};
struct app_market_offline {
    struct app_market_row row;
    double bound_usd, gap;
    uint64_t proved_starts;
};
struct app_market_left_out {
    const char *day, *why;
    size_t start; /* its number among all starts; not in JSON */
};
struct app_market_trace_point {
    double hours, dynamic_usd, offline_usd;
    double at_s; /* for charts */
};
struct app_market_regret {
    const char *day;
    double usd;  /* NaN = not covered */
    double at_s; /* for charts */
};
/* Costs over time of the start with the most regret. */
struct app_market_trace {
    const char *day;
    struct field_records points;  /* struct app_market_trace_point, at even distances */
    struct field_records regrets; /* struct app_market_regret, of each start */
};
struct app_market_replayed {
    const char *mode, *model, *work, *region;
    bool is_live;               /* mode market */
    const char *cloud, *policy; /* in mode market */
    double work_v100_days;
    uint64_t starts, covered_starts;
    struct field_list start_days;
    struct field_records left_out; /* struct app_market_left_out */
    struct app_market_clouds clouds;
    struct field_records strategies; /* struct app_market_row */
    const void *offline;             /* struct app_market_offline; NULL in mode paper */
    const void *best_static;         /* struct app_market_row; NULL in mode paper */
    double regret, regret_usd;       /* of dynamic; NaN in mode paper */
    const void *trace;               /* struct app_market_trace; NULL = not requested */
};

#define APP_MARKET_DURATIONS_MAX 16
struct app_market_sweep_row {
    const char *model;
    json_t *reduction, *cost_usd; /* by strategy */
    json_t *gains;                /* one per duration */
};
struct app_market_cell {
    const char *model;
    double days;
    uint64_t covered_starts, proved_starts;
    json_t *cost_usd, *hours, *switches, *preemptions; /* by strategy and optimum */
    double bound_usd, regret;
};
struct app_market_swept {
    const char *mode, *region;
    bool is_live;               /* mode market */
    const char *cloud, *policy; /* in mode market */
    uint64_t starts, covered_starts;
    /* In mode paper. */
    double days;               /* V100-days of figure 5 */
    json_t *durations;         /* V100-days of figure 6 */
    struct field_records rows; /* struct app_market_sweep_row, of both figures */
    const void *figure;        /* the struct itself: both figures are parts of it */
    /* In mode market. */
    struct field_records cells; /* struct app_market_cell */
    struct app_market_clouds clouds;
    double gap; /* for printers */
};

#endif
