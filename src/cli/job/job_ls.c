/* job_ls: the command `job ls`, one line per job. */
#include "app/job/job.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <stdio.h>

static bool is_filtered(const struct command_args *args)
{
    return command_has(args, "--state") || command_has(args, "--user") ||
           command_has(args, "--name") || command_has(args, "--run");
}

static int print_end(struct operate_text *t, struct err *e)
{
    (void)e;
    if (!t->n_items)
        fprintf(t->out, "%s\n",
                is_filtered(t->args)
                    ? "No job matches."
                    : "There are no jobs; tradewind job submit -- COMMAND makes one.");
    else if (t->more)
        fprintf(t->out, "These are the first %zu; --all shows all of them.\n", t->n_items);
    return 0;
}

const struct command command_job_ls = {
    .name = "job ls",
    .summary = "List jobs, the newest first",
    .example = "tradewind job ls --state failed,lost --sort cost",
    .operation = &job_list_operation,
    .text = &(const struct command_text){.end = print_end},
    .is_long = true,
};
