#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/progress.h"
#include "cli/policy/policy_parts.h"
#include "policy/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what was asked ---- */

int policy_take_kind(const struct command_args *args, enum policy_kind *out, struct err *e)
{
    const char *name = command_value(args, "--policy");
    const char *names[POLICY_KINDS];

    if (!name)
        return err_set(e, ERR_USAGE,
                       "%s: --policy is missing; `tradewind help %s` tells which there are",
                       args->command->name, args->command->name);
    for (int kind = 0; kind < POLICY_KINDS; kind++) {
        names[kind] = policy_kind_name((enum policy_kind)kind);
        *out = (enum policy_kind)kind;
        if (!strcmp(names[kind], name))
            return 0;
    }
    const char *near = nearest(name, names, POLICY_KINDS);
    return err_set(e, ERR_USAGE, "--policy %.60s: there is no such policy%s%s%s", name,
                   near ? "; \"" : "", near ? near : "", near ? "\" is meant?" : "");
}

static int take_form(const struct command_args *args,
                     enum policy_kind kind,
                     enum policy_form *out,
                     struct err *e)
{
    const char *form = command_value(args, "--form");

    *out = POLICY_WINDOWS;
    if (!form)
        return 0;
    if (kind != POLICY_MIN_COST_SLO)
        return err_set(e, ERR_USAGE, "--form: only min-cost-slo has forms; leave it out");
    *out = strcmp(form, "rate") == 0 ? POLICY_RATE : POLICY_WINDOWS;
    if (*out == POLICY_WINDOWS && strcmp(form, "windows") != 0)
        return err_set(e, ERR_USAGE, "--form %.60s: windows or rate is wanted", form);
    return 0;
}

static int take_columns(const struct command_args *args, size_t *out, struct err *e)
{
    double columns = POLICY_COLUMNS_DEFAULT;

    if (command_number(args, "--columns", &columns, e) < 0)
        return -1;
    if (!(columns >= 1 && columns <= POLICY_PAIRS_MAX))
        return err_set(e, ERR_USAGE, "--columns %g: a number from 1 to %d is wanted", columns,
                       POLICY_PAIRS_MAX);
    *out = (size_t)columns;
    return 0;
}

/* ---- the file ---- */

static int add_all(FILE *in, const char *path, struct buf *out, struct err *e)
{
    char part[1 << 16];
    size_t n;

    while ((n = fread(part, 1, sizeof part, in)) > 0 && buf_add(out, part, n) == 0)
        ;
    if (ferror(in))
        return file_error(e, "read", path);
    if (out->full)
        return err_set(e, ERR_USAGE, "%s: larger than %zu MB: split it", path,
                       POLICY_FILE_BYTES_MAX >> 20);
    return 0;
}

int policy_read_bytes(const char *path, struct buf *out, struct err *e)
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

static int read_problem(const char *path, struct policy_file *out, struct err *e)
{
    AUTO_CLEAR(buf) struct buf bytes;

    buf_init(&bytes, POLICY_FILE_BYTES_MAX);
    if (policy_read_bytes(path, &bytes, e) < 0)
        return -1;
    return policy_read(buf_str(&bytes), bytes.len, out, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

/* ---- the command ---- */

static int show(const struct policy_report *r, bool json, struct err *e)
{
    bool infeasible = r->answer->status == POLICY_INFEASIBLE;

    if (json)
        return policy_print_json(r, e) < 0 ? -1 : infeasible ? err_exit_code(ERR_NOFIT) : 0;
    policy_print(r);
    if (infeasible)
        return err_set(e, ERR_NOFIT, "%s", r->answer->reason);
    return 0;
}

static int run_solve(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(policy_file) struct policy_file file = {0};
    AUTO_CLEAR(policy_answer) struct policy_answer answer = {0};
    struct policy_report report = {.problem = &file.problem, .answer = &answer};
    enum policy_form form;
    size_t columns = 0;

    if (policy_take_kind(args, &report.kind, e) < 0 || take_form(args, report.kind, &form, e) < 0 ||
        take_columns(args, &columns, e) < 0 || read_problem(args->operands[0], &file, e) < 0)
        return -1;
    file.problem.columns_max = columns;
    struct progress_clock clock;
    progress_clock_begin(&clock, stderr, "solving");
    int solved = policy_solve(&file.problem, report.kind, form, &answer, e);
    progress_clock_end(&clock);
    if (solved < 0)
        return err_wrap(e, "%s", args->operands[0]);
    report.elapsed_ms = (time_monotonic_s() - clock.line.began_s) * 1e3;
    return show(&report, command_has(args, "--json"), e);
}

static const struct command_option solve_options[] = {
    POLICY_OPTION,
    {.name = "--form",
     .value = "windows|rate",
     .help = "Of min-cost-slo: shares anew in every window between deadlines and price steps (the "
             "default), or one share for all the time to a job's deadline."},
    {.name = "--columns",
     .value = "N",
     .help = "Merge windows until the linear program has at most N columns, 200000 unless told."},
    {.name = "--json",
     .help = "Print {policy, status, objective, unit, bound, shares, hours, windows_exact, "
             "shortfall, without_share, shadow_prices, shadow_prices_at_most, elapsed_ms}, and "
             "when infeasible reason, stretch and "
             "budget_needed_usd."},
    {0},
};

const struct command command_policy_solve = {
    .name = "policy solve",
    .operands = "FILE",
    .summary = "Divide machines with quotas among many jobs, and prove that it is best",
    .details =
        "FILE is JSON: types {name, price_usd_per_hour, quota}, jobs {name, gang, throughput by "
        "type in iterations an hour, iterations, slo_h}, and if wanted group_quotas {name, units "
        "by type, quota}, price_intervals {end_h, prices by type} and budget_usd. - reads it from "
        "standard input.\n\n"
        "The answer is checked by the program itself: it is called optimal when a bound, computed "
        "apart from the solver, is within a millionth of it. When not everything can be done, it "
        "says which jobs fall short by how much, and which budget or deadlines would do (exit "
        "status 5). docs/policies.md has the formulas.",
    .example = "tradewind policy solve examples/policy.json --policy min-cost-slo",
    .options = solve_options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_solve,
};
