/* sweep: hyper-parameter search: trials of a command or of a pipeline, and how they rank. */
#ifndef APP_SWEEP_SWEEP_H
#define APP_SWEEP_SWEEP_H

#include "app/core/operation.h"
#include "app/job/job.h"

/* clang-format off */
#define SWEEP_OPERATIONS(X) X(sweep_start) X(sweep_get) X(sweep_list)
/* clang-format on */
SWEEP_OPERATIONS(OPERATION_DECLARE)

/* One trial: a command, or a run of a pipeline, with one value of each parameter. */
struct app_sweep_trial {
    int64_t rank;      /* FIELD_NONE = it has no value of the metric */
    const char *state; /* as of a job; "stopped": halving stopped it */
    json_t *params;    /* {NAME: value} */
    double value;      /* of the metric, the last; NAN = none */
    double step;       /* of that value */
    double runtime_s;
    int64_t cost_microusd;
    struct field_ints jobs; /* one after the other: halving continues a trial in another job */
    int64_t run;            /* of a pipeline, the last; FIELD_NONE */
    const char *output;     /* set version; NULL = none */
    bool best;
};
extern const struct record app_sweep_trial_record;

/* Answer of sweep.start and sweep.get; of the former before the jobs. */
struct app_sweep {
    const char *name;
    int64_t finished, stopped, jobs; /* trials: jobs or runs */
    const char *search, *metric, *goal;
    const char *best;            /* set version that the best trial made; NULL = none */
    struct field_records trials; /* struct app_sweep_trial, the best first */
    bool is_pipeline;            /* in no field */
};

/* One sweep of sweep.list. */
struct app_sweep_listed {
    const char *name, *search;
    int64_t trials, finished;
    const char *metric; /* NULL = none is known */
    double value;       /* of the best finished trial; NAN = none */
    int64_t cost_microusd;
    const char *best; /* as in struct app_sweep */
};

#endif
