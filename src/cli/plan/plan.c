/* plan: the command that plans a pipeline. */
#include "base/json.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/plan/options.h"
#include "cli/plan/plan_parts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_MAX_BYTES (1u << 20)

static const struct command_option options[] = {
    CLI_PLAN_GOAL_OPTIONS,
    {.name = "--pareto", .help = "Also show every plan of which none is both cheaper and faster."},
    {.name = "--svg",
     .value = "FILE",
     .help = "Draw the timeline, or with --pareto the frontier, into this file."},
    {.name = "--explain",
     .value = "STAGE",
     .help = "Show what putting this stage elsewhere would add."},
    {.name = "--what-if",
     .value = "KEY=VALUE",
     .help = "Show the difference that a change makes: cloud=aws, region=eu-west-1, market=spot, "
             "objective=time, deadline=2h, budget=5, max-hourly=1, STAGE.place=aws/us-east-1.",
     .repeatable = true},
    CLI_PLAN_WORLD_OPTIONS,
    {.name = "--check", .help = "Only check the file: every warning and error with its line."},
    {.name = "--json", .help = "Print one JSON object."},
    {0},
};

int cli_plan_request(const struct command_args *args,
                     struct plan_request *out,
                     struct arena *arena,
                     struct err *e)
{
    AUTO_JSON json_t *request = json_pack("{s:s}", "file", args->operands[0]);
    const struct record *r = &app_plan_request_record;

    if (!request)
        return err_set(e, ERR_USAGE, "the name of the pipeline is not UTF-8");
    for (size_t i = 0; i < args->n_given; i++) {
        const struct command_given *g = &args->given[i];
        for (size_t j = 0; j < r->n_fields; j++) {
            char option[64];
            if (!strcmp(field_option(&r->fields[j], option), g->option->name) &&
                record_put_text(r, request, r->fields[j].name, g->value, e) < 0)
                return -1;
        }
    }
    if (record_decode(r, request, FIELD_AS_OPTION, out, arena, e) < 0)
        return -1;
    return app_plan_request_keep(out, arena, e);
}

int cli_plan_open(struct app_plan *p,
                  struct app *app,
                  const struct command_args *args,
                  struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(REQUEST_MAX_BYTES);
    struct plan_request request;

    if (cli_plan_request(args, &request, arena, e) < 0)
        return -1;
    return app_plan_open(p, app, &request, e);
}

static int ask_what_if(const struct app_plan *p,
                       const struct command_args *args,
                       struct app_plan_others *out,
                       struct err *e)
{
    const char **changes = mem_zero(args->n_given + 1, sizeof *changes);
    size_t n = 0;

    for (size_t i = 0; i < args->n_given; i++)
        if (!strcmp(args->given[i].option->name, "--what-if"))
            changes[n++] = args->given[i].value;
    int result = app_plan_what_if(p, changes, n, out, e);
    free(changes);
    return result;
}

static int show_infeasible(const struct app_plan *p, bool json, struct err *e)
{
    static const struct cli_plan_extras none = {0};

    if (json)
        return cli_plan_json(p, &none, stdout, e) < 0 ? -1 : err_exit_code(ERR_NOFIT);
    cli_plan_print_infeasible(p, stdout);
    return err_set(e, ERR_NOFIT, "no plan: %s", p->answer.reason);
}

static int show(struct app_plan *p, const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(app_plan_others) struct app_plan_others explain = {0};
    AUTO_CLEAR(app_plan_others) struct app_plan_others what_if = {0};
    struct cli_plan_extras extras = {.explained = command_value(args, "--explain"),
                                     .pareto = command_has(args, "--pareto")};
    const char *svg = command_value(args, "--svg");

    if (app_plan_ask_singles(p, e) < 0)
        return -1;
    if (extras.explained) {
        size_t stage = app_plan_find_stage(p->spec, extras.explained, e);
        if (stage == SIZE_MAX || app_plan_explain(p, stage, &explain, e) < 0)
            return err_wrap(e, "--explain %s", extras.explained);
        extras.explain = &explain;
    }
    if (command_has(args, "--what-if")) {
        if (ask_what_if(p, args, &what_if, e) < 0)
            return -1;
        extras.what_if = &what_if;
    }
    if (svg && cli_plan_save_svg(p, extras.pareto, svg, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return cli_plan_json(p, &extras, stdout, e);
    cli_plan_print(p, &extras, stdout);
    return 0;
}

static int run(const struct command_args *args, struct err *e)
{
    bool json = command_has(args, "--json");

    if (command_has(args, "--check"))
        return cli_plan_check(args->operands[0], json, stdout, e);
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);
    if (cli_plan_open(p, operate_app(door), args, e) < 0 ||
        app_plan_ask(p, command_has(args, "--pareto"), e) < 0)
        return -1;
    if (p->answer.status == PLAN_INFEASIBLE)
        return show_infeasible(p, json, e);
    return show(p, args, e);
}

const struct command command_plan = {
    .name = "plan",
    .operands = "PIPELINE",
    .summary = "Where each stage of a pipeline should run, when, and for how much, with a proof",
    .details =
        "Reads a pipeline file (a SkyPilot task is one) and answers with the plan that is best of "
        "all over every offer of the catalog, data transfer included: what had to be guessed, the "
        "stages with their places, machines, times and dollars, the proof, and the best plans "
        "within a single cloud.\n\n"
        "Where no plan keeps to the budget, the deadline and the other limits, the exit code is 5 "
        "and the cheapest and the fastest plan without them are named.",
    .example = "tradewind plan examples/mnist.yaml --deadline 2h --explain train",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
