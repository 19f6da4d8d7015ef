/* The environment variables by which the programs of a gang find each other: those of
 * torch, TensorFlow, SkyPilot and Tradewind. Pure. */
#include "base/auto.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "broker/daemon/attempt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gangs of one home follow one another so far apart: most are smaller. */
#define PORTS_APART 16

unsigned node_port(const char *home, int64_t first_job, unsigned nodes)
{
    uint64_t all = NODE_PORT_MAX - NODE_PORT_MIN + 1;
    uint64_t room = nodes < all ? all - nodes : 1;

    return NODE_PORT_MIN +
           (unsigned)((hash_text(home) % all + (uint64_t)first_job * PORTS_APART) % room);
}

static unsigned port_of(const struct node_place *p, unsigned rank)
{
    return p->shared ? p->port + rank : p->port;
}

/* "10.0.0.1:2222"; an IPv6 address in brackets. New string. */
static char *address_of(const struct node_place *p, unsigned rank)
{
    const char *host = p->hosts[rank];
    bool v6 = strchr(host, ':') != NULL;

    return mem_printf("%s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "", port_of(p, rank));
}

static json_t *addresses(const struct node_place *p, unsigned from, unsigned to)
{
    json_t *list = json_array();

    for (unsigned rank = from; rank < to; rank++) {
        AUTO_MEM char *address = address_of(p, rank);
        json_array_append_new(list, json_text(address));
    }
    return list;
}

/* As TensorFlow has it: {"cluster": {"ps": [..], "worker": [..]}, "task": {"type": "worker",
 * "index": 0}}; without servers all are workers, of which the first is the chief. New string. */
static char *tf_config(const struct node_place *p)
{
    bool serves = p->rank < p->servers;
    AUTO_JSON json_t *root = json_object();
    json_t *cluster = json_object();

    if (p->servers)
        json_object_set_new(cluster, "ps", addresses(p, 0, p->servers));
    json_object_set_new(cluster, "worker", addresses(p, p->servers, p->nodes));
    json_object_set_new(root, "cluster", cluster);
    json_object_set_new(root, "task",
                        json_pack("{s:s, s:I}", "type", serves ? "ps" : "worker", "index",
                                  (json_int_t)(serves ? p->rank : p->rank - p->servers)));
    return json_dumps(root, JSON_COMPACT);
}

struct setting {
    void (*set)(void *context, const char *key, const char *value);
    void *context;
};

static void set_number(const struct setting *s, const char *key, unsigned value)
{
    char text[16];

    snprintf(text, sizeof text, "%u", value);
    s->set(s->context, key, text);
}

static void set_torch(const struct setting *s, const struct node_place *p)
{
    s->set(s->context, "MASTER_ADDR", p->hosts[0]);
    set_number(s, "MASTER_PORT", p->port);
    set_number(s, "RANK", p->rank);
    set_number(s, "WORLD_SIZE", p->nodes);
    /* One process a node. */
    set_number(s, "LOCAL_RANK", 0);
    set_number(s, "LOCAL_WORLD_SIZE", 1);
    set_number(s, "NODE_RANK", p->rank);
}

static void set_own(const struct setting *s, const struct node_place *p)
{
    bool serves = p->rank < p->servers;

    set_number(s, "TRADEWIND_RANK", p->rank);
    set_number(s, "TRADEWIND_NODES", p->nodes);
    s->set(s->context, "TRADEWIND_ROLE", serves ? "server" : "worker");
    set_number(s, "TRADEWIND_WORKERS", p->nodes - p->servers);
    if (!serves)
        set_number(s, "TRADEWIND_WORKER", p->rank - p->servers);
    if (p->servers) {
        AUTO_MEM char *server = address_of(p, 0);
        s->set(s->context, "ROLE", serves ? "server" : "worker");
        s->set(s->context, "TRADEWIND_SERVER", server);
        set_number(s, "TRADEWIND_ELASTIC", p->elastic);
    }
}

void node_env(const struct node_place *p,
              void (*set)(void *context, const char *key, const char *value),
              void *context)
{
    const struct setting s = {set, context};
    AUTO_MEM char *tf = tf_config(p);

    set_torch(&s, p);
    if (tf)
        set(context, "TF_CONFIG", tf);
    set_own(&s, p);
}
