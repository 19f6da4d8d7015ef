/* stateout: writes the file `state` of a job, whole lines in the end even when the disk is full in
 * between. */
#ifndef EXEC_AGENT_STATEOUT_H
#define EXEC_AGENT_STATEOUT_H

#include "base/err.h"
#include "exec/statefile.h"

#include <stddef.h>

struct stateout {
    char *dir;
    int fd;
    char pending[2 * STATE_LINE_MAX]; /* what did not fit on the disk yet */
    size_t n_pending;
};

int stateout_open(struct stateout *s, const char *dir, struct err *e);
/* One that finds no room is left out. */
void stateout_sample(struct stateout *s, const struct state_line *line);
/* For started and ended. -1 with errno when it is not in the file yet; the next call tries again.
 */
int stateout_add(struct stateout *s, const struct state_line *line);
/* Retries on a full disk for a while, with the reserved room, until everything is on disk. */
int stateout_finish(struct stateout *s, const struct state_line *ended);
void stateout_close(struct stateout *s);

#endif
