/* supervise: runs one job from its start to the last line of its state. */
#ifndef EXEC_AGENT_SUPERVISE_H
#define EXEC_AGENT_SUPERVISE_H

#include "exec/agent/jobdir.h"
#include "exec/jobfile.h"

/* In a process of its own that holds the lock of d and has no standard streams. Whatever happens is
 * told in the state file. Returns when the job is over and nothing of it lives. */
void supervise(struct jobdir *d, const struct jobfile *job);
/* The job cannot be run at all: its state says why. */
void supervise_refuse(struct jobdir *d, const char *why);

#endif
