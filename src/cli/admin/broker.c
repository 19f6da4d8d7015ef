/* broker: the command that serves a home's jobs; other commands start it in the background. */
#include "app/admin/admin.h"
#include "cli/core/commands.h"
#include "cli/core/operate.h"

#include <stdio.h>
#include <unistd.h>

static int run(const struct command_args *args, struct err *e)
{
    AUTO(operate_terminal) struct operate_terminal *terminal = operate_terminal_new(false);

    if (!command_has(args, "--stop"))
        return admin_broker_serve(operate_app(terminal), STDOUT_FILENO, e);
    int stopped = admin_broker_stop(operate_app(terminal), e);
    if (stopped == 0)
        puts("No broker was running.");
    return stopped < 0 ? -1 : 0;
}

static const struct command_option options[] = {
    {.name = "--stop",
     .help = "Stop the running broker; jobs continue, and the next broker takes over."},
    {0},
};

const struct command command_broker = {
    .name = "broker",
    .summary = "Serve this home's jobs; other commands start it when they need it",
    .details =
        "The broker schedules jobs onto machines and records their results. Commands that need it "
        "start it in the background; it exits after a minute without work "
        "(TRADEWIND_BROKER_IDLE_S). It tries ten times to store an output that changes while it is "
        "read, up to 25 s apart (TRADEWIND_BROKER_STORE_WAIT_S). The lake and the jobs' agents "
        "hold all of its state, so a killed broker loses nothing. It logs to broker.log in "
        "$TRADEWIND_HOME.",
    .example = "tradewind broker --stop",
    .options = options,
    .run = run,
};
