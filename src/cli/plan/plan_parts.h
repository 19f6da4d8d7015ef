/* plan_parts: what `tradewind plan` is made of: the one question and its answer, the further
 * questions that can be asked, and the ways to show it all. */
#ifndef CLI_PLAN_PLAN_PARTS_H
#define CLI_PLAN_PLAN_PARTS_H

#include "base/arena.h"
#include "base/auto.h"
#include "base/err.h"
#include "plan/plan.h"
#include "view/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table;

/* What may be asked differently: on the command line, and once more by each --what-if. */
struct cli_plan_settings {
    struct spec_goal goal;
    enum plan_market market;
    const char *cloud, *region; /* NULL = any; borrowed */
    double max_hourly_usd;
    bool risk_p95;
    enum plan_solver solver;
    size_t pinned_stage, pinned_place; /* SIZE_MAX = none */
};

/* key: "objective", "budget", "deadline", "market", "cloud", "region", "max-hourly", "risk",
 * "solver". ERR_USAGE that quotes the value, or names the nearest key. */
int cli_plan_set(struct cli_plan_settings *s, const char *key, const char *value, struct err *e);
/* "cost", "weighted:0.3"; out is where the text stands if it is not a fixed one. */
const char *cli_plan_objective_text(const struct spec_goal *goal, char out[static 40]);
const char *cli_plan_solver_text(enum plan_solver solver);
const char *cli_plan_status_text(enum plan_status status);
const char *cli_plan_market_text(bool spot);
/* Dollars, seconds, dollar-hours or the weighted sum, as the goal says. */
double cli_plan_objective(const struct spec_goal *goal, int64_t cost_microusd, double time_s);

struct cli_plan_single {
    const char *cloud; /* borrowed from the catalog */
    struct plan_point point;
};

/* Everything about one pipeline that has been asked and answered. */
struct cli_plan {
    struct spec *spec;
    struct config *config;
    struct catalog *catalog;
    struct throughputs *throughputs;
    struct broker_models *models;
    struct arena *arena; /* the texts of guesses */
    struct guess_list guesses;
    struct cli_plan_settings settings;
    double solve_limit_s;
    struct plan_problem *problem;
    struct plan_answer answer;
    bool limits_leave_nothing;       /* infeasible: its cheapest and fastest are without them */
    struct cli_plan_single *singles; /* ascending cost */
    size_t n_singles;
};

void cli_plan_free(struct cli_plan *p);
AUTO_DEFINE(cli_plan)

struct command_args;
/* Reads the pipeline that args name, with the options of cli/plan_options.h; prints its warnings.
 */
int cli_plan_open(struct cli_plan *p, const struct command_args *args, struct err *e);
/* Lays out the problem and asks for the plan; spec, catalog and the rest stand ready. */
int cli_plan_ask(struct cli_plan *p, bool pareto, struct err *e);

/* The problem under settings whose world differs from p's; guesses are not kept. */
struct plan_problem *cli_plan_problem(const struct cli_plan *p,
                                      const struct cli_plan_settings *s,
                                      struct err *e);
/* The question that settings ask, to be refined by the caller. */
struct plan_query cli_plan_query(const struct cli_plan *p, const struct cli_plan_settings *s);
/* What remains until end_s on the monotonic clock, never less than a tenth of a second: a row of
 * further questions shares one limit, and each still gets an answer. */
double cli_plan_remaining_s(double end_s);

/* Asks for the best plan within each cloud that offers something for every stage. */
int cli_plan_ask_singles(struct cli_plan *p, struct err *e);
/* Index of the best of them under the goal; SIZE_MAX when there is none. */
size_t cli_plan_best_single(const struct cli_plan *p);

/* A plan beside p's plan. */
struct cli_plan_other {
    const char *change; /* what differs; borrowed */
    size_t place;       /* --explain: where the stage is put */
    enum plan_status status;
    char reason[400];         /* infeasible: why */
    struct plan_stage choice; /* --explain: the stage as that plan has it */
    struct plan_point point;
    int64_t delta_microusd;
    double delta_s;
};

struct cli_plan_others {
    struct cli_plan_other *items;
    size_t n;
};
void cli_plan_others_clear(struct cli_plan_others *others);

/* The stage at each other place it could run at, by added cost; infeasible ones last. */
int cli_plan_explain(const struct cli_plan *p,
                     size_t stage,
                     struct cli_plan_others *out,
                     struct err *e);
/* changes: KEY=VALUE each, as for cli_plan_set, and STAGE.place=CLOUD/REGION. */
int cli_plan_what_if(const struct cli_plan *p,
                     const char *const *changes,
                     size_t n,
                     struct cli_plan_others *out,
                     struct err *e);
/* Index of the stage of that name; ERR_NOTFOUND with the nearest one. SIZE_MAX on error. */
size_t cli_plan_find_stage(const struct spec *spec, const char *name, struct err *e);

/* What to show besides the plan. NULL = not asked for. */
struct cli_plan_extras {
    const char *explained; /* name of the stage */
    const struct cli_plan_others *explain;
    const struct cli_plan_others *what_if;
    bool pareto;
};

/* One object on out: field names and units are those of docs/planning.md. */
int cli_plan_json(const struct cli_plan *p,
                  const struct cli_plan_extras *extras,
                  FILE *out,
                  struct err *e);
void cli_plan_print(const struct cli_plan *p, const struct cli_plan_extras *extras, FILE *out);
/* Infeasible: the cheapest and the fastest plan that exist. */
void cli_plan_print_infeasible(const struct cli_plan *p, FILE *out);
/* The parts of cli_plan_print that answer further questions. */
void cli_plan_print_explain(const struct cli_plan *p,
                            const struct cli_plan_extras *extras,
                            FILE *out,
                            const struct text_look *look);
void cli_plan_print_what_if(const struct cli_plan_others *others,
                            FILE *out,
                            const struct text_look *look);
void cli_plan_print_pareto(const struct cli_plan *p, FILE *out, const struct text_look *look);

/* "aws/us-east-1"; with the zone when offer is given and says one: "aws/us-east-1a", or
 * "aws/us-east-1/zone" when its name does not begin with the region's. Caller frees. */
char *cli_plan_place_text(const struct catalog *c, size_t place, const struct catalog_offer *offer);
/* "g5.xlarge", "4 x g5.xlarge". Caller frees. */
char *cli_plan_machine_text(const struct cli_plan *p, const struct plan_stage *s);
/* Fixed, or written into out: "4:03:20", for columns of times under one another;
 * "+$1.00" or "same"; "-3 m 20 s" or "same". */
const char *cli_plan_clock_text(double seconds, char out[static 32]);
const char *cli_plan_delta_money(int64_t microusd, char out[static 40]);
const char *cli_plan_delta_time(double seconds, char out[static 40]);
void cli_plan_put_dollars(struct table *t, int64_t microusd);

void cli_plan_draw_frontier(const struct cli_plan *p, FILE *out, const struct text_look *look);
/* The frontier when pareto is set, else the timeline. */
int cli_plan_save_svg(const struct cli_plan *p, bool pareto, const char *path, struct err *e);

/* plan --check: every finding about the file; 0 or the exit code for a bad file. */
int cli_plan_check(const char *path, bool json, FILE *out, struct err *e);

#endif
