/* attempt: one attempt at a job, from its turn in the queue to its end, as the broker keeps it in
 * memory. Its state is one of job_life.h. */
#ifndef BROKER_DAEMON_ATTEMPT_H
#define BROKER_DAEMON_ATTEMPT_H

#include "base/auto.h"
#include "base/err.h"
#include "broker/core/details.h"
#include "broker/core/job_life.h"
#include "broker/daemon/launch.h"
#include "broker/learn/logscan.h"
#include "broker/machine/machines.h"
#include "broker/pipeline/codefiles.h"
#include "exec/exec.h"
#include "exec/statefile.h"
#include "lake/core/lake.h"
#include "lake/job/job.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- workers.c ---- */

/* The beginning of a caller's struct. The pool owns it until workers_done returns it. */
struct task {
    void (*work)(struct task *t, struct lake *l);
    struct task *next; /* for the pool */
};

struct workers;
/* open: opens a lake for a thread, at its first task. After a failure the log says why, the task
 * gets l = NULL, and the next task tries again. */
struct workers *workers_new(unsigned threads, struct lake *(*open)(struct err *e), struct err *e);
/* Waits for running tasks; drops tasks that no thread has begun. */
void workers_free(struct workers *w);
AUTO_DEFINE(workers)

void workers_do(struct workers *w, struct task *t);
/* Readable when a task is done. */
int workers_fd(const struct workers *w);
/* A task that is done, or NULL. */
struct task *workers_done(struct workers *w);

/* ---- attempt.c and its parts ---- */

struct arena;

#define ATTEMPT_REASON 2048
/* Between the request to end and the kill. */
#define ATTEMPT_GRACE_S 30.0

/* The part of an attempt that runs on a host of the configuration or a machine of a cloud. */
struct remote {
    struct launch_progress launch; /* offer.provider "": on a host */
    const struct broker_options *options;
    struct launches *launches;
    double lease_s;         /* of a machine of a cloud */
    struct machine machine; /* token "": none yet */
    struct machine former;  /* the host before, which could not be reached; token "": none */
    unsigned attempt;       /* number of the machine's token */
    unsigned found_attempt; /* the number that an earlier broker had come to */
    bool waits;             /* the lake has the job queued, with a reason, until there is a host */
    int64_t gang_until_ms;  /* the gang asks for machines again at this time */
    unsigned gang_waits;    /* number of times that the gang released its machines */
    unsigned gang_moves;    /* number of times that it moved to other offers */
    bool is_moving;         /* to `next`, as soon as no worker thread has the attempt */
    struct job_offer next;  /* of a cloud: what the gang moved to last */
    char told[LAUNCH_NOTE_BYTES]; /* what the lake has of the launch */
    enum cloud_failure refused;   /* why the last provisioning failed */
    int64_t silent_since_ms;      /* the host does not answer since; 0 = it does */
    char silent_reason[400];      /* the last error of the connection */
    char left_out[400]; /* a host that was not taken because it refuses us, or we it; "": none */
    bool saved;         /* the last checkpoint is here */
    bool collected;     /* the output is here, synced */
    int64_t reach_at_ms, save_at_ms, stop_at_ms; /* not before */
    int log_fd, state_fd; /* copies of the files that the agent writes; -1 = not open */
    bool lacks_room;      /* the last copy failed here, which is not the host's fault */
};

struct attempt {
    struct task task;      /* first: workers give it back */
    enum life_action work; /* what a worker thread does for the attempt; ACTION_NONE = nothing */
    struct err task_error; /* of the last task; kind ERR_NONE = success */
    bool host_failed;      /* the error is of the connection to the host, not of the task itself */
    bool is_at_fault;      /* the error is of the job: its output is not what it promised */
    bool leaves_output;    /* what it wrote stays in its directory, although it failed */
    bool is_done;          /* the final state is recorded while a worker thread has the attempt */
    struct remote *remote; /* NULL: the job runs on this machine */
    struct arena *arena;
    struct lake_job job; /* as it was when it was read; strings in the arena */
    struct job_details details;
    const char *home;      /* of the broker */
    const char *directory; /* home/jobs/ID */
    struct exec_host host;
    const char *devices; /* GPUs of this machine that it has: "nvidia:0,nvidia:1"; "" = none */
    const char *nodes;  /* on hosts: the addresses of the stage's nodes, a line each; NULL = none */
    uint64_t log_bytes; /* kept of its log */
    enum life_state state;
    char why[ATTEMPT_REASON]; /* reason of the last event that has one */

    struct exec_stream *stream;
    uint64_t state_offset, log_offset; /* how much of the agent's files was read */
    unsigned failures;                 /* in a row, of what is being retried */
    int64_t retry_ms;                  /* when EVENT_DUE happens; 0 = never */
    char line[STATE_LINE_MAX];         /* of the state file, not complete yet */
    size_t line_len;
    struct logscan *scan;
    /* Found in the log, not in the lake yet. */
    struct told_tag {
        char *set; /* as named; NULL = none */
        char *pair;
    } * tags;
    size_t n_tags, cap_tags;
    struct lake_job_metric *metrics;
    char **metric_names; /* one for each, owned */
    size_t n_metrics, cap_metrics, cap_metric_names;
    bool is_untold;       /* metrics are in the lake, and the job's metadata lags behind */
    int64_t next_tell_ms; /* not before: metadata follows once per second */

    /* Files of the code that the command used, as its agent tells them. */
    char **used;
    size_t n_used, cap_used;
    uint64_t used_lines;      /* told, kept or not */
    bool learned, code_noted; /* the agent told all; it is in the lake */
    struct state_line lesson; /* STATE_LEARNED */

    bool started, ended;
    struct state_line beginning, end;
    int64_t told_ms; /* time of the agent's last line, by the host's clock */
    bool stop_sent, stop_wanted;
    double stop_grace_s;    /* as last sent */
    char stop_reason[256];  /* given by the user who asked */
    struct err agent_error; /* why reading the agent's reports failed */
};

/* Reads the job from the lake. NULL: e. */
struct attempt *attempt_new(
    struct lake *l, int64_t id, const char *home, const char *agent, struct err *e);
void attempt_free(struct attempt *j);
AUTO_DEFINE(attempt)

/* Whether the user wants the job to end, by the lake's record. */
void attempt_ask_stop(struct attempt *j, const struct lake_job *job);

/* The job runs on a host, which ACTION_PROVISION finds. */
void attempt_set_remote(struct attempt *j);
/* The host is that of j->remote->machine. */
void attempt_set_host(struct attempt *j, const char *agent);

/* The hosts of the stage, by rank; called before attempt_prepare. */
void attempt_set_nodes(struct attempt *j, const char *hosts);

/* The GPUs that the queue gave the job; called before attempt_prepare. */
void attempt_set_devices(struct attempt *j, const char *devices);

/* Follows the agent; start: starts the agent, unless it reported something already. 1: not now (no
 * processes, no descriptors), retry_ms is set; -1: never. */
int attempt_follow(struct attempt *j, bool start, struct err *e);
/* On a host: reads again what an earlier broker copied here, a part per call. 1: there is more; 0:
 * that was all. */
int attempt_reread(struct attempt *j, struct err *e);
/* Sets retry_ms, later after each failure in a row. */
void attempt_try_later(struct attempt *j);
/* Reads the agent's reports. EVENT_NONE: more will come. EVENT_DISCONNECTED: retry_ms is set.
 * EVENT_AGENT_ENDED: j->ended says whether the agent reported an end; if not, the job is lost and
 * j->agent_error says why. */
enum life_event attempt_read(struct attempt *j);

/* What the end means for the record: state, exit code, time and a reason in plain words, which
 * out->reason points to. */
void attempt_outcome(const struct attempt *j,
                     char reason[static ATTEMPT_REASON],
                     struct lake_job_change *out);

/* Whether attempt_keep_told has something to write. */
bool attempt_has_told(const struct attempt *j);
/* Writes tags and metrics found in the log to the lake; those that the lake refuses become lines of
 * the job's file `warnings`. At the end also what the job used of its code. ERR_RETRY, ERR_IO: all
 * of them stay for the next call. */
int attempt_keep_told(struct attempt *j,
                      struct lake *l,
                      struct codefiles_cache *code,
                      struct err *e);
/* Adds the scalars of TensorBoard's event files below the directory to the job's metrics; what
 * cannot be read is a line of its warnings. */
int attempt_read_events(const struct attempt *j,
                        struct lake *l,
                        const char *directory,
                        struct err *e);
/* Brings the job's metadata up to its metrics, at most once per second. */
int attempt_tell_metrics(struct attempt *j, struct lake *l, struct err *e);

/* ERR_NOTFOUND that names a declared output which the job did not write. */
int attempt_check_outputs(const struct attempt *j, struct err *e);
/* Adds a hint to the reason of a job that redirected its output to a directory. */
void attempt_add_hint(const struct attempt *j, char reason[static ATTEMPT_REASON]);

/* Makes the job's directory: input and code out of the lake, the file for the agent. Replaces what
 * an interrupted call left. Not for a prepared attempt, whose agent may be starting. */
int attempt_prepare(struct attempt *j, struct lake *l, struct err *e);
/* attempt_prepare was completed since this machine booted. */
bool attempt_is_prepared(const struct attempt *j);
/* The agent wrote its first line. */
bool attempt_was_begun(const struct attempt *j);
/* The job names no set and left its output empty, here: there is nothing to store. */
bool attempt_wrote_nothing(const struct attempt *j);
/* Removes the warnings of the log, which will be read from its beginning. */
void attempt_forget_warnings(const struct attempt *j);
/* The directory is on the host, whole: from now on the agent may be started there. */
int attempt_note_sent(const struct attempt *j, struct err *e);
bool attempt_is_sent(const struct attempt *j);
/* The output that its host had is in the job's directory, also after a power failure. */
int attempt_note_collected(const struct attempt *j, struct err *e);
/* Removes everything from the job's directory but the log, the state, the warnings, the agent's
 * lock, and, if it is to be kept, the checkpoint (checkpoint.h). */
void attempt_tidy(const char *home, int64_t id, bool keep_checkpoint);
/* The same, and the output stays; of an unsaved job, which may be saved, the mark among the untidy,
 * too. */
void attempt_tidy_unsaved(const char *home, int64_t id, bool stays_untidy);
/* Visits jobs whose directories were prepared and not tidied. */
int attempt_every_untidy(const char *home,
                         int (*visit)(void *context, int64_t id, struct err *e),
                         void *context,
                         struct err *e);

/* ---- for the files of attempt ---- */

/* A line of the file `warnings`. */
void attempt_note_warning(const struct attempt *j, const char *text);

/* attempt_env.c: the variables of the job, "KEY=VALUE"; secrets last, so that they prevail. */
struct attempt_env {
    char **texts;
    size_t n, cap;
};
int attempt_env_fill(const struct attempt *j, struct attempt_env *v, struct err *e);
void attempt_env_clear(struct attempt_env *v);

/* ---- node_env.c ---- */

/* Ports for gangs: below the ephemeral ports of Linux. */
#define NODE_PORT_MIN 20000
#define NODE_PORT_MAX 31999

/* One node of a gang. */
struct node_place {
    unsigned rank, nodes;
    unsigned servers; /* the first nodes, parameter servers; the others are workers; 0 = none */
    bool elastic;     /* the others continue when a worker ends */
    bool shared;      /* all on one machine: each listens on a port of its own */
    unsigned port;    /* of rank 0; where shared, rank n has port + n */
    const char *const *hosts; /* by rank, as addresses or names */
};

/* The port of a gang; as far as there are enough, each home and gang has another one. */
unsigned node_port(const char *home, int64_t first_job, unsigned nodes);

/* Calls set for each of MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
 * NODE_RANK, TF_CONFIG, and TRADEWIND_RANK, _NODES, _ROLE, _SERVER, _WORKER, _WORKERS, _ELASTIC;
 * beside a server also of ROLE. */
void node_env(const struct node_place *p,
              void (*set)(void *context, const char *key, const char *value),
              void *context);

#endif
