/* sim: a cloud that exists on paper. Machines boot, bill and are taken back on the caller's clock,
 * as the seed says; nothing can run on them. And it fails as real clouds do, where its text of
 * troubles says so, one a line:
 *
 *     capacity aws/us-east-1 p3.2xlarge 2x     # the next two launches of it there are refused
 *     throttle 3x
 *
 * A line is WHAT [PLACE [TYPE]] [TIME] [Nx], and a comment after '#'. PLACE is PROVIDER[/REGION
 * [/ZONE]] and, like TYPE, '*' for any; only what happens to launches takes them. TIME is a
 * duration
 * ("90s", "5m"). Nx: how often, counted by the cloud, so that it goes on after a crash of ours;
 * another text begins anew. Without it: always.
 *
 *   capacity       a launch is refused: no such machine now. The scope is as exact as PLACE says: a
 *                  zone, a region or the account; a zone when there is no PLACE. A token that has
 *                  its machine already still gets it.
 *   quota          the same: a limit of the account is reached (a region when there is no PLACE)
 *   unsupported    the same: not offered there
 *   permission     a launch is refused: these credentials may not
 *   auth           any call is refused: credentials are missing or expired
 *   throttle       any call: too many of them, come back after TIME (5s unless said)
 *   transient      any call fails, nothing happened
 *   timeout-before-launch   a launch gets lost: nothing happened, but nobody can tell (UNKNOWN)
 *   timeout-after-launch    the machine is there, the answer is lost (UNKNOWN)
 *   slow-visible   TIME long a new machine is not seen by look, list and terminate
 *   slow-boot      a machine boots TIME longer
 *   never-boots    a machine is never up, and bills
 *   preempt-after  a spot machine is taken back TIME after its launch
 *   no-notice      a spot machine is taken back without notice
 *   terminate-fails         a machine is not given back (TRANSIENT), it bills on
 *   timeout-after-terminate it is given back, the answer is lost (UNKNOWN)
 *   list-fails     a list cannot be had
 *   list-empty     a list is empty, whatever is there: never to be taken for "all gone" */
#ifndef CLOUD_SIM_H
#define CLOUD_SIM_H

#include "base/auto.h"
#include "cloud/cloud.h"

#define SIM_TROUBLES_BYTES_MAX ((size_t)64 << 10)
#define SIM_TROUBLES_MAX 1000

enum sim_kind {
    SIM_CAPACITY,
    SIM_QUOTA,
    SIM_UNSUPPORTED,
    SIM_PERMISSION,
    SIM_AUTH,
    SIM_THROTTLE,
    SIM_TRANSIENT,
    SIM_TIMEOUT_BEFORE_LAUNCH,
    SIM_TIMEOUT_AFTER_LAUNCH,
    SIM_SLOW_VISIBLE,
    SIM_SLOW_BOOT,
    SIM_NEVER_BOOTS,
    SIM_PREEMPT_AFTER,
    SIM_NO_NOTICE,
    SIM_TERMINATE_FAILS,
    SIM_TIMEOUT_AFTER_TERMINATE,
    SIM_LIST_FAILS,
    SIM_LIST_EMPTY,
};

struct sim_trouble {
    enum sim_kind kind;
    const char *provider, *region, *zone, *instance_type; /* NULL = any */
    enum cloud_scope scope;                               /* as exact as the place */
    double seconds;
    int64_t left; /* how often it still happens; < 0 = always */
};

struct sim_troubles {
    struct sim_trouble *items;
    size_t n;
    struct arena *arena;
};

/* ERR_USAGE that names the line. */
struct sim_troubles *sim_troubles_new(const char *text, struct err *e);
void sim_troubles_free(struct sim_troubles *t);
AUTO_DEFINE(sim_troubles)
/* The first of this kind that is not used up and meets the request (NULL: any), or NULL. */
struct sim_trouble *sim_troubles_find(struct sim_troubles *t,
                                      enum sim_kind kind,
                                      const struct cloud_request *request);

#endif
