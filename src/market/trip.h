/* trip: one job's way through a scene, to the second, under a policy that sees no more than the
 * present. Machines are paid from when they are rented until they are given back or taken back, to
 * the millisecond; every machine and every move of a checkpoint is a line of the bill, in
 * micro-dollars. */
#ifndef MARKET_TRIP_H
#define MARKET_TRIP_H

#include "base/auto.h"
#include "market/policy.h"
#include "market/scene.h"
#include "market/stay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What running somewhere, and moving, takes for one kind of job, whatever its work. */
struct market_job {
    const struct market_scene *scene;
    double *speed;        /* an entry an offer: work per second; 0 = cannot run there */
    double *checkpoint_s; /* works so long between two checkpoints; INFINITY = writes none */
    double *work_per_s;   /* what policies expect */
    struct market_switching switching;
    double *move_usd;     /* what switching.move_usd points to */
    double *lowest_later; /* an entry an event: the lowest USD for a unit of work from then on */
};

struct market_job_wish {
    const double *speed_of_gpu; /* of the scene's kinds: work per second on one */
    double restart_s, write_s, move_s;
    double checkpoint_s;       /* NaN = by how often each offer is preempted */
    const double *move_usd_of; /* [from * n_places + to] of one checkpoint; NULL = free */
};

struct market_job *market_job_new(const struct market_scene *scene,
                                  const struct market_job_wish *w);
void market_job_free(struct market_job *j);
AUTO_DEFINE(market_job)

struct market_lease {
    size_t offer;
    double begin_s, end_s;
    double work_done; /* by the job, at its end */
    int64_t microusd; /* with the move there */
};
struct market_log {
    struct market_lease *leases;
    size_t n, cap;
};
void market_log_clear(struct market_log *log);

typedef struct market_action (*market_decider)(const void *policy, const struct market_view *v);

struct market_trip {
    const struct market_job *job;
    size_t start; /* event */
    double work;
    double deadline_s; /* INFINITY = none */
    market_decider decide;
    const void *policy;
    /* Has its checkpoint ready whenever a machine is taken back: nothing is lost and none is
     * written in vain. The optimum in hindsight does that. */
    bool foresees;
    struct market_log *log; /* NULL = not kept */
};

struct market_bill {
    int64_t cost_microusd;
    int64_t moves_microusd; /* of that, for moving checkpoints */
    double finish_s;        /* the end of the scene when it is not finished */
    bool finished;
    size_t switches, preemptions;
    double work_lost;
    size_t first; /* offer */
};

struct market_bill market_travel(const struct market_trip *trip);

/* market_travel under a market_policy. */
struct market_bill market_travel_policy(struct market_trip trip, const struct market_policy *p);

/* Stays on one offer, begun at once and again whenever it is taken back. Faster than
 * market_travel: it looks at no other offer. */
struct market_bill market_travel_fixed(const struct market_trip *trip, size_t offer);

/* A stay on an offer, rented at begin_s, working from ready_s on. */
struct market_stay market_stay_of(
    const struct market_job *j, size_t offer, double begin_s, double ready_s, bool foresees);

/* Work of a lease on an offer between these times of the clock, rented at begin_s, working from
 * ready_s on; without checkpoints, over renewals of leases that end by themselves. */
double market_lease_work(
    const struct market_job *j, size_t offer, double begin_s, double ready_s, double now_s);
/* When the lease has done so much. */
double market_lease_until(
    const struct market_job *j, size_t offer, double begin_s, double ready_s, double work);

#endif
