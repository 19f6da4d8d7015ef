/* job_batch: one job for each combination of a template and of sizes; what was done before is not
 * done again. */
#ifndef CLI_JOB_JOB_BATCH_H
#define CLI_JOB_JOB_BATCH_H

#include "broker/learn/profile.h"
#include "cli/job/job_parts.h"

struct command_args;

struct job_wish {
    char **command; /* as template_command makes it */
    double cpus;
    uint64_t memory_mb;
    int64_t id; /* of the job that is there for it; 0 = none */
    enum lake_job_state state;
    bool given_up; /* killed as a straggler: it counts as over and is not tried again */
};

/* Equal wishes are one. */
struct job_batch {
    char *name; /* of its jobs: "profile mnist" */
    char *tag;  /* of its jobs: "profile=mnist" */
    struct job_wish *wishes;
    size_t n;
    size_t *order; /* of wishes, for those who look for one */
};

/* ERR_USAGE when there are more than TEMPLATE_COMBINATIONS_MAX, or they are too long together. */
int job_batch_init(struct job_batch *b,
                   const char *kind, /* "profile" */
                   const char *name,
                   const struct template *template,
                   const struct profile_sizes *cpus,
                   const struct profile_sizes *mems_mb,
                   struct err *e);
void job_batch_clear(struct job_batch *b);

/* Looks in the lake how far each is. */
int job_batch_look(struct job_batch *b, struct lake *l, struct err *e);
/* Of those that will not be tried again, also when they failed. */
size_t job_batch_over(const struct job_batch *b);
size_t job_batch_finished(const struct job_batch *b);

/* What all jobs of a batch work on: the options --input and --code. */
struct job_ground {
    char *input; /* NULL = none */
    char *code;
    char commit[65];
    bool dirty;
};
void job_ground_clear(struct job_ground *g);
int job_ground_read(const struct command_args *args,
                    const struct job_desk *desk,
                    struct job_ground *out,
                    struct err *e);

/* Submits those that neither finished nor are on the way, in one transaction, and says so; the
 * caller holds broker_profile_lock. */
int job_batch_submit(struct job_batch *b,
                     const struct job_desk *desk,
                     const struct job_ground *ground,
                     struct err *e);
/* Waits until so many are over, with a line that says how far they are. 1: they are; 0: Ctrl-C. */
int job_batch_wait(struct job_batch *b, const struct job_desk *desk, size_t wanted, struct err *e);
/* Ends those that are not over. */
int job_batch_give_up(struct job_batch *b,
                      const struct job_desk *desk,
                      size_t *n_out,
                      struct err *e);

#endif
