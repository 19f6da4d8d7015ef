#include "cli/commands.h"

#include <stddef.h>

const struct command *const commands[] = {
    &command_completion,
    &command_config_get,
    &command_config_set,
    &command_config_show,
    &command_help,
    NULL,
};
