#include "cli/run/run.h"
#include "base/mem.h"
#include "base/money.h"
#include "broker/machine/cap.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/plan/options.h"
#include "cli/run/run_market.h"
#include "cli/run/run_parts.h"
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

int run_read_cap(const struct command_args *args, int64_t *microusd_out, struct err *e)
{
    double usd = 0;

    if (command_number(args, "--max-cost", &usd, e) < 0)
        return -1;
    if (command_has(args, "--max-cost") && !(usd > 0 && usd <= MONEY_MAX_USD))
        return err_set(e, ERR_USAGE, "--max-cost %s: must be more than nothing, and at most %g",
                       command_value(args, "--max-cost"), MONEY_MAX_USD);
    *microusd_out = money_from_usd(usd);
    return 0;
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
    return is_on_paper(args) ? run_sim_check(args, e) : run_read_cap(args, &ignored, e);
}

int cli_run_confirm(bool yes, const char *question, struct err *e)
{
    char answer[16] = "";

    if (yes)
        return 1;
    if (!isatty(STDIN_FILENO))
        return err_set(e, ERR_USAGE, "nobody is there to confirm the plan: --yes runs it");
    fprintf(stderr, "%s [Y/n] ", question);
    fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) &&
        (answer[0] == '\n' || answer[0] == 'y' || answer[0] == 'Y'))
        return 1;
    fputs("Nothing was started.\n", stderr);
    return 0;
}

/* With --resume: the last run must be there and over; what it finished is then found again, and
 * what it did not may go on from a checkpoint. */
static int find_resumed(const struct command_args *args,
                        struct runs *runs,
                        const char *name,
                        struct run *last,
                        struct err *e)
{
    int64_t id;

    if (!command_has(args, "--resume"))
        return 0;
    if (runs_latest(runs, name, &id, e) < 0)
        return -1;
    if (id == 0)
        return err_set(e, ERR_NOTFOUND, "pipeline %s has not been run yet: leave out --resume",
                       name);
    if (runs_get(runs, id, last, e) < 0)
        return -1;
    if (last->state == RUN_GOING)
        return err_set(e, ERR_USAGE,
                       "run %" PRId64 " of %s is still going: tradewind run show %" PRId64, id,
                       name, id);
    return 0;
}

static int start(const struct app_plan *p,
                 const struct command_args *args,
                 const struct run_place *place,
                 struct app *app,
                 int64_t *id_out,
                 struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO_CLEAR(run) struct run last = {0};
    struct run run = {.no_cache = command_has(args, "--no-cache")};
    const char *user = getenv("USER");
    struct lake *l = app_lake(app, e);
    struct runs *runs = l ? app_runs(app, e) : NULL;

    run.user = user ? user : "";
    if (!runs || run_read_cap(args, &run.max_microusd, e) < 0 ||
        cap_check_month(p->config, l, e) < 0 ||
        find_resumed(args, runs, p->spec->name, &last, e) < 0)
        return -1;
    struct run_order order = {.place = *place, .resumed = last.id ? &last : NULL};
    if (run_compose(p, args, &order, l, arena, &run, e) < 0)
        return -1;
    int result = app_run_begin(app, &run, e);
    *id_out = run.id;
    return result;
}

void cli_run_say_detached(int64_t id, bool json)
{
    if (json)
        cli_run_print_event(&app_run_started_record,
                            &(struct app_run_started){.event = "started", .run = id});
    else
        printf("run %" PRId64 "\nFollow it with: tradewind run show %" PRId64
               " --follow\nStop it with: tradewind run stop %" PRId64 "\n",
               id, id, id);
}

static int go(const struct app_plan *p,
              const struct command_args *args,
              const struct run_place *place,
              struct err *e)
{
    bool json = command_has(args, "--json");
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    int64_t id;

    if (start(p, args, place, operate_app(door), &id, e) < 0)
        return -1;
    if (!command_has(args, "--detach"))
        return cli_run_watch(operate_app(door), id, json, e);
    cli_run_say_detached(id, json);
    return 0;
}

static int show_plan(struct app_plan *p, bool json, const struct run_place *place, struct err *e)
{
    static const struct cli_plan_extras none = {0};

    if (p->answer.status == PLAN_INFEASIBLE) {
        if (!json)
            cli_plan_print_infeasible(p, stdout);
        return err_set(e, ERR_NOFIT, "no plan: %s", p->answer.reason);
    }
    if (json)
        return 0;
    if (app_plan_ask_singles(p, e) < 0)
        return -1;
    cli_plan_print(p, &none, stdout);
    run_place_say(place);
    return 0;
}

static int run(const struct command_args *args, struct err *e)
{
    AUTO(operate_door) struct operate_door *door = operate_door_new(false);
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);
    AUTO_CLEAR(run_market) struct run_market market = {0};
    struct run_place place;

    if (check_options(args, e) < 0 || cli_plan_open(p, operate_app(door), args, e) < 0 ||
        (command_has(args, "--start") && run_market_open(&market, p, args, e) < 0) ||
        run_place_find(p->config, command_value(args, "--on"), &place, e) < 0 ||
        app_plan_ask(p, false, e) < 0 || show_plan(p, command_has(args, "--json"), &place, e) < 0)
        return -1;
    fflush(stdout);
    int agreed = cli_run_confirm(command_has(args, "--yes"), "Run it?", e);
    if (agreed <= 0)
        return agreed;
    if (!is_on_paper(args))
        return go(p, args, &place, e);
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
