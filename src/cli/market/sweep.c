/* sweep: the command `market sweep`, with its chart. */
#include "app/market/market.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "draw/chart_market.h"
#include "view/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 16
#define FEW_DIGITS 32

/* The value of a map or list of numbers; NaN for null. */
static double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* The keys of a map, in their order: how many. */
static size_t names_of(json_t *map, const char *names[static NAMES_MAX])
{
    const char *key;
    json_t *value;
    size_t n = 0;

    json_object_foreach(map, key, value) if (n < NAMES_MAX) names[n++] = key;
    return n;
}

/* ---- mode paper ---- */

/* Models with the values of a map or list each. */
static void print_models(const struct operate_text *t,
                         const struct app_market_swept *s,
                         const char *const *titles,
                         size_t n,
                         bool gains)
{
    struct table_column columns[NAMES_MAX + 1] = {{.title = "model", .cut_rank = 1, .least = 12}};
    const struct app_market_sweep_row *rows = s->rows.items;

    for (size_t k = 0; k < n; k++)
        columns[k + 1] = (struct table_column){.title = titles[k], .right = true};
    AUTO(table) struct table *table = table_new(columns, n + 1);
    for (size_t i = 0; i < s->rows.n; i++) {
        table_put(table, rows[i].model);
        for (size_t k = 0; k < n; k++)
            table_printf(table, "%.2f",
                         number_of(gains ? json_array_get(rows[i].gains, k)
                                         : json_object_get(rows[i].reduction, titles[k])));
    }
    table_print(table, t->out, 0, &t->look);
}

static void print_paper(const struct operate_text *t, const struct app_market_swept *s)
{
    const struct app_market_sweep_row *rows = s->rows.items;
    char days[NAMES_MAX][FEW_DIGITS];
    const char *titles[NAMES_MAX];
    size_t n = s->rows.n ? names_of(rows[0].reduction, titles) : 0;

    fprintf(t->out,
            "Cost of the cheapest V100 of aws:%s / cost of the strategy, %g V100-days of work\n\n",
            s->region, s->days);
    print_models(t, s, titles, n, false);
    for (n = 0; n < json_array_size(s->durations) && n < NAMES_MAX; n++) {
        snprintf(days[n], sizeof days[n], "%g d", number_of(json_array_get(s->durations, n)));
        titles[n] = days[n];
    }
    fputs("\nCost of choosing once / cost of choosing every day, by V100-days of work\n\n", t->out);
    print_models(t, s, titles, n, true);
}

/* Reductions as bars, one group per model. */
static int save_chart(struct operate_text *t, const void *record, struct err *e)
{
    const struct app_market_swept *s = record;
    const struct app_market_sweep_row *rows = s->rows.items;
    const char *path = command_value(t->args, "--svg"), *names[NAMES_MAX];

    if (!path)
        return 0;
    if (!s->figure)
        return err_set(e, ERR_USAGE, "--svg needs --mode paper");
    size_t n = s->rows.n ? names_of(rows[0].reduction, names) : 0;
    AUTO_MEM struct chart_group *groups = mem_zero(s->rows.n, sizeof *groups);
    AUTO_MEM double *values = mem_zero(s->rows.n * NAMES_MAX + 1, sizeof *values);
    AUTO_MEM char *title = mem_printf(
        "Cost reduction over the cheapest V100 of aws:%s, %g V100-days", s->region, s->days);
    for (size_t i = 0; i < s->rows.n; i++) {
        groups[i] = (struct chart_group){rows[i].model, &values[i * NAMES_MAX]};
        for (size_t k = 0; k < n; k++)
            values[i * NAMES_MAX + k] = number_of(json_object_get(rows[i].reduction, names[k]));
    }
    const struct chart_groups chart = {title, names, n, groups, s->rows.n};
    return chart_groups_save(path, &chart, e);
}

/* ---- mode market ---- */

static void print_costs(const struct operate_text *t, const struct field_records *cells)
{
    struct table_column columns[NAMES_MAX + 4] = {
        {.title = "model", .cut_rank = 1, .least = 10},
        {.title = "days", .right = true},
        {.title = "starts", .right = true},
    };
    const struct app_market_cell *list = cells->items;
    const char *names[NAMES_MAX];
    size_t n = cells->n ? names_of(list[0].mean_cost_usd, names) : 0;

    for (size_t k = 0; k < n; k++)
        columns[3 + k] = (struct table_column){.title = names[k], .right = true};
    columns[3 + n] = (struct table_column){.title = "regret", .right = true};
    AUTO(table) struct table *table = table_new(columns, n + 4);
    for (size_t i = 0; i < cells->n; i++) {
        table_put(table, list[i].model);
        table_printf(table, "%g", list[i].v100_days);
        table_printf(table, "%zu", (size_t)list[i].covered_starts);
        for (size_t k = 0; k < n; k++)
            if (list[i].covered_starts)
                table_printf(table, "%.2f",
                             number_of(json_object_get(list[i].mean_cost_usd, names[k])));
            else
                table_put(table, "-");
        if (list[i].covered_starts)
            table_printf(table, "%.1f %%", 100 * list[i].regret);
        else
            table_put(table, "-");
    }
    fputs("Mean cost over the covered starts, USD, to the second\n\n", t->out);
    table_print(table, t->out, 0, &t->look);
}

/* Cells with optima that are not proved, and their lower bounds. */
static void print_unproved(const struct operate_text *t, const struct app_market_swept *s)
{
    const struct app_market_cell *list = s->cells.items;
    AUTO_CLEAR(writer) struct writer w;

    writer_init(&w, WRITER_TABLE, NULL,
                record_field(market_sweep_operation.answer, "cells")->record, NULL, false, t->out);
    for (size_t i = 0; i < s->cells.n; i++) {
        if (list[i].proved_starts == list[i].covered_starts)
            continue;
        if (!w.n_items)
            fprintf(t->out, "\nOptima not proved within %g %%, and their lower bounds\n\n",
                    100 * s->gap);
        writer_item(&w, &list[i], NULL);
    }
    writer_end(&w, NULL);
}

static void print_sweep(struct operate_text *t, const void *record)
{
    const struct app_market_swept *s = record;

    if (!s->figure) {
        print_costs(t, &s->cells);
        print_unproved(t, s);
    } else {
        print_paper(t, s);
    }
}

static const struct command_option options[] = {
    {.name = "--svg", .value = "FILE", .help = "Draw the first table (mode paper)."},
    {0},
};

const struct command command_market_sweep = {
    .name = "market sweep",
    .summary = "Replay training jobs over models and durations",
    .details =
        "Replays every model by the rules of `market replay --mode paper` and prints figures 5 "
        "and 6 of the published evaluation: first all strategies beside the cheapest V100, then "
        "the savings of choosing again every day as jobs get longer.\n"
        "\n"
        "In mode market it prints one table: the cost of every model and duration by every "
        "strategy, beside the best single offer and the best schedule in hindsight.",
    .example = "tradewind market sweep",
    .options = options,
    .operation = &market_sweep_operation,
    .text = &(const struct command_text){.save = save_chart, .head = print_sweep},
};
