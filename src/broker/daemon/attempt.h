/* live: a job between its start and its end, as the broker sees it. */
#ifndef BROKER_DAEMON_ATTEMPT_H
#define BROKER_DAEMON_ATTEMPT_H

#include "base/auto.h"
#include "broker/core/details.h"
#include "broker/daemon/workers.h"
#include "broker/learn/logscan.h"
#include "broker/machine/machines.h"
#include "exec/exec.h"
#include "exec/statefile.h"
#include "lake/job/job.h"

struct arena;

#define ATTEMPT_REASON 2048
/* Between being asked to end and being made to. */
#define ATTEMPT_GRACE_S 30.0

/* What the broker waits for. */
enum attempt_phase {
    ATTEMPT_RECORDED,  /* its start is being written down */
    ATTEMPT_RENTING,   /* a worker looks for a host, or will at retry_ms */
    ATTEMPT_HOSTED,    /* others of its gang have no host yet */
    ATTEMPT_PREPARING, /* a worker makes its directory, and sends it, or will at retry_ms */
    ATTEMPT_READY,     /* prepared; others of its gang are not yet */
    ATTEMPT_REREADING, /* what an earlier broker heard of its host is heard again */
    ATTEMPT_FOLLOWED,  /* its agent tells */
    ATTEMPT_CUT_OFF,   /* the connection to its agent broke; tried again at retry_ms */
    ATTEMPT_ENDED,     /* its agent told the end, and a worker still has it */
    ATTEMPT_SAVING,    /* a worker saves its last checkpoint, or will at retry_ms */
    ATTEMPT_STORING,   /* a worker stores its output, or will at retry_ms */
    ATTEMPT_OVER,      /* nothing more is done about it */
};

/* What a worker does with it. */
enum attempt_work {
    ATTEMPT_NO_WORK,
    ATTEMPT_RENT,
    ATTEMPT_ASK, /* whether its whole gang finds hosts */
    ATTEMPT_PREPARE,
    ATTEMPT_REACH, /* its host is made sure of, and the lease there renewed */
    ATTEMPT_STOP,
    ATTEMPT_SAVE, /* its checkpoint */
    ATTEMPT_STORE,
};

/* Of a job on a host of the configuration. */
struct remote {
    struct machine machine; /* token "": there is none yet */
    struct machine former;  /* the one before, which could not be reached; token "": none */
    unsigned attempt;
    unsigned found_attempt; /* the one an earlier broker had come to */
    bool recorded;          /* the lake knows this machine */
    bool waits;             /* the lake has it queued, with a reason, until it has a host */
    int64_t gang_until_ms;  /* its gang has given back its machines until then; 0 = it has not */
    unsigned gang_waits;    /* times that it did */
    enum cloud_failure refused;                  /* of the last work, ATTEMPT_RENT */
    int64_t silent_since_ms;                     /* since when it cannot be reached; 0 = it can */
    char silence[200];                           /* how it was told */
    bool must_reach;                             /* before it is followed */
    bool saved;                                  /* its last checkpoint is here */
    int64_t reach_at_ms, save_at_ms, stop_at_ms; /* not before */
    int log_fd, state_fd; /* copies of what the agent writes there; -1 = not open */
};

struct attempt {
    struct task task;        /* first: workers give it back */
    enum attempt_work work;  /* in whose hands it is */
    struct err task_trouble; /* of the last work; kind ERR_NONE = it went well */
    bool host_trouble;       /* which is of the way to the host, not of what was to be done */
    bool is_done;            /* its last step is written, and a worker still has it */
    struct remote *remote;   /* NULL: it runs here */
    struct arena *arena;
    struct lake_job job; /* as it was when it was read; strings in the arena */
    struct job_details details;
    const char *home;      /* of the broker */
    const char *directory; /* home/jobs/ID */
    struct exec_host host;
    const char *nodes; /* on hosts: those of its stage, a line each; NULL = not told */
    enum attempt_phase phase;

    struct exec_stream *stream;
    uint64_t state_offset, log_offset; /* what was told already */
    unsigned broken;                   /* times in a row that it broke */
    int64_t retry_ms;                  /* 0: nothing is to be tried again */
    char line[STATE_LINE_MAX];         /* of the state, not whole yet */
    size_t line_len;
    struct logscan *scan;
    /* Told by the log, not in the lake yet. */
    char **tags;
    size_t n_tags, cap_tags;
    struct lake_job_metric *metrics;
    char **metric_names; /* one for each, owned */
    size_t n_metrics, cap_metrics, cap_metric_names;

    bool started, ended;
    struct state_line beginning, end;
    int64_t told_ms; /* when its agent told last, by the clock over there */
    bool stop_sent, stop_wanted;
    double stop_grace_s;   /* as last sent */
    char stop_reason[256]; /* of who wants it */
    struct err trouble;    /* of what its agent told */
};

/* Reads the job from the lake. NULL: e. */
struct attempt *attempt_new(
    struct lake *l, int64_t id, const char *home, const char *agent, struct err *e);
void attempt_free(struct attempt *j);
AUTO_DEFINE(attempt)

/* Whether its user wants an end, as the lake says now. */
void attempt_ask_stop(struct attempt *j, const struct lake_job *job);

/* It is to run on a host, or does: ATTEMPT_RENT finds one. */
void attempt_set_remote(struct attempt *j);
/* Its host is that of j->remote->machine. */
void attempt_set_host(struct attempt *j, const char *agent);

/* Its stage's hosts, by rank, before attempt_prepare. */
void attempt_set_nodes(struct attempt *j, const char *hosts);

/* Begins to follow its agent; start: starts it, unless it told something already. What cannot be
 * done now (no processes, no descriptors) makes it ATTEMPT_CUT_OFF; -1: it never can. */
int attempt_follow(struct attempt *j, bool start, struct err *e);
/* Of a job on a host: what an earlier broker heard is heard again from the copies here, some of it
 * with each call. 1: there is more; 0: that was all. */
int attempt_reread(struct attempt *j, struct err *e);
/* Sets retry_ms: each time later. */
void attempt_try_later(struct attempt *j);
/* Hears what the agent has to tell; ATTEMPT_FOLLOWED, ATTEMPT_CUT_OFF, or ATTEMPT_OVER: told to the
 * end (then j->ended says whether the agent told an end: if not, the job is lost and j->trouble
 * says how). */
enum attempt_phase attempt_hear(struct attempt *j);

/* What its end means for the record: state, exit code, time and a reason in plain words, which
 * out->reason points to. */
void attempt_outcome(const struct attempt *j,
                     char reason[static ATTEMPT_REASON],
                     struct lake_job_change *out);

/* Tags and metrics that came up go to the lake; those that cannot be kept become warnings in the
 * job's file `warnings`. ERR_RETRY, ERR_IO: they stay for the next time. */
int attempt_keep_told(struct attempt *j, struct lake *l, struct err *e);

/* Its directory: input and code out of the lake, the file for the agent; whatever an interrupted
 * attempt left is replaced. Not for one that is prepared: its agent may be starting. */
int attempt_prepare(struct attempt *j, struct lake *l, struct err *e);
/* attempt_prepare came to its end, since this machine was started. */
bool attempt_is_prepared(const struct attempt *j);
/* Its agent wrote the first line. */
bool attempt_was_begun(const struct attempt *j);
/* Those of its log: it will be read from the beginning. */
void attempt_forget_warnings(const struct attempt *j);
/* Its directory is on its host, whole: from now on it may be started there. */
int attempt_note_sent(const struct attempt *j, struct err *e);
bool attempt_is_sent(const struct attempt *j);
/* Takes out of its output what leads out of it, with a line each in its warnings. ERR_USAGE: the
 * output is no directory any more. */
int attempt_clean_output(const struct attempt *j, const char *directory, struct err *e);
/* Removes everything from the job's directory but the log, the state, the warnings, the agent's
 * lock, and, if it is to be kept, the checkpoint (checkpoint.h). */
void attempt_tidy(const char *home, int64_t id, bool keep_checkpoint);
/* Jobs whose directories were prepared and not tidied. */
int attempt_every_untidy(const char *home,
                         int (*visit)(void *context, int64_t id, struct err *e),
                         void *context,
                         struct err *e);

/* ---- for the files of live ---- */

/* A line of its file `warnings`. */
void attempt_note_warning(const struct attempt *j, const char *text);
int attempt_hear_state(struct attempt *j, const char *bytes, size_t n, struct err *e);
void attempt_hear_log(struct attempt *j, const char *bytes, size_t n);
/* The copies here of what an agent on a host writes. fresh: nothing was heard yet. */
int attempt_copy_open(struct attempt *j, bool fresh, struct err *e);
int attempt_copy_add(
    struct attempt *j, enum frame_kind kind, const char *bytes, size_t n, struct err *e);

/* attempt_env.c: its variables, "KEY=VALUE", secrets last, so that they count. */
struct attempt_env {
    char **texts;
    size_t n, cap;
};
int attempt_env_fill(const struct attempt *j, struct attempt_env *v, struct err *e);
void attempt_env_clear(struct attempt_env *v);

#endif
