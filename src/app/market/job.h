/* job: a job to be replayed through price histories, as requests describe it. */
#ifndef APP_MARKET_JOB_H
#define APP_MARKET_JOB_H

#include "app/core/operation.h"
#include "base/err.h"
#include "estimate/throughput.h"
#include "market/paper.h"

#include <stddef.h>

/* "4 V100-days", "96 V100-hours", "1e6 iterations". */
struct app_market_work {
    double amount;
    char unit[64]; /* "days", "hours" or "iterations" */
    char gpu[64];  /* "" = iterations */
};
int app_market_work_parse(const char *text, struct app_market_work *out, struct err *e);
/* Iterations; ERR_NOFIT when the model has no throughput on the GPU that the work names. */
int app_market_work_iterations(const struct app_market_work *work,
                               const struct throughputs *speeds,
                               const char *model,
                               double *out,
                               struct err *e);

/* "Transformer (batch size 256)" for what the user wrote; new string. ERR_NOTFOUND with the nearest
 * name when no table has it. */
char *app_market_model(const struct throughputs *speeds, const char *asked, struct err *e);

/* "aws:us-east-1" or "us-east-1": new string, the region alone. ERR_USAGE for other clouds, which
 * the published evaluation does not begin in. */
char *app_market_region(const char *text, struct err *e);
/* The same of any cloud; aws where none is named. Both are new strings. */
int app_market_location(const char *text, char **cloud_out, char **region_out, struct err *e);

/* "2020-03-01" or "2020-03-01T06:00:00Z" of the request's field start: seconds since 1970. */
int app_market_start(const char *text, const struct answer *out, double *start_s, struct err *e);
/* "30", "2020-02-18" or "2020-02-18..2020-03-18". */
int app_market_starts(const char *text, struct market_starts *out, struct err *e);

/* On how many of its starts every cloud has prices. */
size_t app_market_covered(const struct market_paper *p);

/* What a model would choose in that market. */
struct market_paper_model *app_market_paper_model(const struct market_paper *p,
                                                  const struct throughputs *speeds,
                                                  const char *model,
                                                  struct err *e);

#endif
