/* job: how commands print jobs and predictions. */
#ifndef CLI_JOB_JOB_H
#define CLI_JOB_JOB_H

#include "app/job/job.h"

#include <stdio.h>

struct app_prediction;
struct command_args;
struct operate_text;

/* The exit code of a program that Ctrl-C ended. */
#define CLI_JOB_EXIT_INTERRUPTED 130

/* The reason of a job's last change of state: its first line, then lines of the log, each on a line
 * of its own. */
void cli_job_print_reason(FILE *out, const char *reason);
/* One line on how the job stands: "job 7 finished after 1.2 s". */
void cli_job_print_end(FILE *out, const struct app_job *job);
/* The table of `job compare`, for items of job.compare and for the end of the answer. */
struct cli_job_compared {
    json_t *jobs; /* array of the items; NULL = none */
};
void cli_job_compare_add(struct operate_text *t, const void *compared);
void cli_job_compare_print(struct operate_text *t);
void cli_job_compare_clear(struct operate_text *t);
/* A line for each feature that a prediction is outside the runs of; nothing when it is inside. */
void cli_job_print_outside(FILE *out, const struct app_prediction *prediction);
/* Runs an operation that submits a batch of jobs and waits for them. After Ctrl-C the jobs
 * continue. */
int cli_job_run_batch(const struct command_args *args, struct err *e);
/* Of the answer of job.wait. */
int cli_job_exit_code(const void *waited);

#endif
