/* job: operations on jobs, and the records that they answer with. */
#ifndef APP_JOB_JOB_H
#define APP_JOB_JOB_H

#include "app/core/operation.h"
#include "app/job/values.h"
#include "broker/core/details.h"
#include "lake/job/job.h"

/* clang-format off */
#define JOB_OPERATIONS(X)                                                                          \
    X(job_list) X(job_get) X(job_metrics) X(job_compare) X(job_kill) X(job_wait) X(job_submit)     \
    X(job_rerun) X(job_save) X(job_remove) X(job_log) X(job_price) X(profile_list) X(profile_get)  \
    X(profile_fit) X(profile_import) X(profile_evaluate) X(profile_run) X(profile_predict)         \
    X(autoprovision_plan) X(autoprovision_submit)
/* clang-format on */
JOB_OPERATIONS(OPERATION_DECLARE)

/* ---- records ---- */

/* Request of operations on one job. */
struct app_job_id {
    int64_t id;
};
extern const struct record app_job_id_record;
/* Of a field that names jobs: on the command line, job:7 is the same as 7. */
#define APP_JOB_NUMBER .value = "ID", .prefix = "job:", .least = 1, .most = 9e15
#define APP_JOB_IDS_FIELD(type)                                                                    \
    {                                                                                              \
        "ids", FIELD(INTS, type, ids), APP_JOB_NUMBER, .required = true, .operand = true,          \
                                                       .help = "Numbers of jobs."                  \
    }

/* One job. What the job has not, or not yet, is none. */
struct app_job {
    int64_t id;
    enum lake_job_state state;
    int64_t exit_code;
    const char *user, *project, *name;
    const char *input, *output; /* set versions */
    const char *reproduced;     /* output, where it was there before the job */
    const char *output_set;
    const char *code, *commit, *image;
    struct field_list command;
    const char *on;
    const void *offer; /* struct app_offer, on a cloud */
    double cpus;
    int64_t memory_mb;
    int64_t gpus; /* FIELD_NONE = none */
    const char *gpu_type, *devices;
    int64_t nodes; /* of its gang; FIELD_NONE = it is in none */
    double time_limit_s;
    int64_t queued_ms, started_ms, finished_ms;
    double runtime_s;
    int64_t cost_microusd;
    const char *cost_basis, *machine, *limits, *reason;
    int64_t run;
    const char *stage, *because;
    int64_t rerun_of;
    bool is_stop_asked, saves_later;
    struct job_details details; /* in no field */
};
/* Texts are borrowed from job. */
void app_job_fill(struct app_job *out, const struct lake_job *job);
void app_job_clear(struct app_job *job);
extern const struct record app_job_record; /* items of job.list */

struct app_job_transition {
    enum lake_job_state state;
    int64_t at_ms;
    const char *reason;
};

struct app_job_usage {
    double cpus, peak_memory_mb, received_mb, sent_mb, received_mbps, sent_mbps, gpu_percent;
    int64_t samples;
};

/* Answer of job.get. */
struct app_job_whole {
    struct app_job job;
    struct field_records transitions; /* struct app_job_transition */
    struct field_records refusals;    /* struct app_refusal: launches that clouds refused */
    json_t *tags, *params;
    json_t *series;    /* {NAME: {last, min, max, steps, last_step}} */
    const void *usage; /* struct app_job_usage; NULL = not known */
    struct field_list warnings;
};
extern const struct record app_job_whole_record;

/* Item of job.compare. */
struct app_job_compared {
    struct app_job job;
    json_t *tags;
    struct app_values values;
};
extern const struct record app_job_compared_record;

/* Answers with an item per job, without the points of its metrics. */
int app_job_compare(
    struct app *app, const int64_t *ids, size_t n, struct answer *out, struct err *e);
/* Fields params, metrics, series, best and points of a record with a member `values`. */
#define APP_VALUES_FIELDS(type)                                                                    \
    {"params", FIELD(JSON, type, values.params),                                                   \
     .help = "Parameters: environment, values of a sweep, options of the command."},               \
        {"metrics", FIELD(JSON, type, values.metrics), .help = "Last value of each metric."},      \
        {"series", FIELD(JSON, type, values.series),                                               \
         .help = "Each metric with its last, least and greatest value and its number of steps."},  \
        {"best", FIELD(JSON, type, values.best),                                                   \
         .help = "Metrics whose last value is the best of those compared."},                       \
    {                                                                                              \
        "points", FIELD(JSON, type, values.points),                                                \
            .help = "Steps and values of each metric, where they were asked for."                  \
    }

/* Item of job.kill. */
struct app_job_killed {
    int64_t id;
    enum lake_job_state state;
    bool was_over;
};

/* Answer of job.wait, after the jobs. */
struct app_job_waited {
    enum app_job_outcome { APP_JOB_OVER = 1, APP_JOB_TIMEOUT, APP_JOB_CANCELLED } outcome;
    int64_t exit_code;
    int64_t pending_id; /* the first job that is not over; none unless there is one */
    enum lake_job_state pending_state;
};

/* Answer of job.save. */
struct app_job_renamed {
    const char *from, *to; /* below the output */
};
struct app_job_saved {
    int64_t id;
    enum lake_job_state state;
    const char *output; /* NULL = it was empty */
    bool was_saved;
    struct field_records renamed; /* struct app_job_renamed */
};

/* Item of job.remove. */
struct app_job_removed {
    int64_t id;
    uint64_t bytes;
    bool was_unsaved;
};

/* Answer of job.submit and job.rerun. */
struct app_job_submitted {
    int64_t id; /* FIELD_NONE = a dry run */
    enum lake_job_state state;
    int64_t nodes; /* of a gang: this job and those that follow it; FIELD_NONE */
    /* Of a dry run: struct app_job_price of machines of clouds; NULL = none is launched. */
    const void *price;
};

/* Tags of a job but for those that its fields tell already. New reference; NULL: e. */
json_t *app_job_tags(struct app *app, int64_t id, struct err *e);
/* Lines of the log with tags and metrics that could not be read, the first 100, in a. */
int app_job_warnings(
    struct app *app, int64_t id, struct arena *a, struct field_list *out, struct err *e);

/* ---- jobs of the lake ---- */

/* As lake_job_load; ERR_NOTFOUND says which jobs there are. */
int app_job_load(
    struct app *app, int64_t id, struct arena *arena, struct lake_job *out, struct err *e);
/* ERR_NOTFOUND unless every job exists. */
int app_job_check_ids(struct app *app, const struct field_ints *ids, struct err *e);
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

/* The fields cpus and memory of a request as those of a job. */
int app_job_read_size(double cpus,
                      const char *memory,
                      const struct answer *out,
                      struct lake_job_request *r,
                      struct err *e);
/* The field `metrics` of a request, "json" or NULL: whether printed lines of JSON are metrics. */
int app_job_read_metrics(const char *metrics,
                         const struct answer *out,
                         bool *json_out,
                         struct err *e);
/* Whether a job may begin. ERR_NOFIT: the month's spending cap is used up. ERR_DENIED: in a home
 * that a group shares jobs are its owner's. */
int app_job_check_month(struct app *app, struct err *e);

/* The variables of the caller's shell that jobs on this machine get (job_submitter_names). */
struct app_job_submitter {
    struct spec_pair pairs[JOB_SUBMITTER_NAMES]; /* texts are the app's */
    size_t n;                                    /* 0: the caller has no PATH, and so no shell */
};
void app_job_submitter_read(const struct app *app, struct app_job_submitter *out);
/* Reads "NAME=VALUE" of the field env of the request; the pairs live as long as out. */
int app_job_read_envs(const struct field_list *env,
                      struct answer *out,
                      struct job_details *d,
                      struct err *e);
/* A recorded job's details with the variables of this caller and the GPUs of this machine. */
struct app_job_again {
    struct app_job_submitter submitter;
    struct job_details details; /* borrowed from d, the arena and the above */
};
int app_job_details_again(const struct app *app,
                          const struct job_details *d,
                          struct arena *arena,
                          struct app_job_again *out,
                          struct err *e);

/* The input and the code of jobs, as set versions. */
struct app_job_source {
    char *input; /* NULL = none */
    char *code;
    char commit[65];
    bool dirty;
};
void app_job_source_clear(struct app_job_source *s);
/* Stores the directory `code`; input and code may be NULL. Errors name the field of the request. */
int app_job_source_read(struct app *app,
                        const char *input,
                        const char *code,
                        const struct answer *answer,
                        struct app_job_source *out,
                        struct err *e);

/* ---- logs ---- */

/* The bytes that a job printed, also while it runs. */
struct app_job_logs {
    int64_t id;
    bool follow;   /* until the job is over */
    uint64_t tail; /* begin with the last lines; UINT64_MAX = with the first */
    /* Gets the bytes as they come; after the last ones n = 0. < 0 ends the call. */
    int (*take)(void *context, const char *bytes, size_t n, struct err *e);
    void *context;
};
extern const struct record app_job_logs_record; /* of id, follow and tail */
/* 1: all bytes; 0: the caller cancelled; -1. */
int app_job_logs(struct app *app, const struct app_job_logs *request, struct err *e);

#endif
