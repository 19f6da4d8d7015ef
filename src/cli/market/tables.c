/* tables: the command `market tables`. */
#include "app/market/market.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "view/table.h"

#include <stdint.h>
#include <string.h>

#define GPUS_MAX 16

/* "2.5 x", or "-" for null. */
static void put_times(struct table *table, const json_t *multiple)
{
    if (json_is_number(multiple))
        table_printf(table, "%.1f x", json_number_value(multiple));
    else
        table_put(table, "-");
}

/* ---- table 1 ---- */

static void print_speedups(const struct operate_text *t, const struct app_market_speedups *s)
{
    struct table_column columns[2 * GPUS_MAX] = {{.title = "model", .cut_rank = 1, .least = 12}};
    const struct app_market_speedup *models = s->models.items;
    char titles[GPUS_MAX][64];
    const char *gpu;
    json_t *value;
    size_t n = 0;

    json_object_foreach(s->on_demand_usd_per_hour, gpu,
                        value) if (strcmp(gpu, s->compared_with) != 0 && n + 1 < GPUS_MAX)
        columns[++n] = (struct table_column){.title = gpu, .right = true};
    for (size_t k = 1; k <= n; k++) {
        snprintf(titles[k], sizeof titles[k], "%.40s per $", columns[k].title);
        columns[n + k] = (struct table_column){.title = titles[k], .right = true};
    }
    AUTO(table) struct table *table = table_new(columns, 2 * n + 1);
    for (size_t i = 0; i < s->models.n; i++) {
        table_put(table, models[i].model);
        for (size_t k = 1; k <= n; k++)
            put_times(table, json_object_get(models[i].throughput, columns[k].title));
        for (size_t k = 1; k <= n; k++)
            put_times(table, json_object_get(models[i].throughput_per_dollar, columns[k].title));
    }
    fprintf(t->out,
            "1. Throughput as a multiple of a %s's, and the same per dollar on demand at %s\n\n",
            s->compared_with, s->cloud);
    table_print(table, t->out, 0, &t->look);
}

/* ---- table 2 ---- */

static void print_moves(const struct operate_text *t, const struct app_market_moves *m)
{
    const struct record *moves = record_field(market_tables_operation.answer, "table2")->record;

    fprintf(t->out,
            "\n2. Egress cost of one transfer out of %s, as a share of %d hours on the cheapest %s "
            "of %s\n\n",
            m->cloud, (int)m->compute_hours, m->gpu, m->region);
    writer_list(moves, m, "models", SIZE_MAX, 0, false, t->out);
}

/* ---- table 3 ---- */

static void print_best(const struct operate_text *t, const struct field_records *best)
{
    struct table_column columns[GPUS_MAX + 1] = {{.title = "region"}};
    const struct app_market_best *rows = best->items;
    const char *gpu;
    json_t *value;
    size_t n = 0;

    if (best->n)
        json_object_foreach(rows[0].reduction, gpu, value) if (n < GPUS_MAX) columns[++n] =
            (struct table_column){.title = gpu, .right = true};
    AUTO(table) struct table *table = table_new(columns, n + 1);
    for (size_t i = 0; i < best->n; i++) {
        table_printf(table, "%s/%s", rows[i].cloud, rows[i].region);
        for (size_t k = 1; k <= n; k++)
            put_times(table, json_object_get(rows[i].reduction, columns[k].title));
    }
    fputs("\n3. Best case: on-demand price / lowest spot price, instances with one GPU\n\n",
          t->out);
    table_print(table, t->out, 0, &t->look);
}

static void print_tables(struct operate_text *t, const void *record)
{
    const struct app_market_tables *tables = record;

    print_speedups(t, tables->speedups);
    print_moves(t, tables->moves);
    print_best(t, &tables->best);
}

const struct command command_market_tables = {
    .name = "market tables",
    .summary = "Compute throughput per dollar, egress costs and spot savings",
    .details =
        "Prints three tables of the published evaluation, computed from the imported histories "
        "and from tables of throughputs, on-demand prices, sizes and egress prices: throughput "
        "per dollar, the cost of moving data sets and checkpoints, and the best case of spot "
        "prices.",
    .example = "tradewind market tables",
    .operation = &market_tables_operation,
    .text = &(const struct command_text){.head = print_tables},
};
