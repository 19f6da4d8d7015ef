/* retry: when a failed call of a cloud is tried again, and what a cloud's codes of failure mean.
 * Included by src/cloud and its sub-rooms only. */
#ifndef CLOUD_RETRY_H
#define CLOUD_RETRY_H

#include "cloud/cloud.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- codes ---- */

struct cloud_code {
    const char *code;
    const char *mentions; /* only where the message has this text; NULL = always */
    enum cloud_failure failure;
    enum cloud_scope scope;
    bool is_young; /* TRANSIENT: what was created a moment ago may not be visible yet */
};
/* The first that fits; NULL = none does. message may be "". */
const struct cloud_code *cloud_code_find(const struct cloud_code *table,
                                         size_t n,
                                         const char *code,
                                         const char *message);

/* ---- the budget of retries ---- */

/* Of one cloud and region: while a cloud fails, calls are soon tried once only, so that a brown-out
 * does not become a storm. All zero at first. */
struct cloud_retry {
    int spent; /* of CLOUD_RETRY_TOKENS */
    uint64_t random;
};
#define CLOUD_RETRY_TOKENS 500
#define CLOUD_RETRY_COST 5
#define CLOUD_RETRY_TRIES_MAX 4

/* After try number n (1, 2, ...) of a call, which failed as e says: whether the failure may pass
 * and the budget allows another, having waited. Waits are drawn from 0 to a second (after THROTTLE:
 * five), doubled each time, at most 20 (60) seconds, and never less than e->retry_after_s. */
bool cloud_retry_again(struct cloud *c,
                       struct cloud_retry *r,
                       unsigned n,
                       const struct cloud_error *e);
/* The call went well at try number n. */
void cloud_retry_well(struct cloud_retry *r, unsigned n);

/* The header Retry-After, in seconds or as a date; 0 = none. */
double cloud_retry_after_s(const char *header, int64_t now_ms);

/* Waits as the cloud's options say. */
void cloud_wait(struct cloud *c, double seconds);

#endif
