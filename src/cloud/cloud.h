/* cloud: launches and terminates machines. One table of functions per cloud (driver.h): `pool`
 * (hosts of the configuration), `sim` (a simulated cloud with a clock, prices and faults of its
 * own), `aws` (EC2), `azure` (virtual machines) and `gcp` (Compute Engine).
 *
 * The caller records the token before it launches. A driver keeps no state but the cloud's own:
 * the request's tags are enough to find a machine again. The state of pool and sim is below
 * home/clouds/NAME, survives crashes and is shared by all processes of the home. A struct cloud is
 * for one thread at a time, and of a cloud on the network for one region. */
#ifndef CLOUD_CLOUD_H
#define CLOUD_CLOUD_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a call failed; the caller decides what to do about it. */
enum cloud_failure {
    CLOUD_FINE,
    CLOUD_AUTH, /* credentials are missing or refused: stop, say what is missing */
    CLOUD_PERMISSION,
    CLOUD_QUOTA,       /* plan without this scope */
    CLOUD_CAPACITY,    /* the same */
    CLOUD_UNSUPPORTED, /* the same */
    CLOUD_THROTTLE,    /* wait and try again with the same token */
    CLOUD_TRANSIENT,   /* the same; also what is not visible yet */
    CLOUD_CONFLICT,    /* the token stands for another request: look at what it gave */
    CLOUD_NOT_FOUND,
    CLOUD_INVALID, /* our mistake, or a state that makes no sense: stop */
    CLOUD_UNKNOWN, /* it may or may not have happened: ask again with the same token */
};
enum cloud_scope { CLOUD_ZONE, CLOUD_REGION, CLOUD_ACCOUNT };

/* What kind of error goes with it. */
enum err_kind cloud_failure_kind(enum cloud_failure failure);

/* What failed, for people (err) and for the caller. */
struct cloud_error {
    enum cloud_failure failure;
    enum cloud_scope scope;
    double retry_after_s; /* THROTTLE, TRANSIENT: not before; 0 = as the caller thinks */
    struct err err;
};

struct cloud_request {
    const char *token; /* makes the request idempotent: 1 .. 64 of [a-z0-9-] */
    const char *owner; /* by which orphans are found; NULL = the cloud's own (options) */
    int64_t run, job;  /* tags */
    int64_t expires_ms;
    /* NULL or "" where the cloud has none. provider: for sim, whose offer this is ("aws"). region:
     * for pool, the group of hosts to choose from, "" = any. */
    const char *provider, *region, *zone, *instance_type;
    bool spot;
    double max_price_usd_per_hour; /* spot: INFINITY = the on-demand price */
    double price_usd_per_hour;     /* of the offer; sim bills it, the others know their own */
    double bill_min_s;             /* of the offer; sim: the shortest time that is billed */
    double cpus, memory_gb;        /* of the machine asked for; pool: at least */
    const char *accelerator;       /* NULL = none; pool: of any type, where there are to be some */
    double accelerators;           /* pool: at least */
    const char *host; /* pool: this one and no other, by its address; NULL = any that fits */
    /* Clouds on the network: a name of data/images.csv or the cloud's own identifier; NULL = the
     * table's first that has drivers for the accelerator, or needs none. */
    const char *image;
    double disk_gb; /* the same: of the root disk; 0 = 100 */
    /* gcp: the cloud deletes the machine so long after it started, whatever else happens; 0 =
     * never. */
    double max_run_s;
};

enum cloud_state {
    CLOUD_REQUESTED, /* known, not up yet; bills */
    CLOUD_RUNNING,
    CLOUD_DELETING,  /* asked to go; listed, for nothing has been confirmed */
    CLOUD_GONE,      /* does not bill any more; may be forgotten */
    CLOUD_PREEMPTED, /* the cloud reclaimed it; does not bill any more */
};

struct cloud_machine {
    char id[256]; /* the cloud's own */
    char token[65], owner[65];
    int64_t run, job;
    int64_t expires_ms;
    enum cloud_state state;
    char provider[32], region[64], zone[64], instance_type[64];
    bool spot;
    /* How jobs get there: as in struct exec_host. driver "" = nothing can really run there (sim).
     */
    char exec_driver[16], address[256], root[256];
    char private_address[64]; /* for machines of the same owner and region; "" = address does */
    double cpus, memory_gb;
    char accelerator[64]; /* "" = none */
    double accelerators;
    double price_usd_per_hour;
    double bill_min_s; /* less than this is billed as this; 0 = no such rule */
    /* Where prices move: what it had cost at metered_ms; the price holds from then on, to the
     * millisecond and without a shortest time. 0 = one price all the time. */
    double metered_usd;
    int64_t metered_ms;
    /* ready: jobs can start, 0 = not yet; ended: billing stopped, 0 = not yet. */
    int64_t launched_ms, ready_ms, ended_ms;
    int64_t notice_ms; /* when it will be, or was, reclaimed; 0 = nothing known */
    /* Of one that is gone: the cloud has forgotten all but its name, zone, state and times. The
     * rest is as it was when the machine was last seen. */
    bool is_outline;
};

struct cloud_host { /* of a pool */
    const char *group, *address;
    double cpus, memory_gb; /* 0 = not said: whatever is asked for fits */
    const char *accelerator;
    double accelerators;
    double price_usd_per_hour;
};

/* faults: a market whose prices move, and which reclaims machines at times of its own. m is as
 * launched. */
struct cloud_market {
    void *context;
    /* False: it is none of this market's machines; the rest of the options holds for it. */
    bool (*knows)(void *context, const struct cloud_machine *m);
    double (*usd_per_hour)(void *context, const struct cloud_machine *m, int64_t at_ms);
    double (*paid_usd)(void *context, const struct cloud_machine *m, int64_t until_ms);
    int64_t (*taken_ms)(void *context, const struct cloud_machine *m); /* INT64_MAX = never */
    double boot_s;                                                     /* of each machine */
};

/* What clouds on the network reach the world by, replaced by tests. NULL members: the real thing.
 */
struct http_request;
struct http_answer;
struct cloud_outside {
    /* As http_send. */
    int (*send)(void *context,
                const struct http_request *request,
                struct http_answer *out,
                struct err *e);
    void (*wait)(void *context, double seconds);
    const char *(*variable)(void *context, const char *name); /* of the environment */
    void *context;
};

struct cloud_options {
    const char *name;               /* of the driver */
    const char *home;               /* where pool and sim keep their state */
    const char *owner;              /* of this home */
    const struct cloud_host *hosts; /* pool */
    size_t n_hosts;
    /* pool, clouds on the network: directory of jobs on each host; NULL = ~/.tradewind-jobs */
    const char *root;
    /* sim: everything is drawn from the seed and a machine's token, so the order of calls does not
     * matter. */
    uint64_t seed;
    double boot_s;               /* the mean; machines take from 3/4 to 5/4 of it */
    double preemptions_per_hour; /* of spot instances: a Poisson process each, 120 s of notice */
    const char *troubles;        /* its faults, see cloud/faults.h; NULL = none */
    const struct cloud_market *market; /* sim: borrowed as long as the cloud is open; NULL = none */
    /* Clouds on the network: the region that this handle is for; the home's public ssh key, one
     * line; and the network that may reach port 22 of its machines, "203.0.113.7/32": NULL = this
     * machine's address, as the cloud sees it. key may be NULL where nothing is launched. */
    const char *region, *key, *admit;
    struct cloud_outside outside;
    /* The clock, above 0; NULL = the real one. A virtual one that begins anew needs a home of its
     * own. */
    int64_t (*now_ms)(void *context);
    void *context; /* of the clock */
};

struct cloud;
/* Names of the clouds on the network, where an account is needed and machines cost money; ends with
 * NULL. */
extern const char *const cloud_providers[];
bool cloud_is_provider(const char *name);
/* A region that every account has, for calls about the account. */
const char *cloud_some_region(const char *provider);
/* home, owner, troubles, region, key, admit and the texts of hosts stay as long as the cloud is
 * open. */
struct cloud *cloud_open(const struct cloud_options *options, struct err *e);
void cloud_free(struct cloud *c);
AUTO_DEFINE(cloud)
const char *cloud_name(const struct cloud *c);
/* Launches use what others found, and leave there what they find (cloud/finds.h); borrowed. */
struct cloud_finds;
void cloud_set_finds(struct cloud *c, struct cloud_finds *finds);
/* Whether a machine that the cloud does not show does not exist: its state is ours, never late. */
bool cloud_sees_at_once(const struct cloud *c);

/* In all that follows e is never NULL; its failure is CLOUD_FINE after success, and after -1 says
 * what to do about what e->err tells. */

/* Asks for a machine; the same token gives the same machine, however often, also when it is gone
 * by now (gone machines are remembered for a day). The same token with another request is
 * CLOUD_CONFLICT (expiry and price may differ). It may not be up yet. */
typedef int cloud_launch_fn(struct cloud *c,
                            const struct cloud_request *request,
                            struct cloud_machine *out,
                            struct cloud_error *e);
cloud_launch_fn cloud_launch;
/* As it is now; ERR_NOTFOUND / CLOUD_NOT_FOUND when the cloud never heard of the token. Clouds may
 * take a moment to show what was launched: right after a launch, NOT_FOUND proves nothing, and the
 * same holds for cloud_terminate and cloud_list, which overlook such a machine. */
typedef int cloud_look_fn(struct cloud *c,
                          const char *token,
                          struct cloud_machine *out,
                          struct cloud_error *e);
cloud_look_fn cloud_look;
/* Terminates the machine; repeatable, also for unknown tokens. It is gone once cloud_look says so.
 */
typedef int cloud_terminate_fn(struct cloud *c, const char *token, struct cloud_error *e);
cloud_terminate_fn cloud_terminate;
/* pool: the addresses of hosts that a launch of this request could get now, in the order it would
 * choose, at most max of them; borrowed from c. None is reserved. When there is none, -1 with the
 * failure that the launch would have. Other clouds: CLOUD_UNSUPPORTED. */
typedef int cloud_free_hosts_fn(struct cloud *c,
                                const struct cloud_request *request,
                                const char **out,
                                size_t max,
                                size_t *n_out,
                                struct cloud_error *e);
cloud_free_hosts_fn cloud_free_hosts;
/* Clouds on the network: zones of the region that offer the request's instance type, sorted, at
 * most max; a region that offers it and has no zones has one named "". A launch is for one zone, or
 * the cloud chooses: a caller that tries one zone after the other takes another token for each.
 * None: -1 with CLOUD_UNSUPPORTED. Other clouds: the same. */
#define CLOUD_ZONE_BYTES 64
typedef int cloud_zones_fn(struct cloud *c,
                           const struct cloud_request *request,
                           char (*out)[CLOUD_ZONE_BYTES],
                           size_t max,
                           size_t *n_out,
                           struct cloud_error *e);
cloud_zones_fn cloud_zones;
/* All machines of this owner that may still bill, whichever process launched them. visit may
 * call the cloud; -1 from it ends the list. */
typedef int cloud_visit(void *context, const struct cloud_machine *m, struct err *e);
typedef int cloud_list_fn(struct cloud *c,
                          cloud_visit *visit,
                          void *context,
                          struct cloud_error *e);
cloud_list_fn cloud_list;

/* Clouds on the network: deletes what launches of this owner left beside machines: detached network
 * interfaces and disks, unused addresses and requests for spot instances, and, where no machine of
 * this owner is left, its firewall rules and key. Call it when no launch is under way. visit gets
 * each, after it was dealt with; why: it could not be deleted now. Repeatable; clouds without any:
 * nothing happens. */
typedef int cloud_visit_leftover(
    void *context, const char *kind, const char *id, const char *why, struct err *e);
typedef int cloud_clean_fn(struct cloud *c,
                           bool dry_run,
                           cloud_visit_leftover *visit,
                           void *context,
                           struct cloud_error *e);
cloud_clean_fn cloud_clean;

/* Whether jobs could be launched there: one finding each. */
enum cloud_verdict { CLOUD_GOOD = 1, CLOUD_NOTED, CLOUD_MISSING };
struct cloud_finding {
    const char *what; /* "identity", "quota p" */
    enum cloud_verdict verdict;
    const char *found; /* never a secret */
    const char *fix;   /* "" = nothing to do */
};
typedef int cloud_visit_finding(void *context, const struct cloud_finding *f, struct err *e);
/* Clouds on the network: credentials and whose they are, regions, permissions, quotas. Changes
 * nothing there. Others: CLOUD_UNSUPPORTED. */
typedef int cloud_check_fn(struct cloud *c,
                           cloud_visit_finding *visit,
                           void *context,
                           struct cloud_error *e);
cloud_check_fn cloud_check;

/* Clouds on the network: finds credentials, and asks the cloud nothing about them. CLOUD_AUTH:
 * there are none. Others: CLOUD_UNSUPPORTED. */
typedef int cloud_sign_in_fn(struct cloud *c, struct cloud_error *e);
cloud_sign_in_fn cloud_sign_in;

/* Clouds on the network: the regions that the account may use, sorted; visit gets each. Others:
 * CLOUD_UNSUPPORTED. */
typedef int cloud_visit_region(void *context, const char *region, struct err *e);
typedef int cloud_regions_fn(struct cloud *c,
                             cloud_visit_region *visit,
                             void *context,
                             struct cloud_error *e);
cloud_regions_fn cloud_regions;

/* faults: when something will happen next by itself (a boot ends, a machine gets its notice, is
 * reclaimed, is gone), after now, or INT64_MAX: where a virtual clock jumps to. Others: INT64_MAX.
 */
int64_t cloud_next_ms(struct cloud *c);
/* What a machine has cost until now_ms: every second begun from launched to ended, at least
 * bill_min_s of them, or as it was metered; rounded once to micro-dollars. */
int64_t cloud_cost_microusd(const struct cloud_machine *m, int64_t now_ms);

#endif
