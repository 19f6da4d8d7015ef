/* Answers as a whole: cut searches stay honest, greedy is never better, what is infeasible says
 * why, frontiers are frontiers. */
#include "plan/plan.h"

#include "base/arena.h"
#include "base/money.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* A clock that stands still: no limit is ever over, however slow the machine is. */
static double stopped_clock(void)
{
    return 0;
}

/* A clock that jumps a second whenever it is read: every limit is over at once. */
static double hasty_clock(void)
{
    static double now_s;

    return now_s += 1;
}

struct tally {
    size_t cases, cut, dishonest, greedy_better, frontier_wrong, points, silent, risky;
    size_t limits, together, wrong_advice;
};

static bool cheaper(const struct plan_answer *a, const struct plan_answer *b)
{
    return a->plan.cost_microusd < b->plan.cost_microusd;
}

/* Strictly ascending cost, strictly descending time, and the cheapest and fastest at its ends. */
static bool is_frontier(const struct plan_answer *a, const struct plan_point *ends)
{
    if (!a->n_pareto || a->pareto[0].cost_microusd != ends[0].cost_microusd ||
        a->pareto[a->n_pareto - 1].time_s != ends[1].time_s)
        return false;
    for (size_t i = 1; i < a->n_pareto; i++)
        if (a->pareto[i].cost_microusd <= a->pareto[i - 1].cost_microusd ||
            a->pareto[i].time_s >= a->pareto[i - 1].time_s)
            return false;
    return true;
}

static void ask(const struct plan_problem *p, const struct plan_query *q, struct plan_answer *a)
{
    struct err e = {0};

    if (plan_solve(p, q, a, &e) < 0)
        *a = (struct plan_answer){.status = PLAN_INFEASIBLE};
}

/* The least cost with the least time: neither plan's limit leaves the other one. What would do is
 * then the other plan's own cost and time. */
static void check_together(const struct plan_problem *p,
                           const struct plan_answer *best,
                           const struct plan_answer *fast,
                           struct tally *t)
{
    struct plan_query q = plan_query_default(stopped_clock);
    struct plan_answer other;

    q.goal.budget_usd = money_to_usd(best->plan.cost_microusd);
    q.goal.deadline_s = fast->plan.time_s;
    ask(p, &q, &other);
    if (other.status == PLAN_INFEASIBLE) {
        t->together++;
        t->wrong_advice += other.smallest_budget_microusd != fast->plan.cost_microusd ||
                           fabs(other.earliest_deadline_s - best->plan.time_s) > 1e-6 ||
                           !strstr(other.reason, "within that budget a deadline of");
        q.goal.budget_usd = money_to_usd(other.smallest_budget_microusd);
        plan_answer_clear(&other);
        ask(p, &q, &other);
        t->wrong_advice += other.status != PLAN_OPTIMAL;
    }
    plan_answer_clear(&other);
}

/* What is said after a few looks at the clock holds for the whole answer. */
static void cut_searches(const struct plan_problem *p, struct plan_query q, struct tally *t)
{
    static const enum plan_method methods[] = {PLAN_BY_SHAPE, PLAN_DUAL, PLAN_DUAL_PLAIN};
    static const double limits_s[] = {0.001, 4, 12, 40};
    struct plan_query patient = q;
    struct plan_answer cut, whole;

    patient.now_s = stopped_clock;
    patient.solve_limit_s = 60;
    ask(p, &patient, &whole);
    for (size_t i = 0; i < 12; i++) {
        q.method = methods[i / 4];
        q.solve_limit_s = limits_s[i % 4];
        ask(p, &q, &cut);
        t->limits += cut.status == PLAN_LIMIT;
        t->silent += cut.status == PLAN_LIMIT && !strstr(cut.reason, "--solve-limit");
        t->dishonest += cut.status == PLAN_INFEASIBLE && plan_found(&whole);
        if (plan_found(&cut) && whole.status == PLAN_OPTIMAL) {
            t->cut += cut.gap > 0;
            t->dishonest += cut.bound > whole.objective * (1 + 1e-9) ||
                            cut.objective < whole.objective * (1 - 1e-9) ||
                            (cut.gap == 0 && cut.objective > whole.objective * (1 + 1e-9));
        }
        plan_answer_clear(&cut);
    }
    plan_answer_clear(&whole);
}

static void check_case(const struct plan_problem *p, struct tally *t)
{
    struct plan_query q = plan_query_default(stopped_clock);
    struct plan_answer best, other, fast;

    q.pareto = true;
    ask(p, &q, &best);
    if (best.status == PLAN_INFEASIBLE) {
        t->silent += !*best.reason;
        plan_answer_clear(&best);
        return;
    }
    t->cases++;
    q.pareto = false;
    q.goal.objective = SPEC_TIME;
    ask(p, &q, &fast);
    struct plan_point ends[] = {{best.plan.cost_microusd, best.plan.time_s},
                                {fast.plan.cost_microusd, fast.plan.time_s}};
    t->points += best.n_pareto;
    t->frontier_wrong += !is_frontier(&best, ends);

    q = plan_query_default(stopped_clock);
    q.solver = PLAN_GREEDY;
    ask(p, &q, &other);
    t->greedy_better += other.status != PLAN_INFEASIBLE && cheaper(&other, &best);
    plan_answer_clear(&other);

    q = plan_query_default(hasty_clock);
    q.goal.deadline_s = (best.plan.time_s + fast.plan.time_s) / 2;
    q.goal.objective = SPEC_VALUE;
    cut_searches(p, q, t);
    q.goal.objective = SPEC_COST;
    cut_searches(p, q, t);
    q.goal.deadline_s = fast.plan.time_s;
    q.goal.budget_usd = money_to_usd(fast.plan.cost_microusd);
    cut_searches(p, q, t);

    q = plan_query_default(stopped_clock);
    q.risk_p95 = true;
    q.goal.deadline_s = fast.plan.time_high_s;
    ask(p, &q, &other);
    t->risky +=
        other.status == PLAN_INFEASIBLE || other.plan.time_high_s > q.goal.deadline_s + 1e-5;
    plan_answer_clear(&other);

    q.risk_p95 = false;
    q.goal.deadline_s = fast.plan.time_s - 1;
    ask(p, &q, &other);
    t->silent += other.status != PLAN_INFEASIBLE || !strstr(other.reason, "deadline") ||
                 other.cheapest.cost_microusd != best.plan.cost_microusd ||
                 other.fastest.time_s != fast.plan.time_s;
    plan_answer_clear(&other);
    check_together(p, &best, &fast, t);
    plan_answer_clear(&best);
    plan_answer_clear(&fast);
}

int main(void)
{
    char dir[] = "/tmp/tradewind-plan-XXXXXX";
    uint64_t n = getenv("TRADEWIND_SLOW") ? 40 : 300;
    struct tally t = {0};

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    for (uint64_t seed = 50001; seed <= 50000 + n; seed++) {
        struct random_case c;
        struct err e = {0};
        AUTO(arena) struct arena *arena = arena_new(1 << 20);
        struct guess_list guesses = {.arena = arena};
        if (random_case_make(&c, seed, dir, &e) == 0) {
            struct plan_world w = {.spec = c.spec,
                                   .catalog = c.catalog,
                                   .config = c.config,
                                   .throughputs = c.throughputs,
                                   .market = c.market,
                                   .max_hourly_usd = (double)INFINITY};
            AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);
            if (p)
                check_case(p, &t);
            else if (!strstr(e.text, "random.yaml:"))
                t.silent++;
        }
        random_case_clear(&c);
    }
    CHECK(t.cases > n / 2, "%zu cases have plans", t.cases);
    CHECK(t.dishonest == 0, "bound <= optimum <= cost when the time runs out at once");
    CHECK(t.cut > 0, "and some were really cut short (%zu)", t.cut);
    CHECK(t.greedy_better == 0, "greedy is never cheaper");
    CHECK(t.frontier_wrong == 0, "frontiers run from the cheapest to the fastest plan (%zu points)",
          t.points);
    CHECK(t.silent == 0, "what cannot be planned says why, with the cheapest and the fastest");
    /* The few cases under sanitizers have none of these. */
    CHECK(t.limits > 0 || n < 300, "the limit came before any plan in %zu cases", t.limits);
    CHECK(t.together > 0 && t.wrong_advice == 0,
          "budget and deadline together: the least of each that would do (%zu cases)", t.together);
    CHECK(t.risky == 0, "a deadline at risk p95 holds for the high ends");
    return TAP_DONE();
}
