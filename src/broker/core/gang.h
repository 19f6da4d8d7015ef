/* gang: what each of several jobs that start together is told about the others: the variables that
 * tasks of SkyPilot look for. */
#ifndef BROKER_CORE_GANG_H
#define BROKER_CORE_GANG_H

#include "spec/spec.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;

#define GANG_ENVS 5

struct gang_node {
    unsigned rank, nodes;
    bool is_local; /* all on this machine; the addresses of hosts are told when they are known */
    double gpus;   /* of each node */
    /* The same for all nodes and attempts: a program that resumes by it finds itself. */
    const char *task;
};

/* Fills in at most GANG_ENVS variables and returns how many; texts are in the arena. */
size_t gang_put_envs(struct arena *arena, const struct gang_node *node, struct spec_pair *envs);
/* Whether the variable is one of these. */
bool gang_env_is_own(const char *key);

#endif
