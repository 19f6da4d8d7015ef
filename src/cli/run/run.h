/* run: what the commands that start or follow runs share: asking, following, printing the bill. */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "app/run/location.h"
#include "app/run/run.h"
#include "cli/core/operate.h"

#include <stdbool.h>
#include <stdio.h>

/* The exit code of a run that was stopped, as a shell has it after Ctrl-C. */
#define CLI_RUN_INTERRUPTED 130

/* Options of the commands that start runs. */
#define CLI_RUN_YES_OPTION                                                                         \
    {                                                                                              \
        .name = "--yes", .help = "Do not ask for confirmation.", .letter = 'y'                     \
    }
#define CLI_RUN_QUIET_OPTION                                                                       \
    {                                                                                              \
        .name = "--quiet", .help = "Show the progress alone, not what the stages print.",          \
        .letter = 'q'                                                                              \
    }
#define CLI_RUN_DETACH_OPTION                                                                      \
    {                                                                                              \
        .name = "--detach", .help = "Start the run and exit; `run show RUN --follow` follows it, " \
                                    "`run stop RUN` stops it."                                     \
    }

/* One command that starts a run. */
struct cli_run {
    const struct command_args *args;
    struct operate_terminal *terminal;
    bool json, yes;
    bool quiet;                     /* shows the progress alone */
    bool detach;                    /* start the run and do not follow it */
    int64_t run;                    /* that Ctrl-C stops; 0 = none yet */
    const struct operation *starts; /* the operation that started it */
    size_t drawn;                   /* lines of progress on the terminal, to be drawn over */
    unsigned stops;                 /* asked for so far */
};
struct cli_run cli_run_of(const struct command_args *args, struct operate_terminal *terminal);

/* Calls op without output: hands its head to take, which may be NULL. */
int cli_run_call(struct cli_run *c,
                 const struct operation *op,
                 json_t *request,
                 int (*take)(void *context, const void *head, struct err *e),
                 void *context,
                 struct err *e);
/* Calls op as a dry run, lets show print what it would start unless --json is given, and asks the
 * question. show: 0 = there is nothing to start. 1: Enter, y or --yes; 0: nothing is to be started,
 * and a line says so. ERR_USAGE where no terminal is there to ask on. */
int cli_run_ask(struct cli_run *c,
                const struct operation *op,
                json_t *request,
                int (*show)(void *context, const void *head, struct err *e),
                const char *question, /* NULL = "Run it?" */
                struct err *e);
/* Starts the run with op, whose head begins as a struct app_run_started does, and follows it;
 * detach: says how to follow it. The exit code: 0 finished, 1 failed, 130 stopped. */
int cli_run_start(struct cli_run *c, const struct operation *op, json_t *request, struct err *e);

/* Where the run is going to run, in a line. */
void cli_run_say_location(const struct app_run_where *w);

/* From now on Ctrl-C asks the run to stop, a second one to stop at once. */
void cli_run_stop_on_interrupt(struct cli_run *c);
/* Shows the progress of a run until it is over, then its bill: the exit code. */
int cli_run_follow(struct cli_run *c, int64_t run, struct err *e);

/* Adds to the error of a `get` the command that makes the content again, for the first of these
 * references whose jobs can; on a terminal asks, and replays: then 1, and the get is worth another
 * attempt. -1: e is what it was, or what failed. */
int cli_run_offer_replay(const struct command_args *args,
                         struct operate_terminal *terminal,
                         const char *const *refs,
                         size_t n,
                         struct err *e);

/* The bill, a struct app_run: each stage with its time and cost beside the plan. */
void cli_run_print(struct operate_text *t, const void *record);
/* 0 finished, 1 failed, 130 stopped. */
int cli_run_exit_code(enum run_state state);

#endif
