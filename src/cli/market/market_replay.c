#include "base/mem.h"
#include "base/money.h"
#include "cli/core/commands.h"
#include "cli/market/market_chart.h"
#include "cli/market/market_job.h"
#include "cli/market/market_live.h"
#include "cli/market/market_parts.h"
#include "view/table.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One question and what answers it. */
struct replay {
    struct market *market;
    struct throughputs *speeds;
    char *region;
    struct cli_market_asked asked;
    struct market_paper *paper;
    struct market_paper_model *choices;
    struct market_paper_mean means[MARKET_N_STRATEGIES];
};

static void replay_clear(struct replay *r)
{
    market_paper_model_free(r->choices);
    market_paper_free(r->paper);
    throughputs_free(r->speeds);
    market_free(r->market);
    cli_market_asked_clear(&r->asked);
    free(r->region);
}

static int read_job(struct replay *r, const struct command_args *args, struct err *e)
{
    const char *region = command_value(args, "--region");

    r->region = app_market_region(region ? region : "us-east-1", e);
    r->speeds = r->region ? throughputs_load(command_value(args, "--throughputs"), e) : NULL;
    return r->speeds ? cli_market_asked_read(&r->asked, args, r->speeds, e) : -1;
}

size_t app_market_covered(const struct market_paper *p)
{
    size_t n = 0;

    for (size_t i = 0; i < market_paper_n_starts(p); i++)
        n += market_paper_covered(p, i);
    return n;
}

static double reduction(const struct replay *r, size_t strategy)
{
    return r->means[MARKET_SINGLE].cost_usd / r->means[strategy].cost_usd;
}

static json_t *strategy_json(const struct replay *r, size_t s)
{
    const struct market_paper_mean *mean = &r->means[s];
    json_t *costs = json_array();

    for (size_t i = 0; i < market_paper_n_starts(r->paper); i++)
        json_array_append_new(costs,
                              json_real(market_paper_replay(r->choices, (enum market_strategy)s,
                                                            r->asked.reference_days, i)
                                            .cost_usd));
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:I, s:f, s:o}", "name",
                     market_strategy_text((enum market_strategy)s), "mean_cost_usd", mean->cost_usd,
                     "reduction", reduction(r, s), "mean_hours", mean->hours, "switches_mean",
                     mean->switches, "switches_max", (json_int_t)mean->switches_max,
                     "preemptions_mean", 0.0, "costs_usd", costs);
}

static int print_json(const struct replay *r, struct err *e)
{
    json_t *strategies = json_array(), *days = json_array();
    char day[32];

    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++)
        if (r->asked.wanted[s])
            json_array_append_new(strategies, strategy_json(r, s));
    for (size_t i = 0; i < market_paper_n_starts(r->paper); i++)
        json_array_append_new(days,
                              json_string(app_market_day(market_paper_start_s(r->paper, i), day)));
    AUTO_JSON json_t *root =
        json_pack("{s:s, s:o, s:o, s:f, s:o, s:I, s:I, s:o, s:o, s:n, s:n, s:n}", "mode", "paper",
                  "model", json_text(r->asked.model), "work", json_text(r->asked.work_text),
                  "work_v100_days", r->asked.reference_days, "region", json_text(r->region),
                  "starts", (json_int_t)market_paper_n_starts(r->paper), "covered_starts",
                  (json_int_t)app_market_covered(r->paper), "start_days", days, "strategies",
                  strategies, "offline", "best_static", "regret");
    return json_write(stdout, root, e);
}

static void print_table(const struct replay *r)
{
    static const struct table_column columns[] = {
        {.title = "strategy"},
        {.title = "mean cost", .right = true},
        {.title = "reduction", .right = true},
        {.title = "mean time", .right = true},
        {.title = "switches", .right = true},
        {.title = "at most", .right = true},
    };
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    char text[32], from[32], to[32];
    size_t n = market_paper_n_starts(r->paper), covered = app_market_covered(r->paper);

    printf("%s, %s, begun in aws:%s on each of %zu days from %s to %s\n\n", r->asked.model,
           r->asked.work_text, r->region, n,
           app_market_day(market_paper_start_s(r->paper, 0), from),
           app_market_day(market_paper_start_s(r->paper, n - 1), to));
    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++) {
        if (!r->asked.wanted[s])
            continue;
        table_put(t, market_strategy_text((enum market_strategy)s));
        table_put(t, money_text(money_from_usd(r->means[s].cost_usd), text));
        table_printf(t, "%.2f x", reduction(r, s));
        table_printf(t, "%.1f h", r->means[s].hours);
        table_printf(t, "%.2f", r->means[s].switches);
        table_printf(t, "%zu", r->means[s].switches_max);
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, &look);
    if (covered < n)
        printf("\nOn %zu of these days not every cloud has a price: those jobs had fewer offers.\n",
               n - covered);
}

static int save_chart(const struct replay *r, const char *path, struct err *e)
{
    struct chart_ladder_bar bars[MARKET_N_STRATEGIES];
    size_t n = 0;
    AUTO_MEM char *title =
        mem_printf("Mean cost of %zu starts: %s of %s", market_paper_n_starts(r->paper),
                   r->asked.work_text, r->asked.model);

    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++)
        if (r->asked.wanted[s])
            bars[n++] = (struct chart_ladder_bar){market_strategy_text((enum market_strategy)s),
                                                  r->means[s].cost_usd, reduction(r, s)};
    return chart_ladder_save(path, &(struct chart_ladder){title, bars, n}, e);
}

static int run_replay(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(replay) struct replay r = {0};
    const char *svg = command_value(args, "--svg");
    struct market_starts starts;
    bool live;

    if (cli_market_is_live(args, &live, e) < 0)
        return -1;
    if (live)
        return cli_market_live_replay(args, e);
    if (command_has(args, "--trace"))
        return err_set(e, ERR_USAGE, "--trace needs --mode market");
    if (app_market_starts(command_value(args, "--starts"), &starts, e) < 0 ||
        read_job(&r, args, e) < 0)
        return -1;
    r.market = cli_market_open(e);
    r.paper = r.market ? market_paper_new(r.market, r.region, &starts, e) : NULL;
    r.choices = r.paper ? app_market_paper_model(r.paper, r.speeds, r.asked.model, e) : NULL;
    if (!r.choices)
        return -1;
    for (size_t s = 0; s < MARKET_N_STRATEGIES; s++) {
        r.means[s] = market_paper_mean(r.choices, (enum market_strategy)s, r.asked.reference_days);
        if (!(r.means[s].cost_usd <= MONEY_MAX_USD))
            return err_set(e, ERR_USAGE,
                           "--work %s costs more than $%.0e, which is taken for a mistake",
                           r.asked.work_text, MONEY_MAX_USD);
    }
    if (svg && save_chart(&r, svg, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return print_json(&r, e);
    print_table(&r);
    return 0;
}

static const struct command_option options[] = {
    CLI_MARKET_LIVE_OPTIONS,
    {.name = "--model", .value = "NAME", .help = "The model that is trained."},
    CLI_MARKET_JOB_OPTIONS,
    {.name = "--work",
     .value = "WORK",
     .help = "How much: \"4 V100-days\" (default), \"96 V100-hours\", \"1e6 iterations\"."},
    {.name = "--strategies",
     .value = "all|1xV100|gpu-type|multi-gpu|multi-cloud|dynamic",
     .help = "Which, joined by commas (default: all)."},
    {.name = "--svg", .value = "FILE", .help = "Draw the costs."},
    {.name = "--trace",
     .value = "FILE",
     .help = "Draw how the bill of dynamic grows beside the optimum's, for the start with the "
             "most regret."},
    {.name = "--json", .help = "Print one object, with the cost of every start."},
    {0},
};

const struct command command_market_replay = {
    .name = "market replay",
    .summary = "What a training job would have cost in the markets that were imported",
    .details =
        "Sends the job through the imported price histories once for every day it might have "
        "begun, "
        "by strategies that each use one more source of variation: the cheapest V100 of a region "
        "(1xV100); the best GPU for the money (gpu-type); machines with several GPUs, paid by the "
        "GPU (multi-gpu); all clouds (multi-cloud); and choosing anew every day (dynamic).\n"
        "\n"
        "Mode paper is the published evaluation to the letter: prices by the day, no preemptions, "
        "no cost of moving. It shows what others measured, not what you would pay.\n"
        "\n"
        "Mode market is what you would have met: prices to the second and none of tomorrow's, "
        "start-ups, checkpoints and their transfer, preemptions. Beside the strategies stand the "
        "best machine and the best way in hindsight, so that dynamic has a regret. Starts that the "
        "histories of all clouds do not cover are named and left out.",
    .example = "tradewind market replay --model A3C --work \"4 V100-days\"",
    .options = options,
    .run = run_replay,
};
