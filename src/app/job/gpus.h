/* gpus: the GPUs that jobs ask for: whether this machine or the hosts have them, and which jobs
 * hold them. */
#ifndef APP_JOB_GPUS_H
#define APP_JOB_GPUS_H

#include "app/core/operation.h"
#include "base/arena.h"
#include "broker/core/details.h"
#include "broker/core/gpus.h"
#include "lake/job/job.h"
#include "spec/config.h"

/* GPUs that a job, or each node of a gang, gets: the members of the same names of a struct
 * job_details and of a struct run_stage_plan. */
struct app_job_gpus {
    unsigned gpus;
    const char *gpu_type;
    const char *const *devices;
    size_t n_devices;
};
void app_job_gpus_set(const struct app_job_gpus *from, struct job_details *d);

/* Those of this machine that CUDA_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES of the caller leave. */
void app_job_gpus_find(const struct app *app, struct gpus *out);
/* What jobs on this machine get, for so many nodes at once; texts are in the arena. ERR_NOFIT: here
 * never are so many. */
int app_job_gpus_here(const struct gpus *here,
                      const struct gpus_wish *wish,
                      unsigned nodes,
                      struct arena *arena,
                      struct app_job_gpus *out,
                      struct err *e);
/* What so many hosts at once must have. */
struct app_job_gpus_order {
    const char *on;        /* a group of hosts, or any */
    double cpus;           /* beside the GPUs */
    uint64_t memory_mb;    /* likewise */
    struct gpus_wish wish; /* of each */
    unsigned nodes;
};
/* The same of hosts. */
int app_job_gpus_hosts(const struct config *c,
                       const struct app_job_gpus_order *order,
                       struct arena *arena,
                       struct app_job_gpus *out,
                       struct err *e);
/* The field `gpus` of a request, for jobs on this machine; NULL = none. Texts are in the arena of
 * the answer, which spells the field. */
int app_job_gpus_read(const struct app *app,
                      const char *text,
                      unsigned nodes,
                      const struct answer *answer,
                      struct app_job_gpus *out,
                      struct err *e);
/* Anew for a recorded job that runs again on this machine. */
int app_job_gpus_again(const struct app *app,
                       const struct job_details *d,
                       struct arena *arena,
                       struct app_job_gpus *out,
                       struct err *e);

/* What a queued job waits for: "waits for 2 GPUs: job 3 holds nvidia:0". In the arena; NULL: for no
 * GPU. */
int app_job_gpus_wait_text(struct app *app,
                           const struct job_details *d,
                           struct arena *arena,
                           const char **out,
                           struct err *e);

#endif
