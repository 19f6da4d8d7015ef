#include "cli/commands.h"

#include <stddef.h>

/* Commands of one group stand together: completion counts on it. */
const struct command *const commands[] = {
    &command_plan,
    &command_config_get,
    &command_config_set,
    &command_config_show,
    &command_completion,
    &command_help,
    NULL,
};
