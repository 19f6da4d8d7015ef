/* sweep: the command `sweep`, a hyper-parameter search whose jobs are compared at the end. */
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"

#include <stdint.h>

static int exit_code(const void *head)
{
    const struct app_sweep *sweep = head;

    return sweep->finished < sweep->jobs;
}

int cli_job_run_batch(const struct command_args *args, struct err *e)
{
    const struct command *c = args->command;
    AUTO_JSON json_t *request = operate_request(args, c->operation, e);

    if (!request)
        return -1;
    json_object_set_new(request, "wait", json_true());
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(true);
    int result = operate_call(args, terminal, c->operation, request, c->text, e);
    if (result >= 0 || !interrupt_seen())
        return result;
    operate_terminal_quiet(terminal);
    fprintf(stderr, "the jobs continue; the same command resumes\n");
    return CLI_JOB_EXIT_INTERRUPTED;
}

const struct command command_sweep = {
    .name = "sweep",
    .operands = "NAME -- CMD...",
    .summary = "Run a command with every combination of values, and compare the jobs",
    .details =
        "A list of values in braces, anywhere within a word of the command, expands to one job per "
        "value: --rate '{0.1,0.2}' is two jobs, and another list multiplies them, up to 10,000. "
        "Most shells expand braces themselves: write lists in quotes. `tradewind help profile` "
        "describes lists.\n"
        "\n"
        "The same command resumes a sweep, and more values extend it: finished jobs are not run "
        "again, failed jobs are retried. After Ctrl-C the jobs continue. At the end a table shows "
        "the arguments that differ, state, time, cost, the last value of each metric, and tags. "
        "The exit code is 1 when a job did not finish.",
    .example =
        "tradewind sweep rates --code . -- python train.py --rate '{0.1,0.2}' --epoch '{1,5}'",
    .operation = &sweep_start_operation,
    .text =
        &(const struct command_text){.head =
                                         operate_print_nothing, /* the table of the jobs tells it */
                                     .item = cli_job_compare_add,
                                     .end = cli_job_compare_print,
                                     .clear = cli_job_compare_clear,
                                     .state_size = sizeof(struct cli_job_compared),
                                     .exit_code = exit_code},
    .run = cli_job_run_batch,
};
