/* help: what `--help` and the man page say, made from the command table. */
#ifndef CLI_CORE_HELP_H
#define CLI_CORE_HELP_H

#include "cli/core/command.h"

#include <stdio.h>

void help_program(FILE *out);
/* The commands named "GROUP something". */
void help_group(FILE *out, const char *group);
void help_command(FILE *out, const struct command *c);
void help_version(FILE *out);
void help_man_page(FILE *out);

struct help_entry {
    const char *term;
    const char *text;
};
extern const char help_summary[];
extern const char help_description[];
/* Each ends with {0}. */
extern const struct help_entry help_exit_codes[];
extern const struct help_entry help_environment[];
extern const struct help_entry help_files[];

#endif
