/* run_market: `tradewind run --on sim --start TIME`: stages that follow imported prices, as
 * `market replay --mode market` sends jobs through them. */
#ifndef CLI_RUN_RUN_MARKET_H
#define CLI_RUN_RUN_MARKET_H

#include "broker/sim/simulate.h"
#include "cli/market/market_live.h"
#include "cli/plan/plan.h"

struct run_market {
    struct app_live live;
    double start_s;
    struct simulate_trade *trades; /* one for each stage of the pipeline */
    bool **may_use;
    char **notes; /* how each follows prices, or why it does not */
    size_t n;
    struct simulate_market market;
};
void run_market_clear(struct run_market *m);

/* Whether --start was given; ERR_USAGE for what goes only with it, or not with it. */
int run_market_wanted(const struct command_args *args, bool *out, struct err *e);
int run_market_open(struct run_market *m,
                    const struct app_plan *p,
                    const struct command_args *args,
                    struct err *e);

#endif
