/* The cost model by hand: each expectation is worked out in its comment. */
#include "plan/internal.h"

#include "tap.h"

#include <math.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static void check_expectation(void)
{
    CHECK(costmodel_expected_run_s(7200, 0, 0, 100) == 7200,
          "without preemptions the run is the run");
    /* One segment of 1 h at 0.5 an hour, restart 0.1 h: (2 + 0.1)(e^0.5 - 1) h. */
    CHECK(near(costmodel_expected_run_s(3600, 0.5, 0, 360), 3600 * 2.1 * (exp(0.5) - 1)),
          "no checkpoint: one segment");
    /* 2.5 h in segments of 1 h: two of 1 h and one of half an hour. */
    double whole = 2.1 * (exp(0.5) - 1), half = 2.1 * (exp(0.25) - 1);
    CHECK(near(costmodel_expected_run_s(9000, 0.5, 3600, 360), 3600 * (2 * whole + half)),
          "checkpoints cut the run into segments, the last one shorter");
    CHECK(costmodel_expected_run_s(9000, 0.5, 3600, 360) <
              costmodel_expected_run_s(9000, 0.5, 0, 360),
          "checkpoints help");
}

static void check_outcome(void)
{
    struct spec_stage spec = {.num_nodes = 3, .estimate = {.setup_s = 10}};
    struct pstage stage = {.spec = &spec};
    struct site site = {.boot_s = 60};
    struct choice c = {.price_usd = 1.2, .estimate = {.run_s = 20, .low_s = 16, .high_s = 24}};
    struct outcome o;

    /* 10 + 5 + 20 = 35 s are billed as 60: 3 x 1.2 x 60 / 3600 = $0.06. */
    CHECK(costmodel_outcome(&stage, &site, &c, 5, &o) && o.compute_microusd == 60000,
          "at least a minute is billed");
    CHECK(o.duration_ns[LAYER_MID] == 95000000000, "boot, setup, input, run: 60 + 10 + 5 + 20 s");
    CHECK(o.duration_ns[LAYER_HIGH] == 99000000000, "the high end of the run is 4 s longer");
    /* 10 + 100 + 20 = 130 s: 3 x 1.2 x 130 / 3600 = $0.13. */
    CHECK(costmodel_outcome(&stage, &site, &c, 100, &o) && o.compute_microusd == 130000,
          "the machine is billed while it reads");
    /* 0.0000005 dollars and a half: 0.5 micro-dollars round up. 0.00003 x 60 / 3600 = 5e-7. */
    spec.num_nodes = 1;
    c.price_usd = 0.00003;
    CHECK(costmodel_outcome(&stage, &site, &c, 0, &o) && o.compute_microusd == 1, "half rounds up");
    c.price_usd = 1;
    c.estimate.run_s = c.estimate.high_s = 11.0 * 365.25 * 86400;
    CHECK(!costmodel_outcome(&stage, &site, &c, 0, &o), "over ten years is never");
    c.estimate.run_s = 9.9 * 365.25 * 86400;
    CHECK(costmodel_outcome(&stage, &site, &c, 0, &o),
          "but a high end over ten years is only late");
    c.estimate.run_s = c.estimate.high_s = 86400;
    c.preemptions_h = 2;
    CHECK(!costmodel_outcome(&stage, &site, &c, 0, &o), "e^48 hours of restarts are never too");
}

static void check_goals(void)
{
    struct plan_query q = plan_query_default(NULL);
    struct totals a = {.microusd = 290000, .ns = {1000000000, 1000000000}};

    q.goal.budget_usd = 0.29; /* 0.29 * 1e6 is 289999.99999999994 as a double */
    struct goal g = goal_from_query(&q);
    CHECK(goal_allows(&g, &a), "a budget is inclusive, whatever doubles make of it");
    a.microusd++;
    CHECK(!goal_allows(&g, &a), "a micro-dollar more is over it");
    q = plan_query_default(NULL);
    q.goal.deadline_s = 1;
    g = goal_from_query(&q);
    CHECK(goal_allows(&g, &a), "a deadline is inclusive");
    a.ns[LAYER_MID] += 2000;
    CHECK(!goal_allows(&g, &a), "two microseconds late is late");

    struct totals cheap = {.microusd = 2000000, .ns = {3600000000000}};
    struct totals fast = {.microusd = 4000000, .ns = {1800000000000}};
    g = (struct goal){.objective = SPEC_VALUE};
    CHECK(goal_compare(&g, &cheap, &fast) < 0, "$2 x 1 h equals $4 x 0.5 h: the cheaper wins");
    g = (struct goal){.objective = SPEC_WEIGHTED, .weight = 0.8};
    /* 0.8 x 1 + 0.2 x 2 = 1.2 against 0.8 x 0.5 + 0.2 x 4 = 1.2. */
    CHECK(goal_compare(&g, &cheap, &fast) < 0, "equal weighted sums: the cheaper wins");
    g.weight = 0.9;
    CHECK(goal_compare(&g, &cheap, &fast) > 0, "a heavier weight on time turns it");
    g = (struct goal){.objective = SPEC_TIME};
    CHECK(goal_compare(&g, &fast, &cheap) < 0 && goal_public_value(&g, &fast) == 1800,
          "time counts in seconds");
}

int main(void)
{
    check_expectation();
    check_outcome();
    check_goals();
    return TAP_DONE();
}
