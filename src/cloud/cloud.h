/* cloud: rents machines and gives them back. One table of functions a cloud (driver.h): `local`
 * (this machine, which costs nothing), `pool` (hosts of the configuration), `sim` (a cloud that
 * exists on paper, with a clock, prices and troubles of its own), later aws, gcp and azure.
 *
 * Whoever rents writes the token down first. A driver keeps no state but a cloud's own: everything
 * it needs to find a machine again is in the request's tags. */
#ifndef CLOUD_CLOUD_H
#define CLOUD_CLOUD_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What went wrong, before anybody decides what to do about it (specs of the cloud drivers). */
enum cloud_failure {
    CLOUD_FINE,
    CLOUD_AUTH, /* credentials are missing or refused: stop, say what is missing */
    CLOUD_PERMISSION,
    CLOUD_QUOTA,       /* plan without this scope */
    CLOUD_CAPACITY,    /* the same */
    CLOUD_UNSUPPORTED, /* the same */
    CLOUD_THROTTLE,    /* wait and try again with the same token */
    CLOUD_TRANSIENT,   /* the same */
    CLOUD_NOT_FOUND,
    CLOUD_INVALID, /* our mistake: stop */
    CLOUD_UNKNOWN, /* nobody can tell whether it happened: ask again with the same token */
};
enum cloud_scope { CLOUD_ZONE, CLOUD_REGION, CLOUD_ACCOUNT };
const char *cloud_failure_text(enum cloud_failure failure);

struct cloud_trouble {
    enum cloud_failure failure;
    enum cloud_scope scope;
    double retry_after_s; /* THROTTLE, TRANSIENT: not before; 0 = as the caller thinks */
};

struct cloud_request {
    const char *token; /* makes the request idempotent: 1 .. 64 of [a-z0-9-] */
    const char *owner; /* of this home: what a sweep goes by */
    int64_t run, job;  /* tags */
    int64_t expires_ms;
    const char *region, *zone, *instance_type; /* "" where the cloud has none */
    bool spot;
    double max_price_usd_per_hour; /* spot: INFINITY = the on-demand price */
    double cpus, memory_gb;        /* of the machine asked for; pool: at least */
    const char *accelerator;       /* NULL = none */
    double accelerators;
};

enum cloud_state {
    CLOUD_REQUESTED, /* known, not up yet */
    CLOUD_RUNNING,
    CLOUD_DELETING,
    CLOUD_GONE,      /* does not bill any more; may be forgotten */
    CLOUD_PREEMPTED, /* the cloud took it back; does not bill any more */
};
const char *cloud_state_text(enum cloud_state state);

struct cloud_machine {
    char id[128]; /* the cloud's own */
    char token[65], owner[65];
    int64_t run, job;
    int64_t expires_ms;
    enum cloud_state state;
    char region[64], zone[64], instance_type[64];
    bool spot;
    /* How jobs get there: as in struct exec_host. driver "" = nothing can really run there (sim).
     */
    char exec_driver[16], address[256], root[256];
    double cpus, memory_gb;
    double price_usd_per_hour;
    int64_t launched_ms, ready_ms, ended_ms; /* ready: jobs can start; ended: billing stopped */
    int64_t notice_ms;                       /* when it will be taken back; 0 = nothing known */
};

struct cloud_host { /* of a pool */
    const char *group, *address;
    double cpus, memory_gb;
    const char *accelerator;
    double accelerators;
    double price_usd_per_hour;
};

struct cloud_options {
    const char *name;               /* of the driver */
    const char *home;               /* where local, pool and sim keep what a cloud would remember */
    const char *owner;              /* of this home */
    const struct cloud_host *hosts; /* pool */
    size_t n_hosts;
    const char *root;            /* pool: directory of jobs on each host */
    uint64_t seed;               /* sim */
    double boot_s;               /* sim */
    double preemptions_per_hour; /* sim: of spot machines */
    /* sim: prices move and capacity is refused as this says; NULL = never. Text, one trouble a
     * line, see cloud/sim.h */
    const char *troubles;
    int64_t (*now_ms)(void *context); /* sim: the virtual clock; others: NULL = the real one */
    void *context;
};

struct cloud;
struct cloud *cloud_open(const struct cloud_options *options, struct err *e);
void cloud_free(struct cloud *c);
AUTO_DEFINE(cloud)
const char *cloud_name(const struct cloud *c);

/* Asks for a machine; the same token gives the same machine, however often. It may not be up yet.
 * -1 with e and *trouble. */
int cloud_launch(struct cloud *c,
                 const struct cloud_request *request,
                 struct cloud_machine *out,
                 struct cloud_trouble *trouble,
                 struct err *e);
/* As it is now; ERR_NOTFOUND / CLOUD_NOT_FOUND when the cloud never heard of the token. */
int cloud_look(struct cloud *c,
               const char *token,
               struct cloud_machine *out,
               struct cloud_trouble *trouble,
               struct err *e);
/* Gives it back; repeatable, also for tokens nobody knows. It is gone once cloud_look says so. */
int cloud_terminate(struct cloud *c,
                    const char *token,
                    struct cloud_trouble *trouble,
                    struct err *e);
/* All machines of this owner that may still bill. */
int cloud_list(struct cloud *c,
               int (*visit)(void *context, const struct cloud_machine *m, struct err *e),
               void *context,
               struct cloud_trouble *trouble,
               struct err *e);

/* sim: when something will happen next by itself (a boot ends, a machine is taken back), or
 * INT64_MAX: where a virtual clock jumps to. Others: INT64_MAX. */
int64_t cloud_next_ms(const struct cloud *c);
/* What a machine has cost until now_ms, by the second from launched to ended; micro-dollars. */
int64_t cloud_cost_microusd(const struct cloud_machine *m, int64_t now_ms);

#endif
