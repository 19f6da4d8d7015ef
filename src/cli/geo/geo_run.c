/* geo run: a training across regions, carried out by the broker's jobs. */
#include "app/core/lake_open.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/machine/cap.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/geo/geo_run_parts.h"
#include "cli/run/run.h"
#include "spec/config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)64 << 20)
#define INTERRUPTED 130

/* ---- what is wanted ---- */

static int plan(struct geo_run *g, enum geo_objective objective, struct err *e)
{
    const struct geo_question q = {g->spec->topology, g->spec->function, g->spec->store, objective};
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};

    if (geo_plan(g->problem, &q, &plan, e) < 0)
        return -1;
    g->at = plan.placements[0];
    return geo_total(g->problem, &g->at, &g->total, e);
}

/* ---- the end ---- */

/* Where the training's own directories are; what is in buckets is the last mean of each prefix. */
static void clean_up(const struct geo_run *g)
{
    AUTO_MEM char *own = mem_printf("%s/geo/%s", g->world->config->home, g->token);

    file_remove_tree(own);
}

static int write_events(const struct geo_run *g,
                        const struct geo_events *events,
                        const char *path,
                        struct err *e)
{
    FILE *out = fopen(path, "we");

    if (!out)
        return file_error(e, "write", path);
    for (size_t i = 0; i < events->n; i++) {
        AUTO_JSON json_t *o = geo_event_json(g->problem, &events->all[i]);
        AUTO_MEM char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
        fprintf(out, "%s\n", text ? text : "{}");
    }
    return fclose(out) == 0 ? 0 : file_error(e, "write", path);
}

static int finish(struct geo_run *g,
                  const struct command_args *args,
                  const struct run *run,
                  const struct geo_events *events,
                  struct lake *l,
                  struct err *e)
{
    const char *path = command_value(args, "--events");

    clean_up(g);
    if ((path && write_events(g, events, path, e) < 0) ||
        geo_run_report(g, run, events, l, stdout, e) < 0)
        return -1;
    return run->state == RUN_FINISHED ? 0 : run->state == RUN_STOPPED ? INTERRUPTED : 1;
}

/* ---- the command ---- */

static int go(struct geo_run *g, const struct command_args *args, struct err *e)
{
    const char *home = g->world->config->home, *user = getenv("USER");
    AUTO(lake) struct lake *l = lake_open_here(e);
    AUTO(runs) struct runs *runs = l ? runs_open(home, e) : NULL;
    AUTO_CLEAR(geo_events) struct geo_events events = {0};
    AUTO_CLEAR(run) struct run ended = {0};
    struct run run = {.user = user ? user : ""};

    if (!runs || cap_check_month(g->world->config, l, e) < 0 || geo_run_compose(g, l, &run, e) < 0)
        return -1;
    if (!g->json)
        geo_run_show_plan(g, stdout);
    fflush(stdout);
    int agreed = cli_run_confirm(command_has(args, "--yes"), "Run it?", e);
    if (agreed <= 0)
        return agreed;
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    if (app_run_begin(operate_app(door), &run, e) < 0)
        return -1;
    if (!g->json)
        printf("Run %" PRId64 "\n", run.id);
    fflush(stdout);
    if (geo_run_watch(g, runs, l, run.id, &events, &ended, e) < 0)
        return err_wrap(e, "run %" PRId64 " goes on, tradewind run stop %" PRId64 " ends it",
                        run.id, run.id);
    return finish(g, args, &ended, &events, l, e);
}

static int run_geo_run(const struct command_args *args, struct err *e)
{
    AUTO_CLEAR(app_geo) struct app_geo w = {0};
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    const char *on = command_value(args, "--on"), *objective = command_value(args, "--objective");
    const char *topology = command_value(args, "--topology");
    double rounds = 0;
    struct app_geo_request q = {.file = args->operands[0],
                                .rounds = FIELD_NONE,
                                .connections = FIELD_NONE,
                                .train_s = (double)NAN,
                                .quorum = (double)NAN,
                                .function = command_value(args, "--function"),
                                .store = command_value(args, "--store"),
                                .compression = command_value(args, "--compression"),
                                .catalog = command_value(args, "--catalog")};

    if (command_number(args, "--rounds", &rounds, e) < 0)
        return -1;
    if (command_has(args, "--rounds"))
        q.rounds = (int64_t)rounds;
    for (unsigned i = 1; topology && i < 5; i++)
        if (!strcmp(topology, app_geo_topology_choices[i]))
            q.topology = i;
    if (topology && !q.topology)
        return err_set(e, ERR_USAGE, "--topology %.40s: must be central, regional, fanout or any",
                       topology);
    if (rounds != floor(rounds))
        return err_set(e, ERR_USAGE, "--rounds %g: must be a whole number", rounds);
    if (app_geo_open(&w, operate_app(door), &q, true, e) < 0)
        return -1;
    struct geo_run g = {.world = &w,
                        .spec = w.spec,
                        .problem = w.problem,
                        .on = on ? on : "local",
                        .json = command_has(args, "--json"),
                        .arena = arena};
    if (objective && strcmp(objective, "time") != 0 && strcmp(objective, "cost") != 0)
        return err_set(e, ERR_USAGE, "--objective: \"%.40s\" is neither cost nor time", objective);
    if (plan(&g, objective && strcmp(objective, "time") == 0 ? GEO_TIME : GEO_COST, e) < 0)
        return -1;
    snprintf(g.token, sizeof g.token, "%" PRIx64 "-%x", (uint64_t)time_epoch_ms(),
             (unsigned)getpid());
    return geo_run_place(&g, e) < 0 ? -1 : go(&g, args, e);
}

static const struct command_option options[] = {
    {.name = "--on",
     .value = "local|ssh|GROUP",
     .help = "Where workers and functions run whose place the file's sites do not name; local "
             "unless given."},
    {.name = "--rounds", .value = "N", .help = "How many rounds are trained."},
    {.name = "--topology",
     .value = "central|regional|fanout|any",
     .help = "How gradients come together; any takes the best."},
    {.name = "--function", .value = "PLACE", .help = "The function runs here: aws/us-west-2, aws."},
    {.name = "--store", .value = "PLACE", .help = "The store is here."},
    {.name = "--compression",
     .value = "none|int8|topk:SHARE",
     .help = "What workers do with gradients before they send them."},
    {.name = "--objective",
     .value = "cost|time",
     .help = "What the placement makes least: dollars per round (the default) or time per round."},
    {.name = "--events",
     .value = "FILE",
     .help = "Write the event log there, a JSON object a line."},
    {.name = "--catalog",
     .value = "DIR",
     .help = "Plan on the CSV files in this directory instead of the catalog in use."},
    CLI_RUN_YES_OPTION,
    {.name = "--json",
     .help = "Print an object a line: {event: round} for each, at last {event: run, state, model, "
             "rounds, phases, counts, bill, forecast, planned}."},
    {0},
};

const struct command command_geo_run = {
    .name = "geo run",
    .operands = "FILE",
    .summary = "Train across regions, and show the bill beside the forecast",
    .details =
        "Plans as `tradewind geo plan` does and takes the best placement, asks, and starts it: "
        "workers as jobs on this machine or on host groups, the aggregator where the function is "
        "to be, gradients through the store of each place. Every round is told when all workers "
        "have its result.\n"
        "\n"
        "At the end: the model as a set version, the phases of a round, requests and bytes between "
        "places, and what all that costs in the clouds by the events, beside what the model says "
        "for the same times and what was planned.\n"
        "\n"
        "A worker that is killed is started again and goes on with its round; one that fails ends "
        "the run. Ctrl-C stops everything, twice at once. The exit code is 0 when it finished, 1 "
        "when it failed, 130 when it was stopped.",
    .example = "tradewind geo run shirts.yaml --on local",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_geo_run,
};
