/* Searches that end at every moment: a clock runs out when it is read for the n-th time, for every
 * n until the answer is proven. Whatever n, a bound holds, what is called optimal is, there is a
 * plan where a glance finds one, and none worse than that one or than that of a shorter limit; and
 * a frontier is complete as far as it says. */
#include "base/arena.h"
#include "base/file.h"
#include "base/money.h"
#include "random_case.h"
#include "tap.h"

#include "plan/plan.h"

#include <math.h>
#include <string.h>

/* Sums of the objective are rounded. */
#define NOISE 1e-9

static unsigned long reads, reads_left;

static double counting_clock(void)
{
    reads++;
    if (reads_left == 0)
        return 1e9;
    reads_left--;
    return 0;
}

static double stopped_clock(void)
{
    return 0;
}

struct tally {
    size_t answers, cut, limits, partial;
    size_t wrong_bound, wrong_status, wrong_tie, lost, worse, wrong_frontier, wrong_advice;
};

/* All points up to that cost are there, and all of them if the frontier is complete. */
static bool frontier_holds(const struct plan_answer *cut, const struct plan_answer *whole)
{
    size_t at = 0;

    for (size_t i = 0; i < whole->n_pareto; i++) {
        if (!cut->pareto_complete && whole->pareto[i].cost_microusd > cut->pareto_complete_microusd)
            return true;
        if (at == cut->n_pareto ||
            cut->pareto[at].cost_microusd != whole->pareto[i].cost_microusd ||
            cut->pareto[at].time_s != whole->pareto[i].time_s)
            return false;
        at++;
    }
    return at == cut->n_pareto;
}

/* before: the best objective so far, of a glance and of shorter limits; INFINITY = no plan. */
static void check_cut(const struct plan_answer *cut,
                      const struct plan_answer *whole,
                      double before,
                      struct tally *t)
{
    bool found = plan_found(cut);

    t->answers++;
    t->cut += found && cut->gap > 0;
    t->limits += cut->status == PLAN_LIMIT;
    t->lost += isfinite(before) && !found;
    t->worse += found && cut->objective > before * (1 + NOISE);
    t->wrong_status += (cut->status == PLAN_INFEASIBLE) && plan_found(whole);
    t->wrong_status += found && !plan_found(whole);
    t->wrong_status += found && (cut->status == PLAN_OPTIMAL) != (cut->gap == 0);
    if (cut->status == PLAN_INFEASIBLE) {
        t->wrong_advice += cut->smallest_budget_microusd != INT64_MAX &&
                           cut->smallest_budget_microusd != whole->smallest_budget_microusd;
        t->wrong_advice += isfinite(cut->earliest_deadline_s) &&
                           fabs(cut->earliest_deadline_s - whole->earliest_deadline_s) > 1e-6;
    }
    if (!plan_found(whole))
        return;
    double slack = fabs(whole->objective) * NOISE;
    t->wrong_bound += cut->bound > whole->objective + slack;
    if (!found)
        return;
    t->wrong_bound += cut->objective < whole->objective - slack;
    t->wrong_status += cut->status == PLAN_OPTIMAL && cut->objective > whole->objective + slack;
    t->wrong_tie +=
        cut->tie_break_proven && (cut->plan.cost_microusd != whole->plan.cost_microusd ||
                                  cut->plan.time_s != whole->plan.time_s);
    if (cut->n_pareto > 0) {
        t->partial += !cut->pareto_complete && cut->pareto_complete_microusd >= 0;
        t->wrong_frontier += !frontier_holds(cut, whole);
    }
}

static void check_question(const struct plan_problem *p, struct plan_query q, struct tally *t)
{
    AUTO_CLEAR(plan_answer) struct plan_answer whole = {0};
    AUTO_CLEAR(plan_answer) struct plan_answer glance = {0};
    struct plan_query greedy = q;
    struct err e;

    q.now_s = stopped_clock;
    greedy.solver = PLAN_GREEDY;
    greedy.pareto = false;
    if (plan_solve(p, &q, &whole, &e) < 0 || plan_solve(p, &greedy, &glance, &e) < 0)
        return;
    q.now_s = counting_clock;
    double best = plan_found(&glance) ? glance.objective : (double)INFINITY;
    for (unsigned long n = 1, next = 0;; n = next) { /* the first look is when the search begins */
        AUTO_CLEAR(plan_answer) struct plan_answer cut = {0};
        reads = 0;
        reads_left = n;
        if (plan_solve(p, &q, &cut, &e) < 0)
            return;
        check_cut(&cut, &whole, best, t);
        if (reads <= n)
            return;
        /* Bounds and branching alone find plans too late for that. */
        if (plan_found(&cut) && q.method != PLAN_DUAL_PLAIN)
            best = fmin(best, cut.objective);
        next = n < 60 ? n + 1 : n + n / 4;
    }
}

static void check_case(const struct plan_problem *p, struct tally *t)
{
    static const enum plan_method methods[] = {PLAN_BY_SHAPE, PLAN_DUAL, PLAN_DUAL_PLAIN};
    struct plan_query q = plan_query_default(stopped_clock);
    AUTO_CLEAR(plan_answer) struct plan_answer cheap = {0};
    AUTO_CLEAR(plan_answer) struct plan_answer fast = {0};
    struct err e;

    if (plan_solve(p, &q, &cheap, &e) < 0 || !plan_found(&cheap))
        return;
    q.goal.objective = SPEC_TIME;
    if (plan_solve(p, &q, &fast, &e) < 0)
        return;
    double cost_usd = money_to_usd(cheap.plan.cost_microusd);
    double dear_usd = money_to_usd(fast.plan.cost_microusd);
    double middle_s = (cheap.plan.time_s + fast.plan.time_s) / 2;
    const struct plan_query base = plan_query_default(stopped_clock);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        for (int o = 0; o < 4; o++) {
            q = base;
            q.method = methods[m];
            q.goal.objective = (enum spec_objective)o;
            q.goal.weight = 0.5;
            q.pareto = o == 0;
            check_question(p, q, t);
            q.pareto = false;
            q.goal.deadline_s = middle_s;
            q.goal.budget_usd = o % 2 ? (cost_usd + dear_usd) / 2 : (double)INFINITY;
            check_question(p, q, t);
        }
        q = base;
        q.method = methods[m];
        q.goal.budget_usd = cost_usd;
        q.goal.deadline_s = fast.plan.time_s;
        check_question(p, q, t);
    }
}

/* Without transfers all stages are at one location. West is fast but for c: by the first
 * multipliers, which count all paths alike, it has the fastest plan, of 13 h and more. East keeps
 * the deadline: 1.5 + 4 + 5 h, and 1.5 + 3 x 4 + 5 = 18.5 dollars. The glance takes v for d, as it
 * does not see the hour of input: 9 x 1.3 instead of 1 x 5 dollars. */
static const char by_hand_offers[] =
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,"
    "network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
    "aws,east,,u,4,16,,,,1,,\naws,east,,v,4,16,,,,9,,\naws,west,,w,4,16,,,,10,,\n";
static const char by_hand[] =
    "name: by-hand\ndefaults: {outputs: {o: 0}}\n"
    "---\nname: a\nneeds: []\nestimate: {hours: {u: 1.5, w: 0.5}}\n"
    "---\nname: b\nneeds: [a]\nestimate: {hours: {u: 4, w: 0.5}}\noutputs: {o: 4500}\n"
    "---\nname: c\nneeds: [a]\nestimate: {hours: {u: 4, w: 13}}\n"
    "---\nname: e\nneeds: [a]\nestimate: {hours: {u: 4, w: 0.5}}\n"
    "---\nname: d\nneeds: [b, c, e]\nestimate: {hours: {u: 4, v: 0.3, w: 0.3}}\n";

/* A search for the fastest plan, cut on its way to a first one within the deadline, leaves a bound
 * in nanoseconds: no bound of a cost. */
static void check_by_hand(const struct plan_problem *p, struct tally *t)
{
    AUTO_CLEAR(plan_answer) struct plan_answer whole = {0};
    struct plan_query q = plan_query_default(stopped_clock);
    struct err e;

    q.goal.deadline_s = 12 * 3600;
    plan_solve(p, &q, &whole, &e);
    CHECK(whole.status == PLAN_OPTIMAL && whole.plan.cost_microusd == 18500000,
          "the plan by hand costs $18.50 (%g)", money_to_usd(whole.plan.cost_microusd));
    check_question(p, q, t);
    q.method = PLAN_DUAL_PLAIN;
    check_question(p, q, t);
}

typedef void check_fn(const struct plan_problem *p, struct tally *t);

static void with_problem(const struct random_case *c, check_fn *check, struct tally *t)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 20);
    struct guess_list guesses = {.arena = arena};
    struct plan_world w = {.spec = c->spec,
                           .catalog = c->catalog,
                           .config = c->config,
                           .throughputs = c->throughputs,
                           .market = c->market,
                           .max_hourly_usd = (double)INFINITY};
    struct err e;
    AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);

    if (p)
        check(p, t);
}

int main(void)
{
    const char *cases = getenv("TRADEWIND_CASES"), *first = getenv("TRADEWIND_SEED");
    uint64_t n = cases ? strtoull(cases, NULL, 10) : getenv("TRADEWIND_SLOW") ? 10 : 60;
    uint64_t seed = first ? strtoull(first, NULL, 10) : 120001;
    char dir[] = "/tmp/tradewind-limit-XXXXXX";
    struct random_case c;
    struct tally t = {0};
    struct err e = {0};

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    if (random_case_load(&c, dir, by_hand, by_hand_offers, "plan: {boot_s: 0}\n", &e) == 0)
        with_problem(&c, check_by_hand, &t);
    CHECK(t.answers > 0, "the case by hand loads: %s", e.text);
    random_case_clear(&c);
    for (uint64_t i = 0; i < n; i++, seed++) {
        struct tally before = t;
        if (random_case_make(&c, seed, dir, &e) == 0)
            with_problem(&c, check_case, &t);
        if (t.wrong_bound + t.wrong_status + t.lost + t.worse + t.wrong_frontier + t.wrong_advice >
            before.wrong_bound + before.wrong_status + before.lost + before.worse +
                before.wrong_frontier + before.wrong_advice)
            printf("# seed %llu\n", (unsigned long long)seed);
        random_case_clear(&c);
    }
    CHECK(t.cut > 0 && t.limits > 0, "%zu answers, %zu with a gap, %zu without a plan", t.answers,
          t.cut, t.limits);
    CHECK(t.wrong_bound == 0, "no bound is above the optimum (%zu are)", t.wrong_bound);
    CHECK(t.wrong_status == 0, "optimal is proven, infeasible has no plan (%zu are wrong)",
          t.wrong_status);
    CHECK(t.wrong_tie == 0, "a proven tie has the best second criterion (%zu do not)", t.wrong_tie);
    CHECK(t.lost == 0, "a plan that a glance finds is never missing (%zu are)", t.lost);
    CHECK(t.worse == 0, "nor is a plan worse than that of a glance or a shorter limit (%zu are)",
          t.worse);
    CHECK(t.wrong_frontier == 0, "frontiers are complete as far as they say (%zu are not)",
          t.wrong_frontier);
    CHECK(t.partial > 0, "%zu frontiers were cut on the way", t.partial);
    CHECK(t.wrong_advice == 0, "the least budget and deadline that would do (%zu are wrong)",
          t.wrong_advice);
    file_remove_tree(dir);
    return TAP_DONE();
}
