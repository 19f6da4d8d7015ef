/* simulate_world: the sim cloud and the virtual clock of one simulated run, locked by one process
 * at a time. */
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

/* Sets the clock. Recorded before anything happens at that time: no crash sets the clock back. */
int simulate_world_set(struct simulate_world *w, int64_t now_ms, struct err *e);
/* Repeats machine_reconcile, with the run as over and the clock a little later each time, as long
 * as machines disappear. how->tell gets the first round only. */
int simulate_world_cleanup(struct simulate_world *w, struct machine_cleanup *how, struct err *e);
/* Removes the world when all its machines are gone; else does nothing. */
int simulate_world_end(struct simulate_world *w, struct err *e);

#endif
