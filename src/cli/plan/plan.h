/* plan: how `tradewind plan` and `tradewind run` show a plan. */
#ifndef CLI_PLAN_PLAN_H
#define CLI_PLAN_PLAN_H

#include "app/plan/plan.h"
#include "view/text.h"

#include <stdio.h>

struct table;

/* The plan with everything else that was asked for. Where there is none: the cheapest and the
 * fastest plan without the constraints, and ERR_NOFIT. */
int cli_plan_print(const struct app_plan_report *r, FILE *out, struct err *e);
/* Where there is no plan: ERR_NOFIT, or ERR_RETRY when the search ended at its limit. -1. */
int cli_plan_no_plan(const struct app_plan_report *r, struct err *e);
/* The parts of cli_plan_print that answer further questions. */
void cli_plan_print_explain(const struct app_plan_report *r,
                            FILE *out,
                            const struct text_look *look);
void cli_plan_print_suggestions(const struct app_plan_report *r,
                                FILE *out,
                                const struct text_look *look);
void cli_plan_print_what_if(const struct app_plan_report *r,
                            FILE *out,
                            const struct text_look *look);
void cli_plan_print_pareto(const struct app_plan_report *r,
                           FILE *out,
                           const struct text_look *look);

/* time_text shows tenths of a second; less than half of one would read 0.0 s. */
#define SHOWN_S 0.05

/* "g5.xlarge", "4 x g5.xlarge". Caller frees. */
char *cli_plan_machine_text(const struct app_plan_machine *m);
/* Fixed, or written into out: "4:03:20", for columns of times under one another;
 * "+$1.00" or "same"; "-3 m 20 s" or "same". */
const char *cli_plan_clock_text(double seconds, char out[static 32]);
const char *cli_plan_delta_money(int64_t microusd, char out[static 40]);
const char *cli_plan_delta_time(double seconds, char out[static 40]);
void cli_plan_put_dollars(struct table *t, int64_t microusd);

void cli_plan_draw_frontier(const struct app_plan_report *r,
                            FILE *out,
                            const struct text_look *look);
/* The frontier where there is one, else the timeline. */
int cli_plan_save_svg(const struct app_plan_report *r, const char *path, struct err *e);

#endif
