/* node_env: the variables by which the programs of a gang find each other: torch's, TensorFlow's,
 * SkyPilot's list of addresses, and our own. Pure. */
#ifndef BROKER_DAEMON_NODE_ENV_H
#define BROKER_DAEMON_NODE_ENV_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Ports that gangs are given: below those that systems hand out by themselves. */
#define NODE_PORT_MIN 20000
#define NODE_PORT_MAX 31999

/* One node among those of its gang. */
struct node_place {
    unsigned rank, nodes;
    unsigned servers; /* the first so many hold the model, the others are workers; 0 = all alike */
    bool elastic;     /* workers that end leave the others going */
    bool shared;      /* all on one machine: each listens on a port of its own */
    unsigned port;    /* of rank 0; where shared, rank n has port + n */
    const char *const *hosts; /* by rank, as addresses or names */
};

/* A port for a gang: another one for another home or another gang, as far as there are enough. */
unsigned node_port(const char *home, int64_t first_job, unsigned nodes);

/* Calls set for each of MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
 * NODE_RANK, TF_CONFIG, and TRADEWIND_RANK, _NODES, _ROLE, _SERVER, _WORKER, _WORKERS, _ELASTIC;
 * beside a server also of ROLE. */
void node_env(const struct node_place *p,
              void (*set)(void *context, const char *key, const char *value),
              void *context);

#endif
