/* geo plan: where function and store of a training across regions go, at what cost and time. */
#include "catalog/catalog.h"
#include "cli/core/commands.h"
#include "cli/geo/geo_parts.h"
#include "geo/facts.h"
#include "spec/config.h"

#include <stdio.h>
#include <string.h>

int geo_world_open(struct geo_world *w, const char *directory, struct err *e)
{
    w->config = config_load(NULL, e);
    if (!w->config)
        return -1;
    w->catalog = directory ? catalog_open_dir(directory, e) : catalog_open(w->config->home, e);
    w->facts = w->catalog ? geo_facts_builtin(e) : NULL;
    return w->facts ? 0 : -1;
}

void geo_world_clear(struct geo_world *w)
{
    geo_facts_free(w->facts);
    catalog_free(w->catalog);
    config_free(w->config);
}

/* ---- what could be changed ---- */

static bool is_chosen(const struct spec_geo *s, const char *setting)
{
    if (strcmp(setting, "compression") == 0)
        return s->compression != SPEC_GEO_PLAIN;
    if (strcmp(setting, "connections") == 0)
        return s->connections > 1;
    return s->quorum < 1;
}

/* The best placement for each change that is not chosen already. */
static int find_options(const struct geo_view *v,
                        struct geo_option out[static GEO_OPTIONS_MAX],
                        size_t *n_out,
                        struct err *e)
{
    static const struct {
        const char *setting, *value, *meaning;
    } changes[] = {
        {"compression", "int8", "one byte a value instead of four"},
        {"compression", "topk:0.01", "the largest 1 %, the rest in later rounds"},
        {"connections", "8", "eight at a time, both ways"},
        {"quorum", "0.75", "three quarters of the workers are enough"},
    };

    *n_out = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
        struct spec_geo changed = *v->spec;
        struct geo_problem problem = *v->problem;
        struct geo_option *o = &out[*n_out];
        if (is_chosen(v->spec, changes[i].setting))
            continue;
        if (spec_geo_set(&changed, changes[i].setting, changes[i].value, e) < 0)
            return -1;
        geo_problem_set(&problem, &changed);
        if (geo_plan(&problem, &v->question, &plan, e) < 0)
            return err_wrap(e, "with %s %s", changes[i].setting, changes[i].value);
        snprintf(o->setting, sizeof o->setting, "%s", changes[i].setting);
        snprintf(o->value, sizeof o->value, "%s", changes[i].value);
        o->meaning = changes[i].meaning;
        o->best = plan.placements[0];
        (*n_out)++;
    }
    return 0;
}

/* ---- the command ---- */

static int take_settings(struct spec_geo *spec, const struct command_args *args, struct err *e)
{
    static const struct {
        const char *option, *setting;
    } settings[] = {
        {"--size", "model.size"},
        {"--rounds", "rounds"},
        {"--train-s", "train.seconds"},
        {"--topology", "topology"},
        {"--function", "aggregator.function"},
        {"--store", "aggregator.store"},
        {"--compression", "compression"},
        {"--connections", "connections"},
        {"--quorum", "quorum"},
    };
    const char *workers = command_value(args, "--workers");

    if (workers && spec_geo_set_workers(spec, workers, e) < 0)
        return err_wrap(e, "--workers");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *value = command_value(args, settings[i].option);
        if (value && spec_geo_set(spec, settings[i].setting, value, e) < 0)
            return err_wrap(e, "%s", settings[i].option);
    }
    return spec_geo_check(spec, e);
}

static int read_objective(const struct command_args *args, enum geo_objective *out, struct err *e)
{
    const char *text = command_value(args, "--objective");

    *out = text && strcmp(text, "time") == 0 ? GEO_TIME : GEO_COST;
    if (text && *out == GEO_COST && strcmp(text, "cost") != 0)
        return err_set(e, ERR_USAGE, "--objective: \"%.40s\" is neither cost nor time", text);
    return 0;
}

static int plan(const struct geo_world *w,
                const struct spec_geo *spec,
                const struct command_args *args,
                struct err *e)
{
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
    struct geo_option options[GEO_OPTIONS_MAX];
    struct geo_view view = {.spec = spec,
                            .question = {spec->topology, spec->function, spec->store, GEO_COST},
                            .plan = &plan,
                            .options = options,
                            .pareto = command_has(args, "--pareto"),
                            .all = command_has(args, "--all")};

    if (read_objective(args, &view.question.objective, e) < 0)
        return -1;
    AUTO(geo_problem)
    struct geo_problem *problem = geo_problem_new(spec, w->catalog, w->facts, w->config, e);
    view.problem = problem;
    if (!problem || geo_plan(problem, &view.question, &plan, e) < 0 ||
        geo_total(problem, &plan.placements[0], &view.total, e) < 0 ||
        find_options(&view, options, &view.n_options, e) < 0)
        return -1;
    if (command_has(args, "--json"))
        return geo_write_json(&view, stdout, e);
    geo_print(&view, stdout);
    return 0;
}

static int run_geo_plan(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(geo_world) struct geo_world w = {0};
    bool paper = command_has(args, "--paper");

    if (paper && args->n_operands)
        return err_set(e, ERR_USAGE, "--paper plans the paper's own trainings: leave out %.60s",
                       args->operands[0]);
    AUTO(spec_geo)
    struct spec_geo *spec =
        args->n_operands ? spec_geo_load(args->operands[0], e) : spec_geo_new("training");
    if (!spec || (!paper && take_settings(spec, args, e) < 0) ||
        geo_world_open(&w, command_value(args, "--catalog"), e) < 0)
        return -1;
    return paper ? geo_paper(&w, command_has(args, "--json"), e) : plan(&w, spec, args, e);
}

static const struct command_option options[] = {
    {.name = "--workers",
     .value = "PLACES",
     .help = "One worker at each of these places instead of the file's: "
             "aws:ap-south-1,gcp:europe-west2."},
    {.name = "--size", .value = "SIZE", .help = "What each worker sends per round, as in 17MB."},
    {.name = "--rounds", .value = "N", .help = "How many rounds are trained."},
    {.name = "--train-s", .value = "SECONDS", .help = "How long a worker trains per round."},
    {.name = "--topology",
     .value = "central|regional|fanout|any",
     .help = "How gradients come together; any, the default, looks at all three."},
    {.name = "--function", .value = "PLACE", .help = "The function runs here: aws/us-west-2, aws."},
    {.name = "--store", .value = "PLACE", .help = "The store is here."},
    {.name = "--compression",
     .value = "none|int8|topk:SHARE",
     .help = "What is sent of a gradient: all, a byte a value, or the largest values."},
    {.name = "--connections",
     .value = "N",
     .help = "Upload and download over so many connections at a time."},
    {.name = "--quorum",
     .value = "SHARE",
     .help = "A round goes on when this share of the workers has arrived; 1 unless said."},
    {.name = "--objective",
     .value = "cost|time",
     .help = "What to make least: dollars per round (the default) or time per round."},
    {.name = "--pareto",
     .help = "List the placements of which none is both dearer and slower than another."},
    {.name = "--all", .help = "List every placement."},
    {.name = "--paper",
     .help = "Show the paper's two trainings in its 48 cells, and what it says of them."},
    {.name = "--catalog",
     .value = "DIR",
     .help = "Plan on the CSV files in this directory instead of the catalog in use."},
    {.name = "--json",
     .help = "Print {best, cheapest, fastest, frontier, placements, options, total}; a placement "
             "is {topology, function, store, cost_usd_per_round, time_s_per_round, phases, cost, "
             "counts}."},
    {0},
};

const struct command command_geo_plan = {
    .name = "geo plan",
    .operands = "[FILE]",
    .summary = "Find where the aggregator of a training across regions goes",
    .details =
        "Workers train where their data is and send gradients to an object store, whose events "
        "start a function that averages them. Every placement of function and store, and every "
        "topology, is priced (machines, functions, requests, storage, transfer) and timed (train, "
        "upload, wait, aggregate, download).\n"
        "\n"
        "central: all workers use one store. regional: each place averages its own first, then one "
        "function averages these, and all read from its store. fanout: as regional, but the result "
        "goes once to each place.\n"
        "\n"
        "Without a file, --workers, --size and --train-s say what is trained.",
    .example =
        "tradewind geo plan --workers aws:us-west-2,gcp:europe-west2 --size 17MB --train-s 9",
    .options = options,
    .max_operands = 1,
    .run = run_geo_plan,
};
