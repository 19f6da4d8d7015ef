/* follow: stages of a simulated run that follow imported prices (run --on sim --start TIME), as
 * `market replay --mode market` sends jobs through them. */
#ifndef APP_RUN_FOLLOW_H
#define APP_RUN_FOLLOW_H

#include "app/market/live.h"
#include "app/plan/plan.h"
#include "broker/sim/simulate.h"

struct app_run_follow {
    struct app_live live;
    double start_s;
    struct simulate_trade *trades; /* one for each stage of the pipeline */
    bool **may_use;
    char **notes; /* how each stage follows prices, or why it does not */
    size_t n;
    struct simulate_market market;
};
void app_run_follow_clear(struct app_run_follow *m);

struct app_run_follow_request {
    const char *start; /* "2020-03-01", or with the time of day; NULL = follow no prices */
    int64_t seed;      /* FIELD_NONE = 1 */
    struct market_follow follow;
};
int app_run_follow_open(struct app *app,
                        struct app_run_follow *m,
                        const struct app_plan *p,
                        const struct app_run_follow_request *q,
                        const struct answer *answer, /* for errors that spell fields */
                        struct err *e);

#endif
