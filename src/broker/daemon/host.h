/* host: work on the hosts of the configuration, for one job: provision a host, send the job, bring
 * back its output, clear and release the host. All functions wait for the network, and are called
 * by worker threads. */
#ifndef BROKER_DAEMON_HOST_H
#define BROKER_DAEMON_HOST_H

#include "broker/daemon/broker.h"
#include "broker/machine/machines.h"
#include "exec/exec.h"
#include "spec/config.h"

/* Value of a job's `on` for any host of the configuration. */
#define HOST_ANY "ssh"

/* The pool of the configuration's hosts; owner as in machines_owner. */
struct cloud *host_pool_open(const struct config *c, const char *owner, struct err *e);
/* Number of hosts of a group; HOST_ANY: all. */
size_t host_count(const struct config *c, const char *group);

struct host_wish {
    const char *home, *agent;
    const char *group; /* or HOST_ANY */
    int64_t job, run;
    double cpus;
    uint64_t memory_mb;
    unsigned gpus;        /* at least; 0 = none */
    const char *gpu_type; /* as the configuration has it; "" = any */
};
/* Provisions a host that no other home uses. *attempt is the number of the token, from 1 on; a used
 * token is skipped, and *attempt becomes the number that was taken. The same attempt gets the same
 * host again. A host whose key has changed, or that refuses ours, is left out: after 0 e->err says
 * which one, after -1 with CLOUD_AUTH there is no other. After -1 e->failure says what to do
 * (cloud.h); a refused host has no record. */
int host_provision(const struct host_wish *w,
                   unsigned *attempt,
                   struct machine *out,
                   struct cloud_error *e);
/* Whether n hosts could be provisioned now; provisions and records nothing. e as above. */
int host_ask(const struct host_wish *w, unsigned n, struct cloud_error *e);
/* The recorded host of a job, with the number of its attempt. ERR_NOTFOUND: none, and *attempt is
 * the first free number. */
int host_find(
    struct machines *records, int64_t job, unsigned *attempt, struct machine *out, struct err *e);
/* The machine as exec addresses it; borrows the texts. */
struct exec_host host_of(const struct machine *m, const char *agent, const char *home);

/* Installs the agent, takes the host's lease, and sends directory as the job's. A job that was
 * started there already is fine. ERR_NOFIT: another home uses the host, or it was released. */
int host_send(const struct exec_host *h, int64_t job, const char *directory, struct err *e);
/* Installs the agent of this version, and renews the host's lease. */
int host_reach(const struct exec_host *h, struct err *e);
/* The command that powers a machine of a cloud off, by the shell there. */
extern const char host_power_off[];
/* Of a machine of a cloud: installs the agent and starts, or renews, its watch, which powers the
 * machine off when the lease has lapsed, and passes notices of preemption on. */
int host_watch(const struct machine *m, const struct exec_host *h, double lease_s, struct err *e);
/* Renews the leases of these machines: in the records, and of machines of clouds also there.
 * lease_s: of the latter. One that does not answer does not keep the others from it. */
int host_renew(
    const struct broker_options *o, char (*tokens)[65], size_t n, double lease_s, struct err *e);

/* Ends the job's processes and removes its files on the host. ERR_RETRY: not yet; call again. */
int host_empty(const char *agent, const struct machine *m, const char *reason, struct err *e);
/* Does the same, and releases the host, whose job was over at over_ms; a machine of a cloud is
 * terminated as it is. One that another process released meanwhile is fine. */
int host_release(const char *home,
                 const char *agent,
                 struct machine *m,
                 int64_t over_ms,
                 const char *reason,
                 struct err *e);

#endif
