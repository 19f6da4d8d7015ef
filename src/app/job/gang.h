/* gang: several jobs of one request, which start together and end together. */
#ifndef APP_JOB_GANG_H
#define APP_JOB_GANG_H

#include "app/core/app.h"
#include "broker/core/details.h"
#include "lake/job/job.h"

#define APP_JOB_NODES_MAX 1000

/* Submits the request as d->nodes jobs (0 or 1: one) that differ in rank and variables; only the
 * first has its output set. */
int app_job_gang_submit(struct app *app,
                        const struct lake_job_request *request,
                        const struct job_details *d,
                        int64_t *first_out,
                        struct err *e);
/* The other nodes of a job's gang that is none of a pipeline's: from *first on, so many. 0: none.
 */
unsigned app_job_gang_of(const struct lake_job *job,
                         const struct job_details *d,
                         int64_t *first_out);

#endif
