/* internal: what the replays of src/app/market share. */
#ifndef APP_MARKET_INTERNAL_H
#define APP_MARKET_INTERNAL_H

#include "app/market/job.h"
#include "app/market/live.h"
#include "app/market/market.h"

/* ERR_USAGE for fields of mode market in a request of mode paper. */
int app_market_check_mode(const struct market_replay_request *q,
                          const struct record *record, /* of request */
                          const void *request,
                          const struct answer *out,
                          struct err *e);

/* Clouds of a replay in mode market. */
void app_market_put_clouds(const struct app_live *c, struct app_market_clouds *out);

/* "dynamic", ..., "best-static", "offline": the rows of an answer in mode market. */
const char *app_market_row_text(size_t row);

/* ---- modes of market.replay ---- */

struct replay_request {
    struct market_replay_request replay;
    const char *model, *work, *strategies;
    bool trace;
};

/* The job of market.replay. */
struct app_market_asked {
    char *model;
    const char *work_text; /* borrowed */
    double reference_days; /* the work, on the reference GPU */
    bool wanted[MARKET_N_STRATEGIES];
};
void app_market_asked_clear(struct app_market_asked *a);
int app_market_ask(const struct replay_request *q,
                   const struct throughputs *speeds,
                   const struct answer *out,
                   struct app_market_asked *asked,
                   struct err *e);

int app_market_replay_live(struct app *app,
                           const struct replay_request *q,
                           struct answer *out,
                           struct err *e);

#endif
