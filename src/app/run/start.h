/* start: the operation run.start, and the planning and checks that it shares with run.simulate. */
#ifndef APP_RUN_START_H
#define APP_RUN_START_H

#include "app/plan/plan.h"
#include "app/run/location.h"
#include "app/run/run.h"

/* The plan of a request, solved unless *is_solved_out is false: a dry run leaves its plan for the
 * start that follows. NULL: e. */
struct app_plan *app_run_plan(struct app *app,
                              const struct plan_request *q,
                              const struct answer *out, /* for errors that spell fields */
                              bool *is_solved_out,
                              struct err *e);
/* ERR_NOFIT says why there is no plan. */
int app_run_check_plan(const struct app_plan *p, struct err *e);
/* What a dry run answers with, in the arena. Leaves the plan, which is solved and was the caller's,
 * for the start. NULL: e. */
const struct app_plan_report *app_run_report(struct app *app,
                                             struct app_plan *p,
                                             struct arena *a,
                                             struct err *e);

/* The last run of a pipeline, to be resumed; the caller clears *out. ERR_NOTFOUND. */
int app_run_find_last(struct runs *runs, const char *pipeline, struct run *out, struct err *e);

#endif
