/* tables: the operation market.tables, which `tradewind market tables` calls: three tables of the
 * published evaluation. */
#include "market/tables.h"

#include "app/market/home.h"
#include "app/market/job.h"
#include "app/market/market.h"
#include "base/csv.h"
#include "base/mem.h"
#include "market/paper.h"

#include <math.h>
#include <stdlib.h>
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
static const struct field request_fields[] = {
    {"models", FIELD(LIST, struct tables_request, models), .option = "--model", .value = "NAME",
     .most = MODELS_MAX, .help = "A model of the first table (default: the published five)."},
    {"throughputs", FIELD(TEXT, struct tables_request, throughputs),
     .value = "FILE",
     .is_local = true,
     .help = "Iterations per second (CSV: model,batch_size,GPU...), before the built-in ones."},
    {"on_demand", FIELD(TEXT, struct tables_request, on_demand), .value = "FILE",
     .is_local = true,
     .help = "CSV: cloud,region,instance_type,gpu,gpus,usd_per_hour, before the built-in ones."},
    {"sizes", FIELD(TEXT, struct tables_request, sizes), .value = "FILE", .is_local = true,
     .help = "CSV: model,dataset,dataset_gb,checkpoint_gb, before the built-in ones."},
    {"egress", FIELD(TEXT, struct tables_request, egress), .value = "FILE", .is_local = true,
     .help = "CSV: cloud,destination,from_gb,usd_per_gb, before the built-in ones."},
};
static const struct record request_record =
    RECORD("market_tables", struct tables_request, request_fields);

static const struct field speedup_fields[] = {
    {"model", FIELD(TEXT, struct app_market_speedup, model), .help = "Model."},
    {"throughput", FIELD(JSON, struct app_market_speedup, throughput),
     .help = "By GPU: throughput as a multiple of the slowest GPU's."},
    {"throughput_per_dollar", FIELD(JSON, struct app_market_speedup, per_dollar),
     .help = "By GPU: the same per dollar on demand."},
};
static const struct record speedup_record =
    RECORD("market_speedup", struct app_market_speedup, speedup_fields);

static const struct field speedups_fields[] = {
    {"cloud", FIELD(TEXT, struct app_market_speedups, cloud), .help = "Cloud."},
    {"compared_with", FIELD(TEXT, struct app_market_speedups, compared_with),
     .help = "The GPU that the others are compared with."},
    {"on_demand_usd_per_hour", FIELD(JSON, struct app_market_speedups, on_demand_usd),
     .help = "By GPU: the on-demand price."},
    {"models", FIELD(RECORDS, struct app_market_speedups, models), .record = &speedup_record,
     .help = "Models."},
};
static const struct record speedups_record =
    RECORD("market_speedups", struct app_market_speedups, speedups_fields);

static const struct field move_fields[] = {
    {"model", FIELD(TEXT, struct app_market_move, model), .help = "Model."},
    {"dataset", FIELD(TEXT, struct app_market_move, dataset), .help = "Data set."},
    {"dataset_gb", FIELD(REAL, struct app_market_move, dataset_gb), .unit = "GB",
     .help = "Size of the data set."},
    {"checkpoint_gb", FIELD(REAL, struct app_market_move, checkpoint_gb), .unit = "GB",
     .help = "Size of a checkpoint."},
    {"compute_usd", FIELD(REAL, struct app_market_move, compute_usd), .unit = "USD",
     .help = "Cost of compute_hours on the GPU at its lowest spot price."},
    {"dataset_usd", FIELD(REAL, struct app_market_move, dataset_usd), .unit = "USD",
     .help = "Egress cost of the data set."},
    {"checkpoint_usd", FIELD(REAL, struct app_market_move, checkpoint_usd), .unit = "USD",
     .help = "Egress cost of a checkpoint."},
    {"dataset_share", FIELD(REAL, struct app_market_move, dataset_share),
     .help = "dataset_usd divided by compute_usd."},
    {"checkpoint_share", FIELD(REAL, struct app_market_move, checkpoint_share),
     .help = "checkpoint_usd divided by compute_usd."},
};
static const struct record move_record =
    RECORD("market_move", struct app_market_move, move_fields);

static const struct field moves_fields[] = {
    {"cloud", FIELD(TEXT, struct app_market_moves, cloud), .help = "Cloud."},
    {"region", FIELD(TEXT, struct app_market_moves, region), .help = "Region."},
    {"gpu", FIELD(TEXT, struct app_market_moves, gpu), .help = "GPU."},
    {"compute_hours", FIELD(INT, struct app_market_moves, compute_hours), .unit = "h",
     .help = "Hours of computing that a transfer is compared with."},
    {"models", FIELD(RECORDS, struct app_market_moves, models), .record = &move_record,
     .help = "Models."},
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
static const struct record tables_record =
    RECORD("market_tables", struct app_market_tables, tables_fields);

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
    struct market *market;
    struct market_tables *figures;
    struct throughputs *speeds;
    struct market_speedups gpus;
    char *models[MODELS_MAX];
    size_t n_models;
    json_t *maps; /* an array that owns the maps of the answer */
};

static void tables_clear(struct tables *t)
{
    for (size_t i = 0; i < t->n_models; i++)
        free(t->models[i]);
    throughputs_free(t->speeds);
    market_tables_free(t->figures);
    market_free(t->market);
    json_decref(t->maps);
}

static int add_models(struct tables *t, const struct field_list *asked, struct err *e)
{
    static const char *const published[] = {"Transformer", "A3C", "CycleGAN", "ResNet-18",
                                            "ResNet-50"};
    static const struct field_list usual = {published, sizeof published / sizeof *published};
    const struct field_list *list = asked->n ? asked : &usual;

    for (size_t i = 0; i < list->n; i++) {
        t->models[t->n_models] = app_market_model(t->speeds, list->items[i], e);
        if (!t->models[t->n_models++])
            return -1;
    }
    return 0;
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

static int answer_is_large(struct err *e)
{
    return err_set(e, ERR_NOFIT, "the tables are too large");
}

/* ---- table 1 ---- */

static int put_speedups(struct tables *t,
                        struct arena *arena,
                        struct app_market_speedups *out,
                        struct err *e)
{
    struct app_market_speedup *models = arena_alloc(arena, t->n_models, sizeof *models);

    if (!models)
        return answer_is_large(e);
    for (size_t i = 0; i < t->n_models; i++) {
        double faster[MARKET_GPUS_MAX], per_dollar[MARKET_GPUS_MAX];
        market_speedups_row(&t->gpus, t->speeds, t->models[i], faster, per_dollar);
        models[i] = (struct app_market_speedup){t->models[i], by_gpu(t, faster, 1),
                                                by_gpu(t, per_dollar, 1)};
    }
    *out = (struct app_market_speedups){.cloud = COMPARED_CLOUD,
                                        .compared_with = t->gpus.gpus[0],
                                        .on_demand_usd = by_gpu(t, t->gpus.usd_per_hour, 0),
                                        .models = {models, t->n_models}};
    return 0;
}

/* ---- table 2 ---- */

static int put_moves(const struct tables *t,
                     struct arena *arena,
                     struct app_market_moves *out,
                     struct err *e)
{
    size_t n;
    const struct market_size *sizes = market_tables_sizes(t->figures, &n);
    struct app_market_move *models = arena_alloc(arena, n, sizeof *models);

    if (!models)
        return answer_is_large(e);
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
    size_t n;
    const struct market_list_price *prices = market_tables_prices(t->figures, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(prices[i].cloud, region->cloud) == 0 &&
            strcmp(prices[i].region, region->region) == 0 && prices[i].gpus <= 1 &&
            strcmp(prices[i].gpu, gpu) == 0)
            return prices[i].usd_per_hour /
                   market_lowest_usd(t->market, region->cloud, region->region, gpu);
    return (double)NAN;
}

static int put_best(struct tables *t, struct arena *arena, struct field_records *out, struct err *e)
{
    size_t n;
    const struct market_list_price *prices = market_tables_prices(t->figures, &n);
    struct app_market_best *rows = arena_alloc(arena, n, sizeof *rows);

    if (!rows)
        return answer_is_large(e);
    *out = (struct field_records){.items = rows};
    for (size_t i = 0; i < n; i++) {
        double best[MARKET_GPUS_MAX];
        if (!first_of_region(prices, i))
            continue;
        for (size_t k = 0; k < t->gpus.n; k++)
            best[k] = best_case(t, &prices[i], t->gpus.gpus[k]);
        rows[out->n++] =
            (struct app_market_best){prices[i].cloud, prices[i].region, by_gpu(t, best, 0)};
    }
    return 0;
}

static int run_tables(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct tables_request *q = request;
    AUTO_CLEAR(tables) struct tables t = {.maps = json_array()};
    struct app_market_speedups speedups;
    struct app_market_moves moves;
    struct app_market_tables tables = {.speedups = &speedups, .moves = &moves};

    t.figures = app_market_tables(q->on_demand, q->sizes, q->egress, e);
    t.speeds = t.figures ? throughputs_load(q->throughputs, e) : NULL;
    t.market = t.speeds ? app_market_open(app, e) : NULL;
    if (!t.market || add_models(&t, &q->models, e) < 0 ||
        market_speedups_of(t.figures, COMPARED_CLOUD, &t.gpus, e) < 0 ||
        put_speedups(&t, out->arena, &speedups, e) < 0 ||
        put_moves(&t, out->arena, &moves, e) < 0 || put_best(&t, out->arena, &tables.best, e) < 0)
        return -1;
    return answer_head(out, &tables, e);
}

const struct operation market_tables_operation = {
    .name = "market.tables",
    .summary = "Compute throughput per dollar, egress costs and spot savings.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &request_record,
    .answer = &tables_record,
    .run = run_tables,
};
