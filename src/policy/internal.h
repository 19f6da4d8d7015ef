/* internal: what the policies share. For files of policy/ alone. */
#ifndef POLICY_INTERNAL_H
#define POLICY_INTERNAL_H

#include "policy/grid.h"
#include "policy/model.h"

/* Below this a share, or the sum of all shortfalls, is rounding. */
#define SHARE_LEAST 1e-9
#define SHORTFALL_LEAST 1e-7

/* A policy's question: the least cost at which the jobs that must finish do. */
struct elastic_ask {
    const struct grid *grid;
    const double *cost; /* per column of the grid */
    const bool *must_finish;
    bool wants_slopes;         /* as in model.h */
    struct model_start *start; /* likewise */
};

/* Solves the form in which every job may fall short at a price, so that there always is an answer.
 * Returns 1 when nothing falls short; 0 when something must: *out then has the least sum of
 * shortfalls, whatever that costs, or where the problem goes on that of the priced form; -1 with e.
 */
int elastic_solve(const struct elastic_ask *ask, struct model_answer *out, struct err *e);
/* The least sum of shortfalls within the budget: 1 when it is 0, 0, or -1 with e. */
int elastic_within(const struct elastic_ask *ask,
                   double budget_usd,
                   struct model_answer *out,
                   struct err *e);
/* How many times later all deadlines would have to be for all to finish within the budget, at
 * prices that stay; some time must be enough. */
int elastic_stretch(const struct elastic_ask *ask,
                    double budget_usd,
                    double *stretch_out,
                    struct err *e);
/* What would do for an answer that falls short of the deadlines: fills in stretch and, when the
 * budget does not do however late it is, the budget that does with it. */
int stretch_find(const struct elastic_ask *ask,
                 enum policy_form form,
                 struct policy_answer *out,
                 struct err *e);

/* What a whole job that falls short costs in the priced form at first, and where it goes on. */
double elastic_price(const struct elastic_ask *ask);

/* Starts an answer with these windows. */
void answer_init(struct policy_answer *a, const struct scope *s, const struct edges *edges);
/* Copies what x uses, in windows whose hours are multiplied by scale from first_scaled on. */
void answer_uses(struct policy_answer *a,
                 const struct grid *g,
                 const struct model_answer *found,
                 size_t first_scaled);
/* Copies what more quota is worth, in units of the answer's objective. */
void answer_shadow_prices(struct policy_answer *a, const struct model_answer *found, double unit);
/* Infeasible: takes the uses and shortfalls of the answer nearest to what was asked. */
void answer_falls_short(struct policy_answer *a,
                        const struct grid *g,
                        const struct model_answer *nearest);
/* Writes the reason: which jobs fall short, and the way out. */
void answer_reason(struct policy_answer *a, const struct scope *s);

/* The policies. */
int policy_shares(struct scope *s, enum policy_kind kind, struct policy_answer *out, struct err *e);
int policy_cost(struct scope *s, enum policy_form form, struct policy_answer *out, struct err *e);
int policy_makespan(struct scope *s, struct policy_answer *out, struct err *e);
/* Whether so many dollars are within the budget, but for rounding. */
bool policy_is_within(const struct policy_problem *p, double usd);
/* No schedule that does all work between releases and deadlines costs less; NAN when none does. */
int policy_cost_bound(const struct policy_problem *p, double *usd_out, struct err *e);
/* Whether some job (of those that must finish; NULL = all) has no usable type; then the answer says
 * so. What others fall short by beside them, within the budget, is the rest of it. */
bool policy_cannot_run(const struct scope *s, const bool *must_finish, struct policy_answer *out);
int policy_others_short(const struct elastic_ask *ask,
                        double budget_usd,
                        struct policy_answer *out,
                        struct err *e);

#endif
