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
    int64_t input_version, code_version; /* ids; 0 = none */
    int64_t output_version;              /* that the job made, not reproduced */
    char output_name[LAKE_NAME_MAX + 1]; /* as asked for, or "job-ID" */
    bool output_named;                   /* as asked for */
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

/* What the put of a job's output is called, by which its session is found. New string. */
char *lake_job_put_name(int64_t id);
/* Ends that session: the output is not stored any more. In a transaction. */
int lake_job_end_upload(struct lake *l, int64_t id, struct err *e);

/* ---- job_keys.c: keys that the job's output gets, too. All of it in a transaction. ---- */

/* Where the value of a key comes from. Of two with the same key the lower kind has it. */
enum job_key_kind {
    JOB_KEY_TAG,       /* printed, or given by a user */
    JOB_KEY_METRIC,    /* last value of a series */
    JOB_KEY_EXTREME,   /* its least and greatest value, and the number of its steps */
    JOB_KEY_PARAMETER, /* of the request */
};

struct meta_pair;
/* Writes the pair on the job, and on its output once there is one; does nothing where a kind below
 * has the key. */
int lake_job_key_put(struct lake *l,
                     const struct job_row *row,
                     enum job_key_kind kind,
                     const struct meta_pair *pair,
                     struct err *e);
/* All of the job's keys so far, on the set version. */
int lake_job_keys_copy(struct lake *l, int64_t job, int64_t set_version, struct err *e);
/* The parameters of a new job: of its environment, the request's own, the options of its command;
 * the last of a name counts. Other words of the command become metadata of the job alone. */
int lake_job_keys_submit(struct lake *l,
                         int64_t job,
                         const struct lake_job_request *request,
                         struct err *e);

/* ---- job_summary.c ---- */

/* lake_job_tell_metrics in a transaction. */
int lake_job_tell(struct lake *l, const struct job_row *row, struct err *e);

#endif
