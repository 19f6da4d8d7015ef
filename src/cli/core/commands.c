#include "cli/core/commands.h"

#include <stddef.h>

#define LIST(name) &command_##name,
#define LIST_FIRST(title, name) &command_##name,
const struct command *const commands[] = {COMMANDS(LIST_FIRST, LIST) NULL};

#define GROUP(title, name) {title, &command_##name},
#define NO_GROUP(name)
const struct command_group command_groups[] = {COMMANDS(GROUP, NO_GROUP){0}};

const struct command *const commands_everyday[] = {COMMANDS_EVERYDAY(LIST) NULL};
