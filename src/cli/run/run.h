/* run: what the commands about runs share: asking, watching, printing the bill. */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "app/run/location.h"
#include "app/run/run.h"

#include <stdbool.h>
#include <stdio.h>

/* The exit code of a run that was stopped, as a shell has it after Ctrl-C. */
#define CLI_RUN_INTERRUPTED 130

/* Options of the commands that start runs. */
#define CLI_RUN_YES_OPTION                                                                         \
    {                                                                                              \
        .name = "--yes", .help = "Do not ask.", .letter = 'y'                                      \
    }
#define CLI_RUN_DETACH_OPTION                                                                      \
    {                                                                                              \
        .name = "--detach", .help = "Start the run and exit; `run show RUN --follow` follows it, " \
                                    "`run stop RUN` stops it."                                     \
    }

/* 1: Enter or y; 0: no, and a line says that nothing was started. yes (--yes): does not ask.
 * ERR_USAGE where no terminal is there to ask on. */
int cli_run_confirm(bool yes, const char *question, struct err *e);
/* Where the run is going to run, in a line. */
void cli_run_say_location(const struct app_run_location *p);
/* How to follow and to stop a run that continues without the command. */
void cli_run_say_detached(int64_t id, bool json);

/* Shows the progress of a run until it is over, then its bill. Ctrl-C asks it to stop, a second
 * one to stop at once. json: one event a line. The exit code: 0 finished, 1 failed, 130 stopped. */
int cli_run_watch(struct app *app, int64_t id, bool json, struct err *e);
/* The same of a run that continues without the command: Ctrl-C ends the watching alone, with 130.
 */
int cli_run_follow(struct app *app, int64_t id, bool json, struct err *e);

/* Adds to the error of a `get` the command that makes the content again, for the first of these
 * references whose jobs can; on a terminal asks, and replays: then 1, and the get is worth another
 * attempt. -1: e is what it was, or what failed. */
int cli_run_offer_replay(
    struct app *app, const char *const *refs, size_t n, bool json, struct err *e);

/* The bill: each stage with its time and cost beside the plan. */
int cli_run_print(const struct app_run *r, FILE *out, struct err *e);
/* A record as one line of JSON on stdout. */
void cli_run_print_event(const struct record *type, const void *record);
/* 0 finished, 1 failed, 130 stopped. */
int cli_run_exit_code(enum run_state state);

#endif
