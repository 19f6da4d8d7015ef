/* jobfile: what the agent is told about a job: one text file, "tradewind-job 1" and then a word and
 * a value a line, backslash and newline in values escaped (\\, \n). Written by the broker, mode
 * 0600 because of the environment in it; read by the agent. base alone. */
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
 *   log.tail     while it is longer than log_max: its last bytes, which move to log at the end
 *   state        what happened, a line each (exec/statefile.h)
 *   stop         there once an end was asked for: seconds of grace, and the reason
 *   tree         how to find the job's processes when its agent was killed
 *   agent.lock   held by the agent until the job is over
 *   agent.reserve  room on a full disk for the last line of state */
#define JOBFILE_BYTES_MAX ((size_t)4 << 20)
#define JOBFILE_GRACE_S 30
#define JOBFILE_LOG_MAX ((uint64_t)1 << 30)

/* A claim (exec_claim) for at most so long is of one who only looks for a machine: it does not
 * replace a longer one of the same home. */
#define CLAIM_LOOKING_S 300.0

/* Data that the command finds at target: absolute, "~/..." or below work/. */
struct jobfile_mount {
    const char *source; /* a file or directory, below input/ */
    const char *target;
};

#define JOBFILE_NVIDIA 1U
#define JOBFILE_AMD 2U

struct jobfile {
    int64_t id;
    const char *const *command; /* of a file that was read: NULL after the last, as exec wants it */
    size_t n_command;
    const char *const *env; /* "K=V", besides what the agent sets itself */
    size_t n_env;
    const char *const *unset; /* names that the command has only if env sets them */
    size_t n_unset;
    const char *const *secrets; /* names of env whose values become stars in the log */
    size_t n_secrets;
    const char *image; /* the command runs in a container of it; NULL = on the machine */
    const struct jobfile_mount *mounts;
    size_t n_mounts;
    double cpus;           /* 0 = no limit */
    uint64_t memory_mb;    /* 0 = no limit */
    double time_limit_s;   /* 0 = none */
    double grace_s;        /* between SIGTERM and SIGKILL at the time limit; a file without it
                            * means JOBFILE_GRACE_S */
    uint64_t log_max;      /* bytes kept of the log; 0 = JOBFILE_LOG_MAX */
    double lease_s;        /* > 0: how long after its end it waits to be collected before it runs */
    uint64_t learn;        /* not 0: tell which files of work/ the command used (statefile.h) */
    uint64_t gpus;         /* whose GPUs its container has: JOBFILE_NVIDIA | JOBFILE_AMD */
    const char *power_off; /* this command, by the shell; NULL = never */
    void *priv;            /* owns the strings of a file that was read */
};

/* The text of the file; the caller frees it. ERR_USAGE when it would be too long or could not be
 * read again (no id, no command, an env without '='). */
char *jobfile_text(const struct jobfile *j, struct err *e);
/* ERR_USAGE that names the line; out is then empty. No error quotes a value. */
int jobfile_parse(const char *text, size_t n, struct jobfile *out, struct err *e);
/* For one that was parsed; it is empty then. */
void jobfile_clear(struct jobfile *j);

#endif
