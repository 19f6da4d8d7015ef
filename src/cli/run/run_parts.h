/* run_parts: what `tradewind run` is made of: the plan made into a run, and watching it. */
#ifndef CLI_RUN_RUN_PARTS_H
#define CLI_RUN_RUN_PARTS_H

#include "base/arena.h"
#include "base/json.h"
#include "broker/core/runs.h"
#include "cli/plan/plan_parts.h"
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
#define CLI_RUN_YES_OPTION                                                                         \
    {                                                                                              \
        .name = "--yes", .help = "Do not ask.", .letter = 'y'                                      \
    }
#define CLI_RUN_DETACH_OPTION                                                                      \
    {                                                                                              \
        .name = "--detach",                                                                        \
        .help = "Only start it; `run show RUN --follow` follows it, `run stop RUN` stops it."      \
    }

/* 1: Enter or y; 0: no, which is said. yes (--yes): nobody is asked. Where nobody is there to ask:
 * ERR_USAGE. */
int run_confirm(bool yes, const char *question, struct err *e);
/* The option --max-cost; 0 where it is not given. */
int run_read_cap(const struct command_args *args, int64_t *microusd_out, struct err *e);
/* How to come back to a run that goes on without us. */
void run_say_detached(int64_t id, bool json);
/* Writes the run down and tells the broker of it. */
int run_start(struct runs *runs, struct run *run, const char *home, struct err *e);

/* Shows how far the run is until it is over. Ctrl-C asks it to stop, twice: at once. json: one
 * event a line. The exit code: 0 finished, 1 failed, 130 stopped. */
int run_watch(
    struct runs *runs, struct lake *l, const char *home, int64_t id, bool json, struct err *e);

/* The same of a run that goes on without us: Ctrl-C ends the watching alone, with 130. */
int run_follow(
    struct runs *runs, struct lake *l, const char *home, int64_t id, bool json, struct err *e);

/* A run's number as the command line has it. */
int run_id_parse(const char *text, int64_t *out, struct err *e);

/* The bill: each stage with its time and cost beside what was planned. */
int run_print(const struct run *r, struct lake *l, FILE *out, struct err *e);
json_t *run_json(const struct run *r, struct lake *l, struct err *e); /* new reference, or NULL */

bool run_is_on_paper(const struct run *r);
/* All that it has cost so far: its jobs, or its machines on paper. */
int run_cost(const struct config *c,
             struct lake *l,
             const struct run *r,
             int64_t *microusd_out,
             struct err *e);

/* Where a run on paper was led by prices, a line a machine; nothing when it followed none. */
int run_machines_print(const struct config *c, const struct run *r, FILE *out, struct err *e);
/* All machines of a run on paper; new reference, or NULL. */
json_t *run_machines_json(const struct config *c, const struct run *r, struct err *e);

/* What the lake knows of a stage's job; zeros where there is none. */
struct run_job {
    double runtime_s;
    /* Of all its jobs: the nodes of a gang, and those that were lost before. */
    double busy_s;
    int64_t cost_microusd;
    char state[16];
    char output_set[256];
};
int run_job_get(
    struct lake *l, int64_t run, const struct run_stage *s, struct run_job *out, struct err *e);
/* The same, and what is under way counts with what it has taken until now. */
int run_job_so_far(const struct config *c,
                   struct lake *l,
                   int64_t run,
                   const struct run_stage *s,
                   struct run_job *out,
                   struct err *e);

#endif
