/* broker: the process that moves the jobs of a home from queued to their end, one per home. All its
 * state is in the lake, the records or with the agents, so that the broker can be killed and
 * started at any time. */
#ifndef BROKER_DAEMON_BROKER_H
#define BROKER_DAEMON_BROKER_H

#include "base/err.h"
#include "lake/core/lake.h"

#include <stdbool.h>
#include <stdint.h>

struct job_offer;
struct machine_refusal;

/* A cloud refused the offer of a job: which one is the best now, for it and for what waits? */
struct broker_replan {
    int64_t run, job;
    const char *stage;                      /* of the run; "" = a job of its own */
    const struct machine_refusal *refusals; /* that hold, of all jobs */
    size_t n;
};

struct broker_options {
    const char *home;
    struct lake *(*open_lake)(struct err *e); /* as admin; called by several threads */
    const char *agent;                        /* path of tradewind-agent */
    double cpus;                              /* of this machine, for all jobs together */
    uint64_t memory_mb;
    double idle_s;       /* without clients and work for this long the broker exits */
    double store_wait_s; /* longest wait between tries to store an output */
    int ready_fd;        /* gets a line when the control socket listens; -1 = none */
    /* The offer is replaced; plans of stages that wait are recorded. *server: the offer of the
     * parameter servers of a gang, where they have their own; provider "" = they have that of the
     * others. ERR_NOFIT: there is no other. Called by several threads. NULL: there never is one. */
    int (*replan)(const struct broker_options *o,
                  const struct broker_replan *question,
                  struct job_offer *offer,
                  struct job_offer *server,
                  struct err *e);
};

/* The error is of the machine or the lake, and not of the job. */
bool broker_passes(const struct err *why);

/* Returns when idle, asked to retire, or at SIGTERM or SIGINT; running jobs continue without the
 * broker. ERR_RETRY: another broker serves this home. */
int broker_serve(const struct broker_options *options, struct err *e);

#endif
