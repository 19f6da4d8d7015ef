#include "policy/policy.h"

#include "base/auto.h"
#include "problems.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 1e-6 * fmax(1, fabs(want));
}

/* ---- worked out by hand ---- */

/* Two jobs and two types at most. */
struct small {
    struct policy_type types[2];
    struct policy_job jobs[2];
    double throughput[2][2];
    struct policy_group groups[1];
    struct policy_interval intervals[1];
    size_t n_types, n_jobs, n_groups, n_intervals;
    double budget_usd;
    size_t columns_max;
};

static struct policy_problem problem_of(struct small *s)
{
    for (int m = 0; m < 2; m++) {
        s->jobs[m].throughput = s->throughput[m];
        s->jobs[m].name = m ? "second" : "first";
        s->types[m].name = m ? "B" : "A";
        s->jobs[m].gang = s->jobs[m].gang > 0 ? s->jobs[m].gang : 1;
        s->jobs[m].slo_h = s->jobs[m].slo_h > 0 ? s->jobs[m].slo_h : (double)INFINITY;
    }
    s->groups[0].name = "g";
    return (struct policy_problem){
        .types = s->types,
        .n_types = s->n_types,
        .jobs = s->jobs,
        .n_jobs = s->n_jobs,
        .groups = s->groups,
        .n_groups = s->n_groups,
        .intervals = s->intervals,
        .n_intervals = s->n_intervals,
        .budget_usd = s->budget_usd > 0 ? s->budget_usd : (double)INFINITY,
        .columns_max = s->columns_max,
    };
}

static const double ones[2] = {1, 1}, five_dollars[2] = {5, 5};

static struct {
    const char *name;
    enum policy_kind kind;
    enum policy_form form;
    struct small small;
    double objective; /* NAN = infeasible, and then: */
    double shortfall, stretch, budget_needed_usd;
} hand[] = {
    /* Moving from B to A gains the first 6 an hour, the second 7: the second is on A all the time,
     * the first half of it: 8 + 5 + 2. */
    {"most throughput",
     POLICY_MAX_THROUGHPUT,
     POLICY_RATE,
     {.types = {{.price_usd_per_hour = 1, .quota = 1.5}, {.price_usd_per_hour = 1, .quota = 2}},
      .throughput = {{10, 4}, {8, 1}},
      .n_types = 2,
      .n_jobs = 2},
     .objective = 15},
    /* Per dollar A gives 5 and 4, B 4 and 1; the first prefers A by 1, the second by 3. */
    {"throughput per dollar",
     POLICY_THROUGHPUT_PER_DOLLAR,
     POLICY_RATE,
     {.types = {{.price_usd_per_hour = 2, .quota = 1}, {.price_usd_per_hour = 1, .quota = 1}},
      .throughput = {{10, 4}, {8, 1}},
      .n_types = 2,
      .n_jobs = 2},
     .objective = 8},
    /* The same, but the first must do 8 an hour: 2/3 on A, 1/3 on B; the second the rest of A and
     * B, 1/3 and 2/3: 5 * 2/3 + 4 * 1/3 + 4 * 1/3 + 1 * 2/3. */
    {"throughput per dollar keeps deadlines",
     POLICY_THROUGHPUT_PER_DOLLAR,
     POLICY_RATE,
     {.types = {{.price_usd_per_hour = 2, .quota = 1}, {.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 80, .slo_h = 10}, {0}},
      .throughput = {{10, 4}, {8, 1}},
      .n_types = 2,
      .n_jobs = 2},
     .objective = 20.0 / 3},
    /* 100 at 10 an hour for $2, or at 4 an hour for 60 cents: $20 or $15, with three machines. */
    {"the cheapest type",
     POLICY_MIN_COST,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 2, .quota = 3}, {.price_usd_per_hour = 0.6, .quota = 3}},
      .jobs = {{.iterations = 100, .gang = 3}},
      .throughput = {{10, 4}},
      .n_types = 2,
      .n_jobs = 1},
     .objective = 45},
    /* $5 for an hour, then $1: it waits. */
    {"without a deadline one waits for the lower price",
     POLICY_MIN_COST,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 10}},
      .throughput = {{10}},
      .intervals = {{.end_h = 1, .price_usd_per_hour = five_dollars}},
      .n_types = 1,
      .n_jobs = 1,
      .n_intervals = 1},
     .objective = 1},
    /* One machine, an hour each, by the first and the second hour: one after the other. */
    {"windows: one after the other",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 3, .quota = 1}},
      .jobs = {{.iterations = 10, .slo_h = 1}, {.iterations = 10, .slo_h = 2}},
      .throughput = {{10}, {10}},
      .n_types = 1,
      .n_jobs = 2},
     .objective = 6},
    /* At constant rates the first needs all of the machine, the second half of it: one of them
     * lacks half of its work at least, and with 1.5 times the time 2/3 and 1/3 of it do. */
    {"rates: the same cannot be done",
     POLICY_MIN_COST_SLO,
     POLICY_RATE,
     {.types = {{.price_usd_per_hour = 3, .quota = 1}},
      .jobs = {{.iterations = 10, .slo_h = 1}, {.iterations = 10, .slo_h = 2}},
      .throughput = {{10}, {10}},
      .n_types = 1,
      .n_jobs = 2},
     .objective = (double)NAN,
     .shortfall = 0.5,
     .stretch = 1.5,
     .budget_needed_usd = (double)NAN},
    {"half of it by the deadline",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 3, .quota = 1}},
      .jobs = {{.iterations = 20, .slo_h = 1}},
      .throughput = {{10}},
      .n_types = 1,
      .n_jobs = 1},
     .objective = (double)NAN,
     .shortfall = 0.5,
     .stretch = 2,
     .budget_needed_usd = (double)NAN},
    /* The same for $1.50, half an hour's worth: a quarter is done. However late, it costs $6. */
    {"and a budget for a quarter",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 3, .quota = 1}},
      .jobs = {{.iterations = 20, .slo_h = 1}},
      .throughput = {{10}},
      .n_types = 1,
      .n_jobs = 1,
      .budget_usd = 1.5},
     .objective = (double)NAN,
     .shortfall = 0.75,
     .stretch = 2,
     .budget_needed_usd = 6},
    /* All of it on A takes 10 h and $40; for $30 it is 5 h of A and 10 h of B, as below. */
    {"later for want of money",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 4, .quota = 1}, {.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 100, .slo_h = 5}},
      .throughput = {{10, 5}},
      .n_types = 2,
      .n_jobs = 1,
      .budget_usd = 30},
     .objective = (double)NAN,
     .shortfall = 0.5,
     .stretch = 3,
     .budget_needed_usd = (double)NAN},
    /* $5 in the first hour, $1 later. Two hours of work in two hours cost $6; for $4 half of the
     * first hour goes by. By the deadline $4 pay for 0.8 h. */
    {"later, for a lower price",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 20, .slo_h = 1}},
      .throughput = {{10}},
      .intervals = {{.end_h = 1, .price_usd_per_hour = five_dollars}},
      .n_types = 1,
      .n_jobs = 1,
      .n_intervals = 1,
      .budget_usd = 4},
     .objective = (double)NAN,
     .shortfall = 0.6,
     .stretch = 2.5,
     .budget_needed_usd = (double)NAN},
    /* At one rate to hour D it is 2 (4 + D) / D dollars: $4 at 4 h. */
    {"and at one rate later still",
     POLICY_MIN_COST_SLO,
     POLICY_RATE,
     {.types = {{.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 20, .slo_h = 1}},
      .throughput = {{10}},
      .intervals = {{.end_h = 1, .price_usd_per_hour = five_dollars}},
      .n_types = 1,
      .n_jobs = 1,
      .n_intervals = 1,
      .budget_usd = 4},
     .objective = (double)NAN,
     .shortfall = 0.6,
     .stretch = 4,
     .budget_needed_usd = (double)NAN},
    /* $2 at best, however late: the least stretch with what that costs. */
    {"no lower price is low enough",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 20, .slo_h = 1}},
      .throughput = {{10}},
      .intervals = {{.end_h = 1, .price_usd_per_hour = five_dollars}},
      .n_types = 1,
      .n_jobs = 1,
      .n_intervals = 1,
      .budget_usd = 1},
     .objective = (double)NAN,
     .shortfall = 0.9,
     .stretch = 2,
     .budget_needed_usd = 6},
    /* An hour's work in two hours that cost $5 and $1. */
    {"windows wait for the lower price",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 10, .slo_h = 2}},
      .throughput = {{10}},
      .intervals = {{.end_h = 1, .price_usd_per_hour = five_dollars}},
      .n_types = 1,
      .n_jobs = 1,
      .n_intervals = 1},
     .objective = 1},
    {"rates pay the mean price",
     POLICY_MIN_COST_SLO,
     POLICY_RATE,
     {.types = {{.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 10, .slo_h = 2}},
      .throughput = {{10}},
      .intervals = {{.end_h = 1, .price_usd_per_hour = five_dollars}},
      .n_types = 1,
      .n_jobs = 1,
      .n_intervals = 1},
     .objective = 3},
    /* $6 are needed; for $4.50 a quarter of all work stays, half of one job or spread. */
    {"a budget below the cost",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 3, .quota = 1}},
      .jobs = {{.iterations = 10, .slo_h = 1}, {.iterations = 10, .slo_h = 2}},
      .throughput = {{10}, {10}},
      .n_types = 1,
      .n_jobs = 2,
      .budget_usd = 4.5},
     .objective = (double)NAN,
     .shortfall = 0.5,
     .stretch = (double)NAN,
     .budget_needed_usd = 6},
    /* One machine, two hours of work. */
    {"makespan of two jobs on one machine",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 3, .quota = 1}},
      .jobs = {{.iterations = 10}, {.iterations = 10}},
      .throughput = {{10}, {10}},
      .n_types = 1,
      .n_jobs = 2},
     .objective = 2},
    /* a hours at 10/h and $4, b at 5/h and $1: 10 a + 5 b = 100, 4 a + b = 30: a = 5, b = 10. */
    {"makespan within a budget",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 4, .quota = 1}, {.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 100}},
      .throughput = {{10, 5}},
      .n_types = 2,
      .n_jobs = 1,
      .budget_usd = 30},
     .objective = 15},
    /* All on B costs $20, the least there is: $19 do 95 %. */
    {"makespan below the budget's floor",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 4, .quota = 1}, {.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 100}},
      .throughput = {{10, 5}},
      .n_types = 2,
      .n_jobs = 1,
      .budget_usd = 19},
     .objective = (double)NAN,
     .shortfall = 0.05,
     .stretch = (double)NAN,
     .budget_needed_usd = 20},
    /* $5 in the first hour, $1 later; 2 hours of work for $4: half an hour of the first. */
    {"makespan over a price step",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 1, .quota = 1}},
      .jobs = {{.iterations = 20}},
      .throughput = {{10}},
      .intervals = {{.end_h = 1, .price_usd_per_hour = five_dollars}},
      .n_types = 1,
      .n_jobs = 1,
      .n_intervals = 1,
      .budget_usd = 4},
     .objective = 2.5},
    /* Two gangs of two on three machines run one after the other; by instances alone 4/3 h. */
    {"gangs do not share",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 3, .quota = 3}},
      .jobs = {{.iterations = 10, .gang = 2}, {.iterations = 10, .gang = 2}},
      .throughput = {{10}, {10}},
      .n_types = 1,
      .n_jobs = 2},
     .objective = 2},
    /* Two types with two machines each, of which one in all may be used. */
    {"a quota of a group",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 3, .quota = 2}, {.price_usd_per_hour = 3, .quota = 2}},
      .jobs = {{.iterations = 10}, {.iterations = 10}},
      .throughput = {{10, 10}, {10, 10}},
      .groups = {{.units = ones, .quota = 1}},
      .n_types = 2,
      .n_jobs = 2,
      .n_groups = 1},
     .objective = 2},
    {"a gang that fits nowhere",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     {.types = {{.price_usd_per_hour = 3, .quota = 3}},
      .jobs = {{.iterations = 10, .gang = 4}},
      .throughput = {{10}},
      .n_types = 1,
      .n_jobs = 1},
     .objective = (double)NAN,
     .shortfall = 1,
     .stretch = (double)NAN,
     .budget_needed_usd = (double)NAN},
};

static bool is_same(double got, double want)
{
    return isnan(want) ? isnan(got) : is_near(got, want);
}

static void by_hand(void)
{
    for (size_t i = 0; i < sizeof hand / sizeof *hand; i++) {
        struct policy_problem p = problem_of(&hand[i].small);
        AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
        struct err e = {0};
        double shortfall = 0;
        bool solved = policy_solve(&p, hand[i].kind, hand[i].form, &a, &e) == 0;

        CHECK(solved && is_same(a.objective, hand[i].objective), "%s: %g %s", hand[i].name,
              a.objective, e.text);
        if (!solved || !isnan(hand[i].objective))
            continue;
        for (size_t m = 0; m < p.n_jobs; m++)
            shortfall += a.shortfall[m];
        CHECK(a.status == POLICY_INFEASIBLE && *a.reason && is_near(shortfall, hand[i].shortfall),
              "%s: falls short by %g: %s", hand[i].name, shortfall, a.reason);
        CHECK(is_same(a.stretch, hand[i].stretch), "%s: stretch %g", hand[i].name, a.stretch);
        CHECK(is_same(a.budget_needed_usd, hand[i].budget_needed_usd), "%s: budget %g",
              hand[i].name, a.budget_needed_usd);
    }
}

/* What the answer uses, of the first case: the second on A, the first half on each. */
static void uses_by_hand(void)
{
    static const struct policy_use want[] = {
        {.job = 0, .type = 0, .share = 0.5},
        {.job = 0, .type = 1, .share = 0.5},
        {.job = 1, .type = 0, .share = 1},
    };
    struct policy_problem p = problem_of(&hand[0].small);
    AUTO_CLEAR(policy_answer) struct policy_answer a = {0};

    CHECK(policy_solve(&p, POLICY_MAX_THROUGHPUT, POLICY_RATE, &a, NULL) == 0 && a.n_uses == 3,
          "three uses");
    for (size_t i = 0; i < a.n_uses && i < 3; i++)
        CHECK(a.uses[i].job == want[i].job && a.uses[i].type == want[i].type &&
                  is_near(a.uses[i].share, want[i].share),
              "use %zu", i);
    CHECK(is_near(a.shadow_price[0], 6) && is_near(a.shadow_price[1], 0),
          "one more A brings 6, one more B nothing");
}

/* ---- the facts behind the formulas ---- */

/* The literal objective of the literature: iterations per dollar, job by job, added up. */
static double sum_of_ratios(const struct policy_problem *p, const double *x)
{
    double sum = 0;

    for (size_t m = 0; m < p->n_jobs; m++) {
        double done = 0, paid = 0;
        for (size_t j = 0; j < p->n_types; j++) {
            done += p->jobs[m].throughput[j] * x[m * p->n_types + j];
            paid += p->types[j].price_usd_per_hour * x[m * p->n_types + j];
        }
        sum += done / paid;
    }
    return sum;
}

static struct small ratios = {
    .types = {{.price_usd_per_hour = 2, .quota = 1}, {.price_usd_per_hour = 1, .quota = 10}},
    .jobs = {{.iterations = 1000, .slo_h = 100}, {.iterations = 10, .slo_h = 100}},
    /* per dollar: 10 and 2.5; 100 and 90 */
    .throughput = {{20, 2.5}, {200, 90}},
    .n_types = 2,
    .n_jobs = 2,
};

/* 1: shares may shrink to nothing and the sum of ratios stays. */
static void ratios_do_no_work(void)
{
    struct policy_problem p = problem_of(&ratios);
    const double whole[] = {1, 0, 1, 0}, hardly[] = {1e-9, 0, 1e-9, 0};
    double most = 20 / 2.0 + 200 / 2.0; /* of max T / c, job by job */

    CHECK(is_near(sum_of_ratios(&p, whole), most) && is_near(sum_of_ratios(&p, hardly), most),
          "the sum of ratios is largest for shares that do no work");
    CHECK(whole[0] + whole[2] > p.types[0].quota && hardly[0] + hardly[2] < p.types[0].quota,
          "and quotas do not bind it");
}

/* 2: with quotas for all, the fewest dollars are those of each job's best ratio. */
static void loose_quotas_separate(void)
{
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    const struct problem_shape shape = {.jobs = 8, .types = 4, .gang_max = 1, .load = 1};
    struct policy_problem *p = problem_random_new(a, &shape, 5);
    struct policy_type types[4];
    struct policy_job jobs[8];
    double usd = 0;

    memcpy(types, p->types, sizeof types);
    memcpy(jobs, p->jobs, sizeof jobs);
    for (int j = 0; j < 4; j++)
        types[j].quota = 8;
    for (int m = 0; m < 8; m++) {
        double best = 0;
        jobs[m].slo_h = 1e4;
        for (int j = 0; j < 4; j++)
            best = fmax(best, jobs[m].throughput[j] / types[j].price_usd_per_hour);
        usd += jobs[m].iterations / best;
    }
    p->types = types;
    p->jobs = jobs;
    CHECK(is_near(problem_objective(p, POLICY_MIN_COST_SLO, POLICY_WINDOWS), usd) &&
              is_near(problem_objective(p, POLICY_MIN_COST_SLO, POLICY_RATE), usd) &&
              is_near(problem_objective(p, POLICY_MIN_COST, POLICY_WINDOWS), usd),
          "where no quota binds the ratios and the dollars agree");
}

/* The stretch of random deadlines that cannot be met, each so many times later; NAN when they can.
 */
static double stretch_of(double later)
{
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    AUTO_CLEAR(policy_answer) struct policy_answer answer = {0};
    const struct problem_shape shape = {.jobs = 24, .types = 6, .gang_max = 2, .load = 8};
    struct policy_problem *p = problem_random_new(a, &shape, 11);
    struct policy_job jobs[24];

    memcpy(jobs, p->jobs, sizeof jobs);
    for (int m = 0; m < 24; m++)
        jobs[m].slo_h *= later;
    p->jobs = jobs;
    return policy_solve(p, POLICY_MIN_COST_SLO, POLICY_WINDOWS, &answer, NULL) == 0 &&
                   answer.status == POLICY_INFEASIBLE
               ? answer.stretch
               : (double)NAN;
}

/* Deadlines a thousand times as early have to become a thousand times as late. The solver has to
 * get there from either, and not to take for ever. */
static void stretches_follow_deadlines(void)
{
    double near = stretch_of(0.1), far = stretch_of(1e-4);

    CHECK(near > 1 && fabs(far / near / 1000 - 1) < 1e-5, "stretches %.9g and %.9g", near, far);
}

/* 3: A is for one. By ratios it goes to the second (100 against 90 beats 10 against 2.5 by more:
 * 10 > 7.5), which costs 1000/2.5 + 10/100; by dollars to the first: 1000/10 + 10/90. Doubling what
 * an iteration of the second is changes the ratios' mind and no dollar. */
static void binding_quotas_differ(void)
{
    struct small s = ratios;
    const double to_first[] = {1, 0, 0, 1}, to_second[] = {0, 1, 1, 0};

    s.jobs[0].slo_h = s.jobs[1].slo_h = 50; /* all of A's time for the first */
    struct policy_problem p = problem_of(&s);
    double usd = problem_objective(&p, POLICY_MIN_COST_SLO, POLICY_WINDOWS);
    CHECK(sum_of_ratios(&p, to_second) > sum_of_ratios(&p, to_first),
          "by ratios the scarce type goes to the second job");
    CHECK(is_near(usd, 1000 / 10.0 + 10 / 90.0), "by dollars to the first: %g", usd);
    s.throughput[1][0] /= 2;
    s.throughput[1][1] /= 2;
    s.jobs[1].iterations /= 2;
    CHECK(sum_of_ratios(&p, to_second) < sum_of_ratios(&p, to_first),
          "another unit of the second's iterations turns the ratios round");
    CHECK(is_near(problem_objective(&p, POLICY_MIN_COST_SLO, POLICY_WINDOWS), usd),
          "and no dollar");
}

/* 4: between two allocations of two jobs the sum of ratios falls below both; with one job the hours
 * are the way: min sum c h, sum T h >= N, sum h <= D. */
static void ratios_are_not_concave(void)
{
    static struct small s = {
        .types = {{.price_usd_per_hour = 1, .quota = 9}, {.price_usd_per_hour = 10, .quota = 9}},
        .throughput = {{1, 1}, {1, 1}},
        .n_types = 2,
        .n_jobs = 2,
    };
    const double one[] = {1, 0, 0, 1}, other[] = {0, 1, 1, 0}, middle[] = {0.5, 0.5, 0.5, 0.5};
    static struct small single = {
        .types = {{.price_usd_per_hour = 4, .quota = 1}, {.price_usd_per_hour = 1, .quota = 1}},
        .jobs = {{.iterations = 100, .slo_h = 15}},
        .throughput = {{10, 5}},
        .n_types = 2,
        .n_jobs = 1,
    };
    struct policy_problem p = problem_of(&s);

    CHECK(sum_of_ratios(&p, middle) < fmin(sum_of_ratios(&p, one), sum_of_ratios(&p, other)) / 2,
          "the sum of two ratios is not quasiconcave");
    p = problem_of(&single);
    CHECK(is_near(problem_objective(&p, POLICY_MIN_COST_SLO, POLICY_WINDOWS), 4 * 5 + 10),
          "one job: 5 h on A and 10 h on B");
}

/* ---- random problems ---- */

static void windows_are_no_dearer(void)
{
    const struct problem_shape shape = {.jobs = 12, .types = 4, .gang_max = 3, .load = 1.2};
    int good = 0, less = 0, between = 0, tried = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        AUTO(arena) struct arena *a = arena_new(1 << 20);
        struct policy_problem *p = problem_random_new(a, &shape, seed);
        double windows = problem_objective(p, POLICY_MIN_COST_SLO, POLICY_WINDOWS);
        double rate = problem_objective(p, POLICY_MIN_COST_SLO, POLICY_RATE);
        AUTO_CLEAR(policy_answer) struct policy_answer merged = {0};
        p->columns_max = 150;
        if (isnan(rate) || policy_solve(p, POLICY_MIN_COST_SLO, POLICY_WINDOWS, &merged, NULL) < 0)
            continue;
        tried++;
        good += windows <= rate * (1 + 1e-9);
        less += windows < rate * (1 - 1e-4);
        between += merged.bound <= windows * (1 + 1e-9) &&
                   windows <= merged.objective * (1 + 1e-9) &&
                   merged.objective <= rate * (1 + 1e-9) && merged.n_windows < 12 &&
                   merged.windows_exact == 12;
    }
    CHECK(tried >= 20 && good == tried, "windows are never dearer than rates (%d problems)", tried);
    CHECK(less > 0, "and sometimes cheaper (%d)", less);
    CHECK(between == tried, "merged windows lie between, and their bound below");
}

/* Objectives are convex in a quota: the shadow price is a slope that lies below everywhere, and
 * the slope itself where nothing changes nearby. */
static void shadow_prices_by_perturbation(void)
{
    const struct problem_shape shape = {.jobs = 20, .types = 3, .gang_max = 1, .load = 3};
    int below = 0, slope = 0, positive = 0, tried = 0;

    for (uint64_t seed = 100; seed < 130; seed++) {
        AUTO(arena) struct arena *arena = arena_new(1 << 20);
        struct policy_problem *p = problem_random_new(arena, &shape, seed);
        AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
        struct policy_type types[3];
        memcpy(types, p->types, sizeof types);
        p->types = types;
        for (int j = 0; j < 3; j++) /* at whole quotas slopes change */
            types[j].quota += 0.37 + 0.1 * j;
        if (policy_solve(p, POLICY_MIN_COST_SLO, POLICY_WINDOWS, &a, NULL) < 0 ||
            a.status == POLICY_INFEASIBLE)
            continue;
        for (int j = 0; j < 3; j++) {
            const double steps[] = {1e-3, -1e-3, 1};
            bool same = true;
            tried++;
            positive += a.shadow_price[j] > 1e-6;
            for (int i = 0; i < 3; i++) {
                types[j].quota += steps[i];
                double usd = problem_objective(p, POLICY_MIN_COST_SLO, POLICY_WINDOWS);
                double line = a.objective - a.shadow_price[j] * steps[i];
                types[j].quota -= steps[i];
                same = same && (i == 2 || fabs(usd - line) < 1e-8 * a.objective);
                below += isnan(usd) || line <= usd + 1e-8 * a.objective;
            }
            slope += same;
        }
    }
    CHECK(tried >= 45 && below == 3 * tried, "shadow prices are slopes from below");
    CHECK(slope * 10 >= tried * 9, "and the slope, %d times of %d", slope, tried);
    CHECK(positive >= 10, "%d of them are positive", positive);
}

/* ---- what is refused ---- */

static void refused(void)
{
    struct small s = ratios;
    struct policy_answer a;
    struct err e = {0};

    s.jobs[1].slo_h = 0;
    struct policy_problem p = problem_of(&s);
    CHECK(policy_solve(&p, POLICY_MIN_COST_SLO, POLICY_RATE, &a, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "\"second\" has no slo_h"),
          "rates want deadlines: %s", e.text);
    s.jobs[0].iterations = 0;
    CHECK(policy_solve(&p, POLICY_MIN_MAKESPAN, POLICY_RATE, &a, &e) < 0 && e.kind == ERR_USAGE &&
              strstr(e.text, "\"first\" has no iterations"),
          "work must be known: %s", e.text);
    s.types[1].price_usd_per_hour = 0;
    CHECK(policy_solve(&p, POLICY_THROUGHPUT_PER_DOLLAR, POLICY_RATE, &a, &e) < 0 &&
              e.kind == ERR_USAGE && strstr(e.text, "\"B\" costs nothing"),
          "no dividing by a price of 0: %s", e.text);
    p.n_jobs = 0;
    CHECK(policy_solve(&p, POLICY_MAX_THROUGHPUT, POLICY_RATE, &a, &e) < 0 && e.kind == ERR_USAGE,
          "no jobs: %s", e.text);
}

int main(void)
{
    by_hand();
    uses_by_hand();
    ratios_do_no_work();
    loose_quotas_separate();
    stretches_follow_deadlines();
    binding_quotas_differ();
    ratios_are_not_concave();
    windows_are_no_dearer();
    shadow_prices_by_perturbation();
    refused();
    return TAP_DONE();
}
