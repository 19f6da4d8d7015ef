/* jobrecord: the file `tree` of a job, written before its command runs, by which its processes are
 * found and ended when its agent was killed. A pid that belongs to another process by now is never
 * hit: what we kill is in a group of ours, has our mark in its environment, or started when ours
 * did. */
#ifndef EXEC_AGENT_JOBRECORD_H
#define EXEC_AGENT_JOBRECORD_H

#include "base/err.h"
#include "exec/agent/jobdir.h"
#include "exec/agent/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What every process of the job has in its environment, unless it took it out; the caller frees it.
 */
char *jobrecord_mark(const struct jobdir *d);

struct started;
int jobrecord_write(const struct jobdir *d,
                    const struct limits *planned,
                    const struct started *s,
                    struct err *e);
/* For who holds the lock: ends what a killed agent left running, and its groups, and completes the
 * log. Repeatable; nothing to do is fine. ERR_IO when something did not end. */
int jobrecord_recover(const struct jobdir *d, struct err *e);

/* ---- joblog.c ---- */

/* Lines that found no room on the disk since the last one that did. */
struct joblog_gap {
    uint64_t lines;
    bool in_line;        /* more of the last one may come */
    uint64_t told_lines; /* by the line that says so, of which told_bytes are in the log */
    size_t told_bytes;
};

struct joblog {
    char *tail_path;
    int fd, tail_fd; /* -1: not open */
    uint64_t size;   /* of log */
    uint64_t half;
    uint64_t tail_total; /* bytes that came since the first half was full */
    uint64_t unsynced;
    double synced_s;
    struct joblog_gap gap;
    bool ends_in_line; /* its last byte is no newline */
    int error;         /* why lines were left out */
};

/* max = 0: JOBFILE_LOG_MAX. */
int joblog_open(struct joblog *l, const char *dir, uint64_t max, struct err *e);
/* In the file when this returns; lines for which the disk has no room are left out and counted. */
void joblog_add(struct joblog *l, const char *bytes, size_t n);
/* To the disk, when the last time is a while or many bytes ago. */
void joblog_sync_at_times(struct joblog *l, double now_s);
/* The tail is appended and everything is on disk. false: there is no room for the line that says
 * how many are left out; repeatable when there is some. */
bool joblog_finish(struct joblog *l);
void joblog_close(struct joblog *l);

/* Does what joblog_finish does for a log whose writer was killed. */
void joblog_recover(const char *dir);

#endif
