/* claim: the lease of the invocation that averages a round. An object that one invocation alone
 * writes, under a condition, and holds for a lease, which its holder renews while it works. Ages
 * are those of the store's own clock: the clocks of functions need not agree. */
#ifndef FED_CLAIM_H
#define FED_CLAIM_H

#include "fed/round.h"

struct fed_claim {
    struct store *store;
    struct store_tally *tally;
    unsigned worker; /* whose event asks */
    char key[FED_ROUND_KEY];
    double lease_s;
    int64_t now_ms; /* by the store's clock, when it was listed */
    bool there;     /* seen in the list, or written by us */
    bool taken_over;
    /* of the one that is there */
    char etag[STORE_ETAG];
    int64_t modified_ms;
    /* ours */
    char *body;
    double since_s; /* by our clock; when it was written last */
};
void fed_claim_clear(struct fed_claim *c);

/* The list showed it. */
void fed_claim_seen(struct fed_claim *c, const struct store_keyed *o);

/* It is there, and was not renewed for longer than the lease. */
bool fed_claim_is_stale(const struct fed_claim *c);

/* Looks whose a fresh one is; else writes it. 1: ours. 0: another worker's event has it. ERR_RETRY:
 * an event of this worker has it already. */
int fed_claim_take(struct fed_claim *c, struct err *e);
/* Looks whose a fresh one is, as above: 0 or ERR_RETRY. */
int fed_claim_meet(struct fed_claim *c, struct err *e);
/* When half of the lease is over. 0: it is still ours, or nothing was to be done. 1: another's. */
int fed_claim_renew(struct fed_claim *c, struct err *e);
/* Releases it after a failure, unless another can have taken it over by now. */
void fed_claim_drop(struct fed_claim *c);

#endif
