/* exec: execution of a job on a machine through the agent there. The drivers (driver.h) differ in
 * how a command and a directory get to the machine: local, or by ssh. */
#ifndef EXEC_EXEC_H
#define EXEC_EXEC_H

#include "base/auto.h"
#include "base/err.h"
#include "exec/frames.h"

#include <stdbool.h>
#include <stdint.h>

struct exec_host {
    const char *driver;  /* "local", "ssh" */
    const char *address; /* ssh: as the OpenSSH client takes it (host, user@host, an alias) */
    /* Directory over there below which jobs have theirs. ssh: "~/x", and what has no slash in
     * front, is below the home directory there. */
    const char *root;
    const char *agent; /* local: path of tradewind-agent here, which is also what ssh copies over */
    /* ssh: the instance for which jobs are sent and removed. What was sent with it is refused, or
     * goes, once a job was removed with it. NULL = no instance. */
    const char *token;
    /* ssh: the home whose key and known hosts (clouds/ssh_key, clouds/known_hosts) are used, under
     * this name instead of the address, which clouds use again. NULL = those of the user's own ssh.
     */
    const char *identity, *alias;
};

/* Where tradewind-agent is: $TRADEWIND_AGENT, beside the running program, in ../libexec of it. The
 * caller frees it. ERR_NOTFOUND that says where it was looked for. */
char *exec_find_agent(struct err *e);

/* Whether commands run there; nothing is changed, and root and agent are not asked for. Errors as
 * exec_prepare has them. Blocks for at most 10 s. */
int exec_answers(const struct exec_host *h, struct err *e);
/* Whether this shell command succeeds there, within 10 s; as exec_answers otherwise. */
int exec_succeeds(const struct exec_host *h, const char *command, struct err *e);
/* Whether it can be reached, and the agent of this version is there (ssh: copied when not); makes
 * root. ERR_RETRY: not reachable now; ERR_DENIED: the key was refused, or the host's own key is not
 * the one we know. Blocks for at most 30 s. */
int exec_prepare(const struct exec_host *h, struct err *e);

/* Each job's directory over there is root/ID.
 * local_dir (work, input, checkpoint, job ...) becomes root/ID: all of it or nothing. ERR_USAGE
 * when a job was started there already; ERR_NOFIT when the machine was released. local: it is
 * already. */
int exec_send(const struct exec_host *h, int64_t id, const char *local_dir, struct err *e);
/* output, checkpoint or another part of root/ID becomes local_dir/PART, replacing what was there;
 * a part that is not there is an empty directory. local: nothing to do. */
int exec_collect(
    const struct exec_host *h, int64_t id, const char *part, const char *local_dir, struct err *e);
/* Removes root/ID over there, when no agent lives in it (ERR_USAGE). Repeatable. local: too. */
int exec_remove(const struct exec_host *h, int64_t id, struct err *e);

/* Starts the agent, which outlives us, and follows it; an agent that runs already is followed from
 * the beginning. Never blocks: what goes wrong is told by exec_read. */
struct exec_stream;
struct exec_stream *exec_start(const struct exec_host *h, int64_t id, struct err *e);
/* Follows a job that was started before, from these places of its files on. */
struct exec_stream *exec_follow(const struct exec_host *h,
                                int64_t id,
                                uint64_t state_offset,
                                uint64_t log_offset,
                                struct err *e);
/* The agent and the job live on. */
void exec_stream_free(struct exec_stream *s);
AUTO_DEFINE(exec_stream)
/* To poll for reading. */
int exec_stream_fd(const struct exec_stream *s);

enum exec_more {
    EXEC_MORE,   /* come back when the fd is readable */
    EXEC_OVER,   /* the job ended and everything was told */
    EXEC_BROKEN, /* the connection broke: follow again; e says how */
    EXEC_GONE,   /* no agent lives there and the job never told its end: it is lost; e says how */
};
/* What is there now, at most about a megabyte at once. visit as for frames_take. */
enum exec_more exec_read(struct exec_stream *s, frame_visit *visit, void *context, struct err *e);

/* Asks the agent to end its job: SIGTERM to the whole tree, SIGKILL after grace_s. Repeatable; a
 * shorter grace replaces a longer. Returns once the request is on disk there; the stream tells the
 * end. A job that is over is fine; one that was sent and not started yet will end at its start. */
int exec_stop(
    const struct exec_host *h, int64_t id, double grace_s, const char *reason, struct err *e);
/* Renews the lease of root: agents that wait there with their machine's power-off wait seconds on.
 */
int exec_renew(const struct exec_host *h, double seconds, struct err *e);

/* The watch over a machine that bills. */
struct exec_watch {
    double lease_s;        /* the lease: from now, from its renewals, and from the end of a job */
    const char *power_off; /* by the shell, once, when the lease has lapsed; NULL = never */
    const char *notices;   /* the cloud that gives notice of preemptions: "aws", "gcp", "azure";
                            * NULL = none. exec/notices.h has the whole form */
};
/* Renews the lease of root, and starts the watch where none lives: a process over there that
 * outlives us, powers the machine off when the lease has lapsed and no job runs, and passes notices
 * on to the jobs (STATE_NOTICE). Repeatable: call it right after the first exec_prepare, and
 * instead of exec_renew from then on, so that a watch that was killed is replaced. A watch that
 * lives keeps its power_off and notices. */
int exec_watch(const struct exec_host *h, const struct exec_watch *w, struct err *e);

/* root's home uses the machine from now on, for at most an hour unless it says so again; label says
 * to people who that is. ERR_NOFIT: another home does, "in use by LABEL". */
int exec_claim(
    const struct exec_host *h, const char *token, double seconds, const char *label, struct err *e);
/* It does not any more, if it did with this token. Repeatable. */
int exec_release(const struct exec_host *h, const char *token, struct err *e);

/* Addresses that cannot be one, unknown drivers, no root or agent: ERR_USAGE. */
int exec_host_check(const struct exec_host *h, struct err *e);

#endif
