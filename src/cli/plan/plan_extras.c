#include "cli/plan/plan_parts.h"

#include "base/mem.h"
#include "base/time.h"
#include "view/table.h"

#define EXPLAIN_ROWS 10
#define PARETO_ROWS 24

static void put_deltas(struct table *t, const struct app_plan_other *other)
{
    char text[40], time[32];

    if (other->status == PLAN_INFEASIBLE) {
        for (size_t i = 0; i < 4; i++)
            table_put(t, "");
        return;
    }
    cli_plan_put_dollars(t, other->point.cost_microusd);
    table_put(t, cli_plan_delta_money(other->delta_microusd, text));
    table_put(t, time_text(other->point.time_s, time));
    table_put(t, cli_plan_delta_time(other->delta_s, text));
}

void cli_plan_print_explain(const struct app_plan *p,
                            const struct cli_plan_extras *extras,
                            FILE *out,
                            const struct text_look *look)
{
    static const struct table_column columns[] = {
        {"instead at", .cut_rank = 1, .least = 12},
        {"on", .cut_rank = 1, .least = 12},
        {.title = "market"},
        {"plan cost", .right = true},
        {"added", .right = true},
        {"plan time", .right = true},
        {"added", .right = true},
    };
    const struct app_plan_others *others = extras->explain;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    size_t shown = 0, impossible = 0;

    for (size_t i = 0; i < others->n; i++) {
        const struct app_plan_other *other = &others->items[i];
        impossible += other->status == PLAN_INFEASIBLE;
        if (other->status == PLAN_INFEASIBLE || shown == EXPLAIN_ROWS)
            continue;
        AUTO_MEM char *place = app_plan_place_text(p->catalog, other->place, other->choice.offer);
        AUTO_MEM char *machine = cli_plan_machine_text(p, &other->choice);
        table_put(t, place);
        table_put(t, machine);
        table_put(t, app_plan_market_text(other->choice.spot));
        put_deltas(t, other);
        shown++;
    }
    AUTO_MEM char *title = mem_printf("%s elsewhere: %zu other places, %zu without a plan",
                                      extras->explained, others->n, impossible);
    fputc('\n', out);
    text_paragraph(out, title, 2, look);
    if (shown > 0)
        table_print(t, out, 0, TEXT_COLUMNS, look);
    if (others->n - impossible > shown)
        fprintf(out, "%zu more places; --json lists them all.\n", others->n - impossible - shown);
}

void cli_plan_print_what_if(const struct app_plan_others *others,
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
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);

    for (size_t i = 0; i < others->n; i++) {
        const struct app_plan_other *other = &others->items[i];
        table_put(t, other->change);
        put_deltas(t, other);
        table_put(t, other->status == PLAN_INFEASIBLE ? "no plan"
                     : other->status == PLAN_FEASIBLE ? "not proven"
                                                      : "");
    }
    fputc('\n', out);
    table_print(t, out, 0, TEXT_COLUMNS, look);
    for (size_t i = 0; i < others->n; i++) {
        const struct app_plan_other *other = &others->items[i];
        if (other->status != PLAN_INFEASIBLE)
            continue;
        AUTO_MEM char *line = mem_printf("%s: %s", other->change, other->reason);
        text_paragraph(out, line, 2, look);
    }
}

static bool is_chosen(const struct app_plan *p, const struct plan *plan)
{
    return plan->cost_microusd == p->answer.plan.cost_microusd &&
           !(plan->time_s < p->answer.plan.time_s) && !(plan->time_s > p->answer.plan.time_s);
}

static char *plan_summary(const struct app_plan *p, const struct plan *plan)
{
    char *text = mem_dup("");

    for (size_t i = 0; i < plan->n_stages; i++) {
        const struct plan_stage *s = &plan->stages[i];
        AUTO_MEM char *place = app_plan_place_text(p->catalog, s->place, NULL);
        AUTO_MEM char *machine = cli_plan_machine_text(p, s);
        AUTO_MEM char *before = text;
        text = mem_printf("%s%s%s %s%s", before, i ? ", " : "", place, machine,
                          s->spot ? " spot" : "");
    }
    return text;
}

void cli_plan_print_pareto(const struct app_plan *p, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = ""},
        {"cost", .right = true},
        {"time", .right = true},
        {"stage by stage", .cut_rank = 1, .least = 20},
    };
    const struct plan_answer *a = &p->answer;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    size_t rows = a->n_pareto < PARETO_ROWS ? a->n_pareto : PARETO_ROWS, row = 0;
    char text[32];

    fputc('\n', out);
    cli_plan_draw_frontier(p, out, look);
    for (size_t i = 0; i < a->n_pareto; i++) {
        const struct plan *plan = &a->pareto[i];
        bool due = rows > 0 && i * (rows - 1) >= row * (a->n_pareto - 1);
        row += due;
        if (!due && !is_chosen(p, plan))
            continue;
        AUTO_MEM char *summary = plan_summary(p, plan);
        table_put(t, is_chosen(p, plan) ? ">" : "");
        cli_plan_put_dollars(t, plan->cost_microusd);
        table_put(t, cli_plan_clock_text(plan->time_s, text));
        table_put(t, summary);
    }
    fputc('\n', out);
    table_print(t, out, 0, TEXT_COLUMNS, look);
    fprintf(out, "%zu plans of which none is both cheaper and faster%s%s%s.\n", a->n_pareto,
            a->pareto_thinned ? ", thinned from more" : "",
            a->pareto_complete ? "" : ", as far as the time limit allowed",
            a->n_pareto > PARETO_ROWS ? "; --json lists them all" : "");
}
