/* policy: a job's next offer. A policy takes the clock, current prices and the state of the job,
 * and returns an action. A policy does no I/O, keeps no state between calls and draws no random
 * numbers: a replay of history and a live scheduler get the same actions from the same arguments.
 *
 * Work is counted in seconds of one reference GPU. Prices are this job's per second. */
#ifndef MARKET_POLICY_H
#define MARKET_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARKET_NO_OFFER SIZE_MAX
/* Where the checkpoint of a job lies that has not begun. */
#define MARKET_NOWHERE UINT32_MAX

/* What getting going costs. Places are regions. */
struct market_switching {
    double restart_s; /* from launching an instance until the job works on it */
    double write_s;   /* to write a checkpoint: comes first when the job leaves a running machine */
    double move_s;    /* to carry it to another place */
    size_t n_places;
    const double *move_usd; /* [from * n_places + to], for one checkpoint; from == to counts too */
};

/* How long after the launch the job works; leaves: it goes from a running machine of its own
 * accord, or went from one. */
double market_start_s(const struct market_switching *sw, uint32_t from, uint32_t to, bool leaves);
double market_move_usd(const struct market_switching *sw, uint32_t from, uint32_t to);

/* Everything a policy may know. Arrays have an entry an offer and are borrowed. */
struct market_view {
    double now_s;
    size_t n_offers;
    const double *usd_per_s;        /* while it runs there; NaN = not for sale */
    const unsigned char *may_start; /* 0 = none to be had now */
    /* Expected work per second, with what checkpoints and preemptions will take off; 0 = cannot run
     * there. */
    const double *work_per_s;
    const uint32_t *place;
    const struct market_switching *switching;
    double next_look_s; /* no later than this the policy is asked again */

    size_t offer;          /* where the job is; MARKET_NO_OFFER = nowhere */
    size_t offer_before;   /* where it was last, if nowhere; MARKET_NO_OFFER = it has not begun */
    double ready_s;        /* when it works there, if that is still to come */
    uint32_t checkpoint;   /* the place its last checkpoint is at */
    bool left;             /* nowhere since it left of its own accord */
    double work_left;      /* > 0 */
    double deadline_s;     /* INFINITY = none */
    size_t decisions_made; /* by this job, before this one */
};

enum market_act {
    MARKET_STAY, /* where it is, be it nowhere */
    MARKET_TAKE, /* launch `offer` now and move there */
    MARKET_PAUSE /* release the instance; only jobs with a deadline do */
};
struct market_action {
    enum market_act act;
    size_t offer;
};

enum market_policy_kind {
    MARKET_STATIC,   /* the cheapest work when it must choose; then that as long as it can be had */
    MARKET_GREEDY,   /* always the cheapest work of now, whatever moving costs */
    MARKET_MARGIN,   /* moves when that saves more on the work left than it costs */
    MARKET_THRESHOLD /* works where work is worth its price, else waits, as the deadline allows */
};

struct market_policy {
    enum market_policy_kind kind;
    const bool *may_use; /* an entry an offer; NULL = all */
    double margin;       /* MARGIN, THRESHOLD: savings must be this many times the cost of moving */
    double usd_per_work; /* THRESHOLD: what a unit of work is worth */
};

/* A job with a deadline goes, under any policy but STATIC, where it ends in time if it can. */
struct market_action market_decide(const struct market_policy *p, const struct market_view *v);

extern const char *const market_policy_texts[MARKET_THRESHOLD + 1];

#endif
