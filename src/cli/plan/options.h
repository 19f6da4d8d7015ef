/* options: the options of every command that plans. */
#ifndef CLI_PLAN_OPTIONS_H
#define CLI_PLAN_OPTIONS_H

#include "cli/core/command.h"

/* What is wanted, and how long to look for it. */
#define CLI_PLAN_GOAL_OPTIONS                                                                      \
    {.name = "--objective",                                                                        \
     .value = "cost|time|value|weighted:W",                                                        \
     .help = "What to make least: dollars (the default), time, dollars x hours, or W x hours + "   \
             "(1-W) x "                                                                            \
             "dollars."},                                                                          \
        {.name = "--budget", .value = "USD", .help = "The plan may cost at most this much."},      \
        {.name = "--deadline",                                                                     \
         .value = "DURATION",                                                                      \
         .help =                                                                                   \
             "The plan may take at most this long: 90s, 10m, 3h, 2d; a bare number is seconds."},  \
        {.name = "--market",                                                                       \
         .value = "on-demand|spot|any",                                                            \
         .help = "Where stages that do not say use_spot may be rented; on-demand unless said."},   \
        {.name = "--cloud", .value = "CLOUD", .help = "Plan within this cloud only."},             \
        {.name = "--region", .value = "REGION", .help = "Plan within regions of this name only."}, \
        {.name = "--max-hourly",                                                                   \
         .value = "USD",                                                                           \
         .help = "Rent no machine that costs more per hour."},                                     \
        {.name = "--risk",                                                                         \
         .value = "p95",                                                                           \
         .help = "Hold the deadline against the high end of the estimates."},                      \
        {.name = "--solver",                                                                       \
         .value = "exact|greedy|exhaustive",                                                       \
         .help = "How to search; exact, the default, proves its plan."},                           \
    {                                                                                              \
        .name = "--solve-limit", .value = "DURATION",                                              \
        .help = "Give the search this long (10 s); what it has then comes with a bound."           \
    }

/* What it is planned with. */
#define CLI_PLAN_WORLD_OPTIONS                                                                     \
    {.name = "--catalog",                                                                          \
     .value = "DIR",                                                                               \
     .help = "Plan on the CSV files in this directory instead of the catalog in use."},            \
        {.name = "--throughputs",                                                                  \
         .value = "FILE",                                                                          \
         .help = "A table of iterations per second that goes before the built-in one."},           \
    {                                                                                              \
        .name = "--env", .value = "KEY=VALUE",                                                     \
        .help = "A value for a variable of the pipeline; planning itself needs none.",             \
        .repeatable = true                                                                         \
    }

#endif
