/* job: jobs of the lake, one at a time: found by their number, their state, input and end. */
#ifndef APP_JOB_JOB_H
#define APP_JOB_JOB_H

#include "app/core/operation.h"
#include "broker/core/details.h"
#include "lake/job/job.h"

/* "7" or "job:7"; ERR_USAGE for anything else. */
int app_job_id_parse(const char *text, int64_t *out, struct err *e);
/* As lake_job_load; ERR_NOTFOUND says which jobs there are. */
int app_job_load(
    struct app *app, int64_t id, struct arena *arena, struct lake_job *out, struct err *e);
/* Details that cannot be read are none, with a warning: users must still see and kill the job. */
void app_job_read_details(const struct lake_job *job, struct job_details *out);

/* Time in running: measured, or up to now; < 0 = the job has not run. */
double app_job_runtime_s(const struct lake_job *job);
/* Waits until the job is over; timeout_s < 0 = for ever. 1: it is; 0: time is up, or the caller
 * cancelled. */
int app_job_wait(struct app *app, int64_t id, double timeout_s, struct err *e);
/* How a command that waited for the job ends: 0 when it finished, its own exit code, else 1. */
int app_job_exit_code(const struct lake_job *job);
/* Without "stopped: ", which the state says already. Borrowed from reason. */
const char *app_job_reason_text(const char *reason);

/* ERR_NOFIT when the month's spending cap is used up: no job may begin. */
int app_job_check_month(struct app *app, struct err *e);

/* The input of a job, before anything is stored. */
int app_job_check_input(struct app *app, const char *input, bool *is_set_out, struct err *e);
/* A reference that names a set version stays; files and directories become one. New string. */
char *app_job_make_input(struct app *app, const char *input, bool is_set, struct err *e);

#endif
