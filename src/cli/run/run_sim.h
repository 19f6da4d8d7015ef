/* run_sim: `tradewind run --on sim`: the planned pipeline rehearsed on a cloud on paper. */
#ifndef CLI_RUN_RUN_SIM_H
#define CLI_RUN_RUN_SIM_H

#include "broker/sim/simulate.h"
#include "cli/plan/plan.h"

#include <stdbool.h>

struct command_args;
struct run_market;

/* Carries out p's plan in virtual time, its stages led by the market's prices unless it is NULL,
 * and shows every change and, at last, the bill; json: one event a line. Options, where the command
 * declares them: --seed N, --noise F (standard deviation, 0.03 unless said), --troubles FILE
 * (cloud/faults.h), --max-cost USD, --resume. The exit code: 0 finished, 1 failed, 130 stopped. */
int run_on_sim(struct app_plan *p,
               const struct command_args *args,
               const struct run_market *market,
               bool json,
               struct err *e);

/* The same options, before there is a plan. ERR_USAGE, and what a file may have wrong. */
int run_sim_check(const struct command_args *args, struct err *e);

/* ---- run_sim_plan.c ---- */

/* Stage i as a plan has it. */
struct simulate_stage run_sim_stage(const struct app_plan *p, size_t i, const struct plan_stage *s);
/* The best plan for what is left: outputs lie where they were made, what is refused is left out,
 * and budget and deadline hold as long as a plan keeps to them. ERR_NOFIT. */
int run_sim_replan(const struct app_plan *p,
                   const struct simulate_question *q,
                   struct simulate_stage *stages,
                   struct err *e);

#endif
