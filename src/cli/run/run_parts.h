/* run_parts: what `tradewind run` is made of: the plan made into a run, and watching it. */
#ifndef CLI_RUN_RUN_PARTS_H
#define CLI_RUN_RUN_PARTS_H

#include "base/arena.h"
#include "base/json.h"
#include "broker/core/runs.h"
#include "cli/plan/plan_parts.h"
#include "cli/run/run.h"
#include "cli/run/run_place.h"
#include "lake/core/lake.h"

#include <stdbool.h>

struct command_args;

/* What is wanted of a run besides its plan. */
struct run_order {
    struct run_place place;
    const struct run *resumed; /* whose stages may go on from their checkpoints; NULL = none */
};

/* The planned pipeline as a run: inputs and code go to the lake, variables and secrets get their
 * values, stages are cut to what there is. Everything in *out is in the arena. */
int run_compose(const struct app_plan *p,
                const struct command_args *args,
                const struct run_order *order,
                struct lake *l,
                struct arena *arena,
                struct run *out,
                struct err *e);

/* Options of the commands that start runs. */
#define CLI_RUN_SECRET_OPTION                                                                      \
    {                                                                                              \
        .name = "--secret", .value = "NAME[=VALUE]",                                               \
        .help = "A variable that no record and no log shows; NAME alone takes it from the "        \
                "environment.",                                                                    \
        .repeatable = true                                                                         \
    }
/* The option --max-cost; 0 where it is not given. */
int run_read_cap(const struct command_args *args, int64_t *microusd_out, struct err *e);

#endif
