/* replay: one job replayed through a scene, to the second, under a policy that sees the present
 * only. An instance is paid from its launch until it is released or preempted, to the millisecond;
 * every lease and every move of a checkpoint is a line of the bill, in micro-dollars. */
#ifndef MARKET_REPLAY_H
#define MARKET_REPLAY_H

#include "base/auto.h"
#include "market/policy.h"
#include "market/scene.h"
#include "market/stay.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Speeds, overheads and moving costs of one kind of job, for any amount of work. */
struct market_job {
    const struct market_scene *scene;
    double *speed;        /* per offer: work per second; 0 = cannot run there */
    double *checkpoint_s; /* per offer: time between checkpoints; INFINITY = none */
    double *work_per_s;   /* per offer: the policies' expectation */
    struct market_switching switching;
    double *move_usd;     /* switching.move_usd points here */
    double *lowest_later; /* per event: the lowest USD per unit of work from then on */
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

struct market_replay {
    const struct market_job *job;
    size_t start; /* event */
    double work;
    double deadline_s; /* INFINITY = none */
    market_decider decide;
    const void *policy;
    /* True: a checkpoint is ready at every preemption, so that no work is lost and no checkpoint is
     * written in vain, as in the optimum in hindsight. */
    bool foresees;
    struct market_log *log; /* NULL = none */
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

struct market_bill market_replay_run(const struct market_replay *replay);

/* market_replay_run under a market_policy. */
struct market_bill market_replay_policy(struct market_replay replay, const struct market_policy *p);

/* The replay on one offer, launched at once and again after every preemption. Faster than
 * market_replay_run, which looks at all offers. */
struct market_bill market_replay_fixed(const struct market_replay *replay, size_t offer);

/* A stay on an offer, launched at begin_s, working from ready_s on. */
struct market_stay market_stay_of(
    const struct market_job *j, size_t offer, double begin_s, double ready_s, bool foresees);

/* Work of a lease on an offer until now_s, launched at begin_s, working from ready_s on; without
 * checkpoints, with renewals of leases of limited length. */
double market_lease_work(
    const struct market_job *j, size_t offer, double begin_s, double ready_s, double now_s);
/* The time at which the lease has done this amount of work. */
double market_lease_until(
    const struct market_job *j, size_t offer, double begin_s, double ready_s, double work);

#endif
