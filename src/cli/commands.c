#include "cli/commands.h"

#include <stddef.h>

const struct command *const commands[] = {
    &command_completion,
    &command_help,
    NULL,
};
