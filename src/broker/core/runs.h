/* runs: pipelines that were started: what each stage was to run, where it was planned, how far it
 * came. In a database of its own (home/runs.db), which commands and the broker share; the jobs of
 * the stages are in the lake. */
#ifndef BROKER_CORE_RUNS_H
#define BROKER_CORE_RUNS_H

#include "base/auto.h"
#include "base/err.h"
#include "broker/core/offer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runs;

/* Stored as numbers. */
enum run_state { RUN_GOING = 1, RUN_FINISHED, RUN_FAILED, RUN_STOPPED };
enum run_stage_state {
    STAGE_WAITING = 1,
    STAGE_GOING,
    STAGE_FINISHED,
    STAGE_REUSED, /* an earlier job used the same code, and had the same command and input */
    STAGE_FAILED,
    STAGE_SKIPPED, /* what it needs did not finish */
    STAGE_STOPPED,
};
const char *run_stage_state_text(enum run_stage_state state);
bool run_stage_state_final(enum run_stage_state state);

/* Where a stage's input comes from: a reference, or an output of an earlier stage. */
struct run_input {
    const char *ref;    /* NULL = of a stage */
    size_t stage;       /* index */
    const char *output; /* its name; "" = all of them */
};

/* Of a stage that repeats a job: its input held this set version, now it gets another. */
struct run_swap {
    const char *set; /* "@S:1" */
    struct run_input now;
};

struct run_pair {
    const char *key, *value;
};

struct arena;

/* A variable of a stage whose value must not be seen. */
struct run_secret {
    const char *stage, *name, *value;
};

/* Everything the broker needs to run a stage. Never changes, but for where it is planned. */
struct run_stage_plan {
    const char *name;
    const size_t *needs;
    size_t n_needs;
    const char *const *command;
    size_t n_command;
    const struct run_input *inputs;
    size_t n_inputs;
    const char *code;           /* "@code-x:1"; NULL = none */
    bool all_code;              /* all of the code decides whether it is run again */
    const char *const *picks;   /* these files of the code alone do (codefiles_picks); without */
    size_t n_picks;             /* either, those that an earlier job was seen to use */
    const char *output;         /* the set its outputs go to; NULL = it has none */
    const char *const *outputs; /* their names (job_output_is_file) */
    size_t n_outputs;
    const char *image;             /* of the container that it runs in; NULL = none */
    const struct run_pair *mounts; /* as in struct job_details */
    size_t n_mounts;
    const char *commit; /* of the code's repository, "" = none */
    bool dirty;         /* it was changed since */
    const struct run_pair *envs;
    size_t n_envs;
    const struct run_pair *submitter; /* as in struct job_details */
    size_t n_submitter;
    const char *const *secrets; /* names of variables; their values stand in broker/secrets.h */
    size_t n_secrets;
    double cpus; /* what it gets here; what was planned is told below */
    uint64_t memory_mb;
    double time_limit_s, checkpoint_s;
    bool json_metrics;    /* printed lines of JSON are metrics */
    double gpus_per_node; /* where it runs */
    unsigned gpus;        /* as in struct job_details, with the two below */
    const char *gpu_type;
    const char *const *devices;
    size_t n_devices;
    int64_t continues; /* the job of an earlier run whose checkpoint it begins with; 0 = none */
    /* A stage that repeats a job has no inputs as above, but the job's own. */
    int64_t repeats;      /* the job; 0 = none */
    const char *input;    /* as recorded: "@X:1", "/dir/@X:1"; NULL = none */
    const char *restores; /* the set version to be made again, "@S:3": then the input is taken as
                           * recorded where it is there; NULL = what is made is new */
    const struct run_swap *swaps;
    size_t n_swaps;
    const char *note; /* "8 vCPU planned, 2 given"; "" = none */
    const char *on;   /* "local" or a host group; NULL = where the run is */
    /* It serves the others, as long as one of them is not over: then it is ended, which is its good
     * end. In a run that has such a stage, one that fails ends all of them. */
    bool serves;
    /* As planned. */
    const char *place, *instance_type;
    bool spot;
    unsigned nodes;            /* more than one: a gang, whose jobs begin together */
    double price_usd_per_hour; /* of all its nodes */
    /* Of a training cluster, a gang whose first node is a parameter server: */
    unsigned servers;           /* 1; of any other stage 0 */
    const char *server_on;      /* the host group of the server; NULL = the run's */
    double server_usd_per_hour; /* of all of price_usd_per_hour */
    bool elastic;               /* the others continue when a worker ends badly */
    double batch;               /* its size, for what is learned of it; 0 = not said */
    double planned_s;
    int64_t planned_microusd;
    struct job_offer offer;        /* on a cloud: of each node; provider "" = none */
    struct job_offer server_offer; /* of a training cluster on a cloud: of its servers */
};

/* The plan as JSON text, for runs.c; new string. Parsed strings go to the arena, ERR_IO for what is
 * not such a text. */
char *run_plan_text(const struct run_stage_plan *p);
int run_plan_parse(struct arena *arena,
                   const char *text,
                   struct run_stage_plan *out,
                   struct err *e);

struct run_stage {
    struct run_stage_plan plan;
    enum run_stage_state state;
    int64_t job;       /* 0 = none yet; of a gang the first, the others follow it */
    unsigned attempts; /* jobs, or gangs, that it was given */
    const char *reason;
};

struct run {
    int64_t id;
    const char *name, *file, *user;
    const char *on; /* "local", "sim", a host group */
    enum run_state state;
    const char *reason;
    int64_t created_ms, ended_ms; /* 0 = not yet */
    unsigned stop_asked;          /* 1: let stages end by SIGTERM; 2: at once */
    const char *stop_reason;      /* "" = its user wants it */
    bool no_cache;
    double planned_s;
    int64_t planned_microusd;
    int64_t max_microusd; /* what it may cost; 0 = as much as it takes */
    /* Of a trial of a sweep: its name, and the parameters as JSON, {"LR": "0.1"}. runs_add takes
     * NULL as "" = of no sweep. */
    const char *sweep, *params;
    const char *request; /* on clouds: how it was planned, as JSON; NULL or "" = it is not moved */
    struct run_stage *stages;
    size_t n_stages;
    /* For runs_add alone: runs that are read have none. */
    const struct run_secret *secrets;
    size_t n_secrets;
    void *priv;
};
void run_clear(struct run *r);

/* One connection, for one thread. */
struct runs *runs_open(const char *home, struct err *e);
void runs_free(struct runs *r);
AUTO_DEFINE(runs)

/* db_relax: for simulated runs. */
void runs_relax(struct runs *r);

const char *runs_home(const struct runs *r);

/* Writes down a run with all its stages, waiting, and its secrets (secrets.h). id, state, times of
 * `run` are filled in. */
int runs_add(struct runs *r, struct run *run, struct err *e);
/* ERR_NOTFOUND with those that exist nearby. */
int runs_get(struct runs *r, int64_t id, struct run *out, struct err *e);
/* Newest first; limit 0 = all. visit stands in the middle of a query; stages are not filled in. */
int runs_list(struct runs *r,
              bool going_only,
              uint64_t limit,
              int (*visit)(void *context, const struct run *run, struct err *e),
              void *context,
              struct err *e);
/* The runs of a sweep, the oldest first; otherwise as runs_list. */
int runs_of_sweep(struct runs *r,
                  const char *sweep,
                  int (*visit)(void *context, const struct run *run, struct err *e),
                  void *context,
                  struct err *e);
/* The newest run of that pipeline; 0 = none. */
int runs_latest(struct runs *r, const char *name, int64_t *id_out, struct err *e);

int runs_set_stage(struct runs *r,
                   int64_t run,
                   size_t stage,
                   enum run_stage_state state,
                   int64_t job,
                   const char *reason,
                   struct err *e);
/* Stages that wait, or one that is being launched, are planned elsewhere: each plan replaces the
 * recorded one. */
int runs_set_plan(
    struct runs *r, int64_t run, size_t stage, const struct run_stage_plan *plan, struct err *e);
int runs_end(struct runs *r, int64_t run, enum run_state state, const char *reason, struct err *e);
/* A run that did not finish goes on: what its stages have finished stays, the others wait again. */
int runs_reopen(struct runs *r, int64_t run, struct err *e);
/* 1 or 2 as in struct run; a run that is over is fine. */
int runs_ask_stop(struct runs *r, int64_t run, unsigned how, struct err *e);
/* The same, gently, for a reason that its stages are to have. */
int runs_ask_stop_for(struct runs *r, int64_t run, const char *reason, struct err *e);
/* How often a stop was requested: 0, 1 or 2; 0 for unknown runs. */
int runs_stop_asked(struct runs *r, int64_t run, unsigned *how_out, struct err *e);

#endif
