/* print: a plan for people: assumptions, stages, totals, proof, and single clouds. */
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/plan/plan.h"
#include "view/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

char *cli_plan_machine_text(const struct app_plan_machine *m)
{
    return m->nodes == 1 ? mem_dup(m->instance_type)
                         : mem_printf("%" PRId64 " x %s", m->nodes, m->instance_type);
}

const char *cli_plan_clock_text(double seconds, char out[static 32])
{
    int64_t s = llround(seconds);

    snprintf(out, 32, "%" PRId64 ":%02" PRId64 ":%02" PRId64, s / 3600, s / 60 % 60, s % 60);
    return out;
}

const char *cli_plan_delta_money(int64_t microusd, char out[static 40])
{
    char text[32];

    if (microusd == 0)
        return "same";
    snprintf(out, 40, "%s%s", microusd < 0 ? "" : "+", money_text(microusd, text));
    return out;
}

const char *cli_plan_delta_time(double seconds, char out[static 40])
{
    char text[32];

    if (fabs(seconds) < SHOWN_S)
        return "same";
    snprintf(out, 40, "%s%s", seconds < 0 ? "-" : "+", time_text(fabs(seconds), text));
    return out;
}

void cli_plan_put_dollars(struct table *t, int64_t microusd)
{
    char text[32];

    table_put(t, money_text(microusd, text));
}

/* ---- the plan ---- */

static void print_goal(const struct app_plan_report *r, FILE *out, const struct text_look *look)
{
    bool is_weighted = !strncmp(r->objective, "weighted", strlen("weighted"));
    bool has_budget = isfinite(r->budget_usd), has_deadline = isfinite(r->deadline_s);
    char money[32] = "", time[32] = "";

    if (has_budget)
        snprintf(money, sizeof money, "$%.2f", r->budget_usd);
    if (has_deadline)
        time_text(r->deadline_s, time);
    AUTO_MEM char *line = mem_printf(
        "%s: plan with the %s %s%s%s%s%s%s%s", r->pipeline,
        !strcmp(r->objective, "time") ? "shortest" : "lowest", is_weighted ? "weighted sum " : "",
        !strcmp(r->objective, "value") ? "dollars x hours" : r->objective,
        has_budget || has_deadline ? ", within " : "", money,
        has_budget && has_deadline ? " and " : "", time,
        has_deadline && !strcmp(r->risk, "p95") ? " at the high end of the estimates" : "");
    text_paragraph(out, line, 2, look);
}

static void print_guesses(const struct app_plan_report *r, FILE *out, const struct text_look *look)
{
    const struct guess *guesses = r->guessed.items;

    if (r->guessed.n == 0)
        return;
    fputs("\nGuessed\n", out);
    for (size_t i = 0; i < r->guessed.n; i++) {
        AUTO_MEM char *line =
            mem_printf("  - %s: %s (%s)", guesses[i].what, guesses[i].value, guesses[i].why);
        text_paragraph(out, line, 4, look);
    }
}

#define N_WHERE 7 /* columns: stage, location, instance type, vCPUs, GPUs, market, $/h */
#define N_WHEN 3  /* columns: start, takes, cost */

static void put_where(struct table *t, const struct app_plan_machine *m)
{
    const struct app_plan_accelerators *gpus = m->accelerators;
    AUTO_MEM char *location = app_plan_location_text(m->cloud, m->region, m->zone);
    AUTO_MEM char *machine = cli_plan_machine_text(m);
    double rate = m->price_usd_per_hour;

    table_put(t, m->name);
    table_put(t, location);
    table_put(t, machine);
    if (isnan(m->vcpus))
        table_put(t, "-");
    else
        table_printf(t, "%g", m->vcpus);
    if (gpus)
        table_printf(t, "%s:%g", gpus->name, gpus->count);
    else
        table_put(t, "-");
    table_put(t, m->market);
    table_printf(t, rate >= 1 ? "%.2f" : rate >= 0.01 ? "%.3f" : "%.2g", rate);
}

static void put_when(struct table *t, const struct app_plan_stage *s)
{
    char text[32];

    table_put(t, cli_plan_clock_text(s->start_s, text));
    table_put(t, cli_plan_clock_text(s->finish_s - s->start_s, text));
    cli_plan_put_dollars(t, s->compute_microusd + s->transfer_microusd + s->storage_microusd);
}

/* The last row; n_before columns stand before takes. */
static void put_sums(struct table *t, const struct app_plan_report *r, size_t n_before)
{
    char text[32];

    table_rule(t);
    table_put(t, "total");
    for (size_t i = 1; i < n_before; i++)
        table_put(t, "");
    table_put(t, cli_plan_clock_text(r->point.time_s, text));
    cli_plan_put_dollars(t, r->point.cost_microusd);
}

/* Users copy locations and instance types, so only names of stages are ever cut: where the columns
 * do not fit side by side, where and when become two tables. */
static void print_stages(const struct app_plan_report *r, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[N_WHERE + N_WHEN] = {
        {"stage", .cut_rank = 1, .least = 12},
        {.title = "location"},
        {.title = "instance type"},
        {"vCPUs", .right = true},
        {.title = "GPUs"},
        {.title = "market"},
        {"$/h", .right = true},
        {"start", .right = true},
        {"takes", .right = true},
        {"cost", .right = true},
    };
    const struct app_plan_stage *stages = r->stages.items;
    AUTO(table) struct table *all = table_new(columns, N_WHERE + N_WHEN);
    AUTO(table) struct table *where = table_new(columns, N_WHERE);
    struct table_column when_columns[1 + N_WHEN] = {columns[0]};

    memcpy(when_columns + 1, columns + N_WHERE, N_WHEN * sizeof *columns);
    AUTO(table) struct table *when = table_new(when_columns, 1 + N_WHEN);
    for (size_t i = 0; i < r->stages.n; i++) {
        const struct app_plan_stage *s = &stages[i];
        put_where(all, &s->machine);
        put_when(all, s);
        put_where(where, &s->machine);
        table_put(when, s->machine.name);
        put_when(when, s);
    }
    put_sums(all, r, N_WHERE + 1);
    put_sums(when, r, 2);
    fputc('\n', out);
    if (table_least_width(all) <= text_columns(look)) {
        table_print(all, out, 0, look);
        return;
    }
    table_print(where, out, 0, look);
    fputc('\n', out);
    table_print(when, out, 0, look);
}

/* ": $1.13 compute, $0.05 transfer" */
static void print_parts(const struct app_plan_report *r, FILE *out)
{
    static const char *const names[] = {"compute", "transfer", "storage"};
    const struct app_plan_stage *stages = r->stages.items;
    int64_t parts[3] = {0};
    const char *before = ": ";
    char text[32];

    for (size_t i = 0; i < r->stages.n; i++) {
        parts[0] += stages[i].compute_microusd;
        parts[1] += stages[i].transfer_microusd;
        parts[2] += stages[i].storage_microusd;
    }
    for (size_t i = 0; i < 3; i++) {
        if (!parts[i])
            continue;
        fprintf(out, "%s%s %s", before, money_text(parts[i], text), names[i]);
        before = ", ";
    }
}

/* "oldest prices: gcp, 2026-08-21"; dates in this form are in order as texts. */
static void print_oldest_prices(const struct app_plan_report *r, FILE *out)
{
    const struct app_plan_stage *stages = r->stages.items;
    const struct app_plan_machine *oldest = NULL;

    for (size_t i = 0; i < r->stages.n; i++) {
        const struct app_plan_machine *m = &stages[i].machine;
        if (m->price_date && (!oldest || strcmp(m->price_date, oldest->price_date) < 0))
            oldest = m;
    }
    if (oldest)
        fprintf(out, "oldest prices: %s, %s\n", oldest->cloud, oldest->price_date);
    else
        fputs("oldest prices: of an unknown date\n", out);
}

static void print_totals(const struct app_plan_report *r, FILE *out)
{
    char text[32], low[32], high[32];

    fprintf(out, "\ncost  %s (%s to %s)", money_text(r->point.cost_microusd, text),
            money_text(r->cost_low_microusd, low),
            r->cost_high_microusd == FIELD_NONE ? "no end"
                                                : money_text(r->cost_high_microusd, high));
    print_parts(r, out);
    fprintf(out, "\ntime  %s (%s to %s)\n", time_text(r->point.time_s, text),
            time_text(r->time_low_s, low),
            isfinite(r->time_high_s) ? time_text(r->time_high_s, high) : "no end");
    print_oldest_prices(r, out);
}

/* A value of the objective, in its unit. */
static const char *objective_value(const char *objective, double value, char out[static 40])
{
    char time[32];

    if (!strcmp(objective, "time"))
        snprintf(out, 40, "%s", time_text(value, time));
    else
        snprintf(out, 40, "%s%.6g%s", !strcmp(objective, "cost") ? "$" : "", value,
                 !strcmp(objective, "value") ? " dollar-hours" : "");
    return out;
}

/* What was given up for a simpler plan. */
static void print_simplified(const struct app_plan_report *r, FILE *out, const char *search)
{
    const struct plan_point *optimum = r->optimum;
    char money[32], time[32];

    fprintf(out, "%s within %g %% of the optimum (%s, %s), over %s\n",
            r->simplify_complete ? "simplest" : "simpler, not proven the simplest,",
            r->simplify_percent, money_text(optimum->cost_microusd, money),
            time_text(optimum->time_s, time), search);
}

static void print_proof(const struct app_plan_report *r, FILE *out)
{
    char count[32], bound[40], search[80];

    snprintf(search, sizeof search, "%s offer%s in %.1f ms",
             text_count((size_t)r->offers_considered, count), r->offers_considered == 1 ? "" : "s",
             r->elapsed_ms);
    if (r->optimum)
        print_simplified(r, out, search);
    else if (!strcmp(r->status, "optimal"))
        fprintf(out, "optimal: proven, gap 0 over %s%s\n", search,
                r->tie_break_proven             ? ""
                : !strcmp(r->objective, "cost") ? "; as cheap a plan may be faster"
                                                : "; as good a plan may be cheaper");
    else if (r->bound > 0)
        fprintf(out, "feasible: not proven, gap %.2g %% over %s: no plan is below %s\n",
                r->gap * 100, search, objective_value(r->objective, r->bound, bound));
    else
        fprintf(out, "feasible: not proven, no lower bound found over %s\n", search);
    if (r->run_times_guessed)
        fprintf(out, "guessed run times: %lld of %zu stages; cost and time may differ\n",
                (long long)r->run_times_guessed, r->stages.n);
}

static bool stays_in_one_cloud(const struct app_plan_report *r)
{
    const struct app_plan_stage *stages = r->stages.items;

    for (size_t i = 1; i < r->stages.n; i++)
        if (strcmp(stages[0].machine.cloud, stages[i].machine.cloud) != 0)
            return false;
    return true;
}

static void print_saving(const struct app_plan_report *r, FILE *out, const struct text_look *look)
{
    const struct app_plan_single *single = r->single_cloud.items;
    char money[32], time[32];

    if (stays_in_one_cloud(r) && strcmp(r->solver, "greedy") != 0) {
        fputs("This plan is single-cloud already.\n", out);
        return;
    }
    if (!r->best_single_cloud) {
        if (r->single_cloud_complete)
            fputs("No single cloud has a plan for all stages.\n", out);
        return;
    }
    while (strcmp(single->cloud, r->best_single_cloud) != 0)
        single++;
    int64_t saved = single->point.cost_microusd - r->point.cost_microusd;
    double faster_s = single->point.time_s - r->point.time_s;
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

static void print_singles(const struct app_plan_report *r, FILE *out, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {"single cloud", .cut_rank = 1, .least = 12},
        {"cost", .right = true},
        {"", .right = true},
        {"time", .right = true},
        {"", .right = true},
    };
    const struct app_plan_single *singles = r->single_cloud.items;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    char text[40], time[32];

    for (size_t i = 0; i < r->single_cloud.n; i++) {
        const struct app_plan_single *s = &singles[i];
        table_put(t, s->cloud);
        cli_plan_put_dollars(t, s->point.cost_microusd);
        table_put(t, cli_plan_delta_money(s->point.cost_microusd - r->point.cost_microusd, text));
        table_put(t, time_text(s->point.time_s, time));
        table_put(t, cli_plan_delta_time(s->point.time_s - r->point.time_s, text));
    }
    fputc('\n', out);
    if (r->single_cloud.n > 0)
        table_print(t, out, 0, look);
    print_saving(r, out, look);
    if (!r->single_cloud_complete)
        fputs(
            "Some clouds are left out: comparing them took longer than a tenth of --solve-limit.\n",
            out);
}

/* The cheapest and the fastest plan without the constraints. */
static void print_without(const struct app_plan_report *r, FILE *out)
{
    const struct table_column columns[] = {
        {.title = r->limits_leave_nothing ? "without the limits" : "without budget and deadline"},
        {"cost", .right = true},
        {"time", .right = true},
    };
    const struct plan_point *points[] = {r->cheapest, r->fastest};
    struct text_look look = text_look_for(out);
    char text[32];

    if (!r->cheapest && !r->fastest)
        return;
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < 2; i++) {
        if (!points[i])
            continue;
        table_put(t, i == 0 ? "cheapest plan" : "fastest plan");
        cli_plan_put_dollars(t, points[i]->cost_microusd);
        table_put(t, time_text(points[i]->time_s, text));
    }
    table_print(t, out, 0, &look);
}

int cli_plan_no_plan(const struct app_plan_report *r, struct err *e)
{
    return err_set(e, r->limit_reached ? ERR_RETRY : ERR_NOFIT, "no plan: %s", r->reason);
}

int cli_plan_print(const struct app_plan_report *r, FILE *out, struct err *e)
{
    struct text_look look = text_look_for(out);

    if (r->reason) {
        print_without(r, out);
        return cli_plan_no_plan(r, e);
    }
    print_goal(r, out, &look);
    print_guesses(r, out, &look);
    print_stages(r, out, &look);
    print_totals(r, out);
    print_proof(r, out);
    print_singles(r, out, &look);
    cli_plan_print_suggestions(r, out, &look);
    if (r->explained)
        cli_plan_print_explain(r, out, &look);
    if (r->what_if.n)
        cli_plan_print_what_if(r, out, &look);
    if (r->pareto.n)
        cli_plan_print_pareto(r, out, &look);
    return 0;
}
