#include "app/run/location.h"

#include "base/buf.h"
#include "broker/machine/clouds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX (sizeof((struct app_run_location *)0)->hosts / sizeof(const struct config_host *))

const char app_run_any_host[] = "ssh";

/* ---- choosing ---- */

/* "lab, farm"; each group once. */
static void put_groups(const struct config *c, struct buf *out)
{
    for (size_t i = 0; i < c->n_hosts; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen = seen || !strcmp(c->hosts[k].pool, c->hosts[i].pool);
        if (!seen)
            buf_printf(out, "%s%s", out->len ? ", " : "", c->hosts[i].pool);
    }
}

static int no_such_group(const struct config *c, const char *field, const char *on, struct err *e)
{
    AUTO_CLEAR(buf) struct buf groups;

    buf_init(&groups, 200);
    put_groups(c, &groups);
    if (c->n_hosts == 0)
        return err_set(
            e, ERR_USAGE,
            "%s %.60s: neither local, sim nor a cloud, and there are no host groups yet: "
            "name some under hosts: in %s",
            field, on, c->file);
    return err_set(e, ERR_USAGE,
                   "%s %.60s: neither local, sim, a cloud nor a host group; there %s %s", field, on,
                   strchr(buf_str(&groups), ',') ? "are" : "is", buf_str(&groups));
}

/* "ssh" means every host, unless a group has that name. */
static const char *group_meant(const struct config *c, const char *on)
{
    for (size_t i = 0; i < c->n_hosts; i++)
        if (!strcmp(c->hosts[i].pool, on))
            return c->hosts[i].pool;
    return c->n_hosts && !strcmp(on, app_run_any_host) ? app_run_any_host : NULL;
}

/* A size that the configuration leaves out counts as the largest. */
static double size_of(double said)
{
    return said > 0 ? said : HUGE_VAL;
}

static int larger_first(const void *a, const void *b)
{
    const struct config_host *x = *(const struct config_host *const *)a;
    const struct config_host *y = *(const struct config_host *const *)b;

    if (size_of(x->cpus) != size_of(y->cpus))
        return size_of(x->cpus) > size_of(y->cpus) ? -1 : 1;
    if (size_of(x->memory_gb) != size_of(y->memory_gb))
        return size_of(x->memory_gb) > size_of(y->memory_gb) ? -1 : 1;
    return x < y ? -1 : x > y;
}

int app_run_location_find(const struct config *c,
                          const char *on,
                          const char *field,
                          struct app_run_location *out,
                          struct err *e)
{
    *out = (struct app_run_location){.on = "local", .here = app_job_local_room()};
    if (!on || !strcmp(on, "local"))
        return 0;
    if (!strcmp(on, "sim")) {
        out->on = "sim";
        return 0;
    }
    out->on = group_meant(c, on);
    if (!out->on && clouds_are_meant(on)) {
        out->on = on;
        out->is_cloud = true;
        return 0;
    }
    if (!out->on)
        return no_such_group(c, field, on, e);
    for (size_t i = 0; i < c->n_hosts && out->n_hosts < HOSTS_MAX; i++)
        if (!strcmp(c->hosts[i].pool, out->on) || out->on == app_run_any_host)
            out->hosts[out->n_hosts++] = &c->hosts[i];
    qsort(out->hosts, out->n_hosts, sizeof *out->hosts, larger_first);
    return 0;
}

/* ---- for people ---- */

/* clang-format off */
#define WHERE(TYPE, member) FIELD(TYPE, struct app_run_where, member)
static const struct field where_fields[] = {
    {"on", WHERE(TEXT, on),
     .help = "local, sim, ssh for all hosts, a host group, cloud for any cloud, or a cloud."},
    {"cloud", WHERE(BOOL, is_cloud), .help = "Whether machines of clouds are launched."},
    {"hosts", WHERE(COUNT, hosts), .help = "Number of hosts; 0 = this machine."},
    {"low_usd_per_hour", WHERE(REAL, low_usd_per_hour), .unit = "USD/h",
     .help = "Lowest price of a host."},
    {"high_usd_per_hour", WHERE(REAL, high_usd_per_hour), .unit = "USD/h",
     .help = "Highest price of a host; 0 = the configuration has no prices."},
    {"cpus", WHERE(REAL, cpus), .help = "CPUs of this machine."},
    {"memory_gb", WHERE(REAL, memory_gb), .unit = "GB", .help = "Memory of this machine."},
};
/* clang-format on */
const struct record app_run_where_record =
    RECORD("run_location", struct app_run_where, where_fields);

struct app_run_where app_run_location_where(const struct app_run_location *p)
{
    struct app_run_where w = {.on = p->on,
                              .is_cloud = p->is_cloud,
                              .hosts = p->n_hosts,
                              .low_usd_per_hour = p->n_hosts ? p->hosts[0]->price_usd_per_hour : 0,
                              .cpus = p->here.cpus,
                              .memory_gb = (double)p->here.memory_mb / 1024};

    for (size_t i = 0; i < p->n_hosts; i++) {
        w.low_usd_per_hour = fmin(w.low_usd_per_hour, p->hosts[i]->price_usd_per_hour);
        w.high_usd_per_hour = fmax(w.high_usd_per_hour, p->hosts[i]->price_usd_per_hour);
    }
    return w;
}

/* ---- resources ---- */

static int share_here(const struct app_run_location *p,
                      unsigned nodes,
                      struct app_run_room *out,
                      struct err *e)
{
    *out = (struct app_run_room){.cpus = p->here.cpus, .memory_mb = p->here.memory_mb};
    if (nodes <= 1)
        return 0;
    out->cpus = floor(p->here.cpus / nodes / APP_JOB_CPU_STEP) * APP_JOB_CPU_STEP;
    out->memory_mb = p->here.memory_mb / nodes / APP_JOB_MEMORY_STEP_MB * APP_JOB_MEMORY_STEP_MB;
    if (out->cpus >= APP_JOB_CPU_STEP && out->memory_mb >= APP_JOB_MEMORY_STEP_MB)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "%u nodes do not fit this machine at once: it has %g CPUs and %.1f GB, and each "
                   "needs at least %g CPU and %d MB; take fewer, or a host group (--on)",
                   nodes, p->here.cpus, (double)p->here.memory_mb / 1024, APP_JOB_CPU_STEP,
                   APP_JOB_MEMORY_STEP_MB);
}

static bool has_gpus(const struct config_host *h, const struct app_job_gpus *gpus)
{
    if (!gpus || !gpus->gpus)
        return true;
    return h->accelerator && h->accelerators >= gpus->gpus &&
           (!gpus->gpu_type[0] || !strcmp(h->accelerator, gpus->gpu_type));
}

int app_run_location_room(const struct app_run_location *p,
                          unsigned nodes,
                          const struct app_job_gpus *gpus,
                          struct app_run_room *out,
                          struct err *e)
{
    const struct config_host *least = NULL;
    size_t fitting = 0;
    double price = 0;

    *out = (struct app_run_room){0};
    if (p->is_cloud) /* as planned */
        return 0;
    if (p->n_hosts == 0)
        return share_here(p, nodes, out, e);
    /* One of the largest hosts for each node: the resources of the smallest of them. */
    for (size_t i = 0; i < p->n_hosts; i++) {
        if (!has_gpus(p->hosts[i], gpus))
            continue;
        price = fmax(price, p->hosts[i]->price_usd_per_hour);
        if (fitting++ == (nodes > 1 ? nodes - 1 : 0))
            least = p->hosts[i];
    }
    if (!least)
        return err_set(e, ERR_NOFIT, "%u nodes need %u hosts; group %s has %zu", nodes, nodes,
                       p->on, fitting);
    *out = (struct app_run_room){.cpus = least->cpus,
                                 .memory_mb = (uint64_t)floor(least->memory_gb * 1024),
                                 .gpus = least->accelerators,
                                 .price_usd_per_hour = price};
    return 0;
}
