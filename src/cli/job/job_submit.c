/* job_submit: the commands `job submit` and `job rerun`. */
#include "app/job/cloud.h"
#include "base/mem.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the answers of job.submit and job.wait. */
#define ANSWER_BYTES ((size_t)4 * LAKE_JOB_ARENA_MAX)

static void print_submitted(struct operate_text *t, const void *record)
{
    const struct app_job_submitted *made = record;
    long long id = (long long)made->id;

    if (made->nodes != FIELD_NONE)
        fprintf(t->out, "jobs %lld to %lld, which start and end together; of the first:\n", id,
                id + (long long)made->nodes - 1);
    fprintf(t->out,
            "job %lld\ntradewind job logs -f %lld follows its log, tradewind job show %lld shows "
            "its state.\n",
            id, id, id);
    fflush(t->out);
}

/* ---- machines of clouds ---- */

struct asking {
    bool shows, launches;
};

static int show_price(void *context, const void *record, struct err *e)
{
    struct asking *a = context;
    const struct app_job_submitted *dry = record;
    const struct app_job_price *price = dry->price;

    (void)e;
    a->launches = price != NULL;
    if (!price || !a->shows)
        return 0;
    AUTO_MEM char *most =
        isnan(price->most_usd) ? mem_dup("") : mem_printf(", at most $%.4g", price->most_usd);
    AUTO_MEM char *line = mem_printf("Launches %s: $%.4g per hour%s. Terminates it after the job.",
                                     price->basis, price->high_usd_per_hour, most);
    text_print(stdout, line, strlen(line));
    putchar('\n');
    fflush(stdout);
    return 0;
}

/* 1: submit it; 0: the user does not want to; -1. */
static int ask(const struct command_args *args,
               struct operate_terminal *terminal,
               const struct operation *op,
               json_t *request,
               struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ANSWER_BYTES);
    bool as_json = command_has(args, "--json"), yes = command_has(args, "--yes");
    struct asking a = {.shows = !as_json};
    struct answer answer = {.arena = arena, .head = show_price, .context = &a};
    const char *on = json_string_value(json_object_get(request, "on"));

    /* Nothing would be shown or asked. */
    if ((as_json && yes) || (record_field(op->request, "on") && (!on || !strcmp(on, "local"))))
        return 1;
    json_object_set_new(request, "dry_run", json_true());
    if (operation_call(operate_app(terminal), op, request, FIELD_AS_OPTION, &answer, e) < 0)
        return -1;
    json_object_del(request, "dry_run");
    operate_terminal_quiet(terminal);
    return !a.launches || yes ? 1
                              : operate_confirm("Submit it?",
                                                "no terminal to confirm the price on: --yes "
                                                "submits it",
                                                e);
}

/* ---- --wait ---- */

static int take_submitted(void *context, const void *record, struct err *e)
{
    (void)e;
    *(struct app_job_submitted *)context = *(const struct app_job_submitted *)record;
    return 0;
}

static int take_waited(void *context, const void *record, struct err *e)
{
    (void)e;
    *(struct app_job_waited *)context = *(const struct app_job_waited *)record;
    return 0;
}

static int print_over(void *context, const void *record, struct err *e)
{
    (void)context;
    (void)e;
    cli_job_print_end(stdout, record);
    return 0;
}

static int wait_for(const struct command_args *args,
                    struct operate_terminal *terminal,
                    const struct app_job_submitted *made,
                    struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ANSWER_BYTES);
    int64_t id = made->id, n = made->nodes == FIELD_NONE ? 1 : made->nodes;
    AUTO_JSON json_t *jobs = json_pack("{s:[]}", "ids");
    AUTO_JSON json_t *job = json_pack("{s:I}", "id", (json_int_t)id);
    bool as_json = command_has(args, "--json");
    struct app_job_waited waited = {0};
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(json_object_get(jobs, "ids"), json_integer(id + i));
    struct answer answer = {.arena = arena,
                            .head = take_waited,
                            .item = as_json ? NULL : print_over,
                            .context = &waited};

    if (operation_call(operate_app(terminal), &job_wait_operation, jobs, FIELD_AS_OPTION, &answer,
                       e) < 0)
        return -1;
    if (waited.outcome == APP_JOB_CANCELLED)
        fprintf(stderr,
                "job %lld continues; tradewind job wait %lld waits again, tradewind job kill %lld "
                "kills it\n",
                (long long)id, (long long)id, (long long)id);
    else if (as_json && operate_call(args, terminal, &job_get_operation, job, NULL, e) < 0)
        return -1;
    return cli_job_exit_code(&waited);
}

static int run_submit(const struct command_args *args, struct err *e)
{
    static const struct command_text text = {.head = print_submitted};
    const struct operation *op = args->command->operation;
    AUTO_JSON json_t *request = operate_request(args, op, e);

    if (!request)
        return -1;
    AUTO(operate_terminal)
    struct operate_terminal *terminal = operate_terminal_new(command_has(args, "--wait"));
    int agreed = ask(args, terminal, op, request, e);
    if (agreed <= 0)
        return agreed;
    if (!command_has(args, "--wait"))
        return operate_call(args, terminal, op, request, &text, e);
    AUTO(arena) struct arena *arena = arena_new(ANSWER_BYTES);
    struct app_job_submitted made = {0};
    struct answer answer = {.arena = arena, .head = take_submitted, .context = &made};
    if (operation_call(operate_app(terminal), op, request, FIELD_AS_OPTION, &answer, e) < 0)
        return -1;
    if (!command_has(args, "--json"))
        printf("job %lld\n", (long long)made.id);
    fflush(stdout);
    return wait_for(args, terminal, &made, e);
}

static const struct command_option options[] = {
    {.name = "--wait",
     .help = "Wait for the end of the job, and exit with its exit code; --json then prints what "
             "job show --json prints."},
    {.name = "--yes", .letter = 'y', .help = "Launch a machine of a cloud without a question."},
    {0},
};

const struct command command_job_submit = {
    .name = "job submit",
    .operands = "-- CMD...", /* COMMAND would be completed as one of ours */
    .summary = "Submit a command as a job, and record its input, output and cost",
    .details =
        "The job waits in the queue of its user until its CPUs and memory are free, and runs in a "
        "private copy of the code. $TRADEWIND_INPUT holds the files of the input, "
        "$TRADEWIND_OUTPUT takes the output, and $TRADEWIND_JOB is the number of the job. Exit "
        "code 0 is success: the output becomes a set version with provenance. Any other exit code "
        "is a failure, and makes no version.\n"
        "\n"
        "Tradewind reads lines of the log: [TRADEWIND_TAG] KEY:VALUE tags the job and its output, "
        "[TRADEWIND_TAG_NUM] KEY:NUMBER does the same for numbers, and [TRADEWIND_METRIC] NAME "
        "STEP VALUE adds a point to a metric (job metrics).\n"
        "\n"
        "On clouds (--on cloud, --on aws) the cheapest machine that has the CPUs, memory and GPUs "
        "is "
        "launched for the job, which gets all of it, and is terminated after it. The command shows "
        "its price and asks first. A machine that the cloud refuses is replaced by the next "
        "cheapest; `job show` lists what was tried.\n"
        "\n"
        "Ctrl-C during --wait ends the command with exit code 130; the job continues.",
    .example = "tradewind job submit --input @train --output model --code . -- python train.py "
               "--epoch 20",
    .options = options,
    .operation = &job_submit_operation,
    .run = run_submit,
};

const struct command command_job_rerun = {
    .name = "job rerun",
    .operands = "ID",
    .summary = "Submit a job again, as a new job",
    .details = "The new job has the same command, the same versions of input and code, the same "
               "environment and resources, and records which job it repeats.",
    .example = "tradewind job rerun 7",
    .options = options,
    .operation = &job_rerun_operation,
    .run = run_submit,
};
