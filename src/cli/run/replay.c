/* replay: the commands `replay` and `rerun`, and the offer of `get` to replay lost content. */
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/run/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)256 << 20)

struct order {
    enum app_replay_kind kind;
    const char *ref; /* "@S:3" */
    bool yes, json;
};

/* ---- before and after ---- */

static int show(const struct run *run, enum app_replay_kind kind, struct arena *a, struct err *e)
{
    char took[32], cost[32];
    struct writer w;

    writer_init(&w, WRITER_TABLE, NULL, kind == APP_RERUN ? &app_rerun_record : &app_replay_record,
                NULL, false, stdout);
    w.indent = 2;
    for (size_t i = 0; i < run->n_stages; i++) {
        struct app_replay_stage s = app_replay_stage_of(&run->stages[i].plan, a);
        writer_item(&w, &s, e);
    }
    printf("%zu %s to run:\n\n", run->n_stages, run->n_stages == 1 ? "job" : "jobs");
    int result = writer_end(&w, e);
    writer_clear(&w);
    printf("\nLast time: %s of work, %s.\n", time_text(run->planned_s, took),
           money_text(run->planned_microusd, cost));
    fflush(stdout);
    return result;
}

static void print_set(const struct app_replayed_set *s)
{
    if (s->same)
        printf("%s is restored: the same files with the same content.\n", s->recorded);
    else if (s->output)
        printf("%s differs from %s: job %" PRId64
               " is not deterministic. The new version has the tag non_deterministic.\n",
               s->output, s->recorded, s->job);
    else
        printf("Job %" PRId64 " left no output this time: %s is not restored.\n", s->job,
               s->recorded);
}

static int compare(struct app *app, int64_t run, bool json, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct app_replayed r;

    if (app_replay_compare(app, run, arena, &r, e) < 0)
        return -1;
    const struct app_replayed_set *sets = r.sets.items;
    if (json)
        cli_run_print_event(&app_replayed_record, &r);
    for (size_t i = 0; !json && i < r.sets.n; i++)
        print_set(&sets[i]);
    return 0;
}

static int say_nothing(bool json)
{
    if (json)
        cli_run_print_event(&app_run_started_record,
                            &(struct app_run_started){.event = "nothing", .run = FIELD_NONE});
    else
        puts("Nothing to run: no job used older versions alone.");
    return 0;
}

/* The exit code: 0, 1 failed, 130 stopped, or -1. */
static int replay(struct app *app, const struct order *order, struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct run run;

    if (app_replay_compose(app, order->kind, order->ref, arena, &run, e) < 0)
        return -1;
    if (run.n_stages == 0)
        return say_nothing(order->json);
    if (!order->json && show(&run, order->kind, arena, e) < 0)
        return -1;
    int agreed = cli_run_confirm(order->yes, "Run it?", e);
    if (agreed <= 0)
        return agreed;
    if (app_replay_begin(app, &run, e) < 0)
        return -1;
    int code = cli_run_watch(app, run.id, order->json, e);
    if (code < 0 || order->kind == APP_RERUN)
        return code;
    return compare(app, run.id, order->json, e) < 0 ? -1 : code;
}

/* ---- offered by get ---- */

int cli_run_offer_replay(
    struct app *app, const char *const *refs, size_t n, bool json, struct err *e)
{
    AUTO_MEM char *ref = app_replay_find(app, refs, n);

    if (!ref)
        return -1;
    if (json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        const struct err why = *e;
        return err_set(e, why.kind, "%.280s; `tradewind replay %s` makes it again", why.text, ref);
    }
    fprintf(stderr, "gc --economic removed the content of %s. Its jobs can make it again.\n", ref);
    int code = replay(app, &(struct order){.kind = APP_REPLAY, .ref = ref}, e);
    return code == 0 ? 1 : code < 0 ? -1 : err_set(e, ERR_RETRY, "%s was not made again", ref);
}

/* ---- the commands ---- */

static int run_command(const struct command_args *args,
                       enum app_replay_kind kind,
                       const char *ref,
                       struct err *e)
{
    AUTO(operate_terminal) struct operate_terminal *door = operate_terminal_new(false);
    const struct order order = {.kind = kind,
                                .ref = ref,
                                .yes = command_has(args, "--yes"),
                                .json = command_has(args, "--json")};

    return replay(operate_app(door), &order, e);
}

static int run_replay(const struct command_args *args, struct err *e)
{
    return run_command(args, APP_REPLAY, args->operands[0], e);
}

static const struct command_option replay_options[] = {
    CLI_RUN_YES_OPTION,
    {.name = "--json",
     .help = "Print one JSON object per line: every change, the bill, and last the event replay "
             "with sets: stage, job, recorded, output and same."},
    {0},
};

const struct command command_replay = {
    .name = "replay",
    .operands = "SET",
    .summary = "Run the jobs that make a set version again",
    .details =
        "Runs the job that made the set version, with the recorded code, arguments and input. Jobs "
        "before it run as well where their output is needed and was removed (gc --economic). "
        "Shows first which jobs will run and what they cost the last time, and asks.\n\n"
        "Output with the recorded content is restored under its old version. Output that differs "
        "becomes a new version with the tag non_deterministic=@S:3, which names the recorded one.",
    .example = "tradewind replay @model:3 --yes",
    .options = replay_options,
    .operation = &replay_start_operation,
    .min_operands = 1,
    .max_operands = 1,
    .run = run_replay,
};

static int run_rerun(const struct command_args *args, struct err *e)
{
    const char *from = command_value(args, "--from");

    if (!from)
        return err_set(e, ERR_USAGE,
                       "rerun: --from @SET names the newer version to work on; `tradewind job "
                       "rerun` repeats one job");
    return run_command(args, APP_RERUN, from, e);
}

static const struct command_option rerun_options[] = {
    CLI_RUN_YES_OPTION,
    {.name = "--json", .help = "Print one JSON object per line: every change, last the bill."},
    {0},
};

const struct command command_rerun = {
    .name = "rerun",
    .summary = "Run the jobs that used older versions of a set again, on a newer version",
    .details =
        "Finds the jobs that used older versions of the set, directly or over the output of "
        "others, and runs them again as one pipeline, in order, with the newer version instead of "
        "the older. Every set they made gets its next version; so do sets that were made by hand "
        "on the way. Shows first which jobs will run and what they cost the last time, and asks. A "
        "new version of code works the same way.",
    .example = "tradewind rerun --from @train:2 --yes",
    .options = rerun_options,
    .operation = &rerun_start_operation,
    .run = run_rerun,
};
