/* pipeline: a home with records, and runs of a few stages on the cloud on paper, whose bills can be
 * worked out by hand: machines of 100 and of 200 micro-dollars a second. */
#ifndef BROKER_PIPELINE_H
#define BROKER_PIPELINE_H

#include "base/buf.h"
#include "broker/sim/simulate.h"

#define PIPELINE_STAGES_MAX 1000
/* Micro-dollars a second. */
#define CHEAP 100
#define DEAR 200

struct pipeline {
    char home[300];
    struct runs *runs;
    struct machines *machines;
    struct run run;
    struct run_stage stages[PIPELINE_STAGES_MAX];
    size_t needs[PIPELINE_STAGES_MAX];
    char names[PIPELINE_STAGES_MAX][24];
    struct simulate_stage where[PIPELINE_STAGES_MAX];
    struct simulate_options options;
    struct simulate_result result;
    struct buf log; /* one line an event */
    unsigned replans;
    struct err err;
};

/* n stages in a chain, each of 600 s on cheap(), exactly as planned; machines boot at once. */
void pipeline_init(struct pipeline *p, size_t n);
void pipeline_clear(struct pipeline *p);
/* Another run in the same home. */
void pipeline_again(struct pipeline *p);
/* simulate_run with a new record, or that of the last. -1 with err. */
int pipeline_run(struct pipeline *p);
int pipeline_resume(struct pipeline *p);

/* m5.large in aws/us-east-1/us-east-1a at CHEAP. */
struct simulate_stage cheap(double work_s);
/* e2-big in gcp/us-central1 at DEAR: what the plan falls back on, unless it is refused, too. */
struct simulate_stage dear(double work_s);

/* All that the run cost. */
int64_t pipeline_cost(const struct pipeline *p);
/* The seconds begun of all its machines, times what each costs, as the records have them. */
int64_t pipeline_recorded(struct pipeline *p);
/* How many of the run's records are in that state; 0 = all. */
size_t pipeline_count(struct pipeline *p, enum machine_state state);

#endif
