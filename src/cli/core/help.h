/* help: what `--help` prints, made from the command table. */
#ifndef CLI_CORE_HELP_H
#define CLI_CORE_HELP_H

#include "cli/core/command.h"

#include <stdio.h>

void help_program(FILE *out);
/* The commands named "GROUP something". */
void help_group(FILE *out, const char *group);
void help_command(FILE *out, const struct command *c);
void help_version(FILE *out);

#endif
