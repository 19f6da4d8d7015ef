/* supervise: runs one job from its start to the last line of its state. The parts that supervise.c
 * alone uses stand below, by file. */
#ifndef EXEC_AGENT_SUPERVISE_H
#define EXEC_AGENT_SUPERVISE_H

#include "base/err.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/limits.h"
#include "exec/agent/processes.h"
#include "exec/agent/wrap.h"
#include "exec/jobfile.h"
#include "exec/mask.h"
#include "exec/statefile.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In a process of its own that holds the lock of d and has no standard streams. Whatever happens is
 * told in the state file. Returns when the job is over and nothing of it lives. */
void supervise(struct jobdir *d, const struct jobfile *job);
/* The job cannot be run at all: its state says why. */
void supervise_refuse(struct jobdir *d, const char *why);

/* ---- start.c ---- */

struct started {
    pid_t pid;
    int output_fd;    /* what it prints; does not block */
    int go_fd;        /* closed without a byte: it ends instead */
    int error_fd;     /* says why it could not become the command */
    char **env;       /* of the command */
    struct wrap wrap; /* what it runs in */
};

/* Makes work/, output/, checkpoint/ and input/ where missing. name: of a container. */
int start_prepare(const struct jobdir *d,
                  const struct jobfile *job,
                  const char *name,
                  struct started *s,
                  struct err *e);
/* Lets it become the command. ERR_NOTFOUND and so on when it could not. */
int start_go(struct started *s, const struct jobfile *job, struct err *e);
void start_clear(struct started *s);

/* The variables of the command; in_container: over those of the image, for init.c. */
char **start_env(const struct jobdir *d, const struct jobfile *job, bool in_container);
/* Of an environment as above; NULL when it is not there. */
const char *env_get(char *const *env, const char *name);

/* ---- sample.c ---- */

#define GPUS_MAX 64

struct sampler {
    uint64_t received_before, sent_before; /* by the machine, before the job */
    double peak_mb;
    /* nvidia-smi, which writes a line a GPU and second as long as it lives. */
    pid_t gpu_pid;
    int gpu_fd;
    char gpu_line[128];
    size_t gpu_used;
    double gpu_percent[GPUS_MAX]; /* < 0 = not known */
};

/* path: the PATH in which nvidia-smi is looked for. */
void sampler_begin(struct sampler *s, const char *path);
/* nvidia-smi is ended; it is no part of the job. */
void sampler_end(struct sampler *s);

/* Fills in what the job uses, and the time at which the network was read: readers make rates of
 * both. t was just scanned. */
void sampler_take(struct sampler *s,
                  const struct limits *l,
                  const struct processes *t,
                  struct state_line *out);
/* Bytes of the machine's network since it began. */
void sampler_network(const struct sampler *s, uint64_t *received, uint64_t *sent);
/* The job's processor seconds, and its peak of memory, once nothing of it lives. */
void sampler_total(struct sampler *s, const struct limits *l, double *cpu_s, double *peak_mb);

#endif
