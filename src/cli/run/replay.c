/* replay: the commands `replay` and `rerun`, and the offer of `get` to replay lost content. */
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/run/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- before and after ---- */

static int show(struct cli_run *c, const void *head, const struct record *type, struct err *e)
{
    const struct app_replay_started *p = head;
    const struct app_replay_job *jobs = p->jobs.items;
    char took[32], cost[32];
    struct writer w;

    if (c->json) {
        c->yes = c->yes || p->jobs.n == 0; /* there is nothing to ask about */
        return 1;
    }
    if (p->jobs.n == 0) {
        puts("Nothing to run: no job used older versions alone.");
        return 0;
    }
    writer_init(&w, WRITER_TABLE, NULL, type, NULL, false, stdout);
    w.indent = 2;
    for (size_t i = 0; i < p->jobs.n; i++)
        writer_item(&w, &jobs[i], e);
    printf("%zu %s to run:\n\n", p->jobs.n, p->jobs.n == 1 ? "job" : "jobs");
    int result = writer_end(&w, e);
    writer_clear(&w);
    printf("\nLast time: %s of work, %s.\n", time_text(p->took_s, took),
           money_text(p->cost_microusd, cost));
    return result < 0 ? -1 : 1;
}

static int show_replay(void *context, const void *head, struct err *e)
{
    return show(context, head, &app_replay_job_record, e);
}

static int show_rerun(void *context, const void *head, struct err *e)
{
    return show(context, head, &app_rerun_job_record, e);
}

static void print_sets(struct operate_text *t, const void *record)
{
    const struct app_replayed *r = record;
    const struct app_replayed_set *sets = r->sets.items;

    for (size_t i = 0; i < r->sets.n; i++) {
        const struct app_replayed_set *s = &sets[i];
        if (s->same)
            fprintf(t->out, "%s is restored: the same files with the same content.\n", s->recorded);
        else if (s->output)
            fprintf(t->out,
                    "%s differs from %s: job %" PRId64
                    " is not deterministic. The new version has the tag non_deterministic.\n",
                    s->output, s->recorded, s->job);
        else
            fprintf(t->out, "Job %" PRId64 " left no output this time: %s is not restored.\n",
                    s->job, s->recorded);
    }
}

/* The exit code: 0, 1 failed, 130 stopped, or -1. */
static int replay(struct cli_run *c, json_t *request, struct err *e)
{
    static const struct command_text text = {.head = print_sets, .is_lines = true};
    const struct operation *op = &replay_start_operation;
    int agreed = cli_run_ask(c, op, request, show_replay, NULL, e);

    if (agreed <= 0)
        return agreed;
    int code = cli_run_start(c, op, request, e);
    if (code < 0 || !c->run)
        return code;
    AUTO_JSON json_t *get = json_pack("{s:I}", "run", (json_int_t)c->run);
    int compared = operate_call(c->args, c->terminal, &replay_get_operation, get, &text, e);
    return compared < 0 ? -1 : code;
}

/* ---- offered by get ---- */

int cli_run_offer_replay(const struct command_args *args,
                         struct operate_terminal *terminal,
                         const char *const *refs,
                         size_t n,
                         struct err *e)
{
    AUTO_MEM char *ref = app_replay_find(operate_app(terminal), refs, n);
    struct cli_run c = {.args = args, .terminal = terminal};

    if (!ref)
        return -1;
    if (command_has(args, "--json") || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        const struct err why = *e;
        return err_set(e, why.kind, "%.280s; `tradewind replay %s` makes it again", why.text, ref);
    }
    fprintf(stderr, "gc --economic removed the content of %s. Its jobs can make it again.\n", ref);
    AUTO_JSON json_t *request = json_pack("{s:s}", "set", ref);
    int code = replay(&c, request, e);
    if (code == 0 && !c.run)
        return -1; /* declined */
    return code == 0 ? 1 : code < 0 ? -1 : err_set(e, ERR_RETRY, "%s was not made again", ref);
}

/* ---- the commands ---- */

static int run_replay(const struct command_args *args, struct err *e)
{
    AUTO_JSON json_t *request = operate_request(args, &replay_start_operation, e);

    if (!request)
        return -1;
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    struct cli_run c = cli_run_of(args, terminal);
    c.quiet = command_has(args, "--quiet");
    return replay(&c, request, e);
}

static const struct command_option replay_options[] = {
    CLI_RUN_YES_OPTION,
    CLI_RUN_QUIET_OPTION,
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
        "Lists the jobs to run with their last cost, and asks for confirmation.\n\n"
        "Output with the recorded content is restored under its old version. Output that differs "
        "becomes a new version with the tag non_deterministic=@S:3, which names the recorded one.",
    .example = "tradewind replay @model:3 --yes",
    .options = replay_options,
    .operation = &replay_start_operation,
    .run = run_replay,
};

static int run_rerun(const struct command_args *args, struct err *e)
{
    const struct operation *op = &rerun_start_operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    if (!command_value(args, "--from"))
        return err_set(e, ERR_USAGE,
                       "rerun: --from @SET names the newer version to work on; `tradewind job "
                       "rerun` repeats one job");
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);
    struct cli_run c = cli_run_of(args, terminal);
    c.quiet = command_has(args, "--quiet");
    int agreed = cli_run_ask(&c, op, request, show_rerun, NULL, e);
    return agreed <= 0 ? agreed : cli_run_start(&c, op, request, e);
}

static const struct command_option rerun_options[] = {
    CLI_RUN_YES_OPTION,
    CLI_RUN_QUIET_OPTION,
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
        "on the way. Lists the jobs to run with their last cost, and asks for confirmation. A new "
        "version of code works the same way.",
    .example = "tradewind rerun --from @train:2 --yes",
    .options = rerun_options,
    .operation = &rerun_start_operation,
    .run = run_rerun,
};
