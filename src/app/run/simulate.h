/* simulate: the operation run.simulate: a planned pipeline run on a simulated cloud in virtual
 * time, within the calling process. */
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
    /* Of a stage; none in a note. */
    unsigned state; /* enum run_stage_state */
    const char *reason;
    double runtime_s, planned_s;
    int64_t cost_microusd, planned_microusd;
    /* Its machine, as it is planned now. */
    const char *instance_type, *location;
    bool spot, follows_prices;
};

/* A row of the bill. */
struct app_simulated_stage {
    const char *name, *instance_type;
    unsigned state;           /* enum run_stage_state */
    double planned_s, took_s; /* took_s NAN = it did not end */
    int64_t planned_microusd, cost_microusd;
};
extern const struct record app_simulated_stage_record;

struct app_simulated {
    const char *event; /* "bill"; "planned": a dry run, where all but the plan is none */
    const void *plan;  /* struct app_plan_report, of a dry run */
    int64_t run;
    const char *pipeline, *reason;
    unsigned state; /* enum run_state */
    int64_t seed;
    int64_t machines, machines_open; /* launched; of these not confirmed to be terminated */
    double time_s, planned_s;
    int64_t cost_microusd, compute_microusd, data_microusd, planned_microusd;
    int64_t switches, preemptions; /* FIELD_NONE: the run followed no prices */
    struct field_records stages;   /* struct app_simulated_stage */
};

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
