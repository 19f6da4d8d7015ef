/* simulate: a planned pipeline carried out on the sim cloud, in virtual time and within the calling
 * process: machines are rented just before their stage and returned right after it, troubles are
 * met as a real run would meet them, and the records of runs and machines are those of any run. The
 * same seed gives the same run.
 *
 * Each run has a cloud and a clock of its own (home/sims/RUN, removed once all its machines are
 * gone). Killed at any point, simulate_run goes on from the first stage that has not finished, and
 * simulate_cleanup gives back what was left. */
#ifndef BROKER_SIM_SIMULATE_H
#define BROKER_SIM_SIMULATE_H

#include "broker/core/runs.h"
#include "broker/machine/machines.h"
#include "market/replay.h"

/* Where and how long one stage runs, as planned. Texts are borrowed. */
struct simulate_stage {
    const char *provider, *region, *zone, *instance_type, *accelerator; /* "" = none */
    bool spot;
    unsigned nodes;
    double price_usd_per_hour; /* of one node */
    double cpus, memory_gb, accelerators;
    double setup_s, input_s;
    double work_s; /* without preemptions, all of it */
    int64_t transfer_microusd, storage_microusd;
};

/* What was refused: not to be planned with while the block lasts. */
struct simulate_block {
    enum cloud_failure failure;
    enum cloud_scope scope;
    const char *provider, *region, *zone;
    const char *instance_type; /* "" = any with the accelerator: a quota is for a family */
    const char *accelerator;   /* "" = none */
    bool spot;
};
bool simulate_block_meets(const struct simulate_block *b,
                          const char *provider,
                          const char *region,
                          const char *zone,
                          const char *instance_type,
                          const char *accelerator,
                          bool spot);

struct simulate_question {
    const struct simulate_block *blocks;
    size_t n_blocks;
    /* Share of each stage's work that has to be done: 0 for what is finished or runs where it is,
     * and lies, or will lie, where its struct simulate_stage says. */
    const double *left;
    double elapsed_s;
    int64_t spent_microusd;
};

/* A stage that goes where a policy sends it, at every step of prices and whenever it loses its
 * machine. Everything is borrowed. */
struct simulate_trade {
    const struct market_job *job; /* of the market's scene; NULL = the stage runs as planned */
    struct market_policy policy;
    double work;       /* seconds of the reference GPU */
    double deadline_s; /* since 1970; INFINITY = none */
};
struct simulate_market {
    const struct market_scene *scene;
    enum market_gpu_use use; /* of the scene */
    double restart_s;
    const struct simulate_trade *stages; /* one for each of the run */
};

enum simulate_event_kind { SIMULATE_STAGE, SIMULATE_NOTE };

struct simulate_event {
    enum simulate_event_kind kind;
    double at_s;                /* since the run began */
    size_t stage;               /* SIZE_MAX = the run as a whole */
    enum run_stage_state state; /* SIMULATE_STAGE */
    double took_s;              /* of a stage that is over */
    int64_t cost_microusd;
    const char *text; /* SIMULATE_NOTE: one line; else the reason, or "" */
};

struct simulate_options {
    const char *home;
    struct runs *runs;
    struct machines *machines;
    const struct run *run;         /* recorded, and going; stages that are finished are left out */
    struct simulate_stage *stages; /* one for each of the run; changed by replan */
    uint64_t seed;
    double noise;  /* standard deviation of log(run time / planned); 0 = exactly as planned */
    double boot_s; /* mean */
    double preemptions_per_hour;
    const char *troubles;                 /* cloud/faults.h; NULL = none */
    const struct simulate_market *market; /* NULL = prices stay as planned */
    int64_t begin_ms;     /* where the clock of a new world starts; 0 = when the run was recorded */
    int64_t max_microusd; /* spending stops before it goes beyond; < 0 = no limit */
    /* The best plan for what is left: changes the stages whose left is above 0. ERR_NOFIT: there is
     * none. NULL: as if there were none. */
    int (*replan)(void *context,
                  const struct simulate_question *q,
                  struct simulate_stage *stages,
                  struct err *e);
    int (*tell)(void *context, const struct simulate_event *event, struct err *e); /* NULL */
    bool (*stop)(void *context); /* the user wants to stop; NULL = never */
    void *context;
};

struct simulate_result {
    enum run_state state;
    char reason[MACHINE_REASON_BYTES];
    double time_s; /* until the last stage was over */
    int64_t compute_microusd, data_microusd;
    size_t machines;              /* how many were rented, over all its attempts */
    size_t switches, preemptions; /* of stages that follow a market, in this process */
    size_t open; /* of these not confirmed to be gone: simulate_cleanup has to be tried again */
};

/* 0 whenever the run came to an end, whichever; -1 when the records or the cloud's memory failed:
 * then it can be called again. ERR_RETRY: another process simulates this run. */
int simulate_run(const struct simulate_options *o, struct simulate_result *out, struct err *e);

/* The simulated worlds that no process drives: as machine_reconcile with each of them, as long as
 * that helps, their runs taken for over, and stopped if they were going. how->is_over is not
 * used. */
int simulate_cleanup(const char *home,
                     struct runs *runs,
                     struct machines *machines,
                     struct machine_cleanup *how,
                     struct err *e);

#endif
