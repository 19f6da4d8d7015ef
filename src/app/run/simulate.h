/* simulate: a planned pipeline run on a simulated cloud in virtual time, within the calling
 * process. */
#ifndef APP_RUN_SIMULATE_H
#define APP_RUN_SIMULATE_H

#include "app/run/follow.h"
#include "app/run/run.h"

/* A stage changed its state, or something happened to the run. */
struct app_simulated_event {
    const char *event; /* "stage" or "note" */
    int64_t run;
    double at_s;       /* since the run began */
    const char *stage; /* NULL = the run as a whole */
    const char *text;  /* of a note */
    /* Of a stage; NULL, NAN and FIELD_NONE in a note. */
    const char *state, *reason;
    double runtime_s;
    int64_t cost_microusd;
    /* For people: the stage and its machine, as they are planned now. */
    enum run_stage_state stage_state;
    const struct run_stage_plan *plan;
    const struct simulate_stage *on;
    bool follows_prices;
};
extern const struct record app_simulated_event_record;

/* A row of the bill. */
struct app_simulated_stage {
    const char *name, *state, *instance_type;
    double planned_s, took_s; /* took_s NAN = it did not end */
    int64_t planned_microusd, cost_microusd;
};
extern const struct record app_simulated_stage_record;

struct app_simulated {
    const char *event; /* "bill" */
    int64_t run;
    const char *pipeline, *state, *reason;
    int64_t seed;
    int64_t machines, machines_open; /* launched; of these not confirmed to be terminated */
    double time_s, planned_s;
    int64_t cost_microusd, compute_microusd, data_microusd, planned_microusd;
    int64_t switches, preemptions; /* FIELD_NONE: the run followed no prices */
    /* For people. */
    enum run_state run_state;
    struct field_records stages; /* struct app_simulated_stage */
};
extern const struct record app_simulated_record;

struct app_simulation {
    uint64_t seed;
    double noise;                        /* standard deviation of log(run time / planned) */
    const char *faults;                  /* as cloud/faults.h has them; NULL = none */
    int64_t max_microusd;                /* spending cap; < 0 = none */
    bool resume;                         /* continue the last run of the pipeline */
    const struct app_run_follow *follow; /* NULL = prices stay as planned */
    int (*tell)(void *context, const struct app_simulated_event *x, struct err *e); /* or NULL */
    void *context;
};

/* Runs the plan of p, which is solved. *out is in the arena. 0 whenever the run came to an end. */
int app_run_simulate(struct app *app,
                     const struct app_plan *p,
                     const struct app_simulation *s,
                     struct arena *a,
                     struct app_simulated *out,
                     struct err *e);
/* ERR_RETRY when machines of the simulated run are not confirmed to be terminated. */
int app_simulated_check(const struct app_simulated *s, struct err *e);

/* ---- simulate_plan.c ---- */

/* Stage i as a plan has it. */
struct simulate_stage app_simulation_stage(const struct app_plan *p,
                                           size_t i,
                                           const struct plan_stage *s);
/* The best plan for the stages that are left: outputs stay where they were made, refused offers are
 * left out, and budget and deadline hold as long as a plan meets them. ERR_NOFIT. */
int app_simulation_replan(const struct app_plan *p,
                          const struct simulate_question *q,
                          struct simulate_stage *stages,
                          struct err *e);

#endif
