/* statefile: the lines of a job's file `state`, written by its agent, read by the broker.
 *     1731740000123 started pid=4711 limits=cpu: cgroup v1, memory: cgroup v1
 *     1731740001123 sample cpu_s=0.50 memory_mb=12 received=0 sent=0 log=120 gpu=-1
 *     1731740009123 ended code=0 runtime_s=9.001 cpu_s=4.5 peak_mb=40 received=0 sent=0 log=400
 *                   cause=exit text=...                                       (in one line)
 * Between the last sample and the end, of a job whose use of code is watched (agent/codewatch.h):
 *     1731740009120 used text=lib/model.py                                      (a line per file)
 *     1731740009120 learned files=12 text=...                       (text: why the list is void)
 * Times are epoch milliseconds. `text` comes last and goes to the end of the line. base alone. */
#ifndef EXEC_STATEFILE_H
#define EXEC_STATEFILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_LINE_MAX 4096

enum state_kind {
    STATE_STARTED,
    STATE_SAMPLE,
    STATE_NOTICE, /* the cloud takes the machine away: the job is told to end */
    STATE_USED,
    STATE_LEARNED,
    STATE_ENDED,
};
/* Why it ended. */
enum state_cause {
    STATE_EXIT,      /* by itself: code */
    STATE_SIGNAL,    /* by a signal that tradewind did not send: code = 128 + signal */
    STATE_STOPPED,   /* because it was asked to */
    STATE_TIME,      /* over its time limit */
    STATE_MEMORY,    /* over its memory limit */
    STATE_NO_START,  /* the command could not be started: text says why */
    STATE_PREEMPTED, /* because the cloud takes the machine away: text says which, and when */
};

struct state_line {
    enum state_kind kind;
    int64_t at_ms;
    int64_t pid;             /* STARTED */
    double cpu_s, memory_mb; /* SAMPLE, ENDED (memory: its peak) */
    uint64_t received, sent; /* SAMPLE, ENDED: bytes of network */
    uint64_t log_bytes;      /* SAMPLE, ENDED: of its log, until then */
    double gpu_percent;      /* SAMPLE; < 0 = there is none */
    int64_t until_ms;        /* NOTICE: from then on the machine may be gone */
    uint64_t files;          /* LEARNED: lines USED before it */
    int code;                /* ENDED */
    double runtime_s;        /* ENDED */
    enum state_cause cause;  /* ENDED */
    char text[1024]; /* STARTED: how limits are enforced; NOTICE: in plain words; USED: a path in
                      * work/; LEARNED: why all code counts, "" = it does not; ENDED: in plain words
                      */
};

/* The longest path of a USED line. */
#define STATE_PATH_MAX 1000

/* With its newline, at most STATE_LINE_MAX bytes with the NUL; out is returned. */
const char *state_line_text(const struct state_line *s, char out[static STATE_LINE_MAX]);
/* line without its newline. ERR_IO for what is no such line. Unknown words of a kind are skipped.
 */
int state_line_parse(const char *line, struct state_line *out, struct err *e);

#endif
