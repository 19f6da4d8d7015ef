/* jobdir: the directory of one job, as exec/jobfile.h describes it: its lock, how far the job is,
 * and the request to stop. */
#ifndef EXEC_AGENT_JOBDIR_H
#define EXEC_AGENT_JOBDIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct jobdir {
    char *path;  /* absolute, without links */
    int lock_fd; /* -1 when we do not hold it */
};

/* ERR_NOTFOUND when there is none. */
int jobdir_open(struct jobdir *d, const char *path, struct err *e);
/* Undoes what the job did to it when it took its own user's rights away: the broker, which is that
 * user, reads there how the job is and asks for its end. jobdir_open does it, too. */
void jobdir_reopen(const struct jobdir *d);
void jobdir_clear(struct jobdir *d);
/* Whether it is still there. */
bool jobdir_exists(const struct jobdir *d);
char *jobdir_file(const struct jobdir *d, const char *name);
/* The directory of all jobs. */
char *jobdir_root(const struct jobdir *d);

/* Takes the lock that an agent holds until its job is over. false: another one has it. */
bool jobdir_lock(struct jobdir *d);
/* The same, waiting for it, as long as the directory is there. */
bool jobdir_lock_wait(struct jobdir *d, double seconds);
void jobdir_unlock(struct jobdir *d);

enum job_phase {
    JOB_NEW,     /* its command was never started */
    JOB_STARTED, /* and has not told its end */
    JOB_OVER,
};
enum job_phase jobdir_phase(const struct jobdir *d);

#define STOP_REASON_MAX 512
struct stop_request {
    double grace_s;
    char reason[STOP_REASON_MAX];
};
/* false when no end was asked for. A file that cannot be understood asks for one, too. */
bool jobdir_read_stop(const struct jobdir *d, struct stop_request *out);
/* On disk when this returns. A shorter grace that was asked for before stays. */
int jobdir_write_stop(const struct jobdir *d, const struct stop_request *r, struct err *e);

/* Up to max bytes of a small file, NUL-terminated; NULL when it cannot be read. */
char *jobdir_read_small(const char *path, size_t max, size_t *n_out);

#endif
