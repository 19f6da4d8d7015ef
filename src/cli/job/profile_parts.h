/* profile_parts: what the commands around profiles share. */
#ifndef CLI_JOB_PROFILE_PARTS_H
#define CLI_JOB_PROFILE_PARTS_H

#include "app/job/batch.h"
#include "base/json.h"
#include "broker/learn/profile.h"
#include "cli/job/job_parts.h"

struct command_args;

/* {name, template, runs, done, model, box, cpus, memories_mb}. New reference; NULL: e. */
json_t *profile_json(struct lake *l, const struct broker_profile *p, struct err *e);
/* The same for people. */
int profile_print(struct lake *l, const struct broker_profile *p, struct err *e);

/* How many jobs it asked for, and how many of them finished. */
struct profile_count {
    size_t runs, done;
};
int profile_count_jobs(struct lake *l, const char *name, struct profile_count *out, struct err *e);

/* The profile that operand 0 names, with a model that knows all runs there are: it learns again
 * when there are other ones than it knows. ERR_NOTFOUND, ERR_NOFIT when there is none. */
struct broker_profile *profile_open(const struct command_args *args,
                                    const struct job_desk *desk,
                                    struct err *e);

/* "k=v" of --values, several with commas between them, and of the operands behind the first. */
struct profile_settings {
    struct template_setting *items;
    size_t n;
    char **texts; /* what the items point into */
};
int profile_settings_read(const struct command_args *args,
                          struct profile_settings *out,
                          struct err *e);
void profile_settings_clear(struct profile_settings *s);

/* "0.5,1,2" of an option, each a multiple of step; unchanged when it is not given. */
int profile_sizes_read(const struct command_args *args,
                       const char *option,
                       double step,
                       struct profile_sizes *out,
                       struct err *e);

/* The options --input and --code. */
int job_read_source(const struct command_args *args,
                    struct app *app,
                    struct app_job_source *out,
                    struct err *e);

/* A line for each feature that a prediction is outside the runs of; nothing when it is inside. */
void profile_print_outside(FILE *out,
                           const struct broker_profile *p,
                           const struct fit_prediction *prediction);
/* {feature: factor}. New reference. */
json_t *profile_outside_json(const struct broker_profile *p,
                             const struct fit_prediction *prediction);

/* What a machine of that size would take, with the settings. */
int profile_predict(const struct broker_profile *p,
                    const struct profile_values *values,
                    double cpus,
                    double memory_mb,
                    struct fit_prediction *out,
                    struct err *e);

#endif
