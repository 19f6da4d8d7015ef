/* mcp: the command that serves assistants over standard input and output. */
#include "web/mcp/mcp.h"
#include "cli/core/commands.h"
#include "cli/core/interrupt.h"

#include <unistd.h>

static int run(const struct command_args *args, struct err *e)
{
    const struct mcp_options options = {.in = STDIN_FILENO,
                                        .out = STDOUT_FILENO,
                                        .allow_write = command_has(args, "--allow-write")};

    interrupt_watch(1);
    return mcp_serve(&options, interrupt_seen, e);
}

static const struct command_option options[] = {
    {.name = "--allow-write",
     .help = "Also offer the operations that change something or cost money."},
    {0},
};

const struct command command_mcp = {
    .name = "mcp",
    .summary = "Serve AI assistants over the Model Context Protocol",
    .details =
        "Assistants start this command and talk to it over standard input and output. Its tools "
        "are the operations of `tradewind help --operations`: by default those that only read, "
        "such as planning, finding, tracing, and the state, logs and metrics of jobs and runs. "
        "With --allow-write they are all operations; a tool that starts work which costs money "
        "first answers with the cost and a token, and starts the work when it is called again "
        "with that token.\n\n"
        "An assistant's configuration names the program and its arguments:\n\n"
        "  {\"mcpServers\": {\"tradewind\": {\"command\": \"tradewind\", \"args\": "
        "[\"mcp\"]}}}",
    .example = "tradewind mcp",
    .options = options,
    .run = run,
};
