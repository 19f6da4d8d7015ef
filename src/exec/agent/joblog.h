/* joblog: the file `log` of a job, which only ever grows, so that it can be followed by offset, and
 * never past its maximum. The first half is written as it comes. What follows goes round in
 * `log.tail`, half as large; at the end its last bytes are appended, after a line that says how
 * many are missing in between. */
#ifndef EXEC_AGENT_JOBLOG_H
#define EXEC_AGENT_JOBLOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct joblog {
    char *tail_path;
    int fd, tail_fd; /* -1: not open */
    uint64_t size;   /* of log */
    uint64_t half;
    uint64_t tail_total; /* bytes that came since the first half was full */
    uint64_t unsynced;
    double synced_s;
};

/* max = 0: JOBFILE_LOG_MAX. */
int joblog_open(struct joblog *l, const char *dir, uint64_t max, struct err *e);
/* In the file when this returns. -1 with errno when it cannot be kept. */
int joblog_add(struct joblog *l, const char *bytes, size_t n);
/* To the disk, when the last time is a while or many bytes ago. */
void joblog_sync_at_times(struct joblog *l, double now_s);
/* The tail is appended and everything is on disk. -1 with errno. */
int joblog_finish(struct joblog *l);
void joblog_close(struct joblog *l);

/* Does what joblog_finish does for a log whose writer was killed. */
void joblog_recover(const char *dir);

#endif
