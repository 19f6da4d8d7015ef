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

/* The index of the stage that the request's field `why` names. ERR_USAGE with the nearest. */
int app_run_find_stage(const struct spec *spec,
                       const char *name,
                       const struct answer *out,
                       size_t *found,
                       struct err *e);
/* Whether this stage of a composed run would be run again; nothing is started. NULL: e. */
const struct app_run_why *app_run_ask_why(struct app *app,
                                          const struct spec *spec,
                                          struct run *run,
                                          size_t at,
                                          const struct answer *out,
                                          struct err *e);

/* The last run of a pipeline, to be resumed; the caller clears *out. ERR_NOTFOUND. */
int app_run_find_last(struct runs *runs,
                      const char *pipeline,
                      const struct answer *answer, /* for errors that spell fields */
                      struct run *out,
                      struct err *e);

#endif
