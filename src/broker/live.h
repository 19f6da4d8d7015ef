/* live: a job between its start and its end, as the broker sees it. */
#ifndef BROKER_LIVE_H
#define BROKER_LIVE_H

#include "base/auto.h"
#include "broker/details.h"
#include "broker/logscan.h"
#include "broker/workers.h"
#include "exec/exec.h"
#include "exec/statefile.h"
#include "lake/job.h"

struct arena;

#define LIVE_REASON 2048

/* What the broker waits for. */
enum live_phase {
    LIVE_RECORDED,  /* its start is being written down */
    LIVE_PREPARING, /* a worker makes its directory, or will at retry_ms */
    LIVE_FOLLOWED,  /* its agent tells */
    LIVE_CUT_OFF,   /* the connection to its agent broke; tried again at retry_ms */
    LIVE_STORING,   /* a worker stores its output, or will at retry_ms */
    LIVE_OVER,      /* nothing more is done about it */
};

struct live {
    struct task task; /* first: workers give it back */
    struct arena *arena;
    struct lake_job job; /* as it was when it was read; strings in the arena */
    struct job_details details;
    const char *home;      /* of the broker */
    const char *directory; /* home/jobs/ID */
    struct exec_host host;
    enum live_phase phase;

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
    size_t n_metrics, cap_metrics;

    bool started, ended;
    struct state_line beginning, end;
    bool stop_sent, stop_wanted;
    double stop_grace_s; /* as last sent */
    struct err trouble;  /* of the last task; kind ERR_NONE = it went well */
    char reason[LIVE_REASON];
};

/* Reads the job from the lake. NULL: e. */
struct live *live_new(
    struct lake *l, int64_t id, const char *home, const char *agent, struct err *e);
void live_free(struct live *j);
AUTO_DEFINE(live)

/* Begins to follow its agent; start: starts it, where it does not run yet. What cannot be done now
 * (no processes, no descriptors) makes it LIVE_CUT_OFF; -1: it never can. */
int live_follow(struct live *j, bool start, struct err *e);
/* Sets retry_ms: each time later. */
void live_try_later(struct live *j);
/* Hears what the agent has to tell; LIVE_FOLLOWED, LIVE_CUT_OFF, or LIVE_OVER: told to the end
 * (then j->ended says whether the agent told an end: if not, the job is lost and j->trouble says
 * how). */
enum live_phase live_hear(struct live *j);

/* What its end means for the record: state, exit code, time and a reason in plain words. */
void live_outcome(const struct live *j, struct lake_job_change *out);

/* Tags and metrics that came up go to the lake; those that cannot be kept become warnings in the
 * job's file `warnings`. ERR_RETRY, ERR_IO: they stay for the next time. */
int live_keep_told(struct live *j, struct lake *l, struct err *e);

/* Its directory: input and code out of the lake, the file for the agent; whatever an interrupted
 * attempt left is replaced. Not for one that is prepared: its agent may be starting. */
int live_prepare(struct live *j, struct lake *l, struct err *e);
/* live_prepare came to its end, since this machine was started. */
bool live_is_prepared(const struct live *j);
/* Its agent wrote the first line. */
bool live_was_begun(const struct live *j);
/* Those of its log: it will be read from the beginning. */
void live_forget_warnings(const struct live *j);
/* Removes everything from the job's directory but the log, the state, the warnings and the agent's
 * lock. */
void live_tidy(const char *home, int64_t id);
/* Jobs whose directories were prepared and not tidied. */
int live_every_untidy(const char *home,
                      int (*visit)(void *context, int64_t id, struct err *e),
                      void *context,
                      struct err *e);

#endif
