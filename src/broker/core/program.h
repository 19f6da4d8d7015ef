/* program: runs another program without a shell and takes what it prints. */
#ifndef BROKER_CORE_PROGRAM_H
#define BROKER_CORE_PROGRAM_H

#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

#define PROGRAM_COMPLAINT 300

struct program_run {
    const char *const *argv; /* the program, found by $PATH, and its arguments; ends with NULL */
    const char *const *env;  /* "K=V" that it gets besides ours, or "K": one of ours that it does
                              * not get; ends with NULL; NULL = none */
    /* Asked a few times a second while it runs; false ends it, with all that it started, and does
     * not wait for a process that cannot be ended. NULL = as long as it likes. */
    bool (*go_on)(void *context);
    void *context;
    /* Out. The caller made out with buf_init; it is cut where it is full, and the program ended. */
    struct buf *out;
    char complaint[PROGRAM_COMPLAINT]; /* the first line it printed on stderr */
    int status;                        /* as a shell has it: 128 + signal */
    bool stopped;                      /* by go_on */
};

/* Its standard input is empty. 1: it ran, see status; 0: there is no such program; -1 and e. */
int program_run(struct program_run *run, struct err *e);

#endif
