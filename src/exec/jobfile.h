/* jobfile: what the agent is told about a job: one text file, a word and a value a line, backslash
 * and newline in values escaped. Written by the broker, read by the agent; base alone. */
#ifndef EXEC_JOBFILE_H
#define EXEC_JOBFILE_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A directory of a job, here or on another machine, holds:
 *   job          this file
 *   work/        the private copy of the code, where the command starts
 *   input/ output/ checkpoint/
 *   log          what the command printed, stdout and stderr as they came
 *   state        what happened, a line each (exec/agent/state.h)
 *   stop         there once somebody asked for an end: seconds of grace, and the reason
 *   agent.lock   held by the agent as long as it lives */
#define JOBFILE_BYTES_MAX ((size_t)4 << 20)

struct jobfile {
    int64_t id;
    const char *const *command;
    size_t n_command;
    const char *const *env; /* "K=V", besides what the agent sets itself */
    size_t n_env;
    const char *const *secrets; /* names of env whose values never reach a log or an error */
    size_t n_secrets;
    double cpus;           /* 0 = no limit */
    uint64_t memory_mb;    /* 0 = no limit */
    double time_limit_s;   /* 0 = none */
    double grace_s;        /* between SIGTERM and SIGKILL; 30 unless told */
    uint64_t log_max;      /* bytes kept of the log; 0 = 1 GiB */
    double lease_s;        /* > 0: how long after its end it waits to be collected before it runs */
    const char *power_off; /* this command, by the shell; NULL = never */
    void *priv;            /* owns the strings of a file that was read */
};

/* The text of the file; the caller frees it. ERR_USAGE when it would be too long. */
char *jobfile_text(const struct jobfile *j, struct err *e);
/* ERR_USAGE that names the line. */
int jobfile_parse(const char *text, size_t n, struct jobfile *out, struct err *e);
void jobfile_clear(struct jobfile *j);

#endif
