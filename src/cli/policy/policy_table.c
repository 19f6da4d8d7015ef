#include "base/auto.h"
#include "cli/policy/policy_parts.h"
#include "view/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Longer answers are for programs. */
#define ROWS_MAX 200
#define IDLE_SHOWN 10

static void print_objective(const struct policy_report *r)
{
    const struct policy_answer *a = r->answer;
    bool dollars = !strcmp(policy_unit(r->kind), "$");
    const char *before = dollars ? "$" : "", *after = dollars ? "" : " ";
    const char *unit = dollars ? "" : policy_unit(r->kind);
    int digits = dollars ? 2 : 4;

    if (a->status == POLICY_OPTIMAL)
        printf("%s: %s%.*f%s%s, proved optimal (%.1f ms)\n", policy_kind_name(r->kind), before,
               digits, a->objective, after, unit, r->elapsed_ms);
    else
        printf("%s: %s%.*f%s%s, at best %s%.*f (%zu windows merged into %zu; %.1f ms)\n",
               policy_kind_name(r->kind), before, digits, a->objective, after, unit, before, digits,
               a->bound, a->windows_exact, a->n_windows, r->elapsed_ms);
}

static void put_window(struct table *t, const struct policy_window *w)
{
    if (isfinite(w->to_h))
        table_printf(t, "%.4g h to %.4g h", w->from_h, w->to_h);
    else
        table_printf(t, "from %.4g h", w->from_h);
}

static void put_use(struct table *t, const struct policy_report *r, const struct policy_use *u)
{
    table_put(t, r->problem->jobs[u->job].name);
    table_printf(t, "%.0f", r->problem->jobs[u->job].gang);
    table_put(t, r->problem->types[u->type].name);
    if (isfinite(r->answer->windows[u->window].to_h))
        table_printf(t, "%.2f %%", 100 * u->share);
    else
        table_put(t, "");
}

static void print_uses(const struct policy_report *r, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "window"},
        {.title = "job", .cut_rank = 1, .least = 10},
        {.title = "gang", .right = true},
        {.title = "type", .cut_rank = 2, .least = 10},
        {.title = "share", .right = true},
        {.title = "for", .right = true},
    };
    const size_t all = sizeof columns / sizeof *columns;
    const struct policy_answer *a = r->answer;
    /* Where only shares count, there are neither windows nor hours. */
    AUTO(table)
    struct table *t = a->has_hours ? table_new(columns, all) : table_new(columns + 1, all - 2);

    for (size_t i = 0; i < a->n_uses && i < ROWS_MAX; i++) {
        const struct policy_use *u = &a->uses[i];
        if (a->has_hours)
            put_window(t, &a->windows[u->window]);
        put_use(t, r, u);
        if (a->has_hours)
            table_printf(t, "%.2f h", u->hours);
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
    if (a->n_uses > ROWS_MAX)
        printf("... and %zu more; --json has all\n", a->n_uses - ROWS_MAX);
}

/* Jobs that get nothing, and why. */
static void print_idle(const struct policy_report *r)
{
    const struct policy_answer *a = r->answer;
    size_t n = 0;

    for (size_t m = 0; a->idle && m < a->n_jobs; m++) {
        const struct policy_job *job = &r->problem->jobs[m];
        if (a->idle[m] == POLICY_HAS_SHARE || ++n > IDLE_SHOWN)
            continue;
        printf("%.60s gets nothing: ", job->name);
        if (a->idle[m] == POLICY_OUTBID)
            puts("others do more with the machines there are.");
        else
            printf("no type on which it has a throughput has room for %.0f.\n", job->gang);
    }
    if (n > IDLE_SHOWN)
        printf("... and %zu more get nothing; --json has all\n", n - IDLE_SHOWN);
}

/* "one more V100 would save $1.20" */
static void print_shadow_prices(const struct policy_report *r)
{
    const char *unit = policy_unit(r->kind);
    bool dollars = !strcmp(unit, "$");
    bool gains = r->kind == POLICY_MAX_THROUGHPUT || r->kind == POLICY_THROUGHPUT_PER_DOLLAR;

    for (size_t j = 0; j < r->answer->n_types; j++) {
        double price = r->answer->shadow_price[j];
        if (price <= 1e-6 * fabs(r->answer->objective))
            continue;
        printf("One more %s would %s %s", r->problem->types[j].name, gains ? "bring" : "save",
               r->answer->shadow_at_most ? "at most " : "");
        if (dollars)
            printf("$%.2f.\n", price);
        else
            printf("%.4g %s.\n", price, unit);
    }
}

static void print_shortfalls(const struct policy_report *r, const struct text_look *look)
{
    static const struct table_column columns[] = {
        {.title = "job", .cut_rank = 1, .least = 10},
        {.title = "deadline", .right = true},
        {.title = "not done", .right = true},
    };
    AUTO(table) struct table *t = table_new(columns, sizeof columns / sizeof *columns);
    size_t n = 0;

    for (size_t m = 0; m < r->answer->n_jobs && n < ROWS_MAX; m++) {
        const struct policy_job *job = &r->problem->jobs[m];
        if (r->answer->shortfall[m] <= 0)
            continue;
        table_put(t, job->name);
        if (isfinite(job->slo_h))
            table_printf(t, "%.4g h", job->slo_h);
        else
            table_put(t, "none");
        table_printf(t, "%.2f %%", 100 * r->answer->shortfall[m]);
        n++;
    }
    table_print(t, stdout, 0, TEXT_COLUMNS, look);
}

void policy_print(const struct policy_report *r)
{
    struct text_look look = text_look_for(stdout);

    if (r->answer->status == POLICY_INFEASIBLE) {
        print_shortfalls(r, &look);
        return;
    }
    print_objective(r);
    print_uses(r, &look);
    print_idle(r);
    print_shadow_prices(r);
}
