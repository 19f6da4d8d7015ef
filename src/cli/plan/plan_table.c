#include "cli/plan/plan_parts.h"

#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "view/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void print_goal(const struct app_plan *p, FILE *out, const struct text_look *look)
{
    static const char *const least[] = {
        [SPEC_COST] = "cost",
        [SPEC_TIME] = "time",
        [SPEC_VALUE] = "dollars x hours",
        [SPEC_WEIGHTED] = "weighted sum",
    };
    const struct spec_goal *goal = &p->settings.goal;
    char objective[40], money[32] = "", time[32] = "";
    bool has_budget = isfinite(goal->budget_usd), has_deadline = isfinite(goal->deadline_s);

    if (has_budget)
        snprintf(money, sizeof money, "$%.2f", goal->budget_usd);
    if (has_deadline)
        time_text(goal->deadline_s, time);
    AUTO_MEM char *line =
        mem_printf("%s: the plan of least %s%s%s%s%s%s%s%s", p->spec->name, least[goal->objective],
                   goal->objective == SPEC_WEIGHTED ? " " : "",
                   goal->objective == SPEC_WEIGHTED ? app_plan_objective_text(goal, objective) : "",
                   has_budget || has_deadline ? ", within " : "", money,
                   has_budget && has_deadline ? " and " : "", time,
                   has_deadline && p->settings.risk_p95 ? " at the high end of the estimates" : "");
    text_paragraph(out, line, 2, look);
}

static void print_guesses(const struct guess_list *g, FILE *out, const struct text_look *look)
{
    if (g->n == 0)
        return;
    fputs("\nGuessed\n", out);
    for (size_t i = 0; i < g->n; i++) {
        AUTO_MEM char *line =
            mem_printf("  - %s: %s (%s)", g->items[i].what, g->items[i].value, g->items[i].why);
        text_paragraph(out, line, 4, look);
    }
}

#define N_WHERE 4 /* columns: stage, where, machine, market */
#define N_WHEN 5  /* columns: start, takes, compute, transfer, storage */

static void put_where(struct table *t, const struct app_plan *p, const struct plan_stage *s)
{
    AUTO_MEM char *place = app_plan_place_text(p->catalog, s->place, s->offer);
    AUTO_MEM char *machine = cli_plan_machine_text(p, s);

    table_put(t, p->spec->stages[s->stage].name);
    table_put(t, place);
    table_put(t, machine);
    table_put(t, app_plan_market_text(s->spot));
}

static void put_when(struct table *t, const struct plan_stage *s, bool with_storage)
{
    char text[32];

    table_put(t, cli_plan_clock_text(s->start_s, text));
    table_put(t, cli_plan_clock_text(s->finish_s - s->start_s, text));
    cli_plan_put_dollars(t, s->compute_microusd);
    cli_plan_put_dollars(t, s->transfer_microusd);
    if (with_storage)
        cli_plan_put_dollars(t, s->storage_microusd);
}

/* The last row; n_before columns stand before start. */
static void put_sums(struct table *t, const struct plan *plan, size_t n_before, bool with_storage)
{
    int64_t compute = 0, transfer = 0, storage = 0;
    char text[32];

    for (size_t i = 0; i < plan->n_stages; i++) {
        compute += plan->stages[i].compute_microusd;
        transfer += plan->stages[i].transfer_microusd;
        storage += plan->stages[i].storage_microusd;
    }
    table_rule(t);
    table_put(t, "total");
    for (size_t i = 1; i <= n_before; i++)
        table_put(t, "");
    table_put(t, cli_plan_clock_text(plan->time_s, text));
    cli_plan_put_dollars(t, compute);
    cli_plan_put_dollars(t, transfer);
    if (with_storage)
        cli_plan_put_dollars(t, storage);
}

static bool keeps_something(const struct plan *plan)
{
    for (size_t i = 0; i < plan->n_stages; i++)
        if (plan->stages[i].storage_microusd > 0)
            return true;
    return false;
}

/* Places and machines are there to be copied, so only names of stages are ever cut: where all
 * columns do not fit side by side, what and when become two tables. */
static void print_stages(const struct app_plan *p, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[N_WHERE + N_WHEN] = {
        {"stage", .cut_rank = 1, .least = 12},
        {.title = "where"},
        {.title = "machine"},
        {.title = "market"},
        {"start", .right = true},
        {"takes", .right = true},
        {"compute", .right = true},
        {"transfer", .right = true},
        {"storage", .right = true},
    };
    const struct plan *plan = &p->answer.plan;
    bool with_storage = keeps_something(plan);
    size_t n_when = N_WHEN - !with_storage;
    AUTO(table) struct table *all = table_new(columns, N_WHERE + n_when);
    AUTO(table) struct table *where = table_new(columns, N_WHERE);
    struct table_column when_columns[1 + N_WHEN] = {columns[0]};

    memcpy(when_columns + 1, columns + N_WHERE, N_WHEN * sizeof *columns);
    AUTO(table) struct table *when = table_new(when_columns, 1 + n_when);
    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct plan_stage *s = &plan->stages[i];
        put_where(all, p, s);
        put_when(all, s, with_storage);
        put_where(where, p, s);
        table_put(when, p->spec->stages[s->stage].name);
        put_when(when, s, with_storage);
    }
    put_sums(all, plan, N_WHERE, with_storage);
    put_sums(when, plan, 1, with_storage);
    fputc('\n', out);
    if (table_least_width(all) <= TEXT_COLUMNS) {
        table_print(all, out, 0, TEXT_COLUMNS, look);
        return;
    }
    table_print(where, out, 0, TEXT_COLUMNS, look);
    fputc('\n', out);
    table_print(when, out, 0, TEXT_COLUMNS, look);
}

static void print_totals(const struct plan *plan, FILE *out)
{
    char cost[32], low[32], high[32];

    fprintf(out, "\ncost  %s (%s to %s)\n", money_text(plan->cost_microusd, cost),
            money_text(plan->cost_low_microusd, low),
            plan->cost_high_microusd == INT64_MAX ? "no end"
                                                  : money_text(plan->cost_high_microusd, high));
    fprintf(out, "time  %s (%s to %s)\n", time_text(plan->time_s, cost),
            time_text(plan->time_low_s, low),
            isinf(plan->time_high_s) ? "no end" : time_text(plan->time_high_s, high));
}

/* A value of the objective, in its unit. */
static const char *objective_value(const struct spec_goal *goal, double value, char out[static 40])
{
    char time[32];

    switch (goal->objective) {
    case SPEC_COST:
        snprintf(out, 40, "$%.6g", value);
        break;
    case SPEC_TIME:
        snprintf(out, 40, "%s", time_text(value, time));
        break;
    case SPEC_VALUE:
        snprintf(out, 40, "%.6g dollar-hours", value);
        break;
    case SPEC_WEIGHTED:
        snprintf(out, 40, "%.6g", value);
        break;
    }
    return out;
}

static void print_proof(const struct app_plan *p, FILE *out)
{
    const struct plan_answer *a = &p->answer;
    char count[32], bound[40], search[80];

    snprintf(search, sizeof search, "%s offer%s in %.1f ms",
             text_count(a->offers_considered, count), a->offers_considered == 1 ? "" : "s",
             a->elapsed_s * 1e3);
    if (a->status == PLAN_OPTIMAL)
        fprintf(out, "optimal: proven, gap 0 over %s\n", search);
    else if (a->bound > 0)
        fprintf(out, "feasible: not proven, gap %.2g %% over %s: no plan is below %s\n",
                a->gap * 100, search, objective_value(&p->settings.goal, a->bound, bound));
    else
        fprintf(out, "feasible: not proven, no lower bound found over %s\n", search);
}

static bool stays_in_one_cloud(const struct app_plan *p)
{
    const struct plan *plan = &p->answer.plan;
    const struct catalog_place *places = catalog_places(p->catalog);
    const char *first = catalog_text(p->catalog, places[plan->stages[0].place].cloud);

    for (size_t i = 1; i < plan->n_stages; i++)
        if (strcmp(first, catalog_text(p->catalog, places[plan->stages[i].place].cloud)) != 0)
            return false;
    return true;
}

static void print_saving(const struct app_plan *p, FILE *out, const struct text_look *look)
{
    size_t best = app_plan_best_single(p);
    const struct plan *plan = &p->answer.plan;
    char money[32], time[32];

    if (stays_in_one_cloud(p) && p->settings.solver != PLAN_GREEDY) {
        fputs("This plan is single-cloud already.\n", out);
        return;
    }
    if (best == SIZE_MAX) {
        fputs("No single cloud has a plan for all stages.\n", out);
        return;
    }
    const struct app_plan_single *single = &p->singles[best];
    int64_t saved = single->point.cost_microusd - plan->cost_microusd;
    double faster_s = single->point.time_s - plan->time_s;
    double share = single->point.cost_microusd > 0
                       ? (double)llabs(saved) / (double)single->point.cost_microusd * 100
                       : 0;
    AUTO_MEM char *pace = fabs(faster_s) < 0.5
                              ? mem_dup("takes as long")
                              : mem_printf("takes %s %s", time_text(fabs(faster_s), time),
                                           faster_s < 0 ? "longer" : "less");
    AUTO_MEM char *line = mem_printf(
        "Against the best single cloud (%s) this plan %s %s (%.1f %%) and %s.", single->cloud,
        saved < 0 ? "costs more by" : "saves", money_text(llabs(saved), money), share, pace);
    text_paragraph(out, line, 2, look);
}

static void print_singles(const struct app_plan *p, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {"single cloud", .cut_rank = 1, .least = 12},
        {"cost", .right = true},
        {"", .right = true},
        {"time", .right = true},
        {"", .right = true},
    };
    const struct plan *plan = &p->answer.plan;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    char text[40], time[32];

    for (size_t i = 0; i < p->n_singles; i++) {
        const struct app_plan_single *s = &p->singles[i];
        table_put(t, s->cloud);
        cli_plan_put_dollars(t, s->point.cost_microusd);
        table_put(t, cli_plan_delta_money(s->point.cost_microusd - plan->cost_microusd, text));
        table_put(t, time_text(s->point.time_s, time));
        table_put(t, cli_plan_delta_time(s->point.time_s - plan->time_s, text));
    }
    fputc('\n', out);
    if (p->n_singles > 0)
        table_print(t, out, 0, TEXT_COLUMNS, look);
    print_saving(p, out, look);
}

void cli_plan_print(const struct app_plan *p, const struct cli_plan_extras *extras, FILE *out)
{
    struct text_look look = text_look_for(out);

    print_goal(p, out, &look);
    print_guesses(&p->guesses, out, &look);
    print_stages(p, out, &look);
    print_totals(&p->answer.plan, out);
    print_proof(p, out);
    print_singles(p, out, &look);
    if (extras->explain)
        cli_plan_print_explain(p, extras, out, &look);
    if (extras->what_if)
        cli_plan_print_what_if(extras->what_if, out, &look);
    if (extras->pareto)
        cli_plan_print_pareto(p, out, &look);
}

void cli_plan_print_infeasible(const struct app_plan *p, FILE *out)
{
    const struct table_column columns[] = {
        {.title = p->limits_leave_nothing ? "without the limits" : "without budget and deadline"},
        {"cost", .right = true},
        {"time", .right = true},
    };
    const struct plan_answer *a = &p->answer;
    struct text_look look = text_look_for(out);
    char text[32];

    if (!a->has_points)
        return;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    table_put(t, "cheapest plan");
    cli_plan_put_dollars(t, a->cheapest.cost_microusd);
    table_put(t, time_text(a->cheapest.time_s, text));
    table_put(t, "fastest plan");
    cli_plan_put_dollars(t, a->fastest.cost_microusd);
    table_put(t, time_text(a->fastest.time_s, text));
    table_print(t, out, 0, TEXT_COLUMNS, &look);
}
