/* node_env: the environment variables by which the programs of a gang find each other: those of
 * torch, TensorFlow, SkyPilot and Tradewind. Pure. */
#ifndef BROKER_DAEMON_NODE_ENV_H
#define BROKER_DAEMON_NODE_ENV_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Ports for gangs: below the ephemeral ports of Linux. */
#define NODE_PORT_MIN 20000
#define NODE_PORT_MAX 31999

/* One node of a gang. */
struct node_place {
    unsigned rank, nodes;
    unsigned servers; /* the first nodes, parameter servers; the others are workers; 0 = none */
    bool elastic;     /* the others continue when a worker ends */
    bool shared;      /* all on one machine: each listens on a port of its own */
    unsigned port;    /* of rank 0; where shared, rank n has port + n */
    const char *const *hosts; /* by rank, as addresses or names */
};

/* The port of a gang; as far as there are enough, each home and gang has another one. */
unsigned node_port(const char *home, int64_t first_job, unsigned nodes);

/* Calls set for each of MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
 * NODE_RANK, TF_CONFIG, and TRADEWIND_RANK, _NODES, _ROLE, _SERVER, _WORKER, _WORKERS, _ELASTIC;
 * beside a server also of ROLE. */
void node_env(const struct node_place *p,
              void (*set)(void *context, const char *key, const char *value),
              void *context);

#endif
