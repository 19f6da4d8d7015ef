/* solve: the command `policy solve`. */
#include "app/policy/policy.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <math.h>
#include <string.h>

/* Longer answers are for programs. */
#define ROWS_MAX 200
#define IDLE_SHOWN 10

static bool is_dollars(const struct app_policy_solved *r)
{
    return !strcmp(r->unit, "$");
}

static void print_objective(const struct operate_text *t, const struct app_policy_solved *r)
{
    bool dollars = is_dollars(r);
    const char *before = dollars ? "$" : "", *after = dollars ? "" : " ";
    const char *unit = dollars ? "" : r->unit;
    int digits = dollars ? 2 : 4;

    fprintf(t->out, "%s: %s%.*f%s%s, ", r->policy, before, digits, r->objective, after, unit);
    if (!strcmp(r->status, "optimal"))
        fprintf(t->out, "proved optimal (%.1f ms)\n", r->elapsed_ms);
    else
        fprintf(t->out, "at best %s%.*f (%zu windows merged into %zu; %.1f ms)\n", before, digits,
                r->bound, (size_t)r->windows_exact, (size_t)r->n_windows, r->elapsed_ms);
}

static void print_uses(const struct operate_text *t, const struct app_policy_solved *r)
{
    const struct app_policy_use *uses = r->uses.items;
    /* Where only shares count, there are neither windows nor hours. */
    bool has_hours = r->uses.n && !isnan(uses[0].hours);

    writer_list(policy_solve_operation.answer, r, "uses", ROWS_MAX, 0, has_hours, t->out);
    if (r->uses.n > ROWS_MAX)
        fprintf(t->out, "... and %zu more; --json has all\n", r->uses.n - ROWS_MAX);
}

/* Jobs that get nothing, and why. */
static void print_idle(const struct operate_text *t, const struct app_policy_solved *r)
{
    const struct app_policy_need *jobs = r->jobs.items;
    size_t n = 0;

    for (size_t m = 0; m < r->jobs.n; m++) {
        if (!jobs[m].without_share || ++n > IDLE_SHOWN)
            continue;
        fprintf(t->out, "%.60s gets nothing: ", jobs[m].name);
        if (!strcmp(jobs[m].without_share, "outbid"))
            fputs("other jobs make better use of the instances.\n", t->out);
        else
            fprintf(t->out,
                    "no type with a throughput for the job has room for its gang of %.0f.\n",
                    jobs[m].gang);
    }
    if (n > IDLE_SHOWN)
        fprintf(t->out, "... and %zu more get nothing; --json has all\n", n - IDLE_SHOWN);
}

/* "one more V100 would save $1.20" */
static void print_shadow_prices(const struct operate_text *t, const struct app_policy_solved *r)
{
    const struct app_policy_type *types = r->types.items;
    bool gains = strstr(r->policy, "throughput");

    for (size_t j = 0; j < r->types.n; j++) {
        double price = types[j].shadow_price;
        if (price <= 1e-6 * fabs(r->objective))
            continue;
        fprintf(t->out, "One more %s would %s %s", types[j].name, gains ? "bring" : "save",
                r->shadow_at_most ? "at most " : "");
        if (is_dollars(r))
            fprintf(t->out, "$%.2f.\n", price);
        else
            fprintf(t->out, "%.4g %s.\n", price, r->unit);
    }
}

static void print_shortfalls(const struct operate_text *t, const struct app_policy_solved *r)
{
    const struct app_policy_need *jobs = r->jobs.items;
    AUTO_CLEAR(writer) struct writer w;

    writer_init(&w, WRITER_TABLE, NULL, record_field(policy_solve_operation.answer, "jobs")->record,
                NULL, false, t->out);
    for (size_t m = 0; m < r->jobs.n && w.n_items < ROWS_MAX; m++)
        if (jobs[m].shortfall > 0)
            writer_item(&w, &jobs[m], NULL);
    writer_end(&w, NULL);
}

static void print_solved(struct operate_text *t, const void *record)
{
    const struct app_policy_solved *r = record;

    if (r->reason) {
        print_shortfalls(t, r);
        err_set(&t->error, ERR_NOFIT, "%s", r->reason);
        return;
    }
    print_objective(t, r);
    print_uses(t, r);
    print_idle(t, r);
    print_shadow_prices(t, r);
}

static int exit_code(const void *head)
{
    return ((const struct app_policy_solved *)head)->reason ? err_exit_code(ERR_NOFIT) : 0;
}

static const struct command_text solve_text = {.head = print_solved, .exit_code = exit_code};

const struct command command_policy_solve = {
    .name = "policy solve",
    .operands = "FILE",
    .summary = "Divide instances with quotas among many jobs, with a proof of optimality",
    .details =
        "FILE is JSON: types {name, price_usd_per_hour, quota}, jobs {name, gang, throughput by "
        "type in iterations per hour, iterations, slo_h}, and optionally group_quotas {name, units "
        "by type, quota}, price_intervals {end_h, prices by type} and budget_usd. - reads standard "
        "input.\n\n"
        "The program checks its answer: an answer is optimal when it is within a millionth of a "
        "bound that is computed apart from the solver. For an infeasible problem the command lists "
        "the jobs that fall short, and the budget or deadlines that suffice (exit status 5). "
        "docs/policies.md has the formulas.",
    .example = "tradewind policy solve examples/policy.json --policy min-cost-slo",
    .min_operands = 1,
    .max_operands = 1,
    .operation = &policy_solve_operation,
    .text = &solve_text,
};
