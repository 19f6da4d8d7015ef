/* resources: CPUs and memory that jobs may ask for, and what this machine has for them. */
#ifndef APP_JOB_RESOURCES_H
#define APP_JOB_RESOURCES_H

#include "base/err.h"
#include "lake/job/job.h"

/* Jobs take shares of a machine in these steps. */
#define APP_JOB_CPU_STEP 0.5
#define APP_JOB_MEMORY_STEP_MB 256

/* CPUs and memory that jobs may take of this machine: a tenth of the memory stays for everything
 * else. */
struct app_job_room {
    double cpus;
    uint64_t memory_mb;
};
struct app_job_room app_job_local_room(void);
/* ERR_NOFIT when a request needs more than this machine has. */
int app_job_check_local(const struct lake_job_request *r, struct err *e);

/* ERR_USAGE unless cpus is a multiple of APP_JOB_CPU_STEP that some machine may have. */
int app_job_check_cpus(double cpus, struct err *e);
/* "512", "512MB", "2GB": a multiple of APP_JOB_MEMORY_STEP_MB, else ERR_USAGE. */
int app_job_read_memory(const char *text, uint64_t *memory_mb_out, struct err *e);
/* "1.5 GB", "512 MB"; out is returned. */
const char *app_job_memory_text(uint64_t memory_mb, char out[static 32]);

#endif
