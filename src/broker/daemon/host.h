/* host: what workers do with the hosts of the configuration for one job: rent one, send the job
 * there, bring back what it made, clear up and give the host back. Everything here may take as long
 * as a network does, and is called by threads of their own. */
#ifndef BROKER_DAEMON_HOST_H
#define BROKER_DAEMON_HOST_H

#include "broker/machine/machines.h"
#include "exec/exec.h"
#include "spec/config.h"

/* What `on` of a job says when every host of the configuration will do. */
#define HOST_ANY "ssh"

/* The pool of these hosts; owner as machines_owner tells it. */
struct cloud *host_pool_open(const struct config *c, const char *owner, struct err *e);
/* How many hosts a group has; HOST_ANY: all. */
size_t host_count(const struct config *c, const char *group);

struct host_wish {
    const char *home, *agent;
    const char *group; /* or HOST_ANY */
    int64_t job, run;
    double cpus;
    uint64_t memory_mb;
};
/* Rents one that no other home uses. *attempt is the number in the token, from 1 on: a token that
 * was used up is followed by the next, and *attempt says which it became. Asked again with the same
 * attempt the same host is the answer. After -1 *failure says what to do (cloud.h); of what was
 * refused no record stays.
 */
int host_provision(const struct host_wish *w,
                   unsigned *attempt,
                   struct machine *out,
                   enum cloud_failure *failure,
                   struct err *e);
/* Whether n of them could be rented now; nothing is rented or written down. *failure as above. */
int host_ask(const struct host_wish *w, unsigned n, enum cloud_failure *failure, struct err *e);
/* The host that a job has by the records, with the number of its attempt. ERR_NOTFOUND: none; then
 * *attempt is the first that is free. */
int host_find(
    struct machines *records, int64_t job, unsigned *attempt, struct machine *out, struct err *e);
/* How jobs get to a machine: its texts are those of m. */
struct exec_host host_of(const struct machine *m, const char *agent);

/* The agent is there, the host is ours, and directory becomes that of the job over there. One that
 * was started there already is fine. ERR_NOFIT: another home uses it, or it was given back. */
int host_send(const struct exec_host *h, int64_t job, const char *directory, struct err *e);
/* The agent is there (a newer one of ours, after an upgrade), and its lease is renewed. */
int host_reach(const struct exec_host *h, struct err *e);
/* The leases of these records. */
int host_renew(const char *home, char (*tokens)[65], size_t n, struct err *e);

/* Nothing of the job is left on the host, what may still run there included. ERR_RETRY: not yet, to
 * be called again. */
int host_empty(const char *agent, const struct machine *m, const char *reason, struct err *e);
/* The same, and the host, which is not needed since over_ms, is given back. One that somebody else
 * gave back meanwhile is fine. */
int host_release(const char *home,
                 const char *agent,
                 struct machine *m,
                 int64_t over_ms,
                 const char *reason,
                 struct err *e);

#endif
