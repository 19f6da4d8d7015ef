/* run_place: where a pipeline is to run (--on), and what one machine there gives a stage. */
#ifndef CLI_RUN_RUN_PLACE_H
#define CLI_RUN_RUN_PLACE_H

#include "app/job/resources.h"
#include "base/err.h"
#include "spec/config.h"

struct run_place {
    const char *on; /* "local", "sim", or a group of the configuration, whose text it is */
    bool asked;     /* for it; else it is what there is */
    size_t n_hosts; /* of the group; 0 = this machine */
    /* Of the group, largest first. */
    const struct config_host *hosts[1024];
    struct app_job_room here; /* of this machine */
};

/* on NULL = this machine; "ssh" = all hosts there are. ERR_USAGE that names those there are. */
int run_place_find(const struct config *c, const char *on, struct run_place *out, struct err *e);

/* What each of so many nodes can have at once; 0 = the configuration does not say. ERR_NOFIT in
 * plain words when they cannot be there together. */
struct run_room {
    double cpus;
    uint64_t memory_mb;
    double gpus;
    double price_usd_per_hour; /* of the dearest host that may be chosen */
};
int run_place_room(const struct run_place *p, unsigned nodes, struct run_room *out, struct err *e);

/* Says where it is going to run, on stdout. */
void run_place_say(const struct run_place *p);

#endif
