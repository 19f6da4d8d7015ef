/* internal: what the files of src/app/policy share. */
#ifndef APP_POLICY_INTERNAL_H
#define APP_POLICY_INTERNAL_H

#include "app/policy/policy.h"

/* Replaces the prices of a trace by those of the imported histories from start_s on: for each type,
 * an instance type or a GPU by its name, the price of the cheapest offer. region: "aws:us-east-1",
 * "aws"; NULL = any. *end_h_out: the hour up to which the histories hold all prices. */
int app_policy_take_history(struct app *app,
                            const char *region,
                            double start_s,
                            struct policy_file *file,
                            double *end_h_out,
                            struct err *e);

/* An observer of a simulation: its events as items of the answer, and its story for charts. */
struct app_policy_watch {
    struct app *app;
    const struct rounds_ask *ask;
    struct answer *events; /* NULL = not requested */
    struct err failed;     /* the first event that could not be told */
    bool wants_story;
    struct app_policy_story story;
    size_t *last_span; /* per job, one more than its number */
    int64_t *arrivals; /* ascending */
    size_t n_arrived, n_done;
    int64_t cost_microusd;
};
void app_policy_watch_init(struct app_policy_watch *w,
                           struct app *app,
                           const struct rounds_ask *ask,
                           struct answer *events,
                           bool wants_story);
void app_policy_watch_clear(struct app_policy_watch *w);
/* The functions to give to rounds_simulate, with w as context. */
struct rounds_watch app_policy_watch_functions(struct app_policy_watch *w);

#endif
