/* plan: the command that plans a pipeline. */
#include "cli/plan/plan.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <inttypes.h>
#include <string.h>

/* ---- plan ---- */

static int save_chart(struct operate_text *t, const void *record, struct err *e)
{
    const struct app_plan_report *r = record;
    const char *svg = command_value(t->args, "--svg");

    return svg && !r->reason ? cli_plan_save_svg(r, svg, e) : 0;
}

static void print_plan(struct operate_text *t, const void *record)
{
    cli_plan_print(record, t->out, &t->error);
}

static int plan_exit_code(const void *record)
{
    const struct app_plan_report *r = record;
    struct err e = {0};

    if (r->reason)
        cli_plan_no_plan(r, &e);
    return err_exit_code(e.kind);
}

static const struct command_text plan_text = {
    .save = save_chart,
    .head = print_plan,
    .exit_code = plan_exit_code,
};

/* ---- plan --check ---- */

static void print_checked(struct operate_text *t, const void *record)
{
    const struct app_plan_checked *c = record;
    const struct app_plan_finding *f = c->findings.items;
    size_t n = c->findings.n;

    for (size_t i = 0; i < n; i++) {
        if (f[i].line)
            fprintf(t->out, "%s:%" PRId64 ": %s: %s\n", c->file, f[i].line, f[i].severity,
                    f[i].text);
        else
            fprintf(t->out, "%s: %s: %s\n", c->file, f[i].severity, f[i].text);
    }
    if (c->valid)
        fprintf(t->out, "%s: valid, %zu stage%s, %zu warning%s\n", c->file, (size_t)c->stages,
                c->stages == 1 ? "" : "s", n, n == 1 ? "" : "s");
}

static int check_exit_code(const void *record)
{
    return ((const struct app_plan_checked *)record)->valid ? 0 : err_exit_code(ERR_USAGE);
}

static const struct command_text check_text = {
    .head = print_checked,
    .exit_code = check_exit_code,
};

static int run(const struct command_args *args, struct err *e)
{
    return command_has(args, "--check") ? operate_with(args, &plan_check_operation, &check_text, e)
                                        : operate_run(args, e);
}

static const struct command_option options[] = {
    {.name = "--svg",
     .value = "FILE",
     .help = "Draw the timeline, or with --pareto the Pareto frontier, into this file."},
    {.name = "--check", .help = "Only check the file: list each warning and error with its line."},
    {0},
};

const struct command command_plan = {
    .name = "plan",
    .operands = "PIPELINE",
    .summary = "Plan a pipeline: where and when each stage runs, at what cost, with a proof",
    .details =
        "Reads a pipeline file (a SkyPilot task is one) and computes the best plan over every "
        "offer of the catalog, data transfer included. Prints the assumptions, the stages with "
        "their locations, instance types, times and dollars, the proof, and the best plans "
        "within a single cloud.\n\n"
        "Where no plan satisfies the budget, the deadline and the other limits, the exit code is "
        "5, and the answer names the cheapest and the fastest plan without them, and the smallest "
        "budget and the earliest deadline that would do. Where the search reaches --solve-limit "
        "before it finds a plan, the exit code is 6.",
    .example = "tradewind plan examples/mnist.yaml --deadline 2h --explain train",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .operation = &plan_solve_operation,
    .text = &plan_text,
    .run = run,
};
