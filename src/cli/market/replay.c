/* replay: the command `market replay`, with its charts. */
#include "app/market/market.h"
#include "base/mem.h"
#include "base/money.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "draw/chart_market.h"
#include "view/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0

/* ---- for people ---- */

static void print_rows(const struct operate_text *t, const struct app_market_replayed *r)
{
    const struct app_market_row *rows = r->strategies.items;
    const struct app_market_offline *offline = r->offline;
    AUTO_CLEAR(writer) struct writer w;

    writer_init(&w, WRITER_TABLE, NULL,
                record_field(market_replay_operation.answer, "strategies")->record, NULL, offline,
                t->out);
    for (size_t i = 0; i < r->strategies.n; i++)
        writer_item(&w, &rows[i], NULL);
    if (offline) {
        table_rule(w.table);
        writer_item(&w, r->best_static, NULL);
        writer_item(&w, &offline->row, NULL);
    }
    writer_end(&w, NULL);
}

static void print_paper(const struct operate_text *t, const struct app_market_replayed *r)
{
    size_t n = r->start_days.n;

    fprintf(t->out, "%s, %s, started in aws:%s on each of %zu days from %s to %s\n\n", r->model,
            r->work, r->region, n, n ? r->start_days.items[0] : "-",
            n ? r->start_days.items[n - 1] : "-");
    print_rows(t, r);
    if (r->covered_starts < n)
        fprintf(t->out,
                "\nOn %zu of these days a cloud has no price: those jobs had fewer offers.\n",
                n - (size_t)r->covered_starts);
}

static void print_regret(const struct operate_text *t, const struct app_market_replayed *r)
{
    const struct app_market_offline *o = r->offline;
    size_t unproved = (size_t)(r->covered_starts - o->proved_starts);
    char usd[32], known[64] = "";

    if (unproved)
        snprintf(known, sizeof known, " that was found");
    else if (o->gap > 0)
        snprintf(known, sizeof known, ", which is known to %g %%", 100 * o->gap);
    fprintf(t->out,
            "\nRegret of dynamic (%s): %s, %.1f %% above the best schedule in hindsight%s.\n",
            r->policy, money_text(money_from_usd(r->regret_usd), usd), 100 * r->regret, known);
    if (unproved)
        fprintf(t->out, "Of %zu optima %zu are not proved; the lower bound of the mean is %s.\n",
                (size_t)r->covered_starts, unproved, money_text(money_from_usd(o->bound_usd), usd));
}

/* One line per stretch of starts with the same reason. */
static void print_left_out(const struct operate_text *t, const struct field_records *left_out)
{
    const struct app_market_left_out *list = left_out->items;

    for (size_t i = 0, n; i < left_out->n; i += n) {
        for (n = 1; i + n < left_out->n && list[i + n].start == list[i].start + n &&
                    strcmp(list[i + n].why, list[i].why) == 0;
             n++)
            ;
        fprintf(t->out, "Left out: %s", list[i].day);
        if (n > 1)
            fprintf(t->out, " to %s", list[i + n - 1].day);
        fprintf(t->out, ", %s.\n", list[i].why);
    }
}

static void print_names(const struct operate_text *t,
                        const char *before,
                        const struct field_list *names,
                        const char *after)
{
    for (size_t i = 0; i < names->n; i++)
        fprintf(t->out, "%s%s%s", i ? ", " : before, names->items[i],
                i + 1 == names->n ? after : "");
}

static void print_live(const struct operate_text *t, const struct app_market_replayed *r)
{
    fprintf(t->out, "%s, %s, started in %s:%s: %zu of %zu starts are covered\n\n", r->model,
            r->work, r->cloud, r->region, (size_t)r->covered_starts, (size_t)r->starts);
    if (r->covered_starts) {
        print_rows(t, r);
        print_regret(t, r);
    }
    print_left_out(t, &r->left_out);
    print_names(t, "Clouds whose histories cover too few of the starts: ", &r->clouds.left_out,
                " (--clouds includes them).\n");
    print_names(t, "No recorded lifetimes of instances of ", &r->clouds.unmeasured,
                ": replayed without preemptions (--preemptions sets a rate).\n");
}

static void print_replay(struct operate_text *t, const void *record)
{
    const struct app_market_replayed *r = record;

    if (r->offline)
        print_live(t, r);
    else
        print_paper(t, r);
}

/* ---- charts ---- */

static struct chart_ladder_bar bar_of(const struct app_market_row *row)
{
    return (struct chart_ladder_bar){row->name, row->mean_cost_usd, row->reduction};
}

/* The mean costs beside one another. */
static int save_ladder(const struct app_market_replayed *r, const char *path, struct err *e)
{
    AUTO_MEM struct chart_ladder_bar *bars = mem_zero(r->strategies.n + 2, sizeof *bars);
    const struct app_market_row *rows = r->strategies.items;
    const struct app_market_offline *offline = r->offline;
    size_t n = 0;
    AUTO_MEM char *title = mem_printf("Mean cost of %zu starts%s: %s of %s",
                                      (size_t)(offline ? r->covered_starts : r->starts),
                                      offline ? ", to the second" : "", r->work, r->model);

    for (size_t i = 0; i < r->strategies.n; i++)
        bars[n++] = bar_of(&rows[i]);
    if (offline) {
        bars[n++] = bar_of(r->best_static);
        bars[n++] = bar_of(&offline->row);
    }
    return chart_ladder_save(path, &(struct chart_ladder){title, bars, n}, e);
}

/* The same prices added in another order differ by less than a micro-dollar. */
static double or_zero(double usd)
{
    return fabs(usd) < 1e-6 ? 0 : usd;
}

/* How the costs of dynamic and of the optimum grow from one start, and the regret of each start. */
static int save_trace(const struct app_market_replayed *r, const char *path, struct err *e)
{
    const struct app_market_trace *trace = r->trace;
    const struct app_market_trace_point *points = trace->points.items;
    const struct app_market_regret *regrets = trace->regrets.items;
    size_t n = trace->points.n, n_regrets = trace->regrets.n;
    AUTO_MEM struct chart_step *steps = mem_zero(3 * n + n_regrets, sizeof *steps);
    struct chart_step *dynamic = steps, *best = steps + n, *between = best + n, *each = between + n;

    for (size_t i = 0; i < n; i++) {
        const struct app_market_trace_point *p = &points[i];
        double at_s = trace->start_s + p->hours * 3600;
        dynamic[i] = (struct chart_step){at_s, p->dynamic_usd};
        best[i] = (struct chart_step){at_s, p->offline_usd};
        between[i] = (struct chart_step){at_s, or_zero(p->dynamic_usd - p->offline_usd)};
    }
    for (size_t i = 0; i < n_regrets; i++)
        each[i] = (struct chart_step){regrets[i].start_s, regrets[i].regret_usd};
    AUTO_MEM char *title = mem_printf("Cost and regret of dynamic: %s of %s", r->work, r->model);
    AUTO_MEM char *paid = mem_printf("Cost since the start on %s, USD", trace->start_day);
    double end_s = dynamic[n - 1].at_s;
    const struct chart_price_panel panels[] = {
        {.title = paid,
         .lines = {{"dynamic", dynamic, n, end_s}, {"best in hindsight", best, n, end_s}},
         .n = 2,
         .from_zero = true,
         .cap_usd = (double)NAN},
        {.title = "Dynamic less the best in hindsight, USD: at the end, the regret",
         .lines = {{"difference", between, n, end_s}},
         .n = 1,
         .from_zero = true,
         .cap_usd = (double)NAN},
        {.title = "Regret of each job, USD, by the day of its start",
         .lines = {{"regret", each, n_regrets, each[n_regrets - 1].at_s + DAY_S}},
         .n = 1,
         .from_zero = true,
         .cap_usd = (double)NAN},
    };
    return chart_prices_save(path, &(struct chart_prices){title, panels, 3, 0}, e);
}

static int save_charts(struct operate_text *t, const void *record, struct err *e)
{
    const struct app_market_replayed *r = record;
    const char *svg = command_value(t->args, "--svg"), *trace = command_value(t->args, "--trace");

    if (svg && (!r->offline || r->covered_starts) && save_ladder(r, svg, e) < 0)
        return -1;
    return trace ? save_trace(r, trace, e) : 0;
}

static const struct command_option options[] = {
    {.name = "--svg", .value = "FILE", .help = "Draw the costs."},
    {.name = "--trace",
     .value = "FILE",
     .sets = "trace",
     .help = "Draw how the costs of dynamic and of the optimum grow, for the start with the most "
             "regret."},
    {0},
};

const struct command command_market_replay = {
    .name = "market replay",
    .summary = "Replay a training job through the imported price histories",
    .details =
        "Replays the job once for each day on which it might have started, by strategies that "
        "each use one more source of variation: the cheapest V100 of a region (1xV100); the GPU "
        "with the most throughput per dollar (gpu-type); instances with several GPUs, priced per "
        "GPU (multi-gpu); all clouds (multi-cloud); and choosing again every day (dynamic).\n"
        "\n"
        "Mode paper follows the published evaluation: daily prices, no preemptions, free moves. "
        "Its costs are those of the paper, not those of a real job.\n"
        "\n"
        "Mode market follows real spot markets: prices to the second, no knowledge of later "
        "prices, start-up times, checkpoints and their egress, preemptions. It adds the best "
        "single offer and the best schedule in hindsight, and the regret of dynamic. Starts that "
        "the histories of all clouds do not cover are named and left out.",
    .example = "tradewind market replay --model A3C --work \"4 V100-days\"",
    .options = options,
    .operation = &market_replay_operation,
    .text = &(const struct command_text){.save = save_charts, .head = print_replay},
};
