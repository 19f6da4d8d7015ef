/* internal: the state of a simulated run, and what the files of src/broker/sim offer each other. */
#ifndef BROKER_SIM_INTERNAL_H
#define BROKER_SIM_INTERNAL_H

#include "base/arena.h"
#include "broker/core/job_life.h"
#include "broker/machine/machines.h"
#include "broker/sim/simulate.h"

/* ---- simulate_world.c ---- */

struct simulate_world {
    struct machines *records;
    int64_t run;
    int64_t now_ms;
    struct machine_provisioner provisioner;
    struct cloud *cloud;
    char *dir;
    int lock_fd;
};

/* options: seed, boot_s, preemptions_per_hour and troubles are used. begin_ms: where a new clock
 * starts. ERR_RETRY: another process has it. */
struct simulate_world *simulate_world_open(const char *home,
                                           struct machines *records,
                                           int64_t run,
                                           int64_t begin_ms,
                                           const struct cloud_options *options,
                                           struct err *e);
void simulate_world_free(struct simulate_world *w);
AUTO_DEFINE(simulate_world)

/* Sets the clock. Recorded before anything happens at that time: no crash sets the clock back. */
int simulate_world_set(struct simulate_world *w, int64_t now_ms, struct err *e);
/* Repeats machine_reconcile, with the run as over and the clock a little later each time, as long
 * as machines disappear. how->tell gets the first round only. */
int simulate_world_cleanup(struct simulate_world *w, struct machine_cleanup *how, struct err *e);
/* Removes the world when all its machines are gone; else does nothing. */
int simulate_world_end(struct simulate_world *w, struct err *e);

/* The machines of one stage, launched all or none. */
struct gang {
    struct machine *nodes;
    unsigned n;
    int64_t told_microusd; /* cost that stages were charged so far */
    struct gang *next;     /* in the list of free gangs */
};

struct trade;

/* A stage, and its present attempt. */
struct stage_life {
    enum life_state state; /* of the attempt */
    size_t needs_left;
    struct gang *gang; /* its machines; NULL = none */
    unsigned attempt, losses;
    unsigned duds;   /* boots that failed */
    unsigned tries;  /* of the call that is being repeated */
    int64_t wake_ms; /* due at the latest */
    int64_t begun_ms, asked_ms;
    int64_t work_ms, finish_ms; /* running: when the work begins and ends */
    double left;                /* share of the work that is not saved yet */
    double work_s;              /* running: all of the work on these machines, noise included */
    int64_t spent_microusd;
    struct trade *trade; /* of a stage that follows a market; NULL = it does not */
    enum run_stage_state
        end;         /* of the stage, when its attempt ends; STAGE_GOING: another follows */
    const char *why; /* reason of that end; borrowed during the call */
};

/* A machine that is being terminated. */
struct leaving {
    struct machine machine;
    int64_t wake_ms;
    unsigned tries;
};

struct sim {
    const struct simulate_options *o;
    struct simulate_world *world;
    struct cloud_market cloud_market;
    struct arena *arena;
    int64_t begin_ms;
    size_t n;
    struct stage_life *lives;
    size_t *dependents, *first_dependent; /* stage i has first[i] up to first[i + 1] */
    size_t *active, n_active;
    size_t *ready, n_ready;
    size_t unfinished;
    struct gang *free;
    struct leaving *leaving;
    size_t n_leaving, cap_leaving;
    struct simulate_block *blocks;
    size_t n_blocks, cap_blocks;
    bool cloud_event; /* the clock stands at an event of the cloud */
    int64_t renewed_ms;
    int64_t ended_microusd; /* cost of terminated machines, and of data */
    unsigned replans;
    size_t machines, switches, preemptions;
    bool is_stopping, has_failed;
    enum run_state end_state;
    char reason[MACHINE_REASON_BYTES];
};

static inline int64_t sim_now(const struct sim *s)
{
    return s->world->now_ms;
}

/* ---- simulate.c ---- */
int sim_tell_stage(
    struct sim *s, size_t i, enum run_stage_state state, const char *why, struct err *e);
int sim_note(struct sim *s, size_t stage, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Records the stage's state, after all pending records of machines. */
int sim_set_stage(
    struct sim *s, size_t i, enum run_stage_state state, const char *why, struct err *e);
/* The run ends once all its machines are terminated. */
void sim_stop(struct sim *s, enum run_state state, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- simulate_life.c ---- */
/* Something happened to the stage's attempt: looks up the row of broker/core/job_life.c, enters its
 * state, and carries out its action in virtual time. */
int stage_fire(struct sim *s, size_t i, enum life_event event, struct err *e);
/* The attempt ends with the event, and the next one provisions at once. */
int stage_next_attempt(struct sim *s, size_t i, enum life_event event, struct err *e);
/* The stage ends unfinished. */
int stage_give_up(
    struct sim *s, size_t i, enum run_stage_state state, const char *reason, struct err *e);

/* ---- simulate_stage.c ---- */
/* Does what is due, or looks at what happened in the cloud. */
int stage_step(struct sim *s, size_t i, struct err *e);
bool stage_is_due(const struct sim *s, size_t i);
/* Whether what happens in the cloud concerns the stage. */
bool stage_watches(const struct sim *s, size_t i);

/* Charges the stage for its machines, up to now. */
void stage_settle_cost(struct sim *s, struct stage_life *g);
/* Terminates the stage's machines, if it has any. */
int stage_drop_gang(struct sim *s, struct stage_life *g, const char *reason, struct err *e);
/* The order of one machine of the stage, in its present location. */
void stage_order(
    const struct sim *s, size_t i, unsigned node, char token[static 65], struct machine_order *out);
/* False, and the run stops, when this much more would exceed the spending limit. */
bool stage_can_spend(struct sim *s, int64_t microusd);
int stage_charge(struct sim *s, struct stage_life *g, int64_t microusd, struct err *e);

/* ---- simulate_market.c ---- */
bool trade_wanted(const struct sim *s, size_t i);
void trade_start(struct sim *s, size_t i);
int trade_step(struct sim *s, size_t i, struct err *e);
/* The run's market for the sim cloud; NULL when it has none. */
const struct cloud_market *trade_cloud(struct sim *s);

/* ---- simulate_gang.c ---- */
struct gang *sim_gang_new(unsigned n);
void sim_gang_free(struct gang *g);
int64_t sim_gang_cost(const struct gang *g, int64_t now_ms);
/* Terminates all machines of the gang, and frees it. */
int sim_gang_return(struct sim *s, struct gang *g, const char *reason, struct err *e);
int leave(struct sim *s, const struct machine *m, struct err *e);
int leave_due(struct sim *s, struct err *e);
int64_t leave_next_ms(const struct sim *s);
/* Time before the call is repeated: exponential back-off with full jitter, by the seed. */
int64_t backoff_ms(const struct sim *s,
                   const char *token,
                   unsigned tries,
                   const struct cloud_error *why);
/* A random number from 0 to below 1, by seed, purpose, name and number alone. */
double sim_draw(const struct sim *s, const char *purpose, const char *name, unsigned number);
/* Cost of the run until at_ms, as far as known now. */
int64_t sim_spent(const struct sim *s, int64_t at_ms);

/* Blocks the refused request; the fault's scope decides how much of it. */
void sim_plan_block(struct sim *s,
                    const struct simulate_stage *where,
                    const struct cloud_error *why);
/* Plans the stage again, with all stages that have not started; why: one line. Without a plan the
 * stage fails. */
int sim_plan_again(struct sim *s, size_t i, const char *why, struct err *e);
int sim_plan_ask(struct sim *s, size_t i, struct err *e);

#endif
