/* simulate: the execution of a planned pipeline on the sim cloud, in virtual time and within the
 * calling process. Stages go through the transition table of broker/core/job_life.h. Machines are
 * launched just before their stage and terminated right after it, faults are handled as in a real
 * run, and the records of runs and machines are those of any run. The same seed gives the same run.
 *
 * Each run has a cloud and a clock of its own (home/sims/RUN, removed once all its machines are
 * gone). After a kill at any point simulate_run continues from the first unfinished stage, and
 * simulate_cleanup terminates what was left. */
#ifndef BROKER_SIM_SIMULATE_H
#define BROKER_SIM_SIMULATE_H

#include "broker/core/runs.h"
#include "broker/machine/machines.h"
#include "market/replay.h"

/* Location and time of one stage, as planned. Texts are borrowed. */
struct simulate_stage {
    const char *provider, *region, *zone, *instance_type, *accelerator; /* "" = none */
    bool spot;
    unsigned nodes;
    double price_usd_per_hour; /* of one node */
    double cpus, memory_gb, accelerators;
    double setup_s, input_s;
    double work_s; /* all of the work, without preemptions */
    int64_t transfer_microusd, storage_microusd;
};

/* A refused request: plans leave it out while the block lasts. */
struct simulate_block {
    enum cloud_failure failure;
    enum cloud_scope scope;
    const char *provider, *region, *zone;
    const char *instance_type; /* "" = any with the accelerator: a quota is for a family */
    const char *accelerator;   /* "" = none */
    bool spot;
    int64_t until_ms;
};
/* Whether the block is for machines in the stage's location. */
bool simulate_block_meets(const struct simulate_block *b, const struct simulate_stage *s);

struct simulate_question {
    const struct simulate_block *blocks;
    size_t n_blocks;
    /* Share of each stage's work that is left to plan; 0: the stage is finished or running, and its
     * output lies, or will lie, in the location of its struct simulate_stage. */
    const double *left;
    double elapsed_s;
    int64_t spent_microusd;
};

/* A stage that a policy moves, at every change of prices and at every loss of its machine.
 * Everything is borrowed. */
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
    const struct run *run;         /* recorded and running; finished stages are left out */
    struct simulate_stage *stages; /* one for each of the run; changed by replan */
    uint64_t seed;
    double noise;  /* standard deviation of log(run time / planned); 0 = exactly as planned */
    double boot_s; /* mean */
    double preemptions_per_hour;
    const char *troubles;                 /* cloud/faults.h; NULL = none */
    const struct simulate_market *market; /* NULL = prices stay as planned */
    int64_t begin_ms;     /* start of a new world's clock; 0 = when the run was recorded */
    int64_t max_microusd; /* spending stops before it goes beyond; < 0 = no limit */
    /* Plans what is left: changes the stages whose left is above 0. ERR_NOFIT: there is no plan.
     * NULL: there never is one. */
    int (*replan)(void *context,
                  const struct simulate_question *q,
                  struct simulate_stage *stages,
                  struct err *e);
    int (*tell)(void *context, const struct simulate_event *event, struct err *e); /* NULL */
    bool (*stop)(void *context); /* whether the user wants to stop; NULL = never */
    void *context;
};

struct simulate_result {
    enum run_state state;
    char reason[MACHINE_REASON_BYTES];
    double time_s; /* until the last stage was over */
    int64_t compute_microusd, data_microusd;
    size_t machines;              /* launched, over all attempts */
    size_t switches, preemptions; /* of stages that follow a market, in this process */
    size_t open;                  /* machines not confirmed to be gone, for simulate_cleanup */
};

/* 0 when the run ended, in whatever state. -1 when the records or the cloud's memory failed: call
 * again. ERR_RETRY: another process simulates this run. */
int simulate_run(const struct simulate_options *o, struct simulate_result *out, struct err *e);

/* Terminates the machines of simulated worlds that no process drives, with machine_reconcile, and
 * stops their runs. how->is_over is not used. */
int simulate_cleanup(const char *home,
                     struct runs *runs,
                     struct machines *machines,
                     struct machine_cleanup *how,
                     struct err *e);

#endif
