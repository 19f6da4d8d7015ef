/* gpus: which stages of a planned pipeline get the accelerators that they ask for, on this machine
 * or on hosts, and which ask for what is not there. */
#ifndef APP_RUN_GPUS_H
#define APP_RUN_GPUS_H

#include "app/job/gpus.h"
#include "app/plan/plan.h"
#include "app/run/location.h"

/* A stage whose accelerators are not there. */
struct app_run_lack {
    const char *stage, *accelerators; /* "A100:2 or V100:4" */
    const char *there;                /* "this machine has no GPU" */
    size_t line;                      /* of the file; in no field */
};
extern const struct record app_run_lack_record;

struct app_run_gpus {
    struct arena *arena;
    struct app_job_gpus *stages; /* of each stage, for each of its nodes */
    struct field_records lacks;  /* struct app_run_lack */
};
/* Looks for the GPUs of this machine when a stage asks for some. NULL: e. */
struct app_run_gpus *app_run_gpus_new(const struct app *app,
                                      const struct app_plan *p,
                                      const struct app_run_location *location,
                                      struct err *e);
void app_run_gpus_free(struct app_run_gpus *g);
AUTO_DEFINE(app_run_gpus)

/* Whether the stage of that name lacks its accelerators. */
bool app_run_gpus_lack(const struct app_run_gpus *g, const char *stage);
/* ERR_NOFIT of the first stage that lacks its accelerators, unless it may run without them. */
int app_run_gpus_check(const struct app_run_gpus *g,
                       const struct app_plan *p,
                       bool without,
                       const struct answer *answer, /* spells the field without_gpus */
                       struct err *e);

#endif
