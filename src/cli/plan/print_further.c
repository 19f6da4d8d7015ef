/* print_further: the parts of a printed plan that --explain, --what-if and --pareto ask for. */
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/plan/plan.h"
#include "view/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPLAIN_ROWS 10
#define PARETO_ROWS 24

static void put_deltas(struct table *t, const struct app_plan_other *other)
{
    char text[40], time[32];

    if (other->reason) {
        for (size_t i = 0; i < 4; i++)
            table_put(t, "");
        return;
    }
    cli_plan_put_dollars(t, other->point.cost_microusd);
    table_put(t, cli_plan_delta_money(other->delta_microusd, text));
    table_put(t, time_text(other->point.time_s, time));
    table_put(t, cli_plan_delta_time(other->delta_s, text));
}

/* ---- explain ---- */

/* Locations where the stage has the same offer, and the plan the same cost and time. */
struct explained {
    const struct app_plan_machine *machine; /* of the first */
    struct app_plan_other plan;             /* its point and differences */
    size_t n;
    bool leads; /* no plan with the stage in this cloud is better */
};

/* Equal to the digits that are shown. */
static bool looks_equal(const struct explained *x,
                        const struct app_plan_machine *m,
                        const struct app_plan_other *plan)
{
    const struct app_plan_machine *first = x->machine;
    char text[4][40];

    return !strcmp(first->cloud, m->cloud) && !strcmp(first->instance_type, m->instance_type) &&
           !strcmp(first->market, m->market) &&
           !strcmp(cli_plan_delta_money(x->plan.delta_microusd, text[0]),
                   cli_plan_delta_money(plan->delta_microusd, text[1])) &&
           !strcmp(cli_plan_delta_time(x->plan.delta_s, text[2]),
                   cli_plan_delta_time(plan->delta_s, text[3]));
}

static void add_explained(struct explained *all,
                          size_t *n,
                          const struct app_plan_machine *m,
                          const struct app_plan_other *plan)
{
    bool leads = true;

    for (size_t i = 0; i < *n; i++) {
        leads = leads && strcmp(all[i].machine->cloud, m->cloud) != 0;
        if (looks_equal(&all[i], m, plan)) {
            all[i].n++;
            return;
        }
    }
    all[(*n)++] = (struct explained){m, *plan, 1, leads};
}

static const struct app_plan_machine *machine_of(const struct app_plan_report *r, const char *stage)
{
    const struct app_plan_stage *stages = r->stages.items;

    while (strcmp(stages->machine.name, stage) != 0)
        stages++;
    return &stages->machine;
}

static void put_explained(struct table *t, const struct explained *x, bool with_totals)
{
    const struct app_plan_machine *m = x->machine;
    char text[40], time[32];
    AUTO_MEM char *location = app_plan_location_text(m->cloud, m->region, m->zone);
    AUTO_MEM char *machine = cli_plan_machine_text(m);

    if (x->n > 1)
        table_printf(t, "%s and %zu more", location, x->n - 1);
    else
        table_put(t, location);
    table_put(t, machine);
    table_put(t, m->market);
    if (with_totals)
        cli_plan_put_dollars(t, x->plan.point.cost_microusd);
    table_put(t, cli_plan_delta_money(x->plan.delta_microusd, text));
    if (with_totals)
        table_put(t, time_text(x->plan.point.time_s, time));
    table_put(t, cli_plan_delta_time(x->plan.delta_s, text));
}

/* Those that lead their clouds, then the nearest others; returns how many locations are shown. */
static size_t put_all_explained(struct table *t,
                                const struct explained *all,
                                size_t n,
                                bool with_totals)
{
    size_t shown = 0, rows = 0;

    for (size_t i = 0; i < n; i++)
        if (all[i].leads) {
            put_explained(t, &all[i], with_totals);
            shown += all[i].n;
        }
    for (size_t i = 0; i < n && rows < EXPLAIN_ROWS; i++)
        if (!all[i].leads) {
            if (!rows++)
                table_rule(t);
            put_explained(t, &all[i], with_totals);
            shown += all[i].n;
        }
    return shown;
}

/* Locations are copied, so they are not cut: where there is no room for the plans' totals, what
 * they add has to do. */
static size_t print_explained(const struct explained *all,
                              size_t n,
                              FILE *out,
                              const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "location"},    {"instance type", .cut_rank = 1, .least = 12},
        {.title = "market"},      {"plan cost", .right = true},
        {"added", .right = true}, {"plan time", .right = true},
        {"added", .right = true},
    };
    static const struct table_column narrow_columns[] = {
        {.title = "location"},         {"instance type", .cut_rank = 1, .least = 12},
        {.title = "market"},           {"added cost", .right = true},
        {"added time", .right = true},
    };
    AUTO(table) struct table *wide = table_new(columns, sizeof columns / sizeof *columns);
    AUTO(table)
    struct table *narrow =
        table_new(narrow_columns, sizeof narrow_columns / sizeof *narrow_columns);
    size_t shown = put_all_explained(wide, all, n, true);

    put_all_explained(narrow, all, n, false);
    bool fits = table_least_width(wide) <= text_columns(look);
    table_print(fits ? wide : narrow, out, 0, look);
    return shown;
}

void cli_plan_print_explain(const struct app_plan_report *r,
                            FILE *out,
                            const struct text_look *look)
{
    const struct app_plan_other *others = r->explain.items;
    size_t n = r->explain.n, n_explained = 0, impossible = 0;
    AUTO_MEM struct explained *all = mem_zero(n + 1, sizeof *all);

    add_explained(all, &n_explained, machine_of(r, r->explained),
                  &(struct app_plan_other){.point = r->point});
    for (size_t i = 0; i < n; i++) {
        impossible += others[i].reason != NULL;
        if (!others[i].reason)
            add_explained(all, &n_explained, &others[i].machine, &others[i]);
    }
    AUTO_MEM char *without = mem_printf("; of %zu other locations %zu %s no plan", n, impossible,
                                        impossible == 1 ? "has" : "have");
    AUTO_MEM char *title = mem_printf("%s: the best offer of each cloud, then the nearest%s",
                                      r->explained, impossible ? without : "");
    fputc('\n', out);
    text_paragraph(out, title, 2, look);
    size_t shown = print_explained(all, n_explained, out, look);
    if (n + 1 - impossible > shown)
        fprintf(out, "%zu more locations; --json lists all.\n", n + 1 - impossible - shown);
}

/* ---- suggestions ---- */

/* "3 %", "0.4 %": of a whole that is not 0. */
static void share_text(double part, double whole, char out[static 16])
{
    double percent = fabs(part) / whole * 100;

    snprintf(out, 16, percent >= 1 ? "%.0f %%" : "%.2g %%", percent);
}

/* "1 cloud" */
static char *count_text(uint64_t n, const char *what)
{
    return mem_printf("%llu %s%s", (unsigned long long)n, what, n == 1 ? "" : "s");
}

static char *simpler_text(const struct app_plan_report *r, const struct app_plan_suggestion *s)
{
    char money[32], share[16], time[32];
    AUTO_MEM char *clouds = count_text(s->simplicity.clouds, "cloud");
    AUTO_MEM char *regions = count_text(s->simplicity.regions, "region");
    AUTO_MEM char *pace = fabs(s->delta_s) < SHOWN_S
                              ? mem_dup("as fast")
                              : mem_printf("%s %s", time_text(fabs(s->delta_s), time),
                                           s->delta_s < 0 ? "sooner" : "later");

    if (r->point.cost_microusd > 0)
        share_text((double)s->delta_microusd, (double)r->point.cost_microusd, share);
    else
        snprintf(share, sizeof share, "new");
    return mem_printf("%s and %s instead of %llu and %llu: %s (%s) %s, %s: %s", clouds, regions,
                      (unsigned long long)r->clouds, (unsigned long long)r->regions,
                      money_text(llabs(s->delta_microusd), money), share,
                      s->delta_microusd < 0 ? "less" : "more", pace, s->options);
}

/* "3 % more ($0.30) ends 1 h 27 m sooner: --deadline 2h30m" */
static char *trade_text(const struct app_plan_report *r, const struct app_plan_suggestion *s)
{
    char money[32], time[32], share[16];
    bool is_sooner = !strcmp(s->kind, "sooner");

    money_text(llabs(s->delta_microusd), money);
    time_text(fabs(s->delta_s), time);
    if (is_sooner) {
        share_text((double)s->delta_microusd, (double)r->point.cost_microusd, share);
        return mem_printf("%s more (%s) ends %s sooner: %s", share, money, time, s->options);
    }
    share_text(s->delta_s, r->point.time_s, share);
    return mem_printf("%s longer (%s) costs %s less: %s", share, time, money, s->options);
}

void cli_plan_print_suggestions(const struct app_plan_report *r,
                                FILE *out,
                                const struct text_look *look)
{
    const struct app_plan_suggestion *all = r->suggestions.items;

    for (size_t i = 0; i < r->suggestions.n; i++) {
        AUTO_MEM char *line =
            !strcmp(all[i].kind, "simpler") ? simpler_text(r, &all[i]) : trade_text(r, &all[i]);
        text_paragraph(out, line, 2, look);
    }
}

void cli_plan_print_what_if(const struct app_plan_report *r,
                            FILE *out,
                            const struct text_look *look)
{
    static const struct table_column columns[] = {
        {"what if", .cut_rank = 1, .least = 20},
        {"cost", .right = true},
        {"", .right = true},
        {"time", .right = true},
        {"", .right = true},
        {.title = ""},
    };
    const struct app_plan_other *others = r->what_if.items;
    size_t n = r->what_if.n;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);

    for (size_t i = 0; i < n; i++) {
        table_put(t, others[i].change);
        put_deltas(t, &others[i]);
        table_put(t, others[i].reason                        ? "no plan"
                     : !strcmp(others[i].status, "feasible") ? "not proven"
                                                             : "");
    }
    fputc('\n', out);
    table_print(t, out, 0, look);
    for (size_t i = 0; i < n; i++) {
        if (!others[i].reason)
            continue;
        AUTO_MEM char *line = mem_printf("%s: %s", others[i].change, others[i].reason);
        text_paragraph(out, line, 2, look);
    }
}

static bool is_chosen(const struct app_plan_report *r, const struct plan_point *point)
{
    return point->cost_microusd == r->point.cost_microusd && !(point->time_s < r->point.time_s) &&
           !(point->time_s > r->point.time_s);
}

static char *plan_summary(const struct app_plan_pareto *plan)
{
    const struct app_plan_stage *stages = plan->stages.items;
    char *text = mem_dup("");

    for (size_t i = 0; i < plan->stages.n; i++) {
        const struct app_plan_machine *m = &stages[i].machine;
        AUTO_MEM char *machine = cli_plan_machine_text(m);
        AUTO_MEM char *before = text;
        text = mem_printf("%s%s%s/%s %s%s", before, i ? ", " : "", m->cloud, m->region, machine,
                          !strcmp(m->market, "spot") ? " spot" : "");
    }
    return text;
}

/* How much of the frontier the search got to. */
static const char *completeness(const struct app_plan_report *r, char out[static 96])
{
    char dollars[32];

    if (r->pareto_complete)
        return "";
    if (r->pareto_complete_microusd == FIELD_NONE)
        return ", as far as the time limit allowed";
    snprintf(out, 96, ", complete up to %s: the time limit came first",
             money_text(r->pareto_complete_microusd, dollars));
    return out;
}

void cli_plan_print_pareto(const struct app_plan_report *r, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = ""},
        {"cost", .right = true},
        {"time", .right = true},
        {"stage by stage", .cut_rank = 1, .least = 20},
    };
    const struct app_plan_pareto *plans = r->pareto.items;
    size_t n = r->pareto.n, rows = n < PARETO_ROWS ? n : PARETO_ROWS, row = 0;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    char text[32], complete[96];

    fputc('\n', out);
    cli_plan_draw_frontier(r, out, look);
    for (size_t i = 0; i < n; i++) {
        bool due = rows > 0 && i * (rows - 1) >= row * (n - 1);
        row += due;
        if (!due && !is_chosen(r, &plans[i].point))
            continue;
        AUTO_MEM char *summary = plan_summary(&plans[i]);
        table_put(t, is_chosen(r, &plans[i].point) ? ">" : "");
        cli_plan_put_dollars(t, plans[i].point.cost_microusd);
        table_put(t, cli_plan_clock_text(plans[i].point.time_s, text));
        table_put(t, summary);
    }
    fputc('\n', out);
    table_print(t, out, 0, look);
    fprintf(out, "%zu plan%s on the Pareto frontier%s%s%s.\n", n, n == 1 ? "" : "s",
            r->pareto_thinned ? ", thinned from more" : "", completeness(r, complete),
            n > PARETO_ROWS ? "; --json lists all" : "");
}
