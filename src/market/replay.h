/* replay: one job replayed through a scene, to the second, under a policy that sees the present
 * only. An instance is paid from its launch until it is released or preempted, to the millisecond;
 * every lease and every move of a checkpoint is a line of the bill, in micro-dollars. */
#ifndef MARKET_REPLAY_H
#define MARKET_REPLAY_H

#include "base/auto.h"
#include "market/policy.h"
#include "market/scene.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Speeds, overheads and moving costs of one kind of job, for any amount of work. */
struct market_job {
    struct arena *arena; /* of the arrays */
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

/* The progress of a job on one offer: start-up, work with checkpoints, and leases of limited
 * length. An instance whose lease ends by itself is launched again at once; that end is known, so a
 * checkpoint is written in time and nothing is lost. Replays and schedulers share this arithmetic.
 */
struct market_stay {
    double speed;          /* work per second */
    double tau_s, write_s; /* a checkpoint is written after every tau_s of work; INFINITY = none */
    double begin_s, ready_s;
    double max_s, renew_s; /* how long a lease lasts; from renewal until the job works again */
};

/* On an offer, launched at begin_s, working from ready_s on. */
struct market_stay market_stay_of(
    const struct market_job *j, size_t offer, double begin_s, double ready_s, bool foresees);
/* How often it was launched again by then. */
double market_stay_renewals(const struct market_stay *s, double now_s);
/* Work done by then, and what of it is in a checkpoint. */
double market_stay_work(const struct market_stay *s, double now_s);
double market_stay_saved(const struct market_stay *s, double now_s);
/* When so much is done: INFINITY = never. */
double market_stay_until(const struct market_stay *s, double work);

#endif
