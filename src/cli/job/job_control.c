/* job_control: the commands `job kill` and `job wait`. */
#include "cli/core/commands.h"
#include "cli/core/operate.h"
#include "cli/job/job.h"

#include <stdint.h>

/* As `timeout` has it. */
#define EXIT_TIMEOUT 124

/* ---- job kill ---- */

static void print_killed(struct operate_text *t, const void *record)
{
    const struct app_job_killed *job = record;
    long long id = (long long)job->id;

    if (job->was_over)
        fprintf(t->out, "job %lld was over already: %s\n", id, lake_job_state_texts[job->state]);
    else if (job->state == LAKE_JOB_KILLED)
        fprintf(t->out, "job %lld is killed\n", id);
    else
        fprintf(t->out, "job %lld is being killed; tradewind job wait %lld waits for its end\n", id,
                id);
}

const struct command command_job_kill = {
    .name = "job kill",
    .operands = "ID...",
    .summary = "Kill jobs, with every process they started",
    .details = "Works in any state, and repeatedly: a queued job never starts; a running job gets "
               "SIGTERM and, after its grace period, SIGKILL. Its output becomes no version. Jobs "
               "that are over stay as they are.",
    .example = "tradewind job kill 7 --reason 'wrong input'",
    .operation = &job_kill_operation,
    .text = &(const struct command_text){.item = print_killed},
};

/* ---- job wait ---- */

static void print_over(struct operate_text *t, const void *record)
{
    cli_job_print_end(t->out, record);
}

static void print_pending(struct operate_text *t, const void *record)
{
    const struct app_job_waited *waited = record;

    (void)t;
    if (waited->outcome == APP_JOB_TIMEOUT)
        fprintf(stderr, "job %lld is still %s\n", (long long)waited->pending_id,
                lake_job_state_texts[waited->pending_state]);
}

int cli_job_exit_code(const void *record)
{
    const struct app_job_waited *waited = record;

    return waited->outcome == APP_JOB_TIMEOUT     ? EXIT_TIMEOUT
           : waited->outcome == APP_JOB_CANCELLED ? CLI_JOB_EXIT_INTERRUPTED
                                                  : (int)waited->exit_code;
}

const struct command command_job_wait = {
    .name = "job wait",
    .operands = "ID...",
    .summary = "Wait until jobs are over",
    .details = "The exit code is that of the job; of several, the first that is not 0. A job "
               "without one that did not finish counts as 1. When --timeout ends the waiting, the "
               "exit code is 124; after Ctrl-C, 130. The jobs continue.",
    .example = "tradewind job wait 7 8 --timeout 1h",
    .operation = &job_wait_operation,
    .text = &(const struct command_text){.head = print_pending,
                                         .item = print_over,
                                         .exit_code = cli_job_exit_code},
    .is_long = true,
};
