/* jobfiles: a job's directory is put together from what came and what the cache of this machine
 * has.
 */
#ifndef EXEC_AGENT_JOBFILES_H
#define EXEC_AGENT_JOBFILES_H

#include "base/err.h"
#include "exec/agent/jobdir.h"

#include <stdio.h>

/* dir is ROOT/NAME, empty. Places the files of the list (exec/reuse.h) that the cache of ROOT has,
 * and answers which those are. */
int jobfiles_place(const char *dir, FILE *list, FILE *answer, struct err *e);
/* Everything else has come: all files of the list must be there, and copies of those that the cache
 * does not have go there. */
int jobfiles_settle(const char *dir, FILE *list, struct err *e);
/* The job is over and its directory about to be removed: large files of its output move to the
 * cache, as many as can be read in a few seconds. */
void jobfiles_keep_output(const struct jobdir *d);

#endif
