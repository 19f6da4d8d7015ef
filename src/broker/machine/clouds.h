/* clouds: the clouds on the network as a home uses them: its owner's tag, its ssh key, its
 * machines. */
#ifndef BROKER_MACHINE_CLOUDS_H
#define BROKER_MACHINE_CLOUDS_H

#include "broker/machine/machines.h"
#include "lake/core/lake.h"

/* Values of `on` besides a cloud's name: any cloud. */
#define CLOUDS_ANY "cloud"
/* Whether jobs of this `on` run on machines of clouds. */
bool clouds_are_meant(const char *on);

/* What a call of a cloud needs, for one thread. key: only those that launch have one. */
struct clouds_handle {
    struct machine_provisioner provisioner;
    char *key, *private_key, *admit;
};
/* For this provider and region. records stay the caller's. launches: with the home's ssh key, which
 * is made at the first call. */
int clouds_open(struct clouds_handle *h,
                const char *home,
                struct machines *records,
                const char *provider,
                const char *region,
                bool launches,
                struct err *e);
void clouds_handle_clear(struct clouds_handle *h);

/* Visits clouds and regions that open records are in; everywhere: also every region of every cloud
 * that there are credentials for. why: the regions of a cloud that could not be listed (provider
 * alone is given then), NULL = none. */
int clouds_each_region(const char *home,
                       struct machines *records,
                       bool everywhere,
                       int (*visit)(void *context,
                                    const char *provider,
                                    const char *region,
                                    const struct err *why,
                                    struct err *e),
                       void *context,
                       struct err *e);

/* Whether a job's machine is needed, for struct machine_cleanup: a running broker terminates the
 * machine of a job that ended just now itself. MACHINE_NEEDED, 1 = the job is over, -1. */
#define CLOUDS_BROKER_MS ((int64_t)120 * 1000)
int clouds_job_over(struct lake *l, int64_t job, bool has_broker, struct err *e);

/* Terminates a recorded machine of a cloud; repeatable. ERR_RETRY: not confirmed yet. */
int clouds_release(const char *home,
                   struct machines *records,
                   struct machine *m,
                   const char *reason,
                   struct err *e);

#endif
