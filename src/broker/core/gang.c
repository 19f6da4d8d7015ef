#include "broker/core/gang.h"

#include "base/arena.h"

#include <string.h>

enum node_env { NODE_RANK, NODE_IPS, NODE_COUNT, NODE_GPUS, NODE_TASK };

static const char *const keys[GANG_ENVS] = {
    [NODE_RANK] = "SKYPILOT_NODE_RANK",  [NODE_IPS] = "SKYPILOT_NODE_IPS",
    [NODE_COUNT] = "SKYPILOT_NUM_NODES", [NODE_GPUS] = "SKYPILOT_NUM_GPUS_PER_NODE",
    [NODE_TASK] = "SKYPILOT_TASK_ID",
};

bool gang_env_is_own(const char *key)
{
    for (size_t i = 0; i < GANG_ENVS; i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

/* A line for each node. */
static const char *local_ips(struct arena *arena, unsigned nodes)
{
    static const char one[] = "127.0.0.1\n";
    size_t n = sizeof one - 1;
    char *text = arena_alloc(arena, nodes * n + 1, 1);

    for (unsigned i = 0; text && i < nodes; i++)
        memcpy(text + i * n, one, i + 1 < nodes ? n : n - 1);
    return text;
}

size_t gang_put_envs(struct arena *arena, const struct gang_node *node, struct spec_pair *envs)
{
    const char *const values[GANG_ENVS] = {
        [NODE_RANK] = arena_printf(arena, "%u", node->rank),
        [NODE_IPS] = node->is_local ? local_ips(arena, node->nodes) : NULL,
        [NODE_COUNT] = arena_printf(arena, "%u", node->nodes),
        [NODE_GPUS] = arena_printf(arena, "%.15g", node->gpus),
        [NODE_TASK] = node->task,
    };
    size_t n = 0;

    for (size_t i = 0; i < GANG_ENVS; i++)
        if (values[i])
            envs[n++] = (struct spec_pair){.key = keys[i], .value = values[i]};
    return n;
}
