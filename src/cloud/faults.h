/* faults: how the simulated cloud (sim.c) fails as real clouds do: a text with one fault per line:
 *
 *     capacity aws/us-east-1 p3.2xlarge 2x     # the next two launches of it there are refused
 *     throttle 3x
 *
 * A line is WHAT [PLACE [TYPE]] [TIME] [Nx], and a comment after '#'. PLACE is PROVIDER[/REGION
 * [/ZONE]] and, like TYPE, '*' for any; only what happens to launches takes them. TIME is a
 * duration ("90s", "5m"). Nx: how often; the cloud counts, so that the count survives a crash of
 * ours, and another text starts anew. Without Nx: always.
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
 *   timeout-before-launch   a launch gets lost: nothing happened, unknown to the caller (UNKNOWN)
 *   timeout-after-launch    the machine is there, the answer is lost (UNKNOWN)
 *   slow-visible   TIME long a new machine is not seen by look, list and terminate
 *   slow-boot      a machine boots TIME longer
 *   never-boots    a machine is never up, and bills
 *   preempt-after  a spot instance is reclaimed TIME after its launch
 *   no-notice      a spot instance is reclaimed without notice
 *   terminate-fails         a machine is not terminated (TRANSIENT) and bills on
 *   timeout-after-terminate it is terminated, the answer is lost (UNKNOWN)
 *   list-fails     a list cannot be had
 *   list-empty     a list is empty, whatever is there: never to be taken for "all gone" */
#ifndef CLOUD_FAULTS_H
#define CLOUD_FAULTS_H

#include "base/auto.h"
#include "cloud/cloud.h"

#define CLOUD_FAULTS_BYTES_MAX ((size_t)64 << 10)
#define CLOUD_FAULTS_MAX 1000

enum cloud_fault_kind {
    CLOUD_FAULT_CAPACITY,
    CLOUD_FAULT_QUOTA,
    CLOUD_FAULT_UNSUPPORTED,
    CLOUD_FAULT_PERMISSION,
    CLOUD_FAULT_AUTH,
    CLOUD_FAULT_THROTTLE,
    CLOUD_FAULT_TRANSIENT,
    CLOUD_FAULT_TIMEOUT_BEFORE_LAUNCH,
    CLOUD_FAULT_TIMEOUT_AFTER_LAUNCH,
    CLOUD_FAULT_SLOW_VISIBLE,
    CLOUD_FAULT_SLOW_BOOT,
    CLOUD_FAULT_NEVER_BOOTS,
    CLOUD_FAULT_PREEMPT_AFTER,
    CLOUD_FAULT_NO_NOTICE,
    CLOUD_FAULT_TERMINATE_FAILS,
    CLOUD_FAULT_TIMEOUT_AFTER_TERMINATE,
    CLOUD_FAULT_LIST_FAILS,
    CLOUD_FAULT_LIST_EMPTY,
};

struct cloud_fault {
    enum cloud_fault_kind kind;
    const char *provider, *region, *zone, *instance_type; /* NULL = any */
    enum cloud_scope scope;                               /* as exact as the place */
    double seconds;
    int64_t left; /* how often it still happens; < 0 = always */
};

struct cloud_faults {
    struct cloud_fault *items;
    size_t n;
    struct arena *arena;
};

/* ERR_USAGE that names the line. */
struct cloud_faults *cloud_faults_new(const char *text, struct err *e);
void cloud_faults_free(struct cloud_faults *t);
AUTO_DEFINE(cloud_faults)
/* The first of this kind that is not used up and meets the request (NULL: any), or NULL. */
struct cloud_fault *cloud_faults_find(struct cloud_faults *t,
                                      enum cloud_fault_kind kind,
                                      const struct cloud_request *request);

#endif
