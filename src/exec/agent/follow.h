/* follow: tells a job's state and log as frames (exec/frames.h), from these places of its files on,
 * until it is over. */
#ifndef EXEC_AGENT_FOLLOW_H
#define EXEC_AGENT_FOLLOW_H

#include "base/err.h"
#include "exec/agent/jobdir.h"

#include <stdint.h>

enum followed {
    FOLLOWED_END,     /* the job is over and everything was told */
    FOLLOWED_NOTHING, /* no agent lives there, and none ever started the command */
    FOLLOWED_GONE,    /* the agent was killed; what was left of the job is ended */
    FOLLOWED_REMOVED, /* its directory was removed */
    FOLLOWED_FAILED,  /* the connection is closed, or a file cannot be read: e says */
};
enum followed follow(
    struct jobdir *d, uint64_t state_offset, uint64_t log_offset, int out_fd, struct err *e);

#endif
