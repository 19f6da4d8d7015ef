/* The driver `pool`: hosts of the configuration, each reserved by one token at a time. cloud.c
 * lists it. */
#include "base/buf.h"
#include "base/mem.h"
#include "cloud/driver.h"

#include <stdio.h>
#include <string.h>

#define HOSTS_SHOWN 4
#define MESSAGE_BYTES 1024
#define ROOT "~/.tradewind-jobs"

static bool is_in(const struct cloud_host *h, const char *group)
{
    return !*group || strcmp(h->group, group) == 0;
}

static bool fits(const struct cloud_host *h, const struct cloud_request *q)
{
    if (!is_in(h, q->region) || (q->host && strcmp(q->host, h->address) != 0))
        return false;
    if ((h->cpus > 0 && h->cpus < q->cpus) || (h->memory_gb > 0 && h->memory_gb < q->memory_gb))
        return false;
    if (q->accelerator && (!h->accelerator || strcasecmp(h->accelerator, q->accelerator) != 0))
        return false;
    return (h->accelerator ? h->accelerators : 0) >= q->accelerators;
}

/* The token that has the host, NULL when it is free. */
static const char *tenant(struct instances *instances, const struct cloud_host *h, int64_t now_ms)
{
    const struct instance *instance;
    size_t at = 0;

    while ((instance = instances_next(instances, &at, now_ms)))
        if (strcmp(instance->machine.address, h->address) == 0)
            return instance->machine.token;
    return NULL;
}

static void show_size(
    struct buf *b, double cpus, double memory_gb, const char *accelerator, double accelerators)
{
    if (cpus > 0)
        buf_printf(b, " %g cpus", cpus);
    if (memory_gb > 0)
        buf_printf(b, " %g GB", memory_gb);
    if (accelerator || accelerators > 0)
        buf_printf(b, " %s:%g", accelerator ? accelerator : "GPU", accelerators);
}

static int refuse_unfit(const struct cloud *c, const struct cloud_request *q, struct cloud_error *e)
{
    AUTO_CLEAR(buf) struct buf asked;
    AUTO_CLEAR(buf) struct buf there;
    size_t n = 0;

    buf_init(&asked, MESSAGE_BYTES);
    buf_init(&there, MESSAGE_BYTES);
    show_size(&asked, q->cpus, q->memory_gb, q->accelerator, q->accelerators);
    for (size_t i = 0; i < c->options.n_hosts; i++) {
        const struct cloud_host *h = &c->options.hosts[i];
        if (!is_in(h, q->region) || n++ >= HOSTS_SHOWN)
            continue;
        buf_printf(&there, "%s%s", n > 1 ? "; " : "", h->address);
        show_size(&there, h->cpus, h->memory_gb, h->accelerator, h->accelerators);
    }
    if (n > HOSTS_SHOWN)
        buf_printf(&there, "; and %zu more", n - HOSTS_SHOWN);
    if (n == 0)
        return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT,
                          "there are no hosts%s%s: list them under hosts: in the configuration",
                          *q->region ? " in the pool " : "", q->region);
    return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_REGION, "no host%s%s has%s: there are %s",
                      *q->region ? " of the pool " : "", q->region, buf_str(&asked),
                      buf_str(&there));
}

static void take_host(const struct cloud *c,
                      const struct cloud_host *h,
                      const struct cloud_request *q,
                      struct cloud_machine *m)
{
    snprintf(m->id, sizeof m->id, "%s", h->address);
    snprintf(m->address, sizeof m->address, "%s", h->address);
    snprintf(m->region, sizeof m->region, "%s", h->group);
    snprintf(m->exec_driver, sizeof m->exec_driver, "ssh");
    snprintf(m->root, sizeof m->root, "%s", c->options.root ? c->options.root : ROOT);
    snprintf(m->accelerator, sizeof m->accelerator, "%s", h->accelerator ? h->accelerator : "");
    m->cpus = h->cpus > 0 ? h->cpus : q->cpus;
    m->memory_gb = h->memory_gb > 0 ? h->memory_gb : q->memory_gb;
    m->accelerators = h->accelerator ? h->accelerators : 0;
    m->price_usd_per_hour = h->price_usd_per_hour;
}

static bool is_among(const char *address, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], address) == 0)
            return true;
    return false;
}

/* With the lock held: the first max hosts that fit and are free. At least one, or -1. */
static int find_free(struct cloud *c,
                     const struct cloud_request *request,
                     int64_t now_ms,
                     const struct cloud_host **out,
                     size_t max,
                     size_t *n_out,
                     struct cloud_error *e)
{
    struct cloud_folder *k = c->priv;
    const char *taken_by = NULL;
    const struct cloud_host *taken = NULL;
    size_t n = 0;

    for (size_t i = 0; i < c->options.n_hosts && n < max; i++) {
        const struct cloud_host *h = &c->options.hosts[i];
        if (!fits(h, request))
            continue;
        const char *by = tenant(k->instances, h, now_ms);
        if (by) {
            taken = h;
            taken_by = by;
        } else {
            out[n++] = h;
        }
    }
    *n_out = n;
    if (n)
        return 0;
    if (!taken)
        return refuse_unfit(c, request, e);
    return cloud_fail(e, CLOUD_CAPACITY, CLOUD_REGION, "every host that fits is taken, %s by %s",
                      taken->address, taken_by);
}

static int pool_provision(struct cloud *c,
                          const struct cloud_request *request,
                          struct instance *instance,
                          struct cloud_error *e)
{
    const struct cloud_host *host;
    size_t n;

    if (find_free(c, request, instance->machine.launched_ms, &host, 1, &n, e) < 0)
        return -1;
    take_host(c, host, request, &instance->machine);
    return 0;
}

static int pool_free_hosts(struct cloud *c,
                           const struct cloud_request *request,
                           const char **out,
                           size_t max,
                           size_t *n_out,
                           struct cloud_error *e)
{
    struct cloud_folder *k = c->priv;
    size_t n = 0, room = c->options.n_hosts;
    AUTO_MEM const struct cloud_host **hosts = mem_zero(room + 1, sizeof *hosts);

    if (instances_lock(k->instances, &e->err) < 0)
        return -1;
    int result = find_free(c, request, cloud_now_ms(c), hosts, room + 1, &n, e);
    instances_unlock(k->instances);
    /* A host that stands in two pools is still one host. */
    for (size_t i = 0; i < n && *n_out < max; i++)
        if (!is_among(hosts[i]->address, out, *n_out))
            out[(*n_out)++] = hosts[i]->address;
    return result;
}

static int pool_open(struct cloud *c, struct err *e)
{
    struct cloud_folder *k = c->priv = mem_zero(1, sizeof *k);

    k->provision = pool_provision;
    /* Hosts run on after a power cut here: the record of their reservations must survive it. */
    k->instances = instances_open(c->options.home, c->driver->name, true, e);
    return k->instances ? 0 : -1;
}

const struct cloud_driver cloud_pool = {
    .name = "pool",
    .sees_at_once = true,
    .open = pool_open,
    .close = cloud_folder_close,
    .launch = cloud_folder_launch,
    .look = cloud_folder_look,
    .terminate = cloud_folder_terminate,
    .list = cloud_folder_list,
    .free_hosts = pool_free_hosts,
};
