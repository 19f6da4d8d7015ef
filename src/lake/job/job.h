/* job: the record of a job: its command, input, output, states, metrics and cost. The request never
 * changes once submitted; the states form a log; an edge leads from the output to the input. The
 * broker decides when a job moves on. */
#ifndef LAKE_JOB_JOB_H
#define LAKE_JOB_JOB_H

#include "lake/put/put.h"

struct arena;

/* For lake_job_filter: jobs that have begun and are not in a final state. */
#define LAKE_JOB_UNDER_WAY                                                                         \
    (1U << LAKE_JOB_LAUNCHING | 1U << LAKE_JOB_FETCHING | 1U << LAKE_JOB_RUNNING |                 \
     1U << LAKE_JOB_STORING | 1U << LAKE_JOB_UNSAVED)
/* "queued" ..., by state; [0] is NULL. */
extern const char *const lake_job_state_texts[LAKE_JOB_STATES];
const char *lake_job_state_text(enum lake_job_state state);
/* ERR_USAGE with the nearest. */
int lake_job_state_parse(const char *text, enum lake_job_state *out, struct err *e);
bool lake_job_state_final(enum lake_job_state state);

/* The set of a job that names none: "job-7". */
#define LAKE_JOB_SET "job-"

/* What is asked for; never changes once submitted. */
struct lake_job_request {
    /* For people, at most LAKE_NAME_MAX bytes of text; NULL = the command's first word, cut. */
    const char *name;
    const char *const *command; /* at least one word; all together at most LAKE_JOB_TEXT_MAX */
    size_t n_command;
    /* "@S:3", "/dir/@S:3", "/p@S:3": one set version or a part of it; NULL = none */
    const char *input;
    const char *code;   /* the same, of the working directory */
    const char *output; /* name of a set; NULL = LAKE_JOB_SET and the id of the job */
    double cpus;
    uint64_t memory_mb;
    double time_limit_s; /* 0 = none */
    int64_t run;         /* of a pipeline, 0 = none */
    int64_t rerun_of;    /* the job this one repeats, 0 = none */
    int64_t priority;    /* within its own queue: higher first; usually 0 */
    /* JSON of the broker: environment, commit, stage ...; NULL = "{}". At most LAKE_JOB_TEXT_MAX.
     * The lake reads its members env and secrets, for the job's parameters. */
    const char *details;
    /* Parameters, "k=v": values of a sweep. The environment in details and the options of the
     * command are parameters besides. Of a job that is read: NULL, as the tags. */
    const char *const *params;
    size_t n_params;
    const char *const *tags; /* metadata of the job besides, "k=v" (lake/meta.h) */
    size_t n_tags;
};
#define LAKE_JOB_TEXT_MAX ((size_t)1 << 20)

/* Submits all jobs in one transaction, with consecutive ids, all queued. A wrong request is
 * ERR_USAGE that names its index, and no job is submitted. References are resolved now, to exact
 * versions, and need LAKE_READ; an existing output set needs LAKE_WRITE. Parameters become metadata
 * of the job and of its output, NAME and param.NAME (docs/lake.md); secrets never do. */
int lake_job_submit(struct lake *l,
                    const struct lake_job_request *requests,
                    size_t n,
                    int64_t *first_id_out,
                    struct err *e);

struct lake_job {
    int64_t id;
    const char *project, *user;
    struct lake_job_request asked; /* references exact: "@S:3" */
    enum lake_job_state state;
    const char *reason;      /* of the last change; "" = none */
    bool stop_asked;         /* lake_job_ask_stop */
    const char *stop_reason; /* of who asked; "" */
    int64_t queued_ms;       /* times: 0 = not yet */
    int64_t started_ms;      /* of running, the first time */
    int64_t finished_ms;     /* of the final state */
    bool exited;             /* the command ended by itself or by a signal: exit_code holds */
    int exit_code;           /* as a shell has it: 128 + signal */
    double runtime_s;        /* of running: as told, else by the clock; 0 until then */
    int64_t cost_microusd;   /* measured or modelled, see cost_basis */
    const char *cost_basis;  /* "" = none yet */
    const char *machine;     /* "" = none yet */
    const char *limits;      /* how limits were enforced, "" = not known yet */
    const char *devices;     /* GPUs of its own while it runs: "nvidia:0,nvidia:1"; "" = none */
    const char *output_set;  /* "@S:4" once stored; "" */
    bool reproduced;         /* that version was there already, with just these files */
    bool saves_later;        /* unsaved: the broker tries to store the output again */
};
/* In a final state, or unsaved until somebody saves it. */
bool lake_job_is_over(const struct lake_job *job);

/* Room for the texts of any one job: command and details, the list of the command's words. */
#define LAKE_JOB_ARENA_MAX (16 * LAKE_JOB_TEXT_MAX)
/* Fills *out; its texts and its command live in the arena. arena NULL: texts and command are NULL,
 * for a caller that wants state, times and cost only. ERR_NOTFOUND: the project has no such job.
 * ERR_USAGE: the arena is too small. */
int lake_job_load(
    struct lake *l, int64_t id, struct arena *arena, struct lake_job *out, struct err *e);

/* Whether any project has a job of this number. */
int lake_job_exists(struct lake *l, int64_t id, bool *out, struct err *e);

struct lake_job_filter {
    unsigned states;  /* bits 1 << state; 0 = all */
    const char *user; /* NULL = all */
    const char *name; /* NULL = all */
    int64_t run;      /* 0 = all */
    int64_t after;    /* ids above this one */
    bool newest_first;
    uint64_t limit; /* 0 = no limit */
};
typedef int lake_visit_job(void *context, const struct lake_job *job, struct err *e);
/* By id; an index serves states with any one of user, name and run, and after, so that 10,000
 * queued and 1,000,000 old jobs are fine. visit neither begins a transaction nor asks for jobs: it
 * stands in the middle of a query.
 */
int lake_job_list(struct lake *l,
                  const struct lake_job_filter *filter,
                  lake_visit_job *visit,
                  void *context,
                  struct err *e);

struct lake_job_transition {
    enum lake_job_state state;
    int64_t at_ms;
    const char *reason;
};
typedef int lake_visit_transition(void *context,
                                  const struct lake_job_transition *t,
                                  struct err *e);
int lake_job_transitions(
    struct lake *l, int64_t id, lake_visit_transition *visit, void *context, struct err *e);

/* One step of one job; what is NULL or not set stays as it is. */
struct lake_job_change {
    int64_t id;
    enum lake_job_state to;
    const char *reason; /* clean text; cut at 2,000 bytes */
    bool exited;
    int exit_code;
    double runtime_s; /* < 0 = not told */
    int64_t cost_microusd;
    const char *cost_basis; /* NULL = cost not told */
    const char *machine;
    const char *limits;
    const char *devices;
    bool saves_later; /* of LAKE_JOB_UNSAVED */
    bool may_be_gone; /* the job may have been removed: then nothing is applied */
    bool applied; /* out: false: the job was in a final state, in this one or beyond it already */
};
/* All in one transaction, in order. A final state stays: nothing is applied to it. Steps lead
 * forward, but back to queued or launching too, when the machine was lost and the job resumes
 * elsewhere; then its runtimes add up unless they are told. A storing job may become unsaved, and
 * that again for another reason. Only the job's user and admins may
 * (ERR_DENIED), as with everything below that changes a job. */
int lake_job_step(struct lake *l, struct lake_job_change *changes, size_t n, struct err *e);

/* Asks the broker to stop the job. A queued job is killed at once. Repeatable: the first reason
 * stays. An unsaved job is no longer tried, and stays unsaved. *final_out: the job has ended. */
int lake_job_ask_stop(
    struct lake *l, int64_t id, const char *reason, bool *final_out, struct err *e);

/* Stores the job's output directory as the next version of its output set, with the job's tags; if
 * the latest version has exactly these files, the job has reproduced it, and no version is made.
 * The same transaction makes the edge to the input and takes `change` (LAKE_JOB_FINISHED). A job
 * that ended meanwhile leaves no version behind. Files of directory go below "/SET/". An empty
 * directory makes no set version (a warning in the log if the job names a set), and the job
 * finishes. Content stored before a crash is found again: the next call gives the same answer. */
int lake_job_store(struct lake *l,
                   struct lake_job_change *change,
                   const char *directory,
                   const struct lake_progress *progress,
                   struct err *e);

/* The jobs that reproduced a set version: ids of that version and of what they made it of; 0 =
 * none. */
int lake_job_reproductions(
    struct lake *l,
    int (*visit)(void *context, int64_t output, int64_t input, int64_t code, struct err *e),
    void *context,
    struct err *e);

/* The set that the output of an unsaved job goes to from now on; an existing one needs LAKE_WRITE.
 */
int lake_job_set_output(struct lake *l, int64_t id, const char *set, struct err *e);

/* Records that job `other` took part in making the output of `job`: edges lead from that output to
 * the input of `other`, and to its code if that differs. Repeatable; nothing happens without an
 * output. */
int lake_job_made_with(struct lake *l, int64_t job, int64_t other, struct err *e);

/* Tags of the running job ("k=v"; built-in keys, and keys beyond 1,000, are ERR_USAGE), in one
 * transaction; its output set gets them when it is stored, or now when it is there already. */
int lake_job_tag(struct lake *l, int64_t id, const char *const *pairs, size_t n, struct err *e);

/* A tag that names a set: if the job makes it, as lake_job_tag; if the job reads it, the version
 * that it reads is tagged: its input, its code, or a set that its input was made of. ERR_NOTFOUND:
 * it is neither; ERR_DENIED: the caller may not change that set. */
int lake_job_tag_set(struct lake *l, int64_t id, const char *set, const char *pair, struct err *e);

/* One point of a series that the job printed. */
struct lake_job_metric {
    const char *name; /* as lake_job_metric_name has it */
    double step, value;
};
/* Whether a metric may be called so: 1 to LAKE_KEY_MAX bytes of UTF-8 without control characters.
 */
bool lake_job_metric_name(const char *name, size_t len);
/* In one transaction; a step that comes again replaces the value. At most 1,000,000 points and
 * 1,000 names a job: what goes beyond is ERR_USAGE and leaves the earlier ones. */
int lake_job_add_metrics(
    struct lake *l, int64_t id, const struct lake_job_metric *metrics, size_t n, struct err *e);
/* Brings the metadata of the job and of its output up to the points added: for a series NAME its
 * value at the highest step, NAME.min, NAME.max and NAME.steps, each also as metric.NAME... A step
 * to storing or to a final state does the same. Series that did not change cost nothing. */
int lake_job_tell_metrics(struct lake *l, int64_t id, struct err *e);

/* A series as a whole; NAN: there is no such value, or it is not a number. */
struct lake_job_series {
    const char *name;
    double last, last_step, min, max;
    int64_t steps;
};
/* By name. */
int lake_job_summaries(struct lake *l,
                       int64_t id,
                       int (*visit)(void *context, const struct lake_job_series *s, struct err *e),
                       void *context,
                       struct err *e);
struct lake_value;
/* The parameters, by name, without "param.". */
int lake_job_params(struct lake *l,
                    int64_t id,
                    int (*visit)(void *context, const struct lake_value *v, struct err *e),
                    void *context,
                    struct err *e);

/* The other metadata of a job, by key: tags, and the parameters under their bare names. Metrics are
 * not among them. */
int lake_job_tags(struct lake *l,
                  int64_t id,
                  int (*visit)(void *context, const struct lake_value *v, struct err *e),
                  void *context,
                  struct err *e);

/* By name, then step. name NULL = all. */
int lake_job_metrics(struct lake *l,
                     int64_t id,
                     const char *name,
                     int (*visit)(void *context, const struct lake_job_metric *m, struct err *e),
                     void *context,
                     struct err *e);

/* The value of the series' first point at the step or beyond. 1; 0: there is none; -1. */
int lake_job_metric_from(
    struct lake *l, int64_t id, const char *name, double step, double *value_out, struct err *e);

/* The cost of a job that ended before its machine was terminated. */
int lake_job_bill(struct lake *l, int64_t id, int64_t microusd, const char *basis, struct err *e);
/* The cost of all jobs of the project that ended since since_ms, removed ones included. */
int lake_job_spent(struct lake *l, int64_t since_ms, int64_t *microusd_out, struct err *e);

/* Removes the records of jobs, all or none: request, states, metadata, metrics. ERR_USAGE for a job
 * that is not over, or that made a set version which is there: the record tells how. What the jobs
 * cost stays recorded. */
struct lake_job_removal {
    int64_t id;
    const char *cloud; /* for the bill: "local", or a host group */
};
int lake_job_remove(struct lake *l, const struct lake_job_removal *jobs, size_t n, struct err *e);

/* What is left of a removed job. */
struct lake_job_removed {
    int64_t id, run;
    const char *project, *user, *cloud;
    int64_t finished_ms, cost_microusd;
    const char *cost_basis; /* "" = it cost nothing */
};
/* Those that ended since since_ms, by id. */
int lake_job_each_removed(struct lake *l,
                          int64_t since_ms,
                          int (*visit)(void *context,
                                       const struct lake_job_removed *r,
                                       struct err *e),
                          void *context,
                          struct err *e);
int lake_job_was_removed(struct lake *l, int64_t id, bool *out, struct err *e);

/* Dollars and hours of all jobs upstream of a set version (or a file: of all sets that hold it),
 * each job once. */
struct lake_lineage_cost {
    uint64_t jobs;
    int64_t cost_microusd;
    double runtime_s;
};
/* The job whose checkpoint a job with these details continued; 0 = none. */
typedef int64_t lake_job_continued(const char *details);
/* The jobs whose checkpoints these continued count as well. continued: NULL = of none. */
int lake_lineage_cost(struct lake *l,
                      const struct lake_ref *ref,
                      lake_job_continued *continued,
                      struct lake_lineage_cost *out,
                      struct err *e);

/* As lake_job_store, for a replay that makes `set` ("@S:3") again. If the output has exactly the
 * files of `set`, no version is made: their content is restored, and `set` is the job's output. If
 * not, the new version is tagged LAKE_TAG_NON_DETERMINISTIC. */
int lake_job_restore(struct lake *l,
                     struct lake_job_change *change,
                     const char *directory,
                     const char *set,
                     const struct lake_progress *progress,
                     struct err *e);

#endif
