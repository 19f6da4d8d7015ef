/* location: where a pipeline is to run (--on), and the resources that one machine there gives a
 * stage. */
#ifndef APP_RUN_LOCATION_H
#define APP_RUN_LOCATION_H

#include "app/core/operation.h"
#include "app/job/gpus.h"
#include "app/job/resources.h"
#include "base/err.h"
#include "spec/config.h"

#include <stdbool.h>

/* "ssh" in `on`: jobs may run on any host of the configuration. */
extern const char app_run_any_host[];

struct app_run_location {
    /* "local", "sim", app_run_any_host, a group, borrowed from config, or clouds ("cloud", "aws")
     */
    const char *on;
    bool is_cloud;
    size_t n_hosts; /* of the group; 0 = this machine, or clouds */
    /* Of the group, largest first. */
    const struct config_host *hosts[1024];
    struct app_job_room here; /* of this machine */
};

/* on NULL = this machine; "ssh" = all hosts of the configuration, "cloud" = any cloud. ERR_USAGE
 * lists the groups and names the field as the caller spells it: "--on". */
int app_run_location_find(const struct config *c,
                          const char *on,
                          const char *field,
                          struct app_run_location *out,
                          struct err *e);

/* Where a run would run, for people. */
struct app_run_where {
    const char *on;
    bool is_cloud;
    uint64_t hosts;                             /* 0 = this machine */
    double low_usd_per_hour, high_usd_per_hour; /* of the hosts; 0 = the configuration has none */
    double cpus, memory_gb;                     /* of this machine */
};
extern const struct record app_run_where_record;
struct app_run_where app_run_location_where(const struct app_run_location *p);

/* Resources that each of `nodes` nodes can have at once; 0 = the configuration does not say.
 * ERR_NOFIT when the nodes do not fit together. */
struct app_run_room {
    double cpus;
    uint64_t memory_mb;
    double gpus;
    double price_usd_per_hour; /* of the most expensive host that may be chosen */
};
int app_run_location_room(const struct app_run_location *p,
                          unsigned nodes,
                          const struct app_job_gpus *gpus, /* of each node; NULL = none */
                          struct app_run_room *out,
                          struct err *e);

#endif
