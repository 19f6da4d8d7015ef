#include "market/tables.h"

#include "base/csv.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/market/market_job.h"
#include "cli/market/market_parts.h"
#include "view/table.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)16 << 20)
#define MODELS_MAX 64
/* As published. */
#define COMPARED_CLOUD "gcp"
#define COMPUTE_CLOUD "aws"
#define COMPUTE_REGION "us-east-1"

static const char *const published_models[] = {"Transformer", "A3C", "CycleGAN", "ResNet-18",
                                               "ResNet-50"};

static const char *given(const struct command_args *args, const char *option)
{
    for (const struct command_option *o = args->command->options; o && o->name; o++)
        if (strcmp(o->name, option) == 0)
            return command_value(args, option);
    return NULL;
}

struct market_tables *cli_market_tables(const struct command_args *args, struct err *e)
{
    const char *paths[] = {given(args, "--on-demand"), given(args, "--sizes"),
                           given(args, "--egress")};
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
    struct market_speedups speedups;
    char *models[MODELS_MAX];
    size_t n_models;
};

static void tables_clear(struct tables *t)
{
    for (size_t i = 0; i < t->n_models; i++)
        free(t->models[i]);
    throughputs_free(t->speeds);
    market_tables_free(t->figures);
    market_free(t->market);
}

static int add_model(struct tables *t, const char *asked, struct err *e)
{
    if (t->n_models == MODELS_MAX)
        return err_set(e, ERR_USAGE, "--model: more than %d", MODELS_MAX);
    t->models[t->n_models] = app_market_model(t->speeds, asked, e);
    return t->models[t->n_models] ? (t->n_models++, 0) : -1;
}

static int add_models(struct tables *t, const struct command_args *args, struct err *e)
{
    bool asked = command_has(args, "--model");

    for (size_t i = 0; asked && i < args->n_given; i++)
        if (strcmp(args->given[i].option->name, "--model") == 0 &&
            add_model(t, args->given[i].value, e) < 0)
            return -1;
    for (size_t i = 0; !asked && i < sizeof published_models / sizeof *published_models; i++)
        if (add_model(t, published_models[i], e) < 0)
            return -1;
    return 0;
}

/* ---- table 1 ---- */

static json_t *speedups_json(const struct tables *t)
{
    const struct market_speedups *s = &t->speedups;
    json_t *models = json_array(), *prices = json_object();

    for (size_t k = 0; k < s->n; k++)
        json_object_set_new(prices, s->gpus[k], json_number(s->usd_per_hour[k]));
    for (size_t i = 0; i < t->n_models; i++) {
        double faster[MARKET_GPUS_MAX], per_dollar[MARKET_GPUS_MAX];
        json_t *speed = json_object(), *value = json_object();
        market_speedups_row(s, t->speeds, t->models[i], faster, per_dollar);
        for (size_t k = 1; k < s->n; k++) {
            json_object_set_new(speed, s->gpus[k], json_number(faster[k]));
            json_object_set_new(value, s->gpus[k], json_number(per_dollar[k]));
        }
        json_array_append_new(models,
                              json_pack("{s:o, s:o, s:o}", "model", json_text(t->models[i]),
                                        "throughput", speed, "throughput_per_dollar", value));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "cloud", COMPARED_CLOUD, "compared_with",
                     json_text(s->gpus[0]), "on_demand_usd_per_hour", prices, "models", models);
}

static void put_times(struct table *table, double v)
{
    if (isfinite(v))
        table_printf(table, "%.1f x", v);
    else
        table_put(table, "-");
}

static void print_speedups(const struct tables *t, const struct text_look *look)
{
    const struct market_speedups *s = &t->speedups;
    struct table_column columns[2 * MARKET_GPUS_MAX] = {
        {.title = "model", .cut_rank = 1, .least = 12}};
    char titles[MARKET_GPUS_MAX][64];
    size_t n = 1;

    for (size_t k = 1; k < s->n; k++)
        columns[n++] = (struct table_column){.title = s->gpus[k], .right = true};
    for (size_t k = 1; k < s->n; k++) {
        snprintf(titles[k], sizeof titles[k], "%.40s per $", s->gpus[k]);
        columns[n++] = (struct table_column){.title = titles[k], .right = true};
    }
    AUTO(table) struct table *table = table_new(columns, n);
    for (size_t i = 0; i < t->n_models; i++) {
        double faster[MARKET_GPUS_MAX], per_dollar[MARKET_GPUS_MAX];
        market_speedups_row(s, t->speeds, t->models[i], faster, per_dollar);
        table_put(table, t->models[i]);
        for (size_t k = 1; k < s->n; k++)
            put_times(table, faster[k]);
        for (size_t k = 1; k < s->n; k++)
            put_times(table, per_dollar[k]);
    }
    printf("1. Throughput beside a %s, and by the dollar, on demand at %s\n\n", s->gpus[0],
           COMPARED_CLOUD);
    table_print(table, stdout, 0, TEXT_COLUMNS, look);
}

/* ---- table 2 ---- */

static struct market_move move_of(const struct tables *t, const struct market_size *size)
{
    return market_move_of(t->figures, t->market, COMPUTE_CLOUD, COMPUTE_REGION,
                          MARKET_REFERENCE_GPU, size);
}

static json_t *moves_json(const struct tables *t)
{
    json_t *rows = json_array();
    size_t n;
    const struct market_size *sizes = market_tables_sizes(t->figures, &n);

    for (size_t i = 0; i < n; i++) {
        struct market_move m = move_of(t, &sizes[i]);
        json_array_append_new(
            rows, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "model",
                            json_text(sizes[i].model), "dataset", json_text(sizes[i].dataset),
                            "dataset_gb", json_number(sizes[i].dataset_gb), "checkpoint_gb",
                            json_number(sizes[i].checkpoint_gb), "compute_usd",
                            json_number(m.compute_usd), "dataset_usd", json_number(m.dataset_usd),
                            "checkpoint_usd", json_number(m.checkpoint_usd), "dataset_share",
                            json_number(m.dataset_usd / m.compute_usd), "checkpoint_share",
                            json_number(m.checkpoint_usd / m.compute_usd)));
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:o}", "cloud", COMPUTE_CLOUD, "region", COMPUTE_REGION,
                     "gpu", MARKET_REFERENCE_GPU, "compute_hours", MARKET_COMPUTE_HOURS, "models",
                     rows);
}

static void put_share(struct table *table, double share, int digits)
{
    if (isfinite(share))
        table_printf(table, "%.*f%%", digits, 100 * share);
    else
        table_put(table, "-");
}

static void print_moves(const struct tables *t, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "model"},
        {.title = "dataset GB", .right = true},
        {.title = "checkpoint GB", .right = true},
        {.title = "compute", .right = true},
        {.title = "dataset", .right = true},
        {.title = "checkpoint", .right = true},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    size_t n;
    const struct market_size *sizes = market_tables_sizes(t->figures, &n);

    for (size_t i = 0; i < n; i++) {
        struct market_move m = move_of(t, &sizes[i]);
        table_put(table, sizes[i].model);
        table_printf(table, "%g", sizes[i].dataset_gb);
        table_printf(table, "%g", sizes[i].checkpoint_gb);
        if (isfinite(m.compute_usd))
            table_printf(table, "$%.2f", m.compute_usd);
        else
            table_put(table, "-");
        put_share(table, m.dataset_usd / m.compute_usd, 2);
        put_share(table, m.checkpoint_usd / m.compute_usd, 3);
    }
    printf("\n2. One transfer out of %s, beside %d hours on its cheapest %s of %s\n\n",
           COMPUTE_CLOUD, MARKET_COMPUTE_HOURS, MARKET_REFERENCE_GPU, COMPUTE_REGION);
    table_print(table, stdout, 0, TEXT_COLUMNS, look);
}

/* ---- table 3 ---- */

/* Whether the i-th price is the first of its place. */
static bool first_of_place(const struct market_list_price *prices, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(prices[k].cloud, prices[i].cloud) == 0 &&
            strcmp(prices[k].region, prices[i].region) == 0)
            return false;
    return true;
}

/* On demand / lowest spot of the place's machine with one such GPU; NaN when there is none. */
static double best_case(const struct tables *t,
                        const struct market_list_price *place,
                        const char *gpu)
{
    size_t n;
    const struct market_list_price *prices = market_tables_prices(t->figures, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(prices[i].cloud, place->cloud) == 0 &&
            strcmp(prices[i].region, place->region) == 0 && prices[i].gpus <= 1 &&
            strcmp(prices[i].gpu, gpu) == 0)
            return prices[i].usd_per_hour /
                   market_lowest_usd(t->market, place->cloud, place->region, gpu);
    return (double)NAN;
}

static json_t *best_json(const struct tables *t)
{
    json_t *rows = json_array();
    size_t n;
    const struct market_list_price *prices = market_tables_prices(t->figures, &n);

    for (size_t i = 0; i < n; i++) {
        json_t *best = json_object();
        if (!first_of_place(prices, i)) {
            json_decref(best);
            continue;
        }
        for (size_t k = 0; k < t->speedups.n; k++)
            json_object_set_new(best, t->speedups.gpus[k],
                                json_number(best_case(t, &prices[i], t->speedups.gpus[k])));
        json_array_append_new(rows,
                              json_pack("{s:o, s:o, s:o}", "cloud", json_text(prices[i].cloud),
                                        "region", json_text(prices[i].region), "reduction", best));
    }
    return rows;
}

static void print_best(const struct tables *t, const struct text_look *look)
{
    struct table_column columns[MARKET_GPUS_MAX + 1] = {{.title = "place"}};
    size_t n;
    const struct market_list_price *prices = market_tables_prices(t->figures, &n);

    for (size_t k = 0; k < t->speedups.n; k++)
        columns[k + 1] = (struct table_column){.title = t->speedups.gpus[k], .right = true};
    AUTO(table) struct table *table = table_new(columns, t->speedups.n + 1);
    for (size_t i = 0; i < n; i++) {
        if (!first_of_place(prices, i))
            continue;
        table_printf(table, "%s/%s", prices[i].cloud, prices[i].region);
        for (size_t k = 0; k < t->speedups.n; k++)
            put_times(table, best_case(t, &prices[i], t->speedups.gpus[k]));
    }
    puts("\n3. How many times cheaper than on demand spot was at best, machines with one GPU\n");
    table_print(table, stdout, 0, TEXT_COLUMNS, look);
}

static int run_tables(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(tables) struct tables t = {0};
    const struct text_look look = text_look_for(stdout);

    t.figures = cli_market_tables(args, e);
    t.speeds = t.figures ? throughputs_load(command_value(args, "--throughputs"), e) : NULL;
    t.market = t.speeds ? cli_market_open(e) : NULL;
    if (!t.market || add_models(&t, args, e) < 0 ||
        market_speedups_of(t.figures, COMPARED_CLOUD, &t.speedups, e) < 0)
        return -1;
    if (command_has(args, "--json")) {
        AUTO_JSON json_t *root = json_pack("{s:o, s:o, s:o}", "table1", speedups_json(&t), "table2",
                                           moves_json(&t), "table3", best_json(&t));
        return json_write(stdout, root, e);
    }
    print_speedups(&t, &look);
    print_moves(&t, &look);
    print_best(&t, &look);
    return 0;
}

static const struct command_option options[] = {
    {.name = "--model",
     .value = "NAME",
     .help = "A model of the first table (default: the published five).",
     .repeatable = true},
    {.name = "--throughputs",
     .value = "FILE",
     .help = "Iterations per second (CSV: model,batch_size,GPU...), before the built-in ones."},
    {.name = "--on-demand",
     .value = "FILE",
     .help = "CSV: cloud,region,instance_type,gpu,gpus,usd_per_hour, before the built-in ones."},
    {.name = "--sizes",
     .value = "FILE",
     .help = "CSV: model,dataset,dataset_gb,checkpoint_gb, before the built-in ones."},
    {.name = "--egress",
     .value = "FILE",
     .help = "CSV: cloud,destination,from_gb,usd_per_gb, before the built-in ones."},
    {.name = "--json", .help = "Print one object."},
    {0},
};

const struct command command_market_tables = {
    .name = "market tables",
    .summary = "What GPUs are worth, what moving costs and what spot saves, as published",
    .details =
        "Three tables of the published evaluation, computed from the imported histories and "
        "from tables of throughputs, on-demand prices, sizes and egress prices: throughput by "
        "the dollar, the price of moving data and checkpoints, and the best case of spot.",
    .example = "tradewind market tables",
    .options = options,
    .run = run_tables,
};
