/* internal: rows of jobs, for the files of lake/job that change jobs. */
#ifndef LAKE_JOB_INTERNAL_H
#define LAKE_JOB_INTERNAL_H

#include "lake/core/internal.h"
#include "lake/job/job.h"

/* ---- job_step.c ---- */

/* The columns of a job that changes depend on. */
struct job_row {
    int64_t id;
    char creator[LAKE_NAME_MAX + 1];
    enum lake_job_state state;
    bool stop_asked;
    int64_t changed_ms;
    double runtime_s;
    int64_t input_version, code_version, output_version; /* ids; 0 = none */
    char output_name[LAKE_NAME_MAX + 1];                 /* "" = none */
};
/* ERR_NOTFOUND when the project has no such job. */
int lake_job_row_get(struct lake *l, int64_t id, struct job_row *out, struct err *e);
/* The same, and ERR_DENIED unless it is the caller's or the caller is an admin. */
int lake_job_row_own(struct lake *l, int64_t id, struct job_row *out, struct err *e);

/* One row of the log. In a transaction. */
int lake_job_log(struct lake *l,
                 int64_t id,
                 enum lake_job_state state,
                 int64_t at_ms,
                 const char *reason,
                 struct err *e);
/* One step of lake_job_step. In a transaction. */
int lake_job_apply(struct lake *l, struct lake_job_change *change, struct err *e);

#endif
