/* fault_schedules: machines on a cloud's model while every call may fail: schedules of faults drawn
 * from seeds, and a kill -9 at every call. Afterwards there are no twins, no orphans and nothing
 * left that bills or counts. SEEDS=N: this many schedules; FIRST_SEED=N: from that one on. */
#ifndef CLOUD_FAULT_SCHEDULES_H
#define CLOUD_FAULT_SCHEDULES_H

#include "cloud_model.h"

struct fault_schedules {
    const struct cloud_model_kind *kind;
    const char *instance_type; /* that the model offers in all zones, of 4 vCPUs */
    const char *zone;          /* the first of the region, without room in some schedules */
    int calls_min;             /* that the work has without faults */
};
/* The whole test program: its exit status. */
int fault_schedules_run(const struct fault_schedules *s);

#endif
