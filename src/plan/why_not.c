/* why_not: why an answer has no plan: what is in the way, which plans there are without it, and
 * which budget or deadline would do. plan.c calls it. */
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "plan/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- further questions ---- */

enum finding { FOUND, NO_PLAN, NOT_KNOWN };

/* The proven best plan for a goal with the question's own way to hold a deadline. */
static enum finding ask_beside(const struct question *q,
                               struct goal goal,
                               const struct cutoff *end,
                               struct totals *out)
{
    AUTO_MEM struct pick *picks = mem_zero(q->ask.p->n_stages, sizeof *picks);
    struct solution s = {.picks = picks};
    struct ask ask = q->ask;

    if (cutoff_is_past(end))
        return NOT_KNOWN;
    ask.goal = goal;
    ask.goal.deadline_layer = q->ask.goal.deadline_layer;
    ask.cutoff = *end;
    exact_solve(&ask, &s);
    if (!s.proven)
        return NOT_KNOWN;
    *out = s.totals;
    return s.found ? FOUND : NO_PLAN;
}

static struct plan_point point_of(const struct totals *t)
{
    return (struct plan_point){t->microusd, (double)t->ns[LAYER_MID] / NS_PER_S};
}

/* The cheapest and the fastest plan without budget and deadline. */
static enum finding ask_extremes(const struct question *q,
                                 const struct cutoff *end,
                                 struct plan_answer *a)
{
    struct goal goal = {
        .objective = SPEC_COST, .budget_microusd = INT64_MAX, .deadline_ns = INT64_MAX};
    struct totals t;
    enum finding cheapest = ask_beside(q, goal, end, &t);

    if (cheapest == NO_PLAN)
        return NO_PLAN;
    a->has_cheapest = cheapest == FOUND;
    if (a->has_cheapest)
        a->cheapest = point_of(&t);
    goal.objective = SPEC_TIME;
    enum finding fastest = ask_beside(q, goal, end, &t);
    a->has_fastest = fastest == FOUND;
    if (a->has_fastest)
        a->fastest = point_of(&t);
    return fastest == NO_PLAN ? NO_PLAN : cheapest == FOUND ? fastest : cheapest;
}

/* The earliest finish, on the side of the estimates that the deadline is held against. Of the high
 * ends it is not that of the fastest plan: ask for one that ends earlier until there is none.
 * False: not proven. */
static bool ask_earliest(const struct question *q,
                         struct goal goal,
                         const struct cutoff *end,
                         int64_t *ns_out)
{
    enum finding finding;
    struct totals t;
    bool found = false;

    goal.objective = SPEC_TIME;
    goal.deadline_ns = INT64_MAX;
    while ((finding = ask_beside(q, goal, end, &t)) == FOUND) {
        found = true;
        *ns_out = t.ns[goal.deadline_layer];
        if (goal.deadline_layer == LAYER_MID)
            return true;
        goal.deadline_ns = *ns_out - 1;
    }
    return found && finding == NO_PLAN;
}

/* Of budget and deadline, how far one would have to move while the other stays. */
static void ask_what_would_do(const struct question *q,
                              const struct cutoff *end,
                              struct plan_answer *a)
{
    struct goal goal = q->ask.goal;
    struct totals t;
    int64_t ns = 0;

    if (goal.budget_microusd == INT64_MAX || goal.deadline_ns == INT64_MAX)
        return;
    goal.objective = SPEC_COST;
    goal.budget_microusd = INT64_MAX;
    if (ask_beside(q, goal, end, &t) == FOUND)
        a->smallest_budget_microusd = t.microusd;
    if (ask_earliest(q, q->ask.goal, end, &ns))
        a->earliest_deadline_s = (double)ns / NS_PER_S;
}

/* ---- texts ---- */

static bool every_stage_has_a_site(const struct question *q)
{
    for (size_t s = 0; s < q->ask.p->n_stages; s++)
        if (!q->ask.domain.n[s])
            return false;
    return true;
}

/* An input of the stage that no location at all can be reached from, or NULL. */
static const char *stuck_input(const struct plan_problem *p, const struct pstage *stage)
{
    for (size_t i = 0; i < stage->n_datasets; i++) {
        const struct dataset *d = &p->datasets[stage->datasets[i]];
        bool stuck = d->producer == NONE;
        for (size_t k = 0; k < p->world.catalog->n_places && stuck; k++)
            stuck = d->microusd[k] == NEVER;
        if (stuck)
            return d->from;
    }
    return NULL;
}

static void say_no_plan(const struct question *q, struct plan_answer *a)
{
    size_t homeless = 0;

    while (homeless < q->ask.p->n_stages && q->ask.domain.n[homeless])
        homeless++;
    if (homeless == q->ask.p->n_stages) {
        snprintf(
            a->reason, sizeof a->reason,
            "no combination of locations works: between the stages' locations the transfer table "
            "has no row for the data, or a stage would take over ten years");
        return;
    }
    const struct pstage *stage = &q->ask.p->stages[homeless];
    const char *stuck = stuck_input(q->ask.p, stage);
    if (stuck)
        snprintf(a->reason, sizeof a->reason,
                 "stage '%s' cannot get its input %.200s: the transfer table has no row that lets "
                 "data leave its location",
                 stage->spec->name, stuck);
    else
        snprintf(a->reason, sizeof a->reason,
                 "stage '%s' has no offer in a location that its inputs can reach",
                 stage->spec->name);
}

/* "$38.13", or with every digit where that would read like the other amount. */
static const char *amount_text(int64_t microusd, int64_t other, char out[static 32])
{
    char rival[32];

    if (strcmp(money_text(microusd, out), money_text(other, rival)) == 0 && microusd != other)
        snprintf(out, 32, "$%.6f", money_to_usd(microusd));
    return out;
}

/* "2 m 40 s", or in seconds where that would read like the other time. */
static const char *span_text(double seconds, double other, char out[static 32])
{
    char rival[32];

    if (strcmp(time_text(seconds, out), time_text(other, rival)) == 0 && seconds != other)
        snprintf(out, 32, "%.3f s", seconds);
    return out;
}

static void add_what_would_do(struct plan_answer *a)
{
    size_t used = strlen(a->reason);
    char money[32], time[32];
    const char *joint = "; ";

    if (a->smallest_budget_microusd != INT64_MAX) {
        used += (size_t)snprintf(a->reason + used, sizeof a->reason - used,
                                 "; within that deadline a budget of $%s would do",
                                 money_typed_text(a->smallest_budget_microusd, money));
        joint = ", ";
    }
    if (isfinite(a->earliest_deadline_s))
        snprintf(a->reason + used, sizeof a->reason - used,
                 "%swithin that budget a deadline of %s would do", joint,
                 time_typed_text(a->earliest_deadline_s, time));
}

/* Which limit is in the way; the points say what there is. */
static void say_which_limit(const struct question *q, struct plan_answer *a)
{
    const struct spec_goal *g = &q->query->goal;
    int64_t budget = q->ask.goal.budget_microusd;
    bool has_budget = !isinf(g->budget_usd), has_deadline = !isinf(g->deadline_s);
    char money[2][32], time[2][32];

    amount_text(has_budget ? budget : 0, a->cheapest.cost_microusd, money[0]);
    amount_text(a->cheapest.cost_microusd, budget, money[1]);
    span_text(has_deadline ? g->deadline_s : 0, a->fastest.time_s, time[0]);
    span_text(a->fastest.time_s, g->deadline_s, time[1]);
    bool too_slow = has_deadline && a->has_fastest &&
                    a->fastest.time_s * NS_PER_S > (double)q->ask.goal.deadline_ns;
    if (has_budget && a->has_cheapest && a->cheapest.cost_microusd > budget)
        snprintf(a->reason, sizeof a->reason, "the budget of %s: the cheapest plan costs %s",
                 money[0], money[1]);
    else if (too_slow || (has_deadline && !has_budget && a->has_fastest))
        snprintf(a->reason, sizeof a->reason, "the deadline of %s: the fastest plan takes %s%s",
                 time[0], time[1], q->query->risk_p95 ? ", and longer at the high end" : "");
    else if (!has_deadline)
        snprintf(a->reason, sizeof a->reason, "no plan keeps within the budget of %s", money[0]);
    else if (!has_budget)
        snprintf(a->reason, sizeof a->reason, "no plan keeps within the deadline of %s", time[0]);
    else if (a->has_cheapest && a->has_fastest)
        snprintf(a->reason, sizeof a->reason,
                 "the budget of %s and the deadline of %s together: each alone allows a plan",
                 money[0], time[0]);
    else
        snprintf(a->reason, sizeof a->reason,
                 "no plan keeps within the budget of %s and the deadline of %s", money[0], time[0]);
    add_what_would_do(a);
}

/* ---- the answer ---- */

/* No plan satisfies the question: that is proven. */
static void say_infeasible(const struct question *q,
                           const struct cutoff *end,
                           struct plan_answer *a)
{
    bool is_limited =
        q->ask.goal.budget_microusd != INT64_MAX || q->ask.goal.deadline_ns != INT64_MAX;

    if (!is_limited || !every_stage_has_a_site(q) || ask_extremes(q, end, a) == NO_PLAN) {
        a->has_cheapest = a->has_fastest = false;
        say_no_plan(q, a);
        return;
    }
    ask_what_would_do(q, end, a);
    say_which_limit(q, a);
}

void plan_why_none(const struct question *q, const struct solution *s, struct plan_answer *a)
{
    struct cutoff end = cutoff_of(q->query, 1);
    bool is_greedy = q->query->solver == PLAN_GREEDY;

    a->smallest_budget_microusd = INT64_MAX;
    a->earliest_deadline_s = (double)INFINITY;
    a->status = s->proven || is_greedy ? PLAN_INFEASIBLE : PLAN_LIMIT;
    a->bound = a->status == PLAN_LIMIT && isfinite(s->bound)
                   ? goal_public_bound(&q->ask.goal, s->bound)
                   : 0;
    if (q->query->is_side)
        return;
    if (a->status == PLAN_INFEASIBLE)
        say_infeasible(q, &end, a);
    else
        ask_extremes(q, &end, a);
    if (is_greedy)
        snprintf(a->reason, sizeof a->reason,
                 "the greedy plan does not keep the budget or the deadline; try --solver exact");
    else if (a->status == PLAN_LIMIT)
        snprintf(a->reason, sizeof a->reason,
                 "the search ended at its limit of %g s: it found no plan, and ruled none out; "
                 "raise --solve-limit",
                 q->query->solve_limit_s);
}
