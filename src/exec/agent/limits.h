/* limits: holds a job to its processors and memory by whatever this machine lets us use, and can
 * say by what. */
#ifndef EXEC_AGENT_LIMITS_H
#define EXEC_AGENT_LIMITS_H

#include "exec/agent/cgroup.h"
#include "exec/agent/processes.h"
#include "exec/jobfile.h"

#include <stdbool.h>
#include <stdint.h>

struct limits {
    struct cgroup_places places;
    char name[64];
    struct cgroup group[CGROUP_CONTROLLERS]; /* of version 2: the same path for all */
    double cpus;                             /* 0 = no limit */
    uint64_t memory_bytes;                   /* 0 = no limit */
    bool watched;                            /* no group keeps the memory: limits_over does */
    char text[1024];                         /* how each is enforced, for people */
};

#define LIMITS_WATCH_S 0.1

/* Where groups could be made, and under which name, for the job in this directory. Does nothing
 * yet, so that it can be written down first. */
void limits_plan(struct limits *l, const char *dir);
/* Puts the limits on pid, which waits to become the job's command. */
void limits_apply(struct limits *l, const struct jobfile *job, pid_t pid);
/* Whether the job went over its memory: a group's out-of-memory kill, or the tree as it is now. */
bool limits_over(const struct limits *l, const struct processes *t);
/* Processor seconds as the group counts them, < 0 when it does not. */
double limits_cpu_s(const struct limits *l);
/* Kills what is left in the groups and removes them. */
bool limits_end(struct limits *l, double wait_s);

#endif
