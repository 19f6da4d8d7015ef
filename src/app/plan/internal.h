/* internal: what the files of app/plan share. */
#ifndef APP_PLAN_INTERNAL_H
#define APP_PLAN_INTERNAL_H

#include "app/plan/plan.h"

extern const struct record app_plan_report_record; /* of struct app_plan_report */
/* Adds the Pareto frontier to a report. */
int app_plan_report_pareto(const struct app_plan *p,
                           struct arena *arena,
                           struct app_plan_report *out,
                           struct err *e);

/* The pipeline that q names; findings as in spec_load. */
struct spec *app_plan_read_spec(const struct plan_request *q,
                                struct spec_finding **findings_out,
                                size_t *n_out,
                                struct err *e);

#endif
