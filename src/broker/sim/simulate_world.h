/* simulate_world: the cloud and the clock of one simulated run, held by one process at a time. */
#ifndef BROKER_SIM_SIMULATE_WORLD_H
#define BROKER_SIM_SIMULATE_WORLD_H

#include "broker/machine/machines.h"

struct simulate_world {
    struct machines *records;
    int64_t run;
    int64_t now_ms;
    struct machine_provisioner provisioner;
    struct cloud *cloud;
    char *dir;
    int lock_fd;
};

/* options: seed, boot_s, preemptions_per_hour and troubles are used. begin_ms: where a new clock
 * starts. ERR_RETRY: another process has it. */
struct simulate_world *simulate_world_open(const char *home,
                                           struct machines *records,
                                           int64_t run,
                                           int64_t begin_ms,
                                           const struct cloud_options *options,
                                           struct err *e);
void simulate_world_free(struct simulate_world *w);
AUTO_DEFINE(simulate_world)

/* Written down before anything happens at that time, so that no crash sets the clock back. */
int simulate_world_set(struct simulate_world *w, int64_t now_ms, struct err *e);
/* machine_reconcile, the run taken for over, as often as it helps and each time a little later, so
 * that what is going has gone. Only the first time is told of. */
int simulate_world_cleanup(struct simulate_world *w, struct machine_cleanup *how, struct err *e);
/* Forgets the world where all its machines are gone; else does nothing. */
int simulate_world_end(struct simulate_world *w, struct err *e);

#endif
