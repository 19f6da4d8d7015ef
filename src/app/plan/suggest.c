/* suggest: other plans worth a line beside the plan, each with the options to type for it: a
 * simpler one that costs hardly more, and one that ends much sooner, or costs much less, for
 * little. plan.solve asks. */
#include "app/plan/internal.h"
#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"

#include <math.h>
#include <stdlib.h>

/* A simpler plan may cost this much more, or a cent. */
#define SIMPLER_SHARE 0.01
#define SIMPLER_MICROUSD 10000
/* Little more of the one for much less of the other. */
#define LITTLE 0.05
#define MUCH 0.2

static void add(struct app_plan *p, struct app_plan_suggestion s)
{
    const struct plan *plan = &p->answer.plan;

    s.delta_microusd = s.point.cost_microusd - plan->cost_microusd;
    s.delta_s = s.point.time_s - plan->time_s;
    p->suggestions[p->n_suggestions++] = s;
}

/* ---- fewer clouds and regions ---- */

static double last_margin(const struct app_plan *p)
{
    double most = SIMPLER_SHARE, cost = (double)p->answer.plan.cost_microusd;

    if (p->settings.goal.objective == SPEC_COST && cost > 0)
        most = fmax(most, fmin(SIMPLER_MICROUSD / cost, CONFIG_SIMPLIFY_MAX));
    return floor(most * 1000) / 1000; /* as it is typed */
}

static bool suggest_within(struct app_plan *p, double margin, double end_s)
{
    struct plan_query query = app_plan_query(p, &p->settings);
    struct plan simple;

    query.totals_only = true;
    query.solve_limit_s = end_s - p->now_s();
    if (!(query.solve_limit_s > 0))
        return false;
    bool complete = plan_simplify(p->problem, &query, &p->answer.plan, margin, &simple);
    bool found = complete && simple.stages;
    if (found)
        add(p, (struct app_plan_suggestion){
                   .kind = "simpler",
                   .options = arena_printf(p->arena, "--simplify %g%%", margin * 100),
                   .point = {simple.cost_microusd, simple.time_s},
                   .simplicity = plan_simplicity(p->problem, &simple),
               });
    free(simple.stages);
    return found;
}

static void suggest_simpler(struct app_plan *p, double end_s)
{
    double most = last_margin(p);

    if (plan_simplicity(p->problem, &p->answer.plan).regions < 2)
        return;
    if (!suggest_within(p, SIMPLER_SHARE, end_s) && most > SIMPLER_SHARE)
        suggest_within(p, most, end_s);
}

/* ---- sooner, or cheaper ---- */

/* The proven best plan of a goal. */
static bool best_of(const struct app_plan *p,
                    struct spec_goal goal,
                    double end_s,
                    struct plan_point *out)
{
    struct plan_query query = app_plan_query(p, &p->settings);
    AUTO_CLEAR(plan_answer) struct plan_answer answer = {0};

    query.goal = goal;
    if (app_plan_ask_side(p, query, end_s, &answer) != APP_PLAN_FOUND ||
        answer.status != PLAN_OPTIMAL)
        return false;
    *out = (struct plan_point){answer.plan.cost_microusd, answer.plan.time_s};
    return true;
}

/* The cheapest plan within the deadline, if its cost is the share of the plan's at most; and that
 * deadline as it is typed: rounded up, but never past the one that was asked for. */
static bool cheapest_within(const struct app_plan *p,
                            double deadline_s,
                            double cost_share,
                            double end_s,
                            struct plan_point *out,
                            char typed[static 32])
{
    struct spec_goal goal = p->settings.goal;
    double typed_s;
    struct err e;

    goal.objective = SPEC_COST;
    goal.budget_usd =
        fmin(goal.budget_usd, money_to_usd(p->answer.plan.cost_microusd) * cost_share);
    if (time_parse_duration(time_typed_text(deadline_s, typed), 1, &typed_s, &e) < 0)
        return false;
    goal.deadline_s = fmin(goal.deadline_s, typed_s);
    if (!best_of(p, goal, end_s, out) ||
        time_parse_duration(time_typed_text(out->time_s, typed), 1, &typed_s, &e) < 0)
        return false;
    return typed_s <= goal.deadline_s;
}

static void suggest_sooner(struct app_plan *p, double end_s)
{
    struct plan_point soon;
    char typed[32];

    if (cheapest_within(p, p->answer.plan.time_s * (1 - MUCH), 1 + LITTLE, end_s, &soon, typed))
        add(p, (struct app_plan_suggestion){
                   .kind = "sooner",
                   .options = arena_printf(p->arena, "--deadline %s", typed),
                   .point = soon,
               });
}

static void suggest_cheaper(struct app_plan *p, double end_s)
{
    struct plan_point cheap;
    char typed[32];

    if (cheapest_within(p, p->answer.plan.time_s * (1 + LITTLE), 1 - MUCH, end_s, &cheap, typed))
        add(p, (struct app_plan_suggestion){
                   .kind = "cheaper",
                   .options = arena_printf(p->arena, "--objective cost --deadline %s", typed),
                   .point = cheap,
               });
}

void app_plan_suggest(struct app_plan *p)
{
    const struct plan *plan = &p->answer.plan;
    enum spec_objective objective = p->settings.goal.objective;
    double end_s = app_plan_side_end_s(p);

    p->n_suggestions = 0;
    if (p->settings.solver == PLAN_GREEDY || p->answer.status != PLAN_OPTIMAL ||
        p->settings.simplify > 0)
        return;
    suggest_simpler(p, end_s);
    /* A product and a weighted sum say what time is worth; a risk, which time. */
    if (p->settings.risk_p95 || !plan->cost_microusd)
        return;
    if (objective == SPEC_COST)
        suggest_sooner(p, end_s);
    else if (objective == SPEC_TIME)
        suggest_cheaper(p, end_s);
}
