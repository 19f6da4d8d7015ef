/* advance: moves a pipeline on. Stages whose needs are met become jobs in the lake; jobs that ended
 * end their stages. Nothing is kept in memory: called again after a crash, it goes on. */
#ifndef BROKER_PIPELINE_ADVANCE_H
#define BROKER_PIPELINE_ADVANCE_H

#include "broker/core/runs.h"
#include "lake/core/lake.h"

/* Every run that is not over, as far as it goes now. *jobs_out: new jobs stand in the queue. */
int advance_runs(struct runs *runs, struct lake *l, bool *jobs_out, struct err *e);

/* Whether Tradewind sets this variable for jobs of stages, so that users may not. */
bool advance_env_is_own(const char *key);

/* Of the sets that stages read, behind the stage's name. */
#define RUN_INPUT_SUFFIX ".input"

/* A name made fit for a set: other characters become '-'. New string. */
char *advance_set_name(const char *pipeline, const char *stage, const char *suffix);

#endif
