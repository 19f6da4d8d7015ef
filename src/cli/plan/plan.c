#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "broker/learn/models.h"
#include "cli/core/commands.h"
#include "app/core/lake_open.h"
#include "cli/plan/plan_options.h"
#include "cli/plan/plan_parts.h"
#include "estimate/throughput.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SOLVE_LIMIT_S 10
#define WARNING_MAX_BYTES 65536

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

/* Flags that override the file's header and the defaults. */
static int read_settings(struct cli_plan *p, const struct command_args *args, struct err *e)
{
    static const char *const flags[] = {
        "--objective", "--budget",     "--deadline", "--market", "--cloud",
        "--region",    "--max-hourly", "--risk",     "--solver",
    };

    p->settings = (struct cli_plan_settings){
        .goal = p->spec->goal,
        .market = PLAN_ON_DEMAND,
        .max_hourly_usd = HUGE_VAL,
        .solver = PLAN_EXACT,
        .pinned_stage = SIZE_MAX,
        .pinned_place = SIZE_MAX,
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        const char *value = command_value(args, flags[i]);
        if (value && cli_plan_set(&p->settings, flags[i] + 2, value, e) < 0)
            return err_wrap(e, "%s", flags[i]);
    }
    p->solve_limit_s = DEFAULT_SOLVE_LIMIT_S;
    return command_duration(args, "--solve-limit", 1, &p->solve_limit_s, e);
}

static int check_env(const struct command_args *args, struct err *e)
{
    for (size_t i = 0; i < args->n_given; i++) {
        const struct command_given *g = &args->given[i];
        if (!strcmp(g->option->name, "--env") && (!strchr(g->value, '=') || *g->value == '='))
            return err_set(e, ERR_USAGE, "--env %s: write KEY=VALUE", g->value);
    }
    return 0;
}

static void print_warnings(const struct spec *spec)
{
    for (size_t i = 0; i < spec->n_findings; i++)
        fprintf(stderr, "%s:%zu: warning: %s\n", spec->file, spec->findings[i].line,
                spec->findings[i].text);
}

/* The region of this cloud that the name is likely a slip of; NULL when none is. */
static const char *near_region(const struct catalog *c, const char *cloud, const char *region)
{
    const struct catalog_place *places = catalog_places(c);
    size_t n = 0;
    AUTO_MEM const char **names = mem_zero(catalog_n_places(c) + 1, sizeof *names);

    for (size_t i = 0; i < catalog_n_places(c); i++)
        if (!strcmp(catalog_text(c, places[i].cloud), cloud))
            names[n++] = catalog_text(c, places[i].region);
    return nearest(region, names, n);
}

static void warn_of_place(const struct cli_plan *p,
                          const struct spec_stage *stage,
                          const struct spec_input *input)
{
    const struct spec_place *at = &input->place;
    const char *near = near_region(p->catalog, at->cloud, at->region);
    AUTO_MEM char *advice = near ? mem_printf("did you mean %s/%s?", at->cloud, near)
                                 : mem_dup("moving it is priced by the general rows");
    AUTO_MEM char *line = mem_printf(
        "%s:%zu: warning: stage %s: input \"%s\": the catalog has no offer at %s/%s: %s",
        p->spec->file, input->line, stage->name, input->from, at->cloud, at->region, advice);
    AUTO_CLEAR(buf) struct buf safe;

    buf_init(&safe, WARNING_MAX_BYTES);
    text_put(&safe, line, SIZE_MAX, true);
    fprintf(stderr, "%s\n", buf_str(&safe));
}

/* Data may lie where nothing is for sale; more often the region is misspelt. */
static void warn_of_places(const struct cli_plan *p)
{
    for (size_t i = 0; i < p->spec->n_stages; i++) {
        const struct spec_stage *stage = &p->spec->stages[i];
        for (size_t j = 0; j < stage->n_inputs; j++) {
            const struct spec_place *at = &stage->inputs[j].place;
            if (at->cloud && at->region && strcmp(at->cloud, "local") != 0 &&
                catalog_find_place(p->catalog, at->cloud, at->region) == SIZE_MAX)
                warn_of_place(p, stage, &stage->inputs[j]);
        }
    }
}

/* The lake is opened by those alone who need to know what ran. */
static int load_models(struct cli_plan *p, struct err *e)
{
    bool wanted = broker_models_wanted(p->spec);
    AUTO(lake) struct lake *l = wanted ? lake_open_here(e) : NULL;

    if (wanted && !l)
        return -1;
    p->models = broker_models_load(p->config->home, l, p->spec, e);
    return p->models ? 0 : -1;
}

int cli_plan_open(struct cli_plan *p, const struct command_args *args, struct err *e)
{
    const char *directory = command_value(args, "--catalog");
    const char *table = command_value(args, "--throughputs");

    if (check_env(args, e) < 0)
        return -1;
    p->spec = spec_load(args->operands[0], NULL, NULL, e);
    if (!p->spec)
        return -1;
    print_warnings(p->spec);
    if (read_settings(p, args, e) < 0)
        return -1;
    p->config = config_load(NULL, e);
    if (!p->config)
        return -1;
    p->catalog = directory ? catalog_open_dir(directory, e) : catalog_open(p->config->home, e);
    if (!p->catalog)
        return -1;
    warn_of_places(p);
    p->throughputs = throughputs_load(table ? table : p->config->throughputs, e);
    return p->throughputs ? load_models(p, e) : -1;
}

static int ask_what_if(const struct cli_plan *p,
                       const struct command_args *args,
                       struct cli_plan_others *out,
                       struct err *e)
{
    const char **changes = mem_zero(args->n_given + 1, sizeof *changes);
    size_t n = 0;

    for (size_t i = 0; i < args->n_given; i++)
        if (!strcmp(args->given[i].option->name, "--what-if"))
            changes[n++] = args->given[i].value;
    int result = cli_plan_what_if(p, changes, n, out, e);
    free(changes);
    return result;
}

static int show_infeasible(const struct cli_plan *p, bool json, struct err *e)
{
    static const struct cli_plan_extras none = {0};

    if (json)
        return cli_plan_json(p, &none, stdout, e) < 0 ? -1 : err_exit_code(ERR_NOFIT);
    cli_plan_print_infeasible(p, stdout);
    return err_set(e, ERR_NOFIT, "no plan: %s", p->answer.reason);
}

static int show(struct cli_plan *p, const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(cli_plan_others) struct cli_plan_others explain = {0};
    AUTO_CLEAR(cli_plan_others) struct cli_plan_others what_if = {0};
    struct cli_plan_extras extras = {.explained = command_value(args, "--explain"),
                                     .pareto = command_has(args, "--pareto")};
    const char *svg = command_value(args, "--svg");

    if (cli_plan_ask_singles(p, e) < 0)
        return -1;
    if (extras.explained) {
        size_t stage = cli_plan_find_stage(p->spec, extras.explained, e);
        if (stage == SIZE_MAX || cli_plan_explain(p, stage, &explain, e) < 0)
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
    AUTO(cli_plan) struct cli_plan *p = mem_zero(1, sizeof *p);
    if (cli_plan_open(p, args, e) < 0 || cli_plan_ask(p, command_has(args, "--pareto"), e) < 0)
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
