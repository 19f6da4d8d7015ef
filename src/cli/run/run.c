#include "cli/run/run.h"
#include "app/run/start.h"
#include "base/mem.h"
#include "base/money.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/plan/options.h"
#include "cli/plan/plan.h"
#include "cli/run/run_market.h"
#include "cli/run/run_sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)256 << 20)

static const struct command_option options[] = {
    CLI_PLAN_GOAL_OPTIONS,
    CLI_PLAN_WORLD_OPTIONS,
    {.name = "--on",
     .value = "local|sim|ssh|GROUP",
     .help = "Where to run: on this machine, a rehearsal with real work (the default), on paper in "
             "virtual time, on all hosts of the configuration, or on those of a group of it."},
    {.name = "--seed", .value = "N", .help = "sim: what chance goes by; the same gives the same."},
    {.name = "--noise",
     .value = "F",
     .help = "sim: how far run times lie from the plan (standard deviation of their logarithm)."},
    {.name = "--troubles",
     .value = "FILE",
     .help = "sim: what the cloud refuses or loses, as docs/machines.md writes it."},
    {.name = "--start",
     .value = "TIME",
     .help = "sim: begin then in the imported price histories and follow their prices: 2020-03-01, "
             "or 2020-03-01T06:00:00Z."},
    CLI_MARKET_POLICY_OPTIONS,
    {.name = "--max-cost",
     .value = "USD",
     .help = "Stop when more than this is spent; on paper, before."},
    CLI_RUN_SECRET_OPTION,
    CLI_RUN_YES_OPTION,
    {.name = "--resume", .help = "Go on with the last run of this pipeline that did not finish."},
    {.name = "--no-cache", .help = "Run every stage, even if nothing about it has changed."},
    CLI_RUN_DETACH_OPTION,
    {.name = "--json", .help = "Print one JSON object a line: every change, the bill at last."},
    {0},
};

static bool is_on_paper(const struct command_args *args)
{
    const char *on = command_value(args, "--on");

    return on && !strcmp(on, "sim");
}

/* What is wrong whatever the plan will be, so that nobody plans and agrees in vain. */
static int check_options(const struct command_args *args, struct err *e)
{
    static const char *const of_sim[] = {"--seed", "--noise", "--troubles", "--start"};
    bool follows;
    int64_t ignored;

    for (size_t i = 0; i < sizeof of_sim / sizeof of_sim[0]; i++)
        if (!is_on_paper(args) && command_has(args, of_sim[i]))
            return err_set(e, ERR_USAGE, "%s goes with --on sim", of_sim[i]);
    if (run_market_wanted(args, &follows, e) < 0)
        return -1;
    if (is_on_paper(args) && command_has(args, "--detach"))
        return err_set(e, ERR_USAGE,
                       "--detach: a run on paper is over in milliseconds, in this command: leave "
                       "it out");
    if (command_has(args, "--resume") && command_has(args, "--no-cache"))
        return err_set(e, ERR_USAGE, "--resume keeps what was finished, --no-cache does not");
    return is_on_paper(args) ? run_sim_check(args, e) : cli_run_read_cap(args, &ignored, e);
}

static int go(struct app *app,
              const struct app_plan *p,
              const struct command_args *args,
              const struct app_run_location *location,
              struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct app_run_wish wish = {.location = location,
                                .secrets = cli_run_given(args, "--secret", arena),
                                .resume = command_has(args, "--resume"),
                                .no_cache = command_has(args, "--no-cache")};
    bool json = command_has(args, "--json");
    int64_t id;

    if (cli_run_read_cap(args, &wish.max_microusd, e) < 0 ||
        app_run_start(app, p, &wish, &id, e) < 0)
        return -1;
    if (!command_has(args, "--detach"))
        return cli_run_watch(app, id, json, e);
    cli_run_say_detached(id, json);
    return 0;
}

static int show_plan(struct app_plan *p,
                     bool json,
                     const struct app_run_location *place,
                     struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    bool exists = p->answer.status != PLAN_INFEASIBLE;
    struct app_plan_report report;

    if (json)
        return exists ? 0 : err_set(e, ERR_NOFIT, "no plan: %s", p->answer.reason);
    if ((exists && app_plan_ask_singles(p, e) < 0) || app_plan_report(p, arena, &report, e) < 0 ||
        cli_plan_print(&report, stdout, e) < 0)
        return -1;
    cli_run_say_location(place);
    return 0;
}

static int run(const struct command_args *args, struct err *e)
{
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);
    AUTO_CLEAR(run_market) struct run_market market = {0};
    struct app_run_location place;

    if (check_options(args, e) < 0 || cli_plan_open(p, operate_app(door), args, e) < 0 ||
        (command_has(args, "--start") && run_market_open(&market, p, args, e) < 0) ||
        app_run_location_find(p->config, command_value(args, "--on"), &place, e) < 0 ||
        app_plan_ask(p, false, e) < 0 || show_plan(p, command_has(args, "--json"), &place, e) < 0)
        return -1;
    fflush(stdout);
    int agreed = cli_run_confirm(command_has(args, "--yes"), "Run it?", e);
    if (agreed <= 0)
        return agreed;
    if (!is_on_paper(args))
        return go(operate_app(door), p, args, &place, e);
    return run_on_sim(p, args, command_has(args, "--start") ? &market : NULL,
                      command_has(args, "--json"), e);
}

const struct command command_run = {
    .name = "run",
    .operands = "PIPELINE",
    .summary = "Plans a pipeline, asks, runs it, and shows what it made and what it cost",
    .details =
        "Plans as `tradewind plan` does, asks, and runs the stages in order of their needs. Each "
        "stage is a job: its input and code come out of the lake, its output goes there, with the "
        "provenance. Stages whose code, command and input have not changed are taken over from an "
        "earlier run.\n\n"
        "On this machine (--on local) a run is a rehearsal: real work, under the planned limits of "
        "CPU and memory as far as the machine has that much, priced as the planned machines. On "
        "hosts (--on ssh, --on GROUP) a stage gets what it was planned for as far as a host has "
        "that "
        "much, and costs what the host costs. On paper "
        "(--on sim) machines boot, are preempted and refused as chance and --troubles say, and the "
        "run is over in milliseconds.\n\n"
        "Ctrl-C stops the run: what is finished stays, and --resume goes on from there; twice "
        "stops it at once. One started with --detach is stopped by `tradewind run stop`. The exit "
        "code is 0 when everything finished, 1 when a stage failed.",
    .example = "tradewind run examples/fashion.yaml --yes",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
