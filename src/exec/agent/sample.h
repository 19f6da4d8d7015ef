/* sample: what a job uses: processors, memory, the machine's network, its GPUs. */
#ifndef EXEC_AGENT_SAMPLE_H
#define EXEC_AGENT_SAMPLE_H

#include "exec/agent/limits.h"
#include "exec/agent/processes.h"
#include "exec/statefile.h"

#include <stdint.h>
#include <sys/types.h>

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
