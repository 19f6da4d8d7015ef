/* market: operations on price histories of spot instances, and the records they answer with. */
#ifndef APP_MARKET_MARKET_H
#define APP_MARKET_MARKET_H

#include "app/core/operation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct market_offer;
struct throughputs;

/* clang-format off */
#define MARKET_OPERATIONS(X)                                                                       \
    X(market_import) X(market_list) X(market_stats) X(market_tables) X(market_replay)              \
    X(market_sweep)
/* clang-format on */
MARKET_OPERATIONS(OPERATION_DECLARE)

/* ---- for other rooms of src/app ---- */

/* The imported price histories of the app's home: one checksummed file, mapped into memory. The
 * caller frees them. ERR_NOTFOUND when nothing was imported. */
struct market *app_market_open(struct app *app, struct err *e);
/* Whether an offer is at "aws:us-east-1", "aws" or, NULL, anywhere. */
bool app_market_is_at(const struct market_offer *o, const char *location);
/* "2020-03-23T16:10:00Z" */
const char *app_market_time(double at_s, char out[static 32]);
/* "2020-03-01" or "2020-03-01T06:00:00Z" of the request's field start: seconds since 1970. */
int app_market_start(const char *text, const struct answer *out, double *start_s, struct err *e);
/* "Transformer (batch size 256)" for what the user wrote; in the arena. ERR_NOTFOUND with the
 * nearest name when no table has it. */
const char *app_market_model(const struct throughputs *speeds,
                             const char *asked,
                             struct arena *arena,
                             struct err *e);

/* ---- market.import: struct app_market_imported ---- */

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
    struct app_market_rows rows;      /* of all files */
    struct field_records files;       /* struct app_market_file */
    struct field_list not_recognised; /* files of directories that hold no history */
    bool changed;
    uint64_t offers, records; /* of all histories, in use now */
};

/* ---- market.stats: struct app_market_stats ---- */

/* Numbers that are unknown are NaN. */
struct app_market_lives {
    const char *cloud, *zone, *instance_type; /* of the offer, for tables */
    uint64_t count, preempted;
    double watched_hours, longest_hours, preemptions_per_hour;
};
struct app_market_price {
    double at_s; /* since 1970 */
    double usd_per_hour;
};
struct app_market_offer {
    const char *cloud, *region, *zone, *instance_type;
    const char *gpu; /* NULL = unknown */
    double gpus;
    uint64_t records, changes;
    const char *begin, *end; /* times; NULL without records */
    double min_usd, mean_usd, max_usd, min_usd_per_gpu, mean_usd_per_gpu, max_usd_per_gpu;
    double on_demand_usd, reduction, cap_share, sold_share, changes_per_day;
    const void *lives;             /* struct app_market_lives; NULL = none was watched */
    struct field_records prices;   /* struct app_market_price, where requested */
    double prices_end_s;           /* up to which the last of them is known */
    char times[2][32];             /* what begin and end point to */
    struct app_market_lives lived; /* what lives points to */
};
struct app_market_cheapest {
    double from_s, to_s; /* since 1970 */
    double usd_per_gpu_hour;
    const char *cloud, *region, *zone, *instance_type; /* NULL = none was for sale */
};
struct app_market_gpu {
    const char *gpu;
    uint64_t offers;
    double min_usd_per_gpu, mean_usd_per_gpu, max_usd_per_gpu, reduction, cap_share;
    double changes_per_day;
    struct field_records cheapest; /* struct app_market_cheapest, by time */
    const void *usual; /* struct app_market_cheapest: of the offer cheapest for longest; or NULL */
};
struct app_market_stats {
    struct field_records gpus;   /* struct app_market_gpu */
    struct field_records offers; /* struct app_market_offer */
};

/* ---- market.tables: struct app_market_tables ---- */

struct app_market_speedup {
    const char *model;
    /* {GPU: multiple}, without the GPU compared with */
    json_t *throughput, *throughput_per_dollar;
};
struct app_market_speedups {
    const char *cloud, *compared_with;
    json_t *on_demand_usd_per_hour; /* {GPU: price}, compared_with first */
    struct field_records models;    /* struct app_market_speedup */
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

/* ---- market.replay: struct app_market_replayed; market.sweep: struct app_market_swept ---- */

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
    uint64_t late;     /* UINT64_MAX = there is no deadline */
};
struct app_market_offline {
    struct app_market_row row;
    double bound_usd, gap;
    uint64_t proved_starts;
};
struct app_market_left_out {
    const char *day, *why;
    uint64_t start; /* its number among all starts */
};
struct app_market_trace_point {
    double hours, dynamic_usd, offline_usd;
};
struct app_market_regret {
    const char *day;
    double start_s;    /* since 1970 */
    double regret_usd; /* NaN = not covered */
};
/* Costs over time of the start with the most regret. */
struct app_market_trace {
    const char *start_day;
    double start_s;               /* since 1970 */
    struct field_records points;  /* struct app_market_trace_point, at even distances */
    struct field_records regrets; /* struct app_market_regret, of each start */
};
struct app_market_replayed {
    const char *mode, *model, *work, *region;
    const char *cloud, *policy; /* NULL in mode paper */
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
    double v100_days;
    uint64_t covered_starts, proved_starts;
    json_t *mean_cost_usd, *mean_hours, *switches_mean, *preemptions_mean; /* by row */
    double offline_usd, bound_usd, regret;
};
struct app_market_swept {
    const char *mode, *region;
    const char *cloud, *policy; /* NULL in mode paper */
    uint64_t starts, covered_starts;
    /* In mode paper. */
    double days;               /* V100-days of figure 5 */
    json_t *durations;         /* V100-days of figure 6 */
    struct field_records rows; /* struct app_market_sweep_row, of both figures */
    const void *figure; /* the struct itself: both figures are parts of it; NULL in mode market */
    /* In mode market. */
    struct field_records cells; /* struct app_market_cell */
    struct app_market_clouds clouds;
    double gap; /* within which optima are proved, as a share */
};

#endif
