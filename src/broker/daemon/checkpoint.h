/* checkpoint: the content of $TRADEWIND_CHECKPOINT of an unfinished job, in
 * home/jobs/ID/checkpoint, for a job that continues it. */
#ifndef BROKER_DAEMON_CHECKPOINT_H
#define BROKER_DAEMON_CHECKPOINT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Days that a checkpoint stays after its job ended. */
#define CHECKPOINT_DAYS 7

/* Keeps the checkpoint of job id, which ended; removes an empty one. */
void checkpoint_keep(const char *home, int64_t id);
/* Removes the checkpoint. Repeatable. */
void checkpoint_drop(const char *home, int64_t id);
/* Removes checkpoints older than CHECKPOINT_DAYS. */
void checkpoint_expire(const char *home, int64_t now_ms);
/* Whether job id, which is over, left a checkpoint. */
bool checkpoint_is_there(const char *home, int64_t id);
/* Copies the checkpoint of job id to directory; without a checkpoint does nothing. Leaves out all
 * but files, directories and links. */
int checkpoint_fill(const char *home, int64_t id, const char *directory, struct err *e);

#endif
