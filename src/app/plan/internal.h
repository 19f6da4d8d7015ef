/* internal: what the files of app/plan share. */
#ifndef APP_PLAN_INTERNAL_H
#define APP_PLAN_INTERNAL_H

#include "app/plan/plan.h"

/* ---- open.c ---- */

/* The pipeline that q names; findings as in spec_load. */
struct spec *app_plan_read_spec(const struct plan_request *q,
                                struct spec_finding **findings_out,
                                size_t *n_out,
                                struct err *e);

/* ---- settings.c ---- */

/* The settings that q asks for; goal: of the pipeline file; objective: how errors spell the field.
 * Texts are borrowed from q. */
int app_plan_settings_read(const struct plan_request *q,
                           const struct spec_goal *goal,
                           const char *objective,
                           struct app_plan_settings *out,
                           struct err *e);
/* One change to q, as the command line writes it: key "objective", "budget", "deadline", "market",
 * "cloud", "region", "max-hourly", "risk", "solver". Texts go to arena. ERR_USAGE that quotes the
 * value, or names the nearest key. */
int app_plan_change(
    struct plan_request *q, const char *key, const char *value, struct arena *arena, struct err *e);
/* "cost", "weighted:0.3"; out is where the text stands if it is not a fixed one. */
const char *app_plan_objective_text(const struct spec_goal *goal, char out[static 40]);
/* Dollars, seconds, dollar-hours or the weighted sum, as the goal says. */
double app_plan_objective(const struct spec_goal *goal, int64_t cost_microusd, double time_s);
extern const char *const app_plan_status_texts[4]; /* of enum plan_status */

/* ---- ask.c ---- */

/* The problem under settings whose world differs from p's; guesses are not kept. */
struct plan_problem *app_plan_problem(const struct app_plan *p,
                                      const struct app_plan_settings *s,
                                      struct err *e);
/* What remains of the limit: 0 or less when it is over. */
double app_plan_remaining_s(const struct app_plan *p);

/* A question beside the plan: it never fails and never lasts past end_s. out is the caller's to
 * clear. */
enum app_plan_known { APP_PLAN_FOUND, APP_PLAN_NONE, APP_PLAN_NOT_KNOWN };
enum app_plan_known app_plan_ask_side(const struct app_plan *p,
                                      struct plan_query query,
                                      double end_s,
                                      struct plan_answer *out);
/* When side questions end: they have a tenth of the limit from the first of them on. */
double app_plan_side_end_s(struct app_plan *p);
/* The cloud of the best single-cloud plan under the goal; NULL when there is none. */
const char *app_plan_best_single(const struct app_plan *p);

/* ---- others.c ---- */

/* Every other location at which the stage could run, by added cost; those without a plan last.
 * list: struct app_plan_other. */
int app_plan_explain(const struct app_plan *p,
                     size_t stage,
                     const struct answer *out,
                     struct field_records *list,
                     struct err *e);
/* changes: KEY=VALUE each, as for app_plan_change, and STAGE.location=CLOUD/REGION. */
int app_plan_what_if(const struct app_plan *p,
                     const struct field_list *changes,
                     const struct answer *out,
                     struct field_records *list,
                     struct err *e);
/* Index of the stage of that name; ERR_NOTFOUND with the nearest one. SIZE_MAX on error. */
size_t app_plan_find_stage(const struct spec *spec, const char *name, struct err *e);

/* ---- report.c ---- */

/* Adds the Pareto frontier to a report. */
int app_plan_report_pareto(const struct app_plan *p,
                           struct arena *arena,
                           struct app_plan_report *out,
                           struct err *e);
int app_plan_machine(const struct app_plan *p,
                     const struct plan_stage *s,
                     struct arena *arena,
                     struct app_plan_machine *out,
                     struct err *e);

#endif
