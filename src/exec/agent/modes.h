/* modes: what main.c calls for the commands of the agent, by file. */
#ifndef EXEC_AGENT_MODES_H
#define EXEC_AGENT_MODES_H

#include "base/err.h"
#include "exec/agent/jobdir.h"
#include "exec/notices.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- claim.c ---- */

/* For at most this number of seconds, unless it is taken again. */
#define CLAIM_MAX_S 3600.0

/* The home whose directory of jobs is root has the machine for token from now on; label says to
 * people who that is. ERR_NOFIT with the label of another home that has it: one whose claim did not
 * lapse, or whose job runs here. */
int claim_take(
    const char *root, const char *token, double seconds, const char *label, struct err *e);
/* Gives it back, if root has it, with token or for one that only looks. Repeatable. */
int claim_release(const char *root, const char *token, struct err *e);

/* ---- follow.c ---- */

enum followed {
    FOLLOWED_END,     /* the job is over and everything was told */
    FOLLOWED_NOTHING, /* no agent lives there, and none ever started the command */
    FOLLOWED_GONE,    /* the agent was killed; what was left of the job is ended */
    FOLLOWED_REMOVED, /* its directory was removed */
    FOLLOWED_FAILED,  /* the connection is closed, or a file cannot be read: e says */
};
enum followed follow(
    struct jobdir *d, uint64_t state_offset, uint64_t log_offset, int out_fd, struct err *e);

/* ---- jobfiles.c ---- */

/* dir is ROOT/NAME, empty. Places the files of the list (exec/reuse.h) that the cache of ROOT has,
 * and answers which those are. */
int jobfiles_place(const char *dir, FILE *list, FILE *answer, struct err *e);
/* Everything else has come: all files of the list must be there, and copies of those that the cache
 * does not have go there. */
int jobfiles_settle(const char *dir, FILE *list, struct err *e);
/* The job is over and its directory about to be removed: large files of its output move to the
 * cache, as many as can be read in a few seconds. */
void jobfiles_keep_output(const struct jobdir *d);

/* ---- lease.c ---- */

/* root/lease: agents wait this number of seconds from now on. */
int lease_renew(const char *root, double seconds, struct err *e);
/* Whether an agent holds the lock of a job below root. */
bool lease_has_work(const char *root);
/* Of the watch over the machine: -1 when another process has it, or e says why there can be none.
 */
int lease_lock(const char *root, struct err *e);
/* Whether there was ever a watch: the machine is an instance that bills. */
bool lease_is_watched(const char *root);
struct watch_order {
    const char *root;
    double lease_s;
    const char *power_off; /* by the shell; NULL = never */
    struct notices notices;
};
/* With the lock: waits until the lease of root has lapsed, at least lease_s from now and from the
 * end of the last job, and no job runs below root; then runs power_off, once. Asks for notices
 * meanwhile. */
void lease_watch(const struct watch_order *w);

/* ---- notice.c ---- */

/* Asks the metadata service; root/notice says what it tells. */
struct asking;
struct asking *notice_begin(const char *root, const struct notices *service);
void notice_ask(struct asking *q);
void notice_free(struct asking *q);
/* Whether the cloud takes the machine of root away. */
bool notice_read(const char *root, struct notice *out);

#endif
