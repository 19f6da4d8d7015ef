#include "base/mem.h"
#include "base/money.h"
#include "cli/market/market_chart.h"
#include "cli/market/market_live.h"
#include "cli/market/market_parts.h"
#include "view/table.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400.0

const char *cli_live_row_text(size_t row)
{
    if (row < MARKET_N_STRATEGIES)
        return market_strategy_text((enum market_strategy)row);
    return row == MARKET_ROW_BEST_STATIC ? "best-static" : "offline";
}

static double reduction(const struct market_live_answer *a, size_t row)
{
    return a->means[MARKET_SINGLE].cost_usd / a->means[row].cost_usd;
}

static double regret_usd(const struct market_live_answer *a)
{
    return a->means[MARKET_DYNAMIC].cost_usd - a->means[MARKET_ROW_OFFLINE].cost_usd;
}

/* ---- JSON ---- */

static json_t *row_json(const struct cli_live_shown *s, size_t row)
{
    const struct market_live_answer *a = s->answer;
    const struct market_live_mean *m = &a->means[row];
    json_t *costs = json_array();

    for (size_t i = 0; i < a->n_starts; i++)
        if (a->starts[i].state == MARKET_START_COVERED)
            json_array_append_new(costs, json_usd(a->starts[i].bills[row].cost_microusd));
    json_t *j = json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "name",
                          cli_live_row_text(row), "mean_cost_usd", json_number(m->cost_usd),
                          "reduction", json_number(reduction(a, row)), "mean_hours",
                          json_number(m->hours), "switches_mean", json_number(m->switches),
                          "switches_max", (json_int_t)m->switches_max, "preemptions_mean",
                          json_number(m->preemptions), "costs_usd", costs);
    if (isfinite(s->c->question.deadline_after_s))
        json_object_set_new(j, "late", json_integer((json_int_t)m->late));
    return j;
}

static json_t *names_json(const char *const *names, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_text(names[i]));
    return list;
}

static void put_starts(const struct cli_live_shown *s, json_t *root)
{
    const struct market_live_answer *a = s->answer;
    json_t *covered = json_array(), *left_out = json_array();
    char day[32];

    for (size_t i = 0; i < a->n_starts; i++) {
        app_market_day(a->starts[i].at_s, day);
        if (a->starts[i].state == MARKET_START_COVERED)
            json_array_append_new(covered, json_string(day));
        else
            json_array_append_new(left_out, json_pack("{s:s, s:s}", "day", day, "why",
                                                      market_start_text(a->starts[i].state)));
    }
    json_object_set_new(root, "starts", json_integer((json_int_t)a->n_starts));
    json_object_set_new(root, "covered_starts", json_integer((json_int_t)a->n_covered));
    json_object_set_new(root, "start_days", covered);
    json_object_set_new(root, "left_out_days", left_out);
}

void cli_live_put_clouds(const struct app_live *c, json_t *root)
{
    size_t n;
    const char *const *names = market_live_clouds(c->live, &n);

    json_object_set_new(root, "clouds", names_json(names, n));
    names = market_live_left_out(c->live, &n);
    json_object_set_new(root, "left_out_clouds", names_json(names, n));
    names = market_live_unmeasured(c->live, &n);
    json_object_set_new(root, "clouds_without_measured_preemptions", names_json(names, n));
}

static json_t *offline_json(const struct cli_live_shown *s)
{
    json_t *j = row_json(s, MARKET_ROW_OFFLINE);

    json_object_set_new(j, "bound_usd", json_number(s->answer->bound_usd));
    json_object_set_new(j, "proved_starts", json_integer((json_int_t)s->answer->n_proved));
    json_object_set_new(j, "gap", json_real(s->c->question.gap));
    return j;
}

int cli_live_print_json(const struct cli_live_shown *s, struct err *e)
{
    const struct market_live_answer *a = s->answer;
    json_t *strategies = json_array();
    AUTO_JSON json_t *root =
        json_pack("{s:s, s:o, s:o, s:f, s:o, s:o, s:s}", "mode", "market", "model",
                  json_text(s->model), "work", json_text(s->work_text), "work_v100_days",
                  s->work_days, "region", json_text(s->c->region), "cloud", json_text(s->c->cloud),
                  "policy", market_policy_text(s->c->question.policy.kind));

    for (size_t i = 0; i < MARKET_N_STRATEGIES; i++)
        if (s->wanted[i])
            json_array_append_new(strategies, row_json(s, i));
    put_starts(s, root);
    cli_live_put_clouds(s->c, root);
    json_object_set_new(root, "strategies", strategies);
    json_object_set_new(root, "offline", offline_json(s));
    json_object_set_new(root, "best_static", row_json(s, MARKET_ROW_BEST_STATIC));
    json_object_set_new(root, "regret",
                        json_number(regret_usd(a) / a->means[MARKET_ROW_OFFLINE].cost_usd));
    json_object_set_new(root, "regret_usd", json_number(regret_usd(a)));
    return json_write(stdout, root, e);
}

/* ---- for people ---- */

static void put_row(struct table *t, const struct cli_live_shown *s, size_t row)
{
    const struct market_live_mean *m = &s->answer->means[row];
    char text[32];

    table_put(t, cli_live_row_text(row));
    table_put(t, money_text(money_from_usd(m->cost_usd), text));
    table_printf(t, "%.2f x", reduction(s->answer, row));
    table_printf(t, "%.1f h", m->hours);
    table_printf(t, "%.2f", m->switches);
    table_printf(t, "%zu", m->switches_max);
    table_printf(t, "%.2f", m->preemptions);
    if (isfinite(s->c->question.deadline_after_s))
        table_printf(t, "%zu", m->late);
    else
        table_put(t, "-");
}

static void print_left_out(const struct market_live_answer *a)
{
    char first[32], last[32];

    for (size_t i = 0, n; i < a->n_starts; i += n) {
        for (n = 1; i + n < a->n_starts && a->starts[i + n].state == a->starts[i].state; n++)
            ;
        if (a->starts[i].state == MARKET_START_COVERED)
            continue;
        printf("Left out: %s", app_market_day(a->starts[i].at_s, first));
        if (n > 1)
            printf(" to %s", app_market_day(a->starts[i + n - 1].at_s, last));
        printf(", %s.\n", market_start_text(a->starts[i].state));
    }
}

static void print_names(const char *before, const char *const *names, size_t n, const char *after)
{
    if (!n)
        return;
    fputs(before, stdout);
    for (size_t i = 0; i < n; i++)
        printf("%s%s", i ? ", " : "", names[i]);
    puts(after);
}

static void print_notes(const struct cli_live_shown *s)
{
    const struct market_live_answer *a = s->answer;
    double gap = s->c->question.gap;
    char usd[32], known[64] = "";
    size_t n;
    const char *const *names;

    if (a->n_proved < a->n_covered)
        snprintf(known, sizeof known, " that was found");
    else if (gap > 0)
        snprintf(known, sizeof known, ", which is known to %g %%", 100 * gap);
    if (a->n_covered)
        printf("\nRegret of dynamic (%s): %s, %.1f %% above the best way in hindsight%s.\n",
               market_policy_text(s->c->question.policy.kind),
               money_text(money_from_usd(regret_usd(a)), usd),
               100 * regret_usd(a) / a->means[MARKET_ROW_OFFLINE].cost_usd, known);
    if (a->n_proved < a->n_covered)
        printf("Of %zu starts %zu are not proved; no way costs less than %s in the mean.\n",
               a->n_covered, a->n_covered - a->n_proved,
               money_text(money_from_usd(a->bound_usd), usd));
    print_left_out(a);
    names = market_live_left_out(s->c->live, &n);
    print_names("Clouds whose histories cover too few of the starts: ", names, n,
                " (take them with --clouds).");
    names = market_live_unmeasured(s->c->live, &n);
    print_names("Nobody recorded lives of machines of ", names, n,
                ": taken as never preempted (--preemptions says otherwise).");
}

void cli_live_print(const struct cli_live_shown *s)
{
    static const struct table_column columns[] = {
        {.title = "strategy"},
        {.title = "mean cost", .right = true},
        {.title = "reduction", .right = true},
        {.title = "mean time", .right = true},
        {.title = "switches", .right = true},
        {.title = "at most", .right = true},
        {.title = "preempted", .right = true},
        {.title = "late", .right = true},
    };
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);

    printf("%s, %s, begun in %s:%s: %zu of %zu starts are covered\n\n", s->model, s->work_text,
           s->c->cloud, s->c->region, s->answer->n_covered, s->answer->n_starts);
    for (size_t i = 0; s->answer->n_covered && i < MARKET_N_STRATEGIES; i++)
        if (s->wanted[i])
            put_row(t, s, i);
    if (s->answer->n_covered) {
        table_rule(t);
        put_row(t, s, MARKET_ROW_BEST_STATIC);
        put_row(t, s, MARKET_ROW_OFFLINE);
        table_print(t, stdout, 0, TEXT_COLUMNS, &look);
    }
    print_notes(s);
}

/* ---- pictures ---- */

int cli_live_save_chart(const struct cli_live_shown *s, const char *path, struct err *e)
{
    struct chart_ladder_bar bars[MARKET_N_ROWS];
    AUTO_MEM char *title = mem_printf("Mean cost of %zu starts, to the second: %s of %s",
                                      s->answer->n_covered, s->work_text, s->model);
    size_t n = 0;

    for (size_t row = 0; row < MARKET_N_ROWS; row++)
        if (row >= MARKET_N_STRATEGIES || s->wanted[row])
            bars[n++] = (struct chart_ladder_bar){
                cli_live_row_text(row), s->answer->means[row].cost_usd, reduction(s->answer, row)};
    return chart_ladder_save(path, &(struct chart_ladder){title, bars, n}, e);
}

/* What a way has cost until then, moves included. */
static double paid_until(const struct market_log *log, const struct market_scene *s, double now_s)
{
    double usd = 0;

    for (size_t i = 0; i < log->n && log->leases[i].begin_s <= now_s; i++) {
        const struct market_lease *l = &log->leases[i];
        double before = market_scene_paid(s, l->offer, l->begin_s);
        double rent = market_scene_paid(s, l->offer, l->end_s) - before;
        usd += money_to_usd(l->microusd) - rent; /* the move there */
        usd += market_scene_paid(s, l->offer, fmin(now_s, l->end_s)) - before;
    }
    return usd;
}

static const struct market_live_start *most_regret(const struct market_live_answer *a)
{
    const struct market_live_start *most = NULL;
    int64_t highest = -1;

    for (size_t i = 0; i < a->n_starts; i++) {
        const struct market_live_start *s = &a->starts[i];
        int64_t regret =
            s->bills[MARKET_DYNAMIC].cost_microusd - s->bills[MARKET_ROW_OFFLINE].cost_microusd;
        if (s->state == MARKET_START_COVERED && regret > highest) {
            highest = regret;
            most = s;
        }
    }
    return most;
}

#define TRACE_POINTS 500

/* How the bills of dynamic and of the best way grow from one start, and what is between them. */
struct trace {
    struct chart_step paid[2][TRACE_POINTS], between[TRACE_POINTS];
    double end_s;
};

/* Sums of the same prices in another order differ by less than anybody pays. */
static double or_zero(double usd)
{
    return fabs(usd) < 1e-6 ? 0 : usd;
}

static void follow(struct trace *t,
                   struct app_live *c,
                   const struct market_live_start *start,
                   const struct market_scene *scene)
{
    static const size_t rows[] = {MARKET_DYNAMIC, MARKET_ROW_OFFLINE};

    t->end_s = fmax(start->bills[rows[0]].finish_s, start->bills[rows[1]].finish_s);
    for (size_t r = 0; r < 2; r++) {
        AUTO_CLEAR(market_log) struct market_log log = {0};
        market_live_follow(c->live, &c->question, start, rows[r], &log);
        for (size_t i = 0; i < TRACE_POINTS; i++) {
            double at_s = start->at_s + (t->end_s - start->at_s) * (double)i / (TRACE_POINTS - 1);
            t->paid[r][i] = (struct chart_step){at_s, or_zero(paid_until(&log, scene, at_s))};
        }
    }
    for (size_t i = 0; i < TRACE_POINTS; i++)
        t->between[i] =
            (struct chart_step){t->paid[0][i].at_s, or_zero(t->paid[0][i].usd - t->paid[1][i].usd)};
}

/* The regret of every covered start, by the day it began; starts stand a day apart, or a gap. */
static size_t regrets(const struct market_live_answer *a, struct chart_step *out)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_starts; i++) {
        const struct market_live_start *s = &a->starts[i];
        bool covered = s->state == MARKET_START_COVERED;
        out[n++] = (struct chart_step){
            s->at_s, covered ? money_to_usd(s->bills[MARKET_DYNAMIC].cost_microusd -
                                            s->bills[MARKET_ROW_OFFLINE].cost_microusd)
                             : (double)NAN};
    }
    return n;
}

int cli_live_save_trace(struct app_live *c,
                        const struct cli_live_shown *s,
                        const char *path,
                        struct err *e)
{
    const struct market_live_answer *a = s->answer;
    const struct market_live_start *start = most_regret(a);
    AUTO_MEM struct trace *t = mem_zero(1, sizeof *t);
    AUTO_MEM struct chart_step *each = mem_zero(a->n_starts + 1, sizeof *each);
    size_t n = regrets(a, each);
    char day[32];

    if (!start)
        return err_set(e, ERR_NOFIT, "--trace: none of the starts is covered");
    follow(t, c, start, market_live_scene(c->live));
    AUTO_MEM char *title =
        mem_printf("What dynamic pays and regrets: %s of %s", s->work_text, s->model);
    AUTO_MEM char *paid =
        mem_printf("Paid since the start on %s, USD", app_market_day(start->at_s, day));
    const struct chart_price_panel panels[] = {
        {.title = paid,
         .lines = {{"dynamic", t->paid[0], TRACE_POINTS, t->end_s},
                   {"best in hindsight", t->paid[1], TRACE_POINTS, t->end_s}},
         .n = 2,
         .from_zero = true,
         .cap_usd = (double)NAN},
        {.title = "Dynamic less the best in hindsight, USD: at the end, the regret",
         .lines = {{"difference", t->between, TRACE_POINTS, t->end_s}},
         .n = 1,
         .from_zero = true,
         .cap_usd = (double)NAN},
        {.title = "Regret of each job, USD, by the day it began",
         .lines = {{"regret", each, n, each[n - 1].at_s + DAY_S}},
         .n = 1,
         .from_zero = true,
         .cap_usd = (double)NAN},
    };
    return chart_prices_save(path, &(struct chart_prices){title, panels, 3, 0}, e);
}
