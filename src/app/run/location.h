/* location: where a pipeline is to run (--on), and the resources that one machine there gives a
 * stage. */
#ifndef APP_RUN_LOCATION_H
#define APP_RUN_LOCATION_H

#include "app/job/resources.h"
#include "base/err.h"
#include "spec/config.h"

#include <stdbool.h>

/* "ssh" in `on`: jobs may run on any host of the configuration. */
extern const char app_run_any_host[];

struct app_run_location {
    const char *on; /* "local", "sim", app_run_any_host, or a group, borrowed from config */
    bool asked;     /* the user named it; else it is the default */
    size_t n_hosts; /* of the group; 0 = this machine */
    /* Of the group, largest first. */
    const struct config_host *hosts[1024];
    struct app_job_room here; /* of this machine */
};

/* on NULL = this machine; "ssh" = all hosts of the configuration. ERR_USAGE lists the groups. */
int app_run_location_find(const struct config *c,
                          const char *on,
                          struct app_run_location *out,
                          struct err *e);

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
                          struct app_run_room *out,
                          struct err *e);

#endif
