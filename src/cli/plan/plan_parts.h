/* plan_parts: what `tradewind plan` is made of: the one question and its answer, the further
 * questions that can be asked, and the ways to show it all. */
#ifndef CLI_PLAN_PLAN_PARTS_H
#define CLI_PLAN_PLAN_PARTS_H

#include "app/plan/plan.h"
#include "view/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table;

struct command_args;
/* The request that the options of cli/plan/options.h and the first operand make. Texts are borrowed
 * from args. */
int cli_plan_request(const struct command_args *args,
                     struct plan_request *out,
                     struct arena *arena,
                     struct err *e);
/* The same, opened. */
int cli_plan_open(struct app_plan *p,
                  struct app *app,
                  const struct command_args *args,
                  struct err *e);

/* What to show besides the plan. NULL = not asked for. */
struct cli_plan_extras {
    const char *explained; /* name of the stage */
    const struct app_plan_others *explain;
    const struct app_plan_others *what_if;
    bool pareto;
};

/* One object on out: field names and units are those of docs/planning.md. */
int cli_plan_json(const struct app_plan *p,
                  const struct cli_plan_extras *extras,
                  FILE *out,
                  struct err *e);
void cli_plan_print(const struct app_plan *p, const struct cli_plan_extras *extras, FILE *out);
/* Infeasible: the cheapest and the fastest plan that exist. */
void cli_plan_print_infeasible(const struct app_plan *p, FILE *out);
/* The parts of cli_plan_print that answer further questions. */
void cli_plan_print_explain(const struct app_plan *p,
                            const struct cli_plan_extras *extras,
                            FILE *out,
                            const struct text_look *look);
void cli_plan_print_what_if(const struct app_plan_others *others,
                            FILE *out,
                            const struct text_look *look);
void cli_plan_print_pareto(const struct app_plan *p, FILE *out, const struct text_look *look);

/* "g5.xlarge", "4 x g5.xlarge". Caller frees. */
char *cli_plan_machine_text(const struct app_plan *p, const struct plan_stage *s);
/* Fixed, or written into out: "4:03:20", for columns of times under one another;
 * "+$1.00" or "same"; "-3 m 20 s" or "same". */
const char *cli_plan_clock_text(double seconds, char out[static 32]);
const char *cli_plan_delta_money(int64_t microusd, char out[static 40]);
const char *cli_plan_delta_time(double seconds, char out[static 40]);
void cli_plan_put_dollars(struct table *t, int64_t microusd);

void cli_plan_draw_frontier(const struct app_plan *p, FILE *out, const struct text_look *look);
/* The frontier when pareto is set, else the timeline. */
int cli_plan_save_svg(const struct app_plan *p, bool pareto, const char *path, struct err *e);

/* plan --check: every finding about the file; 0 or the exit code for a bad file. */
int cli_plan_check(const char *path, bool json, FILE *out, struct err *e);

#endif
