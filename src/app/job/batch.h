/* batch: one job for each combination of a template and of sizes; jobs that finished before are not
 * submitted again. */
#ifndef APP_JOB_BATCH_H
#define APP_JOB_BATCH_H

#include "app/job/gpus.h"
#include "app/job/job.h"
#include "broker/learn/profile.h"

struct app_job_item {
    char **command; /* as template_command makes it */
    size_t n_command;
    double cpus;
    uint64_t memory_mb;
    int64_t id; /* of its job; 0 = none */
    enum lake_job_state state;
    bool is_over;
    bool is_straggler; /* killed as one: it counts as over and is not tried again */
};

/* Equal items are one. */
struct app_job_batch {
    char *name; /* of its jobs: "profile mnist" */
    char *tag;  /* of its jobs: "profile=mnist" */
    struct app_job_item *items;
    size_t n;
    size_t *order;            /* of items by content, to find one */
    struct app_job_gpus gpus; /* of each job */
};

/* ERR_USAGE when there are more than TEMPLATE_COMBINATIONS_MAX, or they are too long together. */
int app_job_batch_init(struct app_job_batch *b,
                       const char *kind, /* "profile" */
                       const char *name,
                       const struct template *template,
                       const struct profile_sizes *cpus,
                       const struct profile_sizes *mems_mb,
                       struct err *e);
void app_job_batch_clear(struct app_job_batch *b);

/* Reads from the lake how far each item is. */
int app_job_batch_look(struct app_job_batch *b, struct lake *l, struct err *e);
/* Items whose jobs ended, in whatever state. */
size_t app_job_batch_over(const struct app_job_batch *b);
size_t app_job_batch_finished(const struct app_job_batch *b);

/* Submits the items that neither finished nor are pending, in one transaction and under
 * broker_profile_lock, and says so. */
int app_job_batch_submit(struct app_job_batch *b,
                         struct app *app,
                         const struct app_job_source *source,
                         struct err *e);
/* Waits until `wanted` items are over, with a status line. 1: they are; 0: the caller cancelled. */
int app_job_batch_wait(struct app_job_batch *b, struct app *app, size_t wanted, struct err *e);
/* Kills the jobs that are not over; *n_out says how many. */
int app_job_batch_kill(struct app_job_batch *b, struct app *app, size_t *n_out, struct err *e);

#endif
