/* dir: the directory of one job, as exec/jobfile.h describes it: its lock, how far the job is, and
 * the request to stop. */
#ifndef EXEC_AGENT_DIR_H
#define EXEC_AGENT_DIR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct job_dir {
    char *path;  /* absolute, without links */
    int lock_fd; /* -1 when we do not hold it */
};

/* ERR_NOTFOUND when there is none. */
int job_dir_open(struct job_dir *d, const char *path, struct err *e);
void job_dir_clear(struct job_dir *d);
/* Whether it is still there. */
bool job_dir_exists(const struct job_dir *d);
char *job_dir_file(const struct job_dir *d, const char *name);

/* Takes the lock that an agent holds until its job is over. false: another one has it. */
bool job_dir_lock(struct job_dir *d);
/* The same, waiting for it, as long as the directory is there. */
bool job_dir_lock_wait(struct job_dir *d, double seconds);
void job_dir_unlock(struct job_dir *d);

enum job_phase {
    JOB_NEW,     /* its command was never started */
    JOB_STARTED, /* and has not told its end */
    JOB_OVER,
};
enum job_phase job_dir_phase(const struct job_dir *d);

#define STOP_REASON_MAX 512
struct stop_request {
    double grace_s;
    char reason[STOP_REASON_MAX];
};
/* false when nobody asked for an end. A file that cannot be understood asks for one, too. */
bool job_dir_read_stop(const struct job_dir *d, struct stop_request *out);
/* On disk when this returns. A shorter grace that was asked for before stays. */
int job_dir_write_stop(const struct job_dir *d, const struct stop_request *r, struct err *e);

/* Up to max bytes of a small file, NUL-terminated; NULL when it cannot be read. */
char *read_small_file(const char *path, size_t max, size_t *n_out);

#endif
