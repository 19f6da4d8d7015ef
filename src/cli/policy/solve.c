/* solve: the command `policy solve`, and the reading of files for both policy commands. */
#include "base/buf.h"
#include "base/file.h"
#include "cli/core/commands.h"
#include "cli/policy/policy.h"
#include "view/table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Longer answers are for programs. */
#define ROWS_MAX 200
#define IDLE_SHOWN 10

/* ---- files ---- */

static int add_all(FILE *in, const char *path, struct buf *out, struct err *e)
{
    char part[1 << 16];
    size_t n;

    while ((n = fread(part, 1, sizeof part, in)) > 0 && buf_add(out, part, n) == 0)
        ;
    if (ferror(in))
        return file_error(e, "read", path);
    if (out->full)
        return err_set(e, ERR_USAGE, "%s: larger than %zu MB; split it", path,
                       POLICY_FILE_BYTES_MAX >> 20);
    return 0;
}

static int read_bytes(const char *path, struct buf *out, struct err *e)
{
    if (strcmp(path, "-") == 0)
        return add_all(stdin, path, out, e);
    FILE *in = fopen(path, "re");
    if (!in && errno == ENOENT)
        return err_set(e, ERR_USAGE, "%s: there is no such file", path);
    if (!in)
        return file_error(e, "read", path);
    int added = add_all(in, path, out, e);
    fclose(in);
    return added;
}

int cli_policy_put_file(json_t *request, const char *field, const char *path, struct err *e)
{
    AUTO_CLEAR(buf) struct buf bytes;

    buf_init(&bytes, POLICY_FILE_BYTES_MAX);
    if (read_bytes(path, &bytes, e) < 0)
        return -1;
    if (bytes.len && memchr(buf_str(&bytes), 0, bytes.len))
        return err_set(e, ERR_USAGE, "%s: has a byte 0, which text has not", path);
    /* The reader of the text names the line that is not UTF-8. */
    json_object_set_new(request, field, json_stringn_nocheck(buf_str(&bytes), bytes.len));
    return 0;
}

/* ---- the answer ---- */

static void print_objective(const struct operate_text *t, const struct app_policy_solved *r)
{
    const struct policy_answer *a = r->answer;
    bool dollars = !strcmp(r->unit, "$");
    const char *before = dollars ? "$" : "", *after = dollars ? "" : " ";
    const char *unit = dollars ? "" : r->unit;
    int digits = dollars ? 2 : 4;

    if (a->status == POLICY_OPTIMAL)
        fprintf(t->out, "%s: %s%.*f%s%s, proved optimal (%.1f ms)\n", r->policy, before, digits,
                a->objective, after, unit, r->elapsed_ms);
    else
        fprintf(t->out, "%s: %s%.*f%s%s, at best %s%.*f (%zu windows merged into %zu; %.1f ms)\n",
                r->policy, before, digits, a->objective, after, unit, before, digits, a->bound,
                a->windows_exact, a->n_windows, r->elapsed_ms);
}

static void put_window(struct table *t, const struct policy_window *w)
{
    if (isfinite(w->to_h))
        table_printf(t, "%.4g h to %.4g h", w->from_h, w->to_h);
    else
        table_printf(t, "from %.4g h", w->from_h);
}

static void put_use(struct table *t, const struct app_policy_solved *r, const struct policy_use *u)
{
    table_put(t, r->problem->jobs[u->job].name);
    table_printf(t, "%.0f", r->problem->jobs[u->job].gang);
    table_put(t, r->problem->types[u->type].name);
    if (isfinite(r->answer->windows[u->window].to_h))
        table_printf(t, "%.2f %%", 100 * u->share);
    else
        table_put(t, "");
}

static void print_uses(const struct operate_text *t, const struct app_policy_solved *r)
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
    struct table *table = a->has_hours ? table_new(columns, all) : table_new(columns + 1, all - 2);

    for (size_t i = 0; i < a->n_uses && i < ROWS_MAX; i++) {
        const struct policy_use *u = &a->uses[i];
        if (a->has_hours)
            put_window(table, &a->windows[u->window]);
        put_use(table, r, u);
        if (a->has_hours)
            table_printf(table, "%.2f h", u->hours);
    }
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
    if (a->n_uses > ROWS_MAX)
        fprintf(t->out, "... and %zu more; --json has all\n", a->n_uses - ROWS_MAX);
}

/* Jobs that get nothing, and why. */
static void print_idle(const struct operate_text *t, const struct app_policy_solved *r)
{
    const struct policy_answer *a = r->answer;
    size_t n = 0;

    for (size_t m = 0; a->idle && m < a->n_jobs; m++) {
        const struct policy_job *job = &r->problem->jobs[m];
        if (a->idle[m] == POLICY_HAS_SHARE || ++n > IDLE_SHOWN)
            continue;
        fprintf(t->out, "%.60s gets nothing: ", job->name);
        if (a->idle[m] == POLICY_OUTBID)
            fputs("other jobs make better use of the instances.\n", t->out);
        else
            fprintf(t->out,
                    "no type with a throughput for the job has room for its gang of %.0f.\n",
                    job->gang);
    }
    if (n > IDLE_SHOWN)
        fprintf(t->out, "... and %zu more get nothing; --json has all\n", n - IDLE_SHOWN);
}

/* "one more V100 would save $1.20" */
static void print_shadow_prices(const struct operate_text *t, const struct app_policy_solved *r)
{
    const char *unit = r->unit;
    bool dollars = !strcmp(unit, "$");
    bool gains = r->kind == POLICY_MAX_THROUGHPUT || r->kind == POLICY_THROUGHPUT_PER_DOLLAR;

    for (size_t j = 0; j < r->answer->n_types; j++) {
        double price = r->answer->shadow_price[j];
        if (price <= 1e-6 * fabs(r->answer->objective))
            continue;
        fprintf(t->out, "One more %s would %s %s", r->problem->types[j].name,
                gains ? "bring" : "save", r->answer->shadow_at_most ? "at most " : "");
        if (dollars)
            fprintf(t->out, "$%.2f.\n", price);
        else
            fprintf(t->out, "%.4g %s.\n", price, unit);
    }
}

static void print_shortfalls(const struct operate_text *t, const struct app_policy_solved *r)
{
    static const struct table_column columns[] = {
        {.title = "job", .cut_rank = 1, .least = 10},
        {.title = "deadline", .right = true},
        {.title = "not done", .right = true},
    };
    AUTO(table) struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    size_t n = 0;

    for (size_t m = 0; m < r->answer->n_jobs && n < ROWS_MAX; m++) {
        const struct policy_job *job = &r->problem->jobs[m];
        if (r->answer->shortfall[m] <= 0)
            continue;
        table_put(table, job->name);
        if (isfinite(job->slo_h))
            table_printf(table, "%.4g h", job->slo_h);
        else
            table_put(table, "none");
        table_printf(table, "%.2f %%", 100 * r->answer->shortfall[m]);
        n++;
    }
    table_print(table, t->out, 0, TEXT_COLUMNS, &t->look);
}

static void print_solved(struct operate_text *t, const void *record)
{
    const struct app_policy_solved *r = record;

    if (r->answer->status == POLICY_INFEASIBLE) {
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
    const struct app_policy_solved *r = head;

    return r->answer->status == POLICY_INFEASIBLE ? err_exit_code(ERR_NOFIT) : 0;
}

static const struct command_text solve_text = {.head = print_solved, .exit_code = exit_code};

static int run_solve(const struct command_args *args, struct err *e)
{
    AUTO_JSON json_t *request = operate_request(args, &policy_solve_operation, e);

    if (!request || cli_policy_put_file(request, "problem", args->operands[0], e) < 0)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *door = operate_terminal_new(false);
    return operate_call(args, door, &policy_solve_operation, request, &solve_text, e);
}

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
    .run = run_solve,
};
