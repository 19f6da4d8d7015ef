/* trials: the trials of a sweep as the records of jobs and runs tell them: which there are, how far
 * they are, and what their metric is. A command that was killed reads them and continues. */
#ifndef APP_SWEEP_TRIALS_H
#define APP_SWEEP_TRIALS_H

#include "app/sweep/sweep.h"
#include "broker/learn/halving.h"
#include "broker/learn/space.h"

/* The definition of a sweep: home/sweeps/NAME.json, written before the first trial starts. */
struct sweep_plan {
    char *name, *search, *metric, *output; /* metric and output: NULL = none */
    bool is_pipeline, less_is_better;
    double first_step; /* of the first rung */
};
void sweep_plan_clear(struct sweep_plan *p);
int sweep_plan_save(const char *home, const struct sweep_plan *p, struct err *e);
/* 1; 0: there is none; -1. */
int sweep_plan_load(const char *home, const char *name, struct sweep_plan *out, struct err *e);

/* The reason of each stop by halving begins with it: such a trial may continue. */
#define SWEEP_HALVING "halving: "

struct sweep_trial {
    const char *key;           /* command and size of a job, parameters of a run */
    const char *const *values; /* of the parameters; NULL = read from records alone */
    char **command;            /* of a job */
    size_t n_command;
    const char *params; /* of a run, as JSON; NULL */
    /* As recorded: */
    enum halving_state state;
    const char *state_text;
    int64_t *ids; /* jobs, or runs */
    size_t n, cap;
    int64_t *jobs; /* the same, or the jobs of the stages */
    size_t n_jobs, cap_jobs;
    int64_t id; /* job or run that decides its state; 0 = none */
    bool is_stopping;
    double runtime_s;
    int64_t cost_microusd;
    const char *output; /* NULL = none */
    double value, step; /* NAN = none yet */
    size_t reached;     /* rungs */
    double rungs[HALVING_RUNGS_MAX];
    size_t n_read;   /* ids, all over, whose metric was read */
    size_t n_failed; /* ids that had failed when the command began; the trial is retried */
};

struct sweep_trials {
    struct arena *arena;
    struct sweep_trial *items;
    size_t n, cap;
    struct map *map; /* by key */
    bool adds;       /* every trial found in the records; else those of the command alone */
    size_t n_rungs;
    int64_t cost_microusd; /* of all */
};
void sweep_trials_init(struct sweep_trials *t);
void sweep_trials_clear(struct sweep_trials *t);
/* Adds a trial unless there is one with the key. */
struct sweep_trial *sweep_trials_add(struct sweep_trials *t, const char *key);
/* The key of a job: its command, its size, and its variables from d. New string. */
char *sweep_job_key(const struct lake_job_request *r, const struct job_details *d);

/* Reads states, times and costs of all trials. */
int sweep_trials_look(struct sweep_trials *t,
                      struct app *app,
                      const struct sweep_plan *plan,
                      struct err *e);
/* Reads the metric of trials that are not over, or ended since. */
int sweep_trials_measure(struct sweep_trials *t,
                         struct app *app,
                         const struct sweep_plan *plan,
                         struct err *e);
/* Finds the metric where the plan names none: the only one of a finished trial, or `loss`. */
int sweep_trials_find_metric(const struct sweep_trials *t,
                             struct app *app,
                             struct sweep_plan *plan,
                             struct err *e);
/* The best finished trial; NULL = none has a value. */
const struct sweep_trial *sweep_trials_best(const struct sweep_trials *t,
                                            const struct sweep_plan *plan);
/* Sets the alias @SET:best to the version that the best trial made. */
int sweep_trials_alias(struct app *app,
                       const struct sweep_plan *plan,
                       const struct sweep_trial *best,
                       struct err *e);
/* Fills in the answer, the best trial first. */
int sweep_trials_report(const struct sweep_trials *t,
                        struct app *app,
                        const struct sweep_plan *plan,
                        const struct answer *out,
                        struct app_sweep *report,
                        struct err *e);
void app_sweep_clear(struct app_sweep *report);

/* ---- pipeline.c: trials that are runs ---- */

struct sweep_pipeline;
/* Reads and plans the pipeline file, once for all trials. NULL: e; ERR_NOFIT when a stage asks for
 * GPUs that are not there, unless it may run without. */
struct sweep_pipeline *sweep_pipeline_open(struct app *app,
                                           const char *file,
                                           const char *on, /* "local", or clouds */
                                           bool without_gpus,
                                           const struct answer *out,
                                           struct err *e);
void sweep_pipeline_free(struct sweep_pipeline *p);
AUTO_DEFINE(sweep_pipeline)
/* ERR_USAGE when no stage makes the set. */
int sweep_pipeline_check_output(const struct sweep_pipeline *p, const char *output, struct err *e);
/* Starts a run with these variables ("LR=0.1"), from the checkpoints of run `resumed` (0 = none).
 */
int sweep_pipeline_start(struct sweep_pipeline *p,
                         const struct sweep_plan *plan,
                         const char *params,
                         const struct field_list *env,
                         int64_t resumed,
                         struct err *e);

#endif
