/* job_control: ending jobs and waiting for their end. */
#include "base/mem.h"
#include "base/time.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"
#include "cli/job/job_parts.h"

#include <stdint.h>
#include <stdlib.h>

/* As `timeout` has it, and a shell for Ctrl-C. */
#define EXIT_TIMEOUT 124
#define EXIT_INTERRUPTED 130

/* Before anything is done to one of them, all must be there. */
static int check_all(struct app *app, const int64_t *ids, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        AUTO_CLEAR(job_record) struct job_record r = {0};
        if (job_record_load(app, ids[i], &r, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- job kill ---- */

static int kill_one(struct app *app, int64_t id, const char *reason, bool *asked, struct err *e)
{
    AUTO_CLEAR(job_record) struct job_record before = {0};
    bool over;

    if (job_record_load(app, id, &before, e) < 0 ||
        lake_job_ask_stop(app_lake(app, e), id, reason, &over, e) < 0)
        return -1;
    if (lake_job_state_final(before.job.state))
        printf("job %lld was over already: %s\n", (long long)id,
               lake_job_state_text(before.job.state));
    else if (over)
        printf("job %lld is killed\n", (long long)id);
    else
        printf("job %lld is being ended; tradewind job wait %lld waits for it\n", (long long)id,
               (long long)id);
    *asked = *asked || !over;
    return 0;
}

static int run_kill(const struct command_args *args, struct err *e)
{
    AUTO_MEM int64_t *ids = job_ids_parse(args, e);
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    const char *reason = command_value(args, "--reason");
    bool asked = false;

    if (!ids || job_desk_open(&desk, e) < 0 || check_all(desk.app, ids, args->n_operands, e) < 0)
        return -1;
    const char *by = reason ? reason : "by its user";
    for (size_t i = 0; i < args->n_operands; i++)
        if (kill_one(desk.app, ids[i], by, &asked, e) < 0)
            return -1;
    if (!asked)
        return 0;
    return app_wake_broker(desk.app, e);
}

static const struct command_option kill_options[] = {
    {.name = "--reason", .value = "TEXT", .help = "Why, for its record."},
    {0},
};

const struct command command_job_kill = {
    .name = "job kill",
    .operands = "ID...",
    .summary = "End jobs, with every process they started",
    .details = "In any state, and as often as one likes: a job that waits never begins, one that "
               "runs gets SIGTERM and, when it takes longer than its grace, SIGKILL. What it "
               "wrote becomes no version. Jobs that are over stay as they are.",
    .example = "tradewind job kill 7 --reason 'wrong input'",
    .options = kill_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_kill,
};

/* ---- job wait ---- */

/* The exit code: of all of them the first that is not 0. */
static int wait_for_all(struct job_desk *desk,
                        const int64_t *ids,
                        size_t n,
                        double until_s, /* < 0 = for ever */
                        struct err *e)
{
    int code = 0;

    if (app_wake_broker(desk->app, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        AUTO_CLEAR(job_record) struct job_record r = {0};
        double left = until_s < 0 ? -1 : until_s - time_monotonic_s();
        int over = app_job_wait(desk->app, ids[i], until_s >= 0 && left < 0 ? 0 : left, e);
        if (over < 0 || job_record_load(desk->app, ids[i], &r, e) < 0)
            return -1;
        if (!over && interrupt_seen())
            return EXIT_INTERRUPTED;
        if (!over) {
            fprintf(stderr, "job %lld is still %s\n", (long long)ids[i],
                    lake_job_state_text(r.job.state));
            return EXIT_TIMEOUT;
        }
        job_print_end(stdout, &r.job);
        code = code ? code : app_job_exit_code(&r.job);
    }
    return code;
}

static int run_wait(const struct command_args *args, struct err *e)
{
    AUTO_MEM int64_t *ids = job_ids_parse(args, e);
    AUTO_CLEAR(job_desk) struct job_desk desk = {0};
    double timeout_s = -1;

    if (!ids || command_duration(args, "--timeout", 1, &timeout_s, e) < 0 ||
        job_desk_open(&desk, e) < 0 || check_all(desk.app, ids, args->n_operands, e) < 0)
        return -1;
    interrupt_watch();
    return wait_for_all(&desk, ids, args->n_operands,
                        timeout_s < 0 ? -1 : time_monotonic_s() + timeout_s, e);
}

static const struct command_option wait_options[] = {
    {.name = "--timeout", .value = "TIME", .help = "The longest to wait, as in 90s or 10m."},
    {0},
};

const struct command command_job_wait = {
    .name = "job wait",
    .operands = "ID...",
    .summary = "Wait until jobs are over",
    .details = "Ends with the exit code of the job; of several, with the first that is not 0. A "
               "job without one that did not finish counts as 1. When --timeout is over first the "
               "exit code is 124, and 130 after Ctrl-C: the jobs go on.",
    .example = "tradewind job wait 7 8 --timeout 1h",
    .options = wait_options,
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .run = run_wait,
};
