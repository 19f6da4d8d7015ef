/* tables: the operation market.tables, which `tradewind market tables` calls: three tables of the
 * published evaluation. */
#include "market/tables.h"

#include "app/market/internal.h"
#include "base/buf.h"
#include "base/csv.h"

#include <math.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)16 << 20)
#define MODELS_MAX 64
/* As published. */
#define COMPARED_CLOUD "gcp"
#define COMPUTE_CLOUD "aws"
#define COMPUTE_REGION "us-east-1"

struct tables_request {
    struct field_list models;
    const char *throughputs, *on_demand, *sizes, *egress;
};

/* clang-format off */
#define TABLES(TYPE, member) FIELD(TYPE, struct tables_request, member)
static const struct field request_fields[] = {
    {"models", TABLES(LIST, models), .option = "--model", .value = "NAME",
     .most = MODELS_MAX, .help = "A model of the first table (default: the published five)."},
    {"throughputs", TABLES(TEXT, throughputs), .value = "FILE", .is_local = true,
     .help = "Iterations per second (CSV: model,batch_size,GPU...), before the built-in ones."},
    {"on_demand", TABLES(TEXT, on_demand), .value = "FILE", .is_local = true,
     .help = "CSV: cloud,region,instance_type,gpu,gpus,usd_per_hour, before the built-in ones."},
    {"sizes", TABLES(TEXT, sizes), .value = "FILE", .is_local = true,
     .help = "CSV: model,dataset,dataset_gb,checkpoint_gb, before the built-in ones."},
    {"egress", TABLES(TEXT, egress), .value = "FILE", .is_local = true,
     .help = "CSV: cloud,destination,from_gb,usd_per_gb, before the built-in ones."},
};

#define SPEEDUP(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_speedup, key), __VA_ARGS__}
static const struct field speedup_fields[] = {
    SPEEDUP(TEXT, model, .help = "Model."),
    SPEEDUP(JSON, throughput, .help = "By GPU: throughput as a multiple of the slowest GPU's."),
    SPEEDUP(JSON, throughput_per_dollar, .help = "By GPU: the same per dollar on demand."),
};
static const struct record speedup_record =
    RECORD("market_speedup", struct app_market_speedup, speedup_fields);

#define SPEEDUPS(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_speedups, key), __VA_ARGS__}
static const struct field speedups_fields[] = {
    SPEEDUPS(TEXT, cloud, .help = "Cloud."),
    SPEEDUPS(TEXT, compared_with, .help = "The GPU that the others are compared with."),
    SPEEDUPS(JSON, on_demand_usd_per_hour, .help = "By GPU: the on-demand price."),
    SPEEDUPS(RECORDS, models, .record = &speedup_record, .help = "Models."),
};
static const struct record speedups_record =
    RECORD("market_speedups", struct app_market_speedups, speedups_fields);

static void compute_cell(const void *record, struct buf *out)
{
    double usd = ((const struct app_market_move *)record)->compute_usd;

    if (isfinite(usd))
        buf_printf(out, "$%.2f", usd);
    else
        buf_puts(out, "-");
}

#define MOVE(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_move, key), __VA_ARGS__}
static const struct field move_fields[] = {
    MOVE(TEXT, model, .heading = "model", .help = "Model."),
    MOVE(TEXT, dataset, .help = "Data set."),
    MOVE(REAL, dataset_gb, .unit = "GB", .heading = "dataset GB", .help = "Size of the data set."),
    MOVE(REAL, checkpoint_gb, .unit = "GB", .heading = "checkpoint GB",
         .help = "Size of a checkpoint."),
    MOVE(REAL, compute_usd, .unit = "USD", .heading = "compute", .cell = compute_cell,
         .help = "Cost of compute_hours on the GPU at its lowest spot price."),
    MOVE(REAL, dataset_usd, .unit = "USD", .help = "Egress cost of the data set."),
    MOVE(REAL, checkpoint_usd, .unit = "USD", .help = "Egress cost of a checkpoint."),
    MOVE(REAL, dataset_share, .heading = "dataset", .digits = 2, .suffix = "%", .scale = 100,
         .none = "-", .help = "dataset_usd divided by compute_usd."),
    MOVE(REAL, checkpoint_share, .heading = "checkpoint", .digits = 3, .suffix = "%", .scale = 100,
         .none = "-", .help = "checkpoint_usd divided by compute_usd."),
};
static const struct record move_record =
    RECORD("market_move", struct app_market_move, move_fields);

#define MOVES(TYPE, key, ...) {#key, FIELD(TYPE, struct app_market_moves, key), __VA_ARGS__}
static const struct field moves_fields[] = {
    MOVES(TEXT, cloud, .help = "Cloud."),
    MOVES(TEXT, region, .help = "Region."),
    MOVES(TEXT, gpu, .help = "GPU."),
    MOVES(INT, compute_hours, .unit = "h",
          .help = "Hours of computing that a transfer is compared with."),
    MOVES(RECORDS, models, .record = &move_record, .help = "Models."),
};
static const struct record moves_record =
    RECORD("market_moves", struct app_market_moves, moves_fields);

static const struct field best_fields[] = {
    {"cloud", FIELD(TEXT, struct app_market_best, cloud), .help = "Cloud."},
    {"region", FIELD(TEXT, struct app_market_best, region), .help = "Region."},
    {"reduction", FIELD(JSON, struct app_market_best, reduction),
     .help = "By GPU: on-demand price divided by the lowest spot price."},
};
static const struct record best_record =
    RECORD("market_best", struct app_market_best, best_fields);

static const struct field tables_fields[] = {
    {"table1", FIELD(RECORD, struct app_market_tables, speedups), .record = &speedups_record,
     .help = "Throughput, and throughput per dollar."},
    {"table2", FIELD(RECORD, struct app_market_tables, moves), .record = &moves_record,
     .help = "Egress costs beside compute costs."},
    {"table3", FIELD(RECORDS, struct app_market_tables, best), .record = &best_record,
     .help = "Best case of spot prices, by region."},
};
/* clang-format on */

struct market_tables *app_market_tables(const char *on_demand,
                                        const char *sizes,
                                        const char *egress,
                                        struct err *e)
{
    const char *paths[] = {on_demand, sizes, egress};
    struct csv *files[3] = {NULL, NULL, NULL};
    struct market_tables *t = NULL;
    bool good = true;

    for (size_t i = 0; good && i < 3; i++) {
        files[i] = paths[i] ? csv_open(paths[i], FILE_MAX_BYTES, e) : NULL;
        good = !paths[i] || files[i];
    }
    if (good)
        t = market_tables_new(&(struct market_tables_from){files[0], files[1], files[2]}, e);
    for (size_t i = 0; i < 3; i++)
        csv_free(files[i]);
    return t;
}

struct tables {
    struct answer *out;
    struct market *market;
    struct market_tables *figures;
    struct throughputs *speeds;
    struct market_speedups gpus;
    json_t *maps; /* an array that owns the maps of the answer */
};

static void tables_clear(struct tables *t)
{
    throughputs_free(t->speeds);
    market_tables_free(t->figures);
    market_free(t->market);
    json_decref(t->maps);
}

/* {GPU: value, ...} from the GPU `first` on. */
static json_t *by_gpu(struct tables *t, const double *values, size_t first)
{
    json_t *map = json_object();

    for (size_t k = first; k < t->gpus.n; k++)
        json_object_set_new(map, t->gpus.gpus[k], json_number(values[k]));
    json_array_append_new(t->maps, map);
    return map;
}

/* ---- table 1 ---- */

static int put_speedups(struct tables *t,
                        const struct field_list *asked,
                        struct app_market_speedups *out,
                        struct err *e)
{
    static const char *const published[] = {"Transformer", "A3C", "CycleGAN", "ResNet-18",
                                            "ResNet-50"};
    static const struct field_list usual = {published, sizeof published / sizeof *published};
    const struct field_list *list = asked->n ? asked : &usual;

    *out =
        (struct app_market_speedups){.cloud = COMPARED_CLOUD,
                                     .compared_with = t->gpus.gpus[0],
                                     .on_demand_usd_per_hour = by_gpu(t, t->gpus.usd_per_hour, 0)};
    for (size_t i = 0; i < list->n; i++) {
        const char *model = app_market_model(t->speeds, list->items[i], t->out->arena, e);
        double faster[MARKET_GPUS_MAX], per_dollar[MARKET_GPUS_MAX];
        if (!model)
            return -1;
        market_speedups_row(&t->gpus, t->speeds, model, faster, per_dollar);
        struct app_market_speedup row = {model, by_gpu(t, faster, 1), by_gpu(t, per_dollar, 1)};
        if (answer_push(t->out, &out->models, &row, sizeof row, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- table 2 ---- */

static int put_moves(const struct tables *t, struct app_market_moves *out, struct err *e)
{
    size_t n = t->figures->n_sizes;
    const struct market_size *sizes = t->figures->sizes;
    struct app_market_move *models = answer_alloc(t->out, n, sizeof *models, e);

    if (!models)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct market_move m = market_move_of(t->figures, t->market, COMPUTE_CLOUD, COMPUTE_REGION,
                                              MARKET_REFERENCE_GPU, &sizes[i]);
        models[i] = (struct app_market_move){
            .model = sizes[i].model,
            .dataset = sizes[i].dataset,
            .dataset_gb = sizes[i].dataset_gb,
            .checkpoint_gb = sizes[i].checkpoint_gb,
            .compute_usd = m.compute_usd,
            .dataset_usd = m.dataset_usd,
            .checkpoint_usd = m.checkpoint_usd,
            .dataset_share = m.dataset_usd / m.compute_usd,
            .checkpoint_share = m.checkpoint_usd / m.compute_usd,
        };
    }
    *out = (struct app_market_moves){.cloud = COMPUTE_CLOUD,
                                     .region = COMPUTE_REGION,
                                     .gpu = MARKET_REFERENCE_GPU,
                                     .compute_hours = MARKET_COMPUTE_HOURS,
                                     .models = {models, n}};
    return 0;
}

/* ---- table 3 ---- */

/* Whether the i-th price is the first of its region. */
static bool first_of_region(const struct market_list_price *prices, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(prices[k].cloud, prices[i].cloud) == 0 &&
            strcmp(prices[k].region, prices[i].region) == 0)
            return false;
    return true;
}

/* On-demand price / lowest spot price of the region's instance with one such GPU; NaN when there is
 * none. */
static double best_case(const struct tables *t,
                        const struct market_list_price *region,
                        const char *gpu)
{
    const struct market_list_price *prices = t->figures->prices;

    for (size_t i = 0; i < t->figures->n_prices; i++)
        if (strcmp(prices[i].cloud, region->cloud) == 0 &&
            strcmp(prices[i].region, region->region) == 0 && prices[i].gpus <= 1 &&
            strcmp(prices[i].gpu, gpu) == 0)
            return prices[i].usd_per_hour /
                   market_lowest_usd(t->market, region->cloud, region->region, gpu);
    return (double)NAN;
}

static int put_best(struct tables *t, struct field_records *out, struct err *e)
{
    const struct market_list_price *prices = t->figures->prices;

    for (size_t i = 0; i < t->figures->n_prices; i++) {
        double best[MARKET_GPUS_MAX];
        if (!first_of_region(prices, i))
            continue;
        for (size_t k = 0; k < t->gpus.n; k++)
            best[k] = best_case(t, &prices[i], t->gpus.gpus[k]);
        struct app_market_best row = {prices[i].cloud, prices[i].region, by_gpu(t, best, 0)};
        if (answer_push(t->out, out, &row, sizeof row, e) < 0)
            return -1;
    }
    return 0;
}

static int run_tables(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct tables_request *q = request;
    AUTO_CLEAR(tables) struct tables t = {.out = out, .maps = json_array()};
    struct app_market_speedups speedups;
    struct app_market_moves moves;
    struct app_market_tables tables = {.speedups = &speedups, .moves = &moves};

    t.figures = app_market_tables(q->on_demand, q->sizes, q->egress, e);
    t.speeds = t.figures ? throughputs_load(q->throughputs, e) : NULL;
    t.market = t.speeds ? app_market_open(app, e) : NULL;
    if (!t.market || market_speedups_of(t.figures, COMPARED_CLOUD, &t.gpus, e) < 0 ||
        put_speedups(&t, &q->models, &speedups, e) < 0 || put_moves(&t, &moves, e) < 0 ||
        put_best(&t, &tables.best, e) < 0)
        return -1;
    return answer_head(out, &tables, e);
}

const struct operation market_tables_operation = {
    .name = "market.tables",
    .summary = "Compute throughput per dollar, egress costs and spot savings.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct tables_request, request_fields),
    .answer = RECORD_AT("market_tables", struct app_market_tables, tables_fields),
    .run = run_tables,
};
