#include "base/mem.h"
#include "base/time.h"
#include "broker/client.h"
#include "cli/commands.h"
#include "cli/job_parts.h"
#include "cli/lake_open.h"
#include "cli/plan_options.h"
#include "cli/run_parts.h"
#include "cli/run_sim.h"

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
     .value = "local|sim",
     .help =
         "Where to run: on this machine, a rehearsal with real work (the default), or on paper, "
         "in virtual time."},
    {.name = "--seed", .value = "N", .help = "sim: what chance goes by; the same gives the same."},
    {.name = "--noise",
     .value = "F",
     .help = "sim: how far run times lie from the plan (standard deviation of their logarithm)."},
    {.name = "--troubles",
     .value = "FILE",
     .help = "sim: what the cloud refuses or loses, as docs/machines.md writes it."},
    {.name = "--max-cost", .value = "USD", .help = "sim: stop before more than this is spent."},
    {.name = "--yes", .help = "Do not ask.", .letter = 'y'},
    {.name = "--resume", .help = "Go on with the last run of this pipeline that did not finish."},
    {.name = "--no-cache", .help = "Run every stage, even if nothing about it has changed."},
    {.name = "--detach", .help = "Only start it; `tradewind run show` tells how far it is."},
    {.name = "--json", .help = "Print one JSON object a line: every change, the bill at last."},
    {0},
};

static bool is_on_paper(const struct command_args *args)
{
    const char *on = command_value(args, "--on");

    return on && !strcmp(on, "sim");
}

static int check_place(const struct command_args *args, struct err *e)
{
    static const char *const of_sim[] = {"--seed", "--noise", "--troubles", "--max-cost"};
    const char *on = command_value(args, "--on");

    if (on && strcmp(on, "local") != 0 && strcmp(on, "sim") != 0)
        return err_set(e, ERR_USAGE,
                       "--on %s: pipelines run on local, this machine, or sim, on paper, so far",
                       on);
    for (size_t i = 0; i < sizeof of_sim / sizeof of_sim[0]; i++)
        if (!is_on_paper(args) && command_has(args, of_sim[i]))
            return err_set(e, ERR_USAGE, "%s goes with --on sim", of_sim[i]);
    return 0;
}

int run_confirm(bool yes, const char *question, struct err *e)
{
    char answer[16] = "";

    if (yes)
        return 1;
    if (!isatty(STDIN_FILENO))
        return err_set(e, ERR_USAGE, "nobody is there to confirm the plan: --yes runs it");
    fprintf(stderr, "%s [Y/n] ", question);
    fflush(stderr);
    if (!fgets(answer, sizeof answer, stdin))
        return 0;
    return answer[0] == '\n' || answer[0] == 'y' || answer[0] == 'Y';
}

static void say_where(void)
{
    struct job_room here = job_local_room();

    printf("\nRunning on this machine (--on local: no cloud credentials are set up): a rehearsal "
           "with real\nwork on %g CPUs and %.0f GB, priced as the planned machines.\n",
           here.cpus, (double)here.memory_mb / 1024);
}

/* With --resume: the last run must be there and over; what it finished is then found again. */
static int check_resume(const struct command_args *args,
                        struct runs *runs,
                        const char *name,
                        struct err *e)
{
    AUTO_CLEAR(run) struct run last = {0};
    int64_t id;

    if (!command_has(args, "--resume"))
        return 0;
    if (command_has(args, "--no-cache"))
        return err_set(e, ERR_USAGE, "--resume keeps what was finished, --no-cache does not");
    if (runs_latest(runs, name, &id, e) < 0)
        return -1;
    if (id == 0)
        return err_set(e, ERR_NOTFOUND, "pipeline %s has not been run yet: leave out --resume",
                       name);
    if (runs_get(runs, id, &last, e) < 0)
        return -1;
    if (last.state == RUN_GOING)
        return err_set(e, ERR_USAGE,
                       "run %" PRId64 " of %s is still going: tradewind run show %" PRId64, id,
                       name, id);
    return 0;
}

int run_start(struct runs *runs, struct run *run, const char *home, struct err *e)
{
    if (runs_add(runs, run, e) < 0)
        return -1;
    AUTO(broker_client) struct broker_client *c = broker_client_open(home, true, e);
    return c ? broker_client_wake(c, e) : -1;
}

static int start(const struct cli_plan *p,
                 const struct command_args *args,
                 struct lake *l,
                 struct runs *runs,
                 int64_t *id_out,
                 struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct run run = {.on = "local", .no_cache = command_has(args, "--no-cache")};
    const char *user = getenv("USER");

    run.user = user ? user : "";
    if (check_resume(args, runs, p->spec->name, e) < 0 ||
        run_compose(p, args, l, arena, &run, e) < 0)
        return -1;
    int result = run_start(runs, &run, p->config->home, e);
    *id_out = run.id;
    return result;
}

static int go(const struct cli_plan *p, const struct command_args *args, struct err *e)
{
    bool json = command_has(args, "--json");
    AUTO(lake) struct lake *l = lake_open_here(e);
    AUTO(runs) struct runs *runs = l ? runs_open(p->config->home, e) : NULL;
    int64_t id;

    if (!runs || start(p, args, l, runs, &id, e) < 0)
        return -1;
    if (!command_has(args, "--detach"))
        return run_watch(runs, l, p->config->home, id, json, e);
    if (json)
        printf("{\"event\": \"started\", \"run\": %" PRId64 "}\n", id);
    else
        printf("run %" PRId64 "\nFollow it with: tradewind run show %" PRId64 "\n", id, id);
    return 0;
}

static int show_plan(struct cli_plan *p, bool json, bool on_paper, struct err *e)
{
    static const struct cli_plan_extras none = {0};

    if (p->answer.status == PLAN_INFEASIBLE) {
        if (!json)
            cli_plan_print_infeasible(p, stdout);
        return err_set(e, ERR_NOFIT, "no plan: %s", p->answer.reason);
    }
    if (json)
        return 0;
    if (cli_plan_ask_singles(p, e) < 0)
        return -1;
    cli_plan_print(p, &none, stdout);
    if (on_paper)
        puts("\nRunning on paper (--on sim), in virtual time: nothing is rented, no work is done.");
    else
        say_where();
    return 0;
}

static int run(const struct command_args *args, struct err *e)
{
    AUTO(cli_plan) struct cli_plan *p = mem_zero(1, sizeof *p);

    if (check_place(args, e) < 0 || cli_plan_open(p, args, e) < 0 ||
        cli_plan_ask(p, false, e) < 0 ||
        show_plan(p, command_has(args, "--json"), is_on_paper(args), e) < 0)
        return -1;
    fflush(stdout);
    int agreed = run_confirm(command_has(args, "--yes"), "Run it?", e);
    if (agreed < 0)
        return -1;
    if (!agreed) {
        puts("Nothing was started.");
        return 0;
    }
    return is_on_paper(args) ? run_on_sim(p, args, command_has(args, "--json"), e) : go(p, args, e);
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
        "paper "
        "(--on sim) machines boot, are preempted and refused as chance and --troubles say, and the "
        "run is over in milliseconds.\n\n"
        "Ctrl-C stops the run: what is finished stays, and --resume goes on from there; twice "
        "stops "
        "it at once. The exit code is 0 when everything finished, 1 when a stage failed.",
    .example = "tradewind run examples/fashion.yaml --yes",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
