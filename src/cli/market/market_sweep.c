#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/market/market_chart.h"
#include "cli/market/market_job.h"
#include "cli/market/market_live.h"
#include "cli/market/market_parts.h"
#include "view/table.h"
#include "view/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DURATIONS_MAX CLI_MARKET_DURATIONS_MAX

struct row {
    const char *model;
    double costs_usd[MARKET_N_STRATEGIES], reductions[MARKET_N_STRATEGIES]; /* figure 5 */
    double gains[DURATIONS_MAX];                                            /* figure 6 */
};

struct sweep {
    struct market *market;
    struct throughputs *speeds;
    struct market_paper *paper;
    char *region;
    double days; /* of figure 5 */
    struct cli_market_range range;
    struct row *rows; /* one a model */
    size_t n_rows;
};

static void sweep_clear(struct sweep *s)
{
    free(s->rows);
    cli_market_range_clear(&s->range);
    market_paper_free(s->paper);
    throughputs_free(s->speeds);
    market_free(s->market);
    free(s->region);
}

static int replay_model(const struct sweep *s, struct row *row, struct err *e)
{
    AUTO(market_paper_model)
    struct market_paper_model *m = app_market_paper_model(s->paper, s->speeds, row->model, e);

    if (!m)
        return -1;
    for (size_t i = 0; i < MARKET_N_STRATEGIES; i++) {
        row->costs_usd[i] = market_paper_mean(m, (enum market_strategy)i, s->days).cost_usd;
        row->reductions[i] = row->costs_usd[MARKET_SINGLE] / row->costs_usd[i];
    }
    for (size_t i = 0; i < s->range.n_durations; i++)
        row->gains[i] = market_paper_dynamic_gain(m, s->range.durations[i]);
    return 0;
}

static json_t *by_strategy(const double *values)
{
    json_t *o = json_object();

    for (size_t k = 0; k < MARKET_N_STRATEGIES; k++)
        json_object_set_new(o, market_strategy_text((enum market_strategy)k),
                            json_number(values[k]));
    return o;
}

static int print_json(const struct sweep *s, struct err *e)
{
    json_t *five = json_array(), *six = json_array(), *durations = json_array();

    for (size_t i = 0; i < s->range.n_durations; i++)
        json_array_append_new(durations, json_real(s->range.durations[i]));
    for (size_t i = 0; i < s->n_rows; i++) {
        json_t *gains = json_array();
        for (size_t k = 0; k < s->range.n_durations; k++)
            json_array_append_new(gains, json_real(s->rows[i].gains[k]));
        json_array_append_new(five,
                              json_pack("{s:o, s:o, s:o}", "model", json_text(s->rows[i].model),
                                        "reduction", by_strategy(s->rows[i].reductions),
                                        "mean_cost_usd", by_strategy(s->rows[i].costs_usd)));
        json_array_append_new(
            six, json_pack("{s:o, s:o}", "model", json_text(s->rows[i].model), "reduction", gains));
    }
    AUTO_JSON json_t *root = json_pack(
        "{s:s, s:o, s:I, s:I, s:{s:f, s:o}, s:{s:o, s:o}}", "mode", "paper", "region",
        json_text(s->region), "starts", (json_int_t)market_paper_n_starts(s->paper),
        "covered_starts", (json_int_t)app_market_covered(s->paper), "figure5", "v100_days", s->days,
        "models", five, "figure6", "v100_days", durations, "models", six);
    return json_write(stdout, root, e);
}

static void print_five(const struct sweep *s, const struct text_look *look)
{
    struct table_column columns[MARKET_N_STRATEGIES + 1] = {
        {.title = "model", .cut_rank = 1, .least = 12}};

    for (size_t k = 0; k < MARKET_N_STRATEGIES; k++)
        columns[k + 1] = (struct table_column){
            .title = market_strategy_text((enum market_strategy)k), .right = true};
    AUTO(table) struct table *t = table_new(columns, MARKET_N_STRATEGIES + 1);
    for (size_t i = 0; i < s->n_rows; i++) {
        table_put(t, s->rows[i].model);
        for (size_t k = 0; k < MARKET_N_STRATEGIES; k++)
            table_printf(t, "%.2f", s->rows[i].reductions[k]);
    }
    printf("How many times cheaper than the cheapest V100 of aws:%s, %g V100-days of work\n\n",
           s->region, s->days);
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

static void print_six(const struct sweep *s, const struct text_look *look)
{
    struct table_column columns[DURATIONS_MAX + 1] = {
        {.title = "model", .cut_rank = 1, .least = 12}};
    char titles[DURATIONS_MAX][32];

    for (size_t k = 0; k < s->range.n_durations; k++) {
        snprintf(titles[k], sizeof titles[k], "%g d", s->range.durations[k]);
        columns[k + 1] = (struct table_column){.title = titles[k], .right = true};
    }
    AUTO(table) struct table *t = table_new(columns, s->range.n_durations + 1);
    for (size_t i = 0; i < s->n_rows; i++) {
        table_put(t, s->rows[i].model);
        for (size_t k = 0; k < s->range.n_durations; k++)
            table_printf(t, "%.2f", s->rows[i].gains[k]);
    }
    puts("\nHow many times cheaper choosing every day is than choosing once, by V100-days of "
         "work\n");
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

/* Figure 5 as bars: one group a model. */
static int save_chart(const struct sweep *s, const char *path, struct err *e)
{
    AUTO_MEM struct chart_group *groups = mem_zero(s->n_rows, sizeof *groups);
    const char *names[MARKET_N_STRATEGIES];
    AUTO_MEM char *title = mem_printf(
        "Cost reduction over the cheapest V100 of aws:%s, %g V100-days", s->region, s->days);

    for (size_t k = 0; k < MARKET_N_STRATEGIES; k++)
        names[k] = market_strategy_text((enum market_strategy)k);
    for (size_t i = 0; i < s->n_rows; i++)
        groups[i] = (struct chart_group){s->rows[i].model, s->rows[i].reductions};
    const struct chart_groups chart = {title, names, MARKET_N_STRATEGIES, groups, s->n_rows};
    return chart_groups_save(path, &chart, e);
}

static int read_question(struct sweep *s, const struct command_args *args, struct err *e)
{
    const char *region = command_value(args, "--region");
    struct market_starts starts;

    s->days = 4;
    if (command_number(args, "--days", &s->days, e) < 0 ||
        app_market_starts(command_value(args, "--starts"), &starts, e) < 0)
        return -1;
    if (!(s->days > 0) || s->days > 1e6)
        return err_set(e, ERR_USAGE, "--days must be above 0");
    s->region = app_market_region(region ? region : "us-east-1", e);
    s->speeds = s->region ? throughputs_load(command_value(args, "--throughputs"), e) : NULL;
    if (!s->speeds || cli_market_range_read(&s->range, args, s->speeds, e) < 0)
        return -1;
    s->n_rows = s->range.n_models;
    s->rows = mem_zero(s->n_rows + 1, sizeof *s->rows);
    for (size_t i = 0; i < s->n_rows; i++)
        s->rows[i].model = s->range.models[i];
    s->market = cli_market_open(e);
    s->paper = s->market ? market_paper_new(s->market, s->region, &starts, e) : NULL;
    return s->paper ? 0 : -1;
}

static int run_sweep(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(sweep) struct sweep s = {0};
    const struct text_look look = text_look_for(stdout);
    const char *svg = command_value(args, "--svg");
    bool live;

    if (cli_market_is_live(args, &live, e) < 0)
        return -1;
    if (live && (svg || command_has(args, "--days")))
        return err_set(e, ERR_USAGE, "%s needs --mode paper, whose figures it is of",
                       svg ? "--svg" : "--days");
    if (live)
        return cli_market_live_sweep(args, e);
    if (read_question(&s, args, e) < 0)
        return -1;
    for (size_t i = 0; i < s.n_rows; i++)
        if (replay_model(&s, &s.rows[i], e) < 0)
            return -1;
    if (svg && save_chart(&s, svg, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return print_json(&s, e);
    print_five(&s, &look);
    print_six(&s, &look);
    return 0;
}

static const struct command_option options[] = {
    {.name = "--model",
     .value = "NAME",
     .help = "A model (default: all of the throughput tables, with their largest batch size).",
     .repeatable = true},
    {.name = "--days", .value = "N", .help = "V100-days of work of the first table (default: 4)."},
    {.name = "--durations",
     .value = "LIST",
     .help = "V100-days of the second table (default: 0.125,0.25,0.5,1,2,4,8)."},
    CLI_MARKET_JOB_OPTIONS,
    CLI_MARKET_LIVE_OPTIONS,
    {.name = "--svg", .value = "FILE", .help = "Draw the first table."},
    {.name = "--json", .help = "Print one object."},
    {0},
};

const struct command command_market_sweep = {
    .name = "market sweep",
    .summary = "Cost reductions over models and durations, as published (figures 5 and 6)",
    .details =
        "Replays every model by the rules of `market replay --mode paper`: first all "
        "strategies beside the cheapest V100, then what choosing anew every day saves as jobs "
        "get longer.\n"
        "\n"
        "In mode market it is one table: what every model and duration would have cost by every "
        "strategy, beside the best machine and the best way in hindsight.",
    .example = "tradewind market sweep",
    .options = options,
    .run = run_sweep,
};
