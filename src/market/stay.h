/* stay: the progress of a job on one offer: start-up, work with checkpoints, and leases of limited
 * length. Replays and schedulers share this arithmetic. */
#ifndef MARKET_STAY_H
#define MARKET_STAY_H

/* One whose lease ends by itself is rented again at once; that end is known, so a checkpoint is
 * written in time and nothing is lost. */
struct market_stay {
    double speed;          /* work per second */
    double tau_s, write_s; /* a checkpoint is written after every tau_s of work; INFINITY = none */
    double begin_s, ready_s;
    double max_s, renew_s; /* how long a lease lasts; from renewal until the job works again */
};

/* How often it was rented again by then. */
double market_stay_renewals(const struct market_stay *s, double now_s);
/* Work done by then, and what of it is in a checkpoint. */
double market_stay_work(const struct market_stay *s, double now_s);
double market_stay_saved(const struct market_stay *s, double now_s);
/* When so much is done: INFINITY = never. */
double market_stay_until(const struct market_stay *s, double work);

#endif
