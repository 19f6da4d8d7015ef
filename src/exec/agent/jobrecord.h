/* jobrecord: the file `tree` of a job, written before its command runs, by which its processes are
 * found and ended when its agent was killed. A pid that belongs to another process by now is never
 * hit: what we kill is in a group of ours, has our mark in its environment, or started when ours
 * did. */
#ifndef EXEC_AGENT_JOBRECORD_H
#define EXEC_AGENT_JOBRECORD_H

#include "base/err.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/limits.h"

#include <sys/types.h>

/* What every process of the job has in its environment, unless it took it out; the caller frees it.
 */
char *jobrecord_mark(const struct jobdir *d);

int jobrecord_write(const struct jobdir *d, const struct limits *planned, pid_t pid, struct err *e);
/* For who holds the lock: ends what a killed agent left running, and its groups, and completes the
 * log. Repeatable; nothing to do is fine. ERR_IO when something did not end. */
int jobrecord_recover(const struct jobdir *d, struct err *e);

#endif
