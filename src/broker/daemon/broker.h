/* broker: the one process of a home that moves jobs on, from queued to their end. It keeps nothing
 * that is not in the lake or with the agents, so that it can be killed and started at any time. */
#ifndef BROKER_DAEMON_BROKER_H
#define BROKER_DAEMON_BROKER_H

#include "base/err.h"
#include "lake/core/lake.h"

#include <stdint.h>

struct broker_options {
    const char *home;
    struct lake *(*open_lake)(void *context, struct err *e); /* as admin; from several threads */
    void *context;
    const char *agent; /* path of tradewind-agent */
    double cpus;       /* of this machine, for all jobs together */
    uint64_t memory_mb;
    double idle_s;       /* nobody there and nothing to do for so long: the end */
    double store_wait_s; /* the longest between tries to store an output */
    int ready_fd;        /* gets a line when clients are let in; -1 = none */
};

/* Until it is idle, asked to retire, or SIGTERM or SIGINT came: what runs then goes on without it.
 * ERR_RETRY: another broker serves this home. */
int broker_serve(const struct broker_options *options, struct err *e);

#endif
