/* market_job: a job to be sent through a market, as options describe it. */
#ifndef CLI_MARKET_MARKET_JOB_H
#define CLI_MARKET_MARKET_JOB_H

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

/* "4 V100-days", "96 V100-hours", "1e6 iterations". */
struct cli_market_work {
    double amount;
    char unit[64]; /* "days", "hours" or "iterations" */
    char gpu[64];  /* "" = iterations */
};
int cli_market_work_parse(const char *text, struct cli_market_work *out, struct err *e);
/* Iterations; ERR_NOFIT when the model has no throughput on the GPU that the work names. */
int cli_market_work_iterations(const struct cli_market_work *work,
                               const struct throughputs *speeds,
                               const char *model,
                               double *out,
                               struct err *e);

/* "Transformer (batch size 256)" for what the user wrote; new string. ERR_NOTFOUND with the nearest
 * name when no table has it. */
char *cli_market_model(const struct throughputs *speeds, const char *asked, struct err *e);

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

/* "aws:us-east-1" or "us-east-1": new string, the region alone. ERR_USAGE for other clouds, which
 * the published evaluation does not begin in. */
char *cli_market_region(const char *text, struct err *e);
/* The same of any cloud; aws where none is named. Both are new strings. */
int cli_market_place(const char *text, char **cloud_out, char **region_out, struct err *e);

/* --start, which must be there: seconds since 1970. */
int cli_market_start(const struct command_args *args, double *out, struct err *e);
/* "30", "2020-02-18" or "2020-02-18..2020-03-18". */
int cli_market_starts(const char *text, struct market_starts *out, struct err *e);

/* On how many of its starts every cloud has prices. */
size_t cli_market_covered(const struct market_paper *p);

/* What a model would choose in that market. */
struct market_paper_model *cli_market_paper_model(const struct market_paper *p,
                                                  const struct throughputs *speeds,
                                                  const char *model,
                                                  struct err *e);

#endif
