/* refusals: launches that clouds refused, in the record of machines: what plans leave out for a
 * while, and the table of what was tried for a job. */
#ifndef BROKER_MACHINE_REFUSALS_H
#define BROKER_MACHINE_REFUSALS_H

#include "broker/core/offer.h"
#include "cloud/cloud.h"

struct machines;

/* What was refused may be had again after this long. */
#define REFUSAL_LASTS_MS ((int64_t)3600 * 1000)

struct machine_refusal {
    struct job_offer offer; /* sizes and prices are not recorded */
    enum cloud_failure failure;
    enum cloud_scope scope;
    int64_t run, job, at_ms;
    double took_s; /* from the request to the answer */
    char text[400];
};
/* Whether the failure is of the offer: another offer may do. */
bool machine_refuses_offer(enum cloud_failure failure);
/* "quota", as tables show it. */
const char *machine_refusal_failure_text(enum cloud_failure failure);
const char *machine_refusal_scope_text(enum cloud_scope scope);

int machine_refusal_note(struct machines *m, const struct machine_refusal *r, struct err *e);
/* Those since since_ms of all jobs, or, where they are not 0, of this job, or of this run; the
 * oldest first. visit must not use m. */
int machine_refusals_each(struct machines *m,
                          int64_t since_ms,
                          int64_t job,
                          int64_t run,
                          int (*visit)(void *context,
                                       const struct machine_refusal *r,
                                       struct err *e),
                          void *context,
                          struct err *e);

#endif
