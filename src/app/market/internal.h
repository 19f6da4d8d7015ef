/* internal: what the files of src/app/market share. */
#ifndef APP_MARKET_INTERNAL_H
#define APP_MARKET_INTERNAL_H

#include "app/market/live.h"
#include "app/market/market.h"

/* ---- home.c ---- */

/* The histories of a home, as app_market_open. */
struct market *app_market_load(const char *home, struct err *e);
/* Replaces the file by these bytes, unless it holds them already: *changed_out. */
int app_market_save(
    const char *home, const void *bytes, size_t len, bool *changed_out, struct err *e);
/* Waits for the lock of writers: a descriptor to close when done, or -1. Creates the directory. */
int app_market_lock(const char *home, struct err *e);
/* "2020-03-23" */
const char *app_market_day(double at_s, char out[static 32]);

/* ---- tables.c ---- */

/* The built-in figures, and those of the files of a request; NULL = no file. */
struct market_tables *app_market_tables(const char *on_demand,
                                        const char *sizes,
                                        const char *egress,
                                        struct err *e);

/* ---- job.c: the job of a request ---- */

/* ERR_USAGE for fields of mode market in a request of mode paper. */
int app_market_check_mode(const struct market_replay_request *q,
                          const void *request, /* of out->request */
                          const struct answer *out,
                          struct err *e);
/* "4 V100-days", "96 V100-hours" or "1e6 iterations" of the field work, in days on the reference
 * GPU. ERR_NOFIT when the model has no throughput there, or on the GPU that the work names. */
int app_market_work(const char *text,
                    const struct throughputs *speeds,
                    const char *model,
                    const struct answer *out,
                    double *days_out,
                    struct err *e);
/* "aws:us-east-1" or "us-east-1", of aws, of the field region; in the arena of the answer. */
int app_market_location(const char *text,
                        const struct answer *out,
                        const char **cloud_out,
                        const char **region_out,
                        struct err *e);
/* "30", "2020-02-18" or "2020-02-18..2020-03-18" of the field starts. */
int app_market_starts(const char *text,
                      const struct answer *out,
                      struct market_starts *starts,
                      struct err *e);

/* What requests in mode paper are replayed through. */
struct app_market_paper {
    struct throughputs *speeds;
    struct market *market;
    struct market_paper *days;
    const char *region; /* in the arena of the answer */
    size_t n_starts, n_covered;
};
int app_market_paper_open(struct app *app,
                          const struct market_replay_request *q,
                          const struct answer *out,
                          struct app_market_paper *p,
                          struct err *e);
void app_market_paper_clear(struct app_market_paper *p);
/* What a model would choose in that market. */
struct market_paper_model *app_market_paper_model(const struct app_market_paper *p,
                                                  const char *model,
                                                  struct err *e);

/* ---- replay.c and replay_live.c: the modes of market.replay ---- */

struct replay_request {
    struct market_replay_request replay;
    const char *model, *work, *strategies;
    bool trace;
};

/* The job of market.replay. */
struct app_market_asked {
    const char *model;     /* in the arena of the answer */
    double reference_days; /* the work, on the reference GPU */
    bool wanted[MARKET_N_STRATEGIES];
};
int app_market_ask(const struct replay_request *q,
                   const struct throughputs *speeds,
                   const struct answer *out,
                   struct app_market_asked *asked,
                   struct err *e);

int app_market_replay_live(struct app *app,
                           const struct replay_request *q,
                           struct answer *out,
                           struct err *e);

/* Clouds of a replay in mode market. */
void app_market_put_clouds(const struct app_live *c, struct app_market_clouds *out);
/* "dynamic", ..., "best-static", "offline": the rows of an answer in mode market. */
const char *app_market_row_text(size_t row);

#endif
