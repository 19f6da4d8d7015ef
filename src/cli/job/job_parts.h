/* job_parts: what the commands on profiles and logs share. */
#ifndef CLI_JOB_JOB_PARTS_H
#define CLI_JOB_JOB_PARTS_H

#include "app/job/job.h"
#include "app/job/resources.h"
#include "cli/core/operate.h"

/* The lake that jobs are in, and where their directories lie. */
struct job_desk {
    struct operate_door *door;
    struct app *app;
    struct lake *lake;
    const char *home; /* absolute */
};
int job_desk_open(struct job_desk *out, struct err *e);
void job_desk_clear(struct job_desk *d);

/* The options --cpus and --memory; 1 and 1024 where they are not given. */
int job_read_cpus(const struct command_args *args, double *out, struct err *e);
int job_read_memory(const struct command_args *args, uint64_t *out, struct err *e);

#endif
