/* values: parameters and metrics of jobs and runs, side by side: which of them is best, and the
 * points of their series. job.compare, run.compare, run.get and run.list call it. */
#ifndef APP_JOB_VALUES_H
#define APP_JOB_VALUES_H

#include "app/core/app.h"
#include "base/json.h"

/* Of one job, or of the jobs of one run. */
struct app_values {
    json_t *params;  /* {NAME: value} */
    json_t *series;  /* {NAME: {last, min, max, steps, last_step}}; what is not a number is null */
    json_t *metrics; /* {NAME: last}; app_values_best */
    json_t *best;    /* [NAME, ...]: metrics whose last value is the best of all; app_values_best */
    json_t *points;  /* {NAME: [[step, value], ...]}, where they were asked for */
    json_t *owners;  /* of app_values_add: the stages that names are of */
};
void app_values_clear(struct app_values *v);

/* Adds those of the job. stage: of a run, where a name that two stages use with different values
 * stands as STAGE.NAME; NULL = of a job alone. with_points: also the points, at most some 1,000 of
 * each series, the first and the last among them. */
int app_values_add(struct app *app,
                   int64_t job,
                   const char *stage,
                   bool with_points,
                   struct app_values *v,
                   struct err *e);

/* Fills in metrics and best of n that are compared. Values that are all the same have no best. */
void app_values_best(struct app_values *all, size_t n);

/* Whether less of the metric is better: by words of its name (loss, error, perplexity ...); of
 * other metrics more is. */
bool app_metric_falls(const char *name);

#endif
