/* command: the one table of commands. Help, man page and shell completion are made from it. */
#ifndef CLI_CORE_COMMAND_H
#define CLI_CORE_COMMAND_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct command_text;
struct field;
struct operation;

struct command_option {
    const char *name; /* "--budget" */
    /* What it takes, NULL = a switch. "USD": capitals name something to fill in, and FILE, DIR,
     * PIPELINE and COMMAND are completed as such; "cost|time|weighted:W": alternatives. */
    const char *value;
    const char *help; /* one sentence */
    bool repeatable;
    char letter;        /* 'r': -r means the same; letters of switches may be joined. 0 = none */
    const char *former; /* an earlier spelling that still works, and help does not list */
    const struct field *field; /* of the operation's request; NULL = the command's own option */
    const char *sets;          /* of its own: the field of the request that it sets to true */
};

/* Parsed command line of one command. */
struct command_args {
    const struct command *command;
    const struct command_option *options; /* all that the command takes; ends with {0} */
    const char *const *operands;
    size_t n_operands;
    struct command_given {
        const struct command_option *option;
        const char *value; /* NULL for a switch */
    } * given;             /* in the order given */
    size_t n_given;
};

struct command {
    const char *name;   /* "plan", "catalog import" */
    const char *former; /* an earlier name that still works, and help does not list; NULL = none */
    const char *operands; /* "PIPELINE", "DIR|FILE...", "[KEY]", NULL = none; completed as values */
    const char *summary;  /* one line, without a full stop */
    /* For help CMD and the man page. Lines are wrapped; an empty line separates paragraphs; a line
     * that begins with a space is shown as it stands. NULL = the summary says it all. */
    const char *details;
    const char *example;                  /* one line that works */
    const struct command_option *options; /* ends with {0}; NULL = none */
    /* SIZE_MAX = any number. Both 0 = as many as the operation's request has fields for. */
    size_t min_operands, max_operands;
    /* The operation that the command is: its request's fields are operands and options before those
     * above, --json (and --csv for lists) are added, and run may be NULL. NULL = a command that
     * calls several operations, or none. */
    const struct operation *operation;
    /* A second operation that options of the command choose: those of its request that the first
     * has not are options as well. NULL = none. */
    const struct operation *also;
    const struct command_text *text; /* cli/core/operate.h: the answer for people; NULL = a table */
    bool is_long;                    /* Ctrl-C asks the operation to stop */
    /* Exit code >= 0, or -1 with e; NULL: operate_run. */
    int (*run)(const struct command_args *args, struct err *e);
};

/* All options of a command: those of its operation's request, then its own. The array is in a and
 * ends with {0}. */
const struct command_option *command_options(const struct command *c, struct arena *a);
/* An arena of this size holds them. */
#define COMMAND_OPTIONS_MAX_BYTES ((size_t)1 << 20)

/* All commands, in the order help shows them; ends with NULL. Defined in cli/core/commands.c. */
extern const struct command *const commands[];

/* The titles under which help lists commands: each begins with `first` and lasts until the next.
 * Ends with {0}. Defined in cli/core/commands.c. */
struct command_group {
    const char *title;
    const struct command *first;
};
extern const struct command_group command_groups[];
/* The few that help shows first, in that order; ends with NULL. Defined in cli/core/commands.c. */
extern const struct command *const commands_everyday[];

/* Value of an option given once ("--budget"), or NULL. Asserts that the option is declared. */
const char *command_value(const struct command_args *args, const char *option);
bool command_has(const struct command_args *args, const char *option);

/* The command that words begin with and how many words its name takes; NULL if there is none. */
const struct command *command_find(const char *const *words, size_t n, size_t *used_out);
/* True when commands are named "WORD something". */
bool command_is_group(const char *word);
/* ERR_USAGE for words that name no command, with the nearest one that exists. */
int command_unknown(const char *const *words, size_t n, struct err *e);

/* Parses argv (without the program name) and runs the command: its exit code, or -1 with e. */
int command_main(int argc, char **argv, struct err *e);

#endif
