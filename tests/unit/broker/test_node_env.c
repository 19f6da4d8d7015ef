#include "broker/daemon/attempt.h"

#include "base/mem.h"
#include "tap.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define ENV_MAX 32

struct env {
    char *keys[ENV_MAX], *values[ENV_MAX];
    size_t n;
};

static void keep(void *context, const char *key, const char *value)
{
    struct env *v = context;

    v->keys[v->n] = mem_dup(key);
    v->values[v->n++] = mem_dup(value);
}

static void clear(struct env *v)
{
    for (size_t i = 0; i < v->n; i++) {
        free(v->keys[i]);
        free(v->values[i]);
    }
    *v = (struct env){0};
}

static const char *get(const struct env *v, const char *key)
{
    for (size_t i = 0; i < v->n; i++)
        if (!strcmp(v->keys[i], key))
            return v->values[i];
    return "(none)";
}

static bool has(const struct env *v, const char *key, const char *value)
{
    if (!strcmp(get(v, key), value))
        return true;
    printf("# %s is %s, not %s\n", key, get(v, key), value);
    return false;
}

/* TF_CONFIG is compared as JSON: the order of its keys means nothing. */
static bool has_tf(const struct env *v, const char *json)
{
    json_t *is = json_loads(get(v, "TF_CONFIG"), 0, NULL), *wanted = json_loads(json, 0, NULL);
    bool same = wanted && json_equal(is, wanted);

    if (!same)
        printf("# TF_CONFIG is %s\n", get(v, "TF_CONFIG"));
    json_decref(is);
    json_decref(wanted);
    return same;
}

static const char *const hosts[] = {"10.0.0.1", "10.0.0.2", "fd00::3"};

static void test_cluster(void)
{
    struct node_place p = {
        .rank = 2, .nodes = 3, .servers = 1, .elastic = true, .port = 2222, .hosts = hosts};
    struct env v = {0};

    node_env(&p, keep, &v);
    CHECK(has(&v, "MASTER_ADDR", "10.0.0.1") && has(&v, "MASTER_PORT", "2222") &&
              has(&v, "RANK", "2") && has(&v, "WORLD_SIZE", "3") && has(&v, "LOCAL_RANK", "0") &&
              has(&v, "LOCAL_WORLD_SIZE", "1") && has(&v, "NODE_RANK", "2"),
          "torch: rank 0 is the master, and the server counts");
    CHECK(has_tf(&v, "{\"cluster\": {\"ps\": [\"10.0.0.1:2222\"], \"worker\": [\"10.0.0.2:2222\","
                     " \"[fd00::3]:2222\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}}"),
          "TensorFlow: ps and workers, whose indices begin at 0");
    CHECK(has(&v, "TRADEWIND_ROLE", "worker") && has(&v, "TRADEWIND_WORKER", "1") &&
              has(&v, "TRADEWIND_WORKERS", "2") && has(&v, "TRADEWIND_SERVER", "10.0.0.1:2222") &&
              has(&v, "TRADEWIND_ELASTIC", "1") && has(&v, "TRADEWIND_RANK", "2") &&
              has(&v, "TRADEWIND_NODES", "3") && has(&v, "ROLE", "worker"),
          "ours");
    clear(&v);
    p.rank = 0;
    node_env(&p, keep, &v);
    CHECK(has_tf(&v, "{\"cluster\": {\"ps\": [\"10.0.0.1:2222\"], \"worker\": [\"10.0.0.2:2222\","
                     " \"[fd00::3]:2222\"]}, \"task\": {\"type\": \"ps\", \"index\": 0}}") &&
              has(&v, "TRADEWIND_ROLE", "server") && has(&v, "TRADEWIND_WORKER", "(none)") &&
              has(&v, "ROLE", "server"),
          "and of the server");
    clear(&v);
}

static void test_gang(void)
{
    static const char *const here[] = {"127.0.0.1", "127.0.0.1"};
    struct node_place p = {.rank = 1, .nodes = 2, .shared = true, .port = 20000, .hosts = here};
    struct env v = {0};

    node_env(&p, keep, &v);
    CHECK(has_tf(&v, "{\"cluster\": {\"worker\": [\"127.0.0.1:20000\", \"127.0.0.1:20001\"]},"
                     " \"task\": {\"type\": \"worker\", \"index\": 1}}"),
          "without a server all are workers; on one machine each has its port");
    CHECK(has(&v, "MASTER_PORT", "20000") && has(&v, "RANK", "1") &&
              has(&v, "TRADEWIND_SERVER", "(none)") && has(&v, "TRADEWIND_WORKER", "1") &&
              has(&v, "ROLE", "(none)"),
          "and the master's is that of rank 0");
    clear(&v);
}

static void test_port(void)
{
    bool within = true;

    for (int64_t job = 1; job < 100000; job += 7) {
        unsigned port = node_port("/home/ann/.tradewind", job, 64);
        within = within && port >= NODE_PORT_MIN && port + 63 <= NODE_PORT_MAX;
    }
    CHECK(within, "the ports of all nodes are within their range");
    CHECK(node_port("/h", 1, 5) != node_port("/h", 6, 5), "two gangs have different ones");
    CHECK(node_port("/h", 1, 1000000) == NODE_PORT_MIN,
          "a gang larger than the range has the first");
}

int main(void)
{
    test_cluster();
    test_gang();
    test_port();
    return TAP_DONE();
}
