/* market_job: a job to be sent through a market, as options describe it. */
#ifndef CLI_MARKET_MARKET_JOB_H
#define CLI_MARKET_MARKET_JOB_H

#include "app/market/job.h"
#include "base/auto.h"
#include "base/err.h"
#include "cli/core/command.h"
#include "estimate/throughput.h"
#include "market/paper.h"

#include <stdbool.h>
#include <stddef.h>

/* What all replays have in common. */
/* clang-format off */
#define CLI_MARKET_JOB_OPTIONS                                                                     \
    {.name = "--throughputs",                                                                      \
     .value = "FILE",                                                                              \
     .help = "Iterations per second (CSV: model,batch_size,GPU...), before the built-in ones."},   \
    {.name = "--region",                                                                           \
     .value = "PLACE",                                                                             \
     .help = "Whose machines strategies of one cloud use (default: aws:us-east-1; mode paper: "    \
             "of aws)."},                                                                          \
    {.name = "--starts",                                                                           \
     .value = "STARTS",                                                                            \
     .help = "Days to begin on: how many (default: 30), a day, or DAY..DAY."}
/* clang-format on */

/* The job of `market replay`. */
struct cli_market_asked {
    char *model;
    const char *work_text; /* borrowed */
    double reference_days; /* the work, on the reference GPU */
    bool wanted[MARKET_N_STRATEGIES];
};
void cli_market_asked_clear(struct cli_market_asked *a);
/* --model, --work and --strategies. */
int cli_market_asked_read(struct cli_market_asked *out,
                          const struct command_args *args,
                          const struct throughputs *speeds,
                          struct err *e);

/* The jobs of `market sweep`. */
#define CLI_MARKET_DURATIONS_MAX 16
struct cli_market_range {
    char **models;
    size_t n_models, cap_models;
    double durations[CLI_MARKET_DURATIONS_MAX]; /* days of the reference */
    size_t n_durations;
};
void cli_market_range_clear(struct cli_market_range *r);
/* --model, those that were asked for, else every model once, and --durations. */
int cli_market_range_read(struct cli_market_range *out,
                          const struct command_args *args,
                          const struct throughputs *speeds,
                          struct err *e);

#endif
