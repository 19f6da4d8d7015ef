/* checkpoint: what a job that did not finish left in $TRADEWIND_CHECKPOINT, kept in
 * home/jobs/ID/checkpoint for a job that continues it. */
#ifndef BROKER_DAEMON_CHECKPOINT_H
#define BROKER_DAEMON_CHECKPOINT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* So long a checkpoint is kept after its job ended. */
#define CHECKPOINT_DAYS 7

/* Job id ended: its checkpoint stays from now on. An empty one goes. */
void checkpoint_keep(const char *home, int64_t id);
/* It is not needed any more. Repeatable. */
void checkpoint_drop(const char *home, int64_t id);
/* Those that were kept long enough go. */
void checkpoint_expire(const char *home, int64_t now_ms);
/* Whether job id, which is over, left anything. */
bool checkpoint_is_there(const char *home, int64_t id);
/* A copy of what job id left becomes directory; nothing, when it left nothing. What is neither
 * file, directory nor link is left out. */
int checkpoint_fill(const char *home, int64_t id, const char *directory, struct err *e);

#endif
