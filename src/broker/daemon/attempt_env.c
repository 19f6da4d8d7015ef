/* The variables of a job: the user's, those by which a gang finds together, secrets. */
#include "base/buf.h"
#include "base/mem.h"
#include "broker/core/gpus.h"
#include "broker/core/secrets.h"
#include "broker/daemon/attempt.h"
#include "exec/jobfile.h"

#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Places where ports are looked for, and nodes whose ports are. */
#define PORT_TRIES 64

void attempt_env_clear(struct attempt_env *v)
{
    for (size_t i = 0; i < v->n; i++) {
        explicit_bzero(v->texts[i], strlen(v->texts[i])); /* it may be a secret */
        free(v->texts[i]);
    }
    free(v->texts);
}

static void set_env(struct attempt_env *v, const char *key, const char *value)
{
    v->texts = mem_room(v->texts, v->n, &v->cap, sizeof *v->texts);
    v->texts[v->n++] = mem_printf("%s=%s", key, value);
}

#define NODE_IPS "SKYPILOT_NODE_IPS"

/* "ann@gpu1.lab" as a number; what has none (an alias of ssh) stays as it is. */
static void put_ip(struct buf *out, const char *host, size_t n)
{
    AUTO_MEM char *name = mem_printf("%.*s", (int)n, host);
    const char *at = strrchr(name, '@'), *bare = at ? at + 1 : name;
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char ip[NI_MAXHOST] = "";

    if (getaddrinfo(bare, NULL, &wanted, &found) == 0)
        getnameinfo(found->ai_addr, found->ai_addrlen, ip, sizeof ip, NULL, 0, NI_NUMERICHOST);
    if (found)
        freeaddrinfo(found);
    buf_puts(out, ip[0] ? ip : bare);
}

/* The addresses of all nodes, a line each. */
static void put_node_ips(const struct attempt *j, struct buf *ips)
{
    for (const char *at = j->nodes; *at;) {
        size_t n = strcspn(at, "\n");
        put_ip(ips, at, n);
        at += n;
        if (*at == '\n') {
            buf_puts(ips, "\n");
            at++;
        }
    }
}

static const char *env_of(const struct attempt *j, const char *key)
{
    const char *value = NULL;

    for (size_t i = 0; i < j->details.n_envs; i++)
        if (!strcmp(j->details.envs[i].key, key))
            value = j->details.envs[i].value;
    return value;
}

struct gang_env {
    const struct attempt *job;
    struct attempt_env *env;
};

/* What the user sets himself stays. */
static void set_unless_own(void *context, const char *key, const char *value)
{
    const struct gang_env *g = context;

    if (!env_of(g->job, key))
        set_env(g->env, key, value);
}

static bool is_free(unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_ANY)};
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd < 0)
        return true; /* which the job will find out */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
}

/* Free ports of this machine: all nodes look before any of them starts, and find the same. */
static unsigned free_ports(const struct attempt *j)
{
    unsigned nodes = j->details.nodes, port = 0;

    for (unsigned i = 0; i < PORT_TRIES; i++) {
        unsigned n = 0;
        port = node_port(j->home, j->job.id - j->details.rank + (int64_t)i * nodes, nodes);
        while (n < nodes && n < PORT_TRIES && is_free(port + n))
            n++;
        if (n == nodes || n == PORT_TRIES)
            break;
    }
    return port;
}

/* The user's MASTER_PORT is the port of TF_CONFIG and all others, too. */
static unsigned gang_port(const struct attempt *j)
{
    const char *own = env_of(j, "MASTER_PORT");
    unsigned long port = own && own[strspn(own, "0123456789")] == '\0' ? strtoul(own, NULL, 10) : 0;

    if (port > 0 && port <= UINT16_MAX)
        return (unsigned)port;
    return j->nodes ? node_port(j->home, j->job.id - j->details.rank, j->details.nodes)
                    : free_ports(j);
}

/* By which the programs of a gang find each other; ips are lines, which become strings. */
static void set_gang_env(const struct attempt *j, char *ips, struct attempt_env *v)
{
    unsigned nodes = j->details.nodes;
    AUTO_MEM const char **hosts = mem_zero(nodes, sizeof *hosts);
    struct gang_env both = {j, v};
    char *rest = ips;

    for (unsigned rank = 0; rank < nodes; rank++) {
        const char *host = rest ? strsep(&rest, "\n") : NULL;
        hosts[rank] = host && *host ? host : "127.0.0.1";
    }
    node_env(&(struct node_place){.rank = j->details.rank,
                                  .nodes = nodes,
                                  .servers = j->details.servers,
                                  .elastic = j->details.elastic,
                                  .shared = !j->nodes,
                                  .port = gang_port(j),
                                  .hosts = hosts},
             set_unless_own, &both);
}

/* Programs and libraries of an image are elsewhere than those of the machine; devices are the same.
 */
static bool is_device(const char *key)
{
    return !strcmp(key, "CUDA_VISIBLE_DEVICES");
}

/* A list that has none hides all: nothing is not the same as no list. */
static void set_visible(struct attempt_env *v, const char *key, const char *list)
{
    set_env(v, key, *list ? list : "-1");
}

/* Those of the job alone, by the numbers of nvidia-smi, which CUDA would order by their speed. A
 * host is the job's alone, and what it has is said by number: both vendors read the same list. */
static void set_devices(const struct attempt *j, struct attempt_env *v)
{
    AUTO_CLEAR(buf) struct buf nvidia;
    AUTO_CLEAR(buf) struct buf amd;

    buf_init(&nvidia, JOBFILE_BYTES_MAX);
    buf_init(&amd, JOBFILE_BYTES_MAX);
    if (!j->details.gpus)
        return;
    if (j->remote)
        for (unsigned i = 0; i < j->details.gpus; i++)
            buf_printf(&nvidia, "%s%u", i ? "," : "", i);
    else
        gpus_put_numbers(j->devices, "nvidia", &nvidia);
    if (!j->remote)
        gpus_put_numbers(j->devices, "amd", &amd);
    set_env(v, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    set_visible(v, "CUDA_VISIBLE_DEVICES", buf_str(&nvidia));
    set_visible(v, "HIP_VISIBLE_DEVICES", buf_str(j->remote ? &nvidia : &amd));
}

static void fill(const struct attempt *j, struct attempt_env *v)
{
    AUTO_CLEAR(buf) struct buf ips;
    char run[24];

    buf_init(&ips, JOBFILE_BYTES_MAX);
    for (size_t i = 0; i < j->details.n_submitter; i++)
        if (!j->details.image[0] || is_device(j->details.submitter[i].key))
            set_env(v, j->details.submitter[i].key, j->details.submitter[i].value);
    for (size_t i = 0; i < j->details.n_envs; i++) {
        const struct spec_pair *env = &j->details.envs[i];
        if (env->value && !(j->nodes && !strcmp(env->key, NODE_IPS)))
            set_env(v, env->key, env->value);
    }
    if (j->nodes) {
        put_node_ips(j, &ips);
        set_env(v, NODE_IPS, buf_str(&ips));
    }
    if (j->details.nodes > 1) {
        AUTO_MEM char *lines = mem_dup(buf_str(&ips));
        set_gang_env(j, lines, v);
    }
    set_devices(j, v);
    snprintf(run, sizeof run, "%" PRId64, j->job.asked.run);
    if (j->job.asked.run)
        set_env(v, "TRADEWIND_RUN", run);
    if (j->details.stage[0])
        set_env(v, "TRADEWIND_STAGE", j->details.stage);
}

/* Values of secrets, which the agent makes stars of in the log; behind all others, so that they
 * count. */
static int add_secrets(const struct attempt *j, struct attempt_env *v, struct err *e)
{
    AUTO_CLEAR(secrets) struct secrets secrets = {0};

    if (j->details.n_secrets && secrets_read(j->home, j->job.asked.run, &secrets, e) < 0)
        return -1;
    for (size_t i = 0; i < j->details.n_secrets; i++) {
        const char *name = j->details.secrets[i];
        const char *value = secrets_get(&secrets, j->details.stage, name);
        if (!value)
            return err_set(e, ERR_NOTFOUND, "secret %.64s has no value", name);
        set_env(v, name, value);
    }
    return 0;
}

int attempt_env_fill(const struct attempt *j, struct attempt_env *v, struct err *e)
{
    fill(j, v);
    return add_secrets(j, v, e);
}
