#include "base/mem.h"
#include "base/number.h"
#include "cli/core/operate.h"
#include "cli/market/market_job.h"
#include "cli/market/market_live.h"
#include "cli/market/market_parts.h"
#include "view/json_list.h"
#include "view/table.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0
#define REQUEST_MAX_BYTES ((size_t)1 << 20)

/* ---- market replay ---- */

static int show(struct app_live *c,
                const struct command_args *args,
                const struct cli_live_shown *shown,
                struct err *e)
{
    const char *svg = command_value(args, "--svg"), *trace = command_value(args, "--trace");

    if (svg && shown->answer->n_covered && cli_live_save_chart(shown, svg, e) < 0)
        return -1;
    if (trace && cli_live_save_trace(c, shown, trace, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return cli_live_print_json(shown, e);
    cli_live_print(shown);
    return 0;
}

int cli_market_live_replay(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(app_live) struct app_live c = {0};
    AUTO_CLEAR(cli_market_asked) struct cli_market_asked asked = {0};
    AUTO_CLEAR(market_live_answer) struct market_live_answer answer = {0};
    AUTO(arena) struct arena *arena = arena_new(REQUEST_MAX_BYTES);
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    struct market_replay_request q;
    AUTO_JSON json_t *request = cli_market_replay_request(args, arena, &q, e);

    if (!request || app_live_open(operate_app(door), &c, &q, e) < 0 ||
        cli_market_asked_read(&asked, args, c.speeds, e) < 0)
        return -1;
    AUTO(market_job) struct market_job *job = app_live_job(&c, asked.model, e);
    if (!job)
        return -1;
    c.question.job = job;
    c.question.work = asked.reference_days * DAY_S;
    market_live_replay(c.live, &c.question, &answer);
    /* Days that were asked for by name are not left out in silence. */
    const char *starts = command_value(args, "--starts");
    if (!answer.n_covered && starts && strchr(starts, '-'))
        return err_set(e, ERR_NOFIT, "--starts %s: %s", starts,
                       market_start_text(answer.starts[0].state));
    return show(&c, args,
                &(struct cli_live_shown){.c = &c,
                                         .model = asked.model,
                                         .work_text = asked.work_text,
                                         .work_days = asked.reference_days,
                                         .answer = &answer,
                                         .wanted = asked.wanted},
                e);
}

/* ---- market sweep ---- */

/* Every optimum gets as much time as it needs as a rule; the rest shows as a bound. */
#define SWEEP_EFFORT 600

struct sweep_cell {
    double days;
    size_t n_covered, n_proved;
    double cost_usd[MARKET_N_ROWS], hours[MARKET_N_ROWS], switches[MARKET_N_ROWS];
    double preemptions[MARKET_N_ROWS], bound_usd;
};

static void print_head(void)
{
    puts("What work would have cost (mean USD over the starts that are covered), to the second\n");
}

static struct table *new_table(void)
{
    struct table_column columns[MARKET_N_ROWS + 4] = {
        {.title = "model", .cut_rank = 1, .least = 10},
        {.title = "days", .right = true},
        {.title = "starts", .right = true},
    };

    for (size_t row = 0; row < MARKET_N_ROWS; row++)
        columns[3 + row] = (struct table_column){.title = cli_live_row_text(row), .right = true};
    columns[3 + MARKET_N_ROWS] = (struct table_column){.title = "regret", .right = true};
    return table_new(columns, MARKET_N_ROWS + 4);
}

static double regret_share(const struct sweep_cell *cell)
{
    return cell->cost_usd[MARKET_DYNAMIC] / cell->cost_usd[MARKET_ROW_OFFLINE] - 1;
}

static void put_cell(struct table *t, const char *model, const struct sweep_cell *cell)
{
    table_put(t, model);
    table_printf(t, "%g", cell->days);
    table_printf(t, "%zu", cell->n_covered);
    for (size_t row = 0; row < MARKET_N_ROWS; row++)
        if (cell->n_covered)
            table_printf(t, "%.2f", cell->cost_usd[row]);
        else
            table_put(t, "-");
    if (cell->n_covered)
        table_printf(t, "%.1f %%", 100 * regret_share(cell));
    else
        table_put(t, "-");
}

/* Cells with optima that were not proved: what nothing could have been cheaper than. */
static struct table *new_doubts(void)
{
    const struct table_column columns[] = {
        {.title = "model", .cut_rank = 1, .least = 10},
        {.title = "days", .right = true},
        {.title = "starts", .right = true},
        {.title = "not proved", .right = true},
        {.title = "offline", .right = true},
        {.title = "at least", .right = true},
    };

    return table_new(columns, sizeof columns / sizeof *columns);
}

static void put_doubt(struct table *t, const char *model, const struct sweep_cell *cell)
{
    table_put(t, model);
    table_printf(t, "%g", cell->days);
    table_printf(t, "%zu", cell->n_covered);
    table_printf(t, "%zu", cell->n_covered - cell->n_proved);
    table_printf(t, "%.2f", cell->cost_usd[MARKET_ROW_OFFLINE]);
    table_printf(t, "%.2f", floor(cell->bound_usd * 100) / 100);
}

static json_t *by_row(const double *values)
{
    json_t *o = json_object();

    for (size_t row = 0; row < MARKET_N_ROWS; row++)
        json_object_set_new(o, cli_live_row_text(row), json_number(values[row]));
    return o;
}

static json_t *cell_json(const char *model, const struct sweep_cell *cell)
{
    return json_pack("{s:o, s:f, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "model",
                     json_text(model), "v100_days", cell->days, "covered_starts",
                     (json_int_t)cell->n_covered, "proved_starts", (json_int_t)cell->n_proved,
                     "mean_cost_usd", by_row(cell->cost_usd), "mean_hours", by_row(cell->hours),
                     "switches_mean", by_row(cell->switches), "preemptions_mean",
                     by_row(cell->preemptions), "bound_usd", json_number(cell->bound_usd), "regret",
                     json_number(regret_share(cell)));
}

static struct sweep_cell replay_cell(struct app_live *c, double days)
{
    AUTO_CLEAR(market_live_answer) struct market_live_answer a = {0};
    struct sweep_cell cell = {.days = days};

    c->question.work = days * DAY_S;
    c->question.effort = SWEEP_EFFORT;
    market_live_replay(c->live, &c->question, &a);
    cell.n_covered = a.n_covered;
    cell.n_proved = a.n_proved;
    cell.bound_usd = a.bound_usd;
    for (size_t row = 0; row < MARKET_N_ROWS; row++) {
        cell.cost_usd[row] = a.means[row].cost_usd;
        cell.hours[row] = a.means[row].hours;
        cell.switches[row] = a.means[row].switches;
        cell.preemptions[row] = a.means[row].preemptions;
    }
    return cell;
}

int cli_market_live_sweep(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(app_live) struct app_live c = {0};
    AUTO_CLEAR(cli_market_range) struct cli_market_range range = {0};
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *t = new_table();
    AUTO(table) struct table *doubts = new_doubts();
    size_t n_doubts = 0;
    AUTO_JSON json_t *cells = json_array();

    AUTO(arena) struct arena *arena = arena_new(REQUEST_MAX_BYTES);
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    struct market_replay_request q;
    AUTO_JSON json_t *request = cli_market_replay_request(args, arena, &q, e);
    if (!request || app_live_open(operate_app(door), &c, &q, e) < 0 ||
        cli_market_range_read(&range, args, c.speeds, e) < 0)
        return -1;
    for (size_t i = 0; i < range.n_models; i++) {
        AUTO(market_job) struct market_job *job = app_live_job(&c, range.models[i], e);
        if (!job)
            return -1;
        AUTO(market_reduced) struct market_reduced *reduced = market_reduced_new(job);
        c.question.job = job;
        c.question.reduced = reduced;
        for (size_t d = 0; d < range.n_durations; d++) {
            const struct sweep_cell cell = replay_cell(&c, range.durations[d]);
            put_cell(t, range.models[i], &cell);
            if (cell.n_proved < cell.n_covered)
                put_doubt(doubts, range.models[i], &cell);
            n_doubts += cell.n_proved < cell.n_covered;
            json_array_append_new(cells, cell_json(range.models[i], &cell));
        }
    }
    if (command_has(args, "--json")) {
        AUTO_JSON json_t *root = json_pack(
            "{s:s, s:o, s:o, s:s, s:I, s:O}", "mode", "market", "cloud", json_text(c.cloud),
            "region", json_text(c.region), "policy", market_policy_text(c.question.policy.kind),
            "starts", (json_int_t)c.n_starts, "cells", cells);
        cli_live_put_clouds(&c, root);
        return json_write(stdout, root, e);
    }
    print_head();
    table_print(t, stdout, 0, TEXT_COLUMNS, &look);
    if (n_doubts) {
        printf("\nNot all optima are proved within %g %%; no way costs less in the mean than\n\n",
               100 * c.question.gap);
        table_print(doubts, stdout, 0, TEXT_COLUMNS, &look);
    }
    return 0;
}
