/* launches: what the launches of one broker share: their turns, which keep bursts below the rates
 * that clouds allow, and what they found. Called by worker threads. */
#ifndef BROKER_DAEMON_LAUNCHES_H
#define BROKER_DAEMON_LAUNCHES_H

#include "base/auto.h"
#include "cloud/finds.h"

#include <stdint.h>

/* So many may go out at once after a pause; then they go at the rate. EC2's RunInstances starts
 * with as many, and fills up again by two per second. */
#define LAUNCHES_AT_ONCE 5

struct launches;
struct launches *launches_new(void);
void launches_free(struct launches *l);
AUTO_DEFINE(launches)

struct cloud_finds *launches_finds(struct launches *l);
/* When the caller's next request to launch may go out, from now_ms (monotonic) on: each call is one
 * turn of this cloud and region. */
int64_t launches_turn_ms(
    struct launches *l, const char *provider, const char *region, double per_s, int64_t now_ms);

#endif
