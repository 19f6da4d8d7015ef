/* broker: the process that moves the jobs of a home from queued to their end, one per home. All its
 * state is in the lake, the records or with the agents, so that the broker can be killed and
 * started at any time. */
#ifndef BROKER_DAEMON_BROKER_H
#define BROKER_DAEMON_BROKER_H

#include "base/err.h"
#include "lake/core/lake.h"

#include <stdint.h>

struct broker_options {
    const char *home;
    struct lake *(*open_lake)(struct err *e); /* as admin; called by several threads */
    const char *agent;                        /* path of tradewind-agent */
    double cpus;                              /* of this machine, for all jobs together */
    uint64_t memory_mb;
    double idle_s;       /* without clients and work for this long the broker exits */
    double store_wait_s; /* longest wait between tries to store an output */
    int ready_fd;        /* gets a line when the control socket listens; -1 = none */
};

/* Returns when idle, asked to retire, or at SIGTERM or SIGINT; running jobs continue without the
 * broker. ERR_RETRY: another broker serves this home. */
int broker_serve(const struct broker_options *options, struct err *e);

#endif
