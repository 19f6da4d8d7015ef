/* start: the operation run.start, and the planning and checks that it shares with run.simulate. */
#ifndef APP_RUN_START_H
#define APP_RUN_START_H

#include "app/plan/plan.h"
#include "app/run/location.h"
#include "app/run/run.h"

/* ERR_NOFIT says why there is no plan. */
int app_run_check_plan(const struct app_plan *p, struct err *e);
/* What a dry run says of its plan, which is solved; in the arena of the answer. NULL: e. */
const struct app_plan_report *app_run_report(struct app_plan *p,
                                             const struct answer *out,
                                             struct err *e);

/* The last run of a pipeline, to be resumed; the caller clears *out. ERR_NOTFOUND. */
int app_run_find_last(struct runs *runs,
                      const char *pipeline,
                      const struct answer *answer, /* for errors that spell fields */
                      struct run *out,
                      struct err *e);

#endif
