/* The linear programs behind answers: work that is a small part of its window, and what a little
 * more of a quota is worth where many limits meet. */
#include "policy/policy.h"

#include "base/auto.h"
#include "policy/internal.h"
#include "problems.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 1e-6 * fabs(want);
}

/* ---- little work ---- */

/* So many times less work: nobody is in anybody's way, and each job costs what it does on the type
 * that is cheapest for it. Returns those dollars. */
static double make_little(struct policy_job *jobs, const struct policy_problem *p, double part)
{
    double usd = 0;

    for (size_t m = 0; m < p->n_jobs; m++) {
        double least = (double)INFINITY;
        jobs[m] = p->jobs[m];
        jobs[m].iterations *= part;
        for (size_t j = 0; j < p->n_types; j++)
            least = fmin(least, jobs[m].gang * jobs[m].iterations * p->types[j].price_usd_per_hour /
                                    jobs[m].throughput[j]);
        usd += least;
    }
    return usd;
}

static void little_work(void)
{
    const struct problem_shape shape = {.jobs = 6, .types = 3, .gang_max = 2, .load = 1};
    static const double parts[] = {1e-5, 1e-7, 1e-8, 1e-9, 1e-12};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int windows = 0, rates = 0, used = 0;
        for (uint64_t seed = 1; seed <= 5; seed++) {
            AUTO(arena) struct arena *arena = arena_new(1 << 20);
            struct policy_problem *p = problem_random_new(arena, &shape, seed);
            AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
            struct policy_job jobs[6];
            double usd = make_little(jobs, p, parts[i]);
            p->jobs = jobs;
            windows += is_near(problem_objective(p, POLICY_MIN_COST_SLO, POLICY_WINDOWS), usd);
            rates += policy_solve(p, POLICY_MIN_COST_SLO, POLICY_RATE, &a, NULL) == 0 &&
                     is_near(a.objective, usd);
            used += a.n_uses >= 6;
        }
        CHECK(windows == 5 && rates == 5, "%g of the work costs what it costs alone", parts[i]);
        CHECK(used == 5, "and every job is told where it runs");
    }
}

/* One with next to nothing to do beside one with much: $3 an hour, 3e-9 h and 50 h of 200. */
static void little_beside_much(void)
{
    static const double ten[] = {10};
    const struct policy_type types[] = {{.name = "V", .price_usd_per_hour = 3, .quota = 1}};
    const struct policy_job jobs[] = {
        {.name = "a", .gang = 1, .iterations = 3e-8, .slo_h = 200, .throughput = ten},
        {.name = "b", .gang = 1, .iterations = 500, .slo_h = 200, .throughput = ten},
    };
    const struct policy_problem p = {
        .types = types, .n_types = 1, .jobs = jobs, .n_jobs = 2, .budget_usd = (double)INFINITY};
    AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
    struct err e = {0};
    double hours[2] = {0};

    CHECK(policy_solve(&p, POLICY_MIN_COST_SLO, POLICY_WINDOWS, &a, &e) == 0 &&
              is_near(a.objective, 150),
          "little beside much: $%g %s", a.objective, e.text);
    for (size_t i = 0; i < a.n_uses; i++)
        hours[a.uses[i].job] += a.uses[i].hours;
    CHECK(is_near(hours[0], 3e-9) && is_near(hours[1], 50), "%g h and %g h", hours[0], hours[1]);
}

/* ---- what one more is worth ---- */

/* Answers in which limits meet, and what a little more of A is worth by hand. */
static struct {
    const char *name;
    enum policy_kind kind;
    enum policy_form form;
    double quota_a, quota_b, gang, throughput[2][2], iterations, slo_h;
    double worth_a;
} corners[] = {
    /* Two jobs, 10 an hour on A and 4 on B. Both have an A: a third would bring nothing, while
     * taking one away would cost 6. */
    {"as many A as jobs", POLICY_MAX_THROUGHPUT, POLICY_RATE, 2, 2, 1, {{10, 4}, {10, 4}}, 0, 0, 0},
    {"one A less", POLICY_MAX_THROUGHPUT, POLICY_RATE, 1, 2, 1, {{10, 4}, {10, 4}}, 0, 0, 6},
    /* An hour's work each, by the first hour, on A: all there is to do is done. */
    {"all of A for all of the time",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     2,
     2,
     1,
     {{10, 10}, {10, 10}},
     10,
     1,
     0},
    /* B costs $2 and A $1: what A has no room for goes to B, at a dollar more an hour. */
    {"A for one of two",
     POLICY_MIN_COST_SLO,
     POLICY_WINDOWS,
     1,
     2,
     1,
     {{10, 10}, {10, 10}},
     10,
     1,
     1},
    /* Two gangs of two have the two A in turn, an hour each, and 2 h is the time: a third A is of
     * no use to a gang of two. */
    {"gangs that divide the quota",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     2,
     0,
     2,
     {{10, 0}, {10, 0}},
     10,
     0,
     0},
    /* Singles in their place: 2 h / q in all, at q = 1: 2 h less for an A, at that slope. */
    {"singles that do not",
     POLICY_MIN_MAKESPAN,
     POLICY_WINDOWS,
     1,
     0,
     1,
     {{10, 0}, {10, 0}},
     10,
     0,
     2},
    /* With two A each has its own, and an hour is an hour. */
    {"and have enough", POLICY_MIN_MAKESPAN, POLICY_WINDOWS, 2, 0, 1, {{10, 0}, {10, 0}}, 10, 0, 0},
};

static void worth_in_corners(void)
{
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) {
        const struct policy_type types[] = {
            {.name = "A", .price_usd_per_hour = 1, .quota = corners[i].quota_a},
            {.name = "B", .price_usd_per_hour = 2, .quota = corners[i].quota_b},
        };
        struct policy_job jobs[2];
        for (int m = 0; m < 2; m++)
            jobs[m] = (struct policy_job){
                .name = m ? "b" : "a",
                .gang = corners[i].gang,
                .iterations = corners[i].iterations,
                .slo_h = corners[i].slo_h > 0 ? corners[i].slo_h : (double)INFINITY,
                .throughput = corners[i].throughput[m],
            };
        const struct policy_problem p = {.types = types,
                                         .n_types = 2,
                                         .jobs = jobs,
                                         .n_jobs = 2,
                                         .budget_usd = (double)INFINITY};
        AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
        struct err e = {0};
        bool solved = policy_solve(&p, corners[i].kind, corners[i].form, &a, &e) == 0;
        CHECK(solved && fabs(a.shadow_price[0] - corners[i].worth_a) < 1e-6 && !a.shadow_at_most,
              "%s: one more A is worth %g %s", corners[i].name, solved ? a.shadow_price[0] : 0,
              e.text);
    }
}

/* The method for large programs has no corners to go round: it promises a limit. */
static void worth_in_large(void)
{
    AUTO(arena) struct arena *arena = arena_new(64 << 20);
    const struct problem_shape shape = {.jobs = 1100, .types = 20, .gang_max = 1, .load = 1};
    struct policy_problem *p = problem_random_new(arena, &shape, 3);
    AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
    struct err e = {0};

    CHECK(policy_solve(p, POLICY_MIN_COST_SLO, POLICY_RATE, &a, &e) == 0 && a.shadow_at_most,
          "of a large program it is said to be at most so much %s", e.text);
}

/* ---- questions about one grid ---- */

static double objective_of(struct model_ask ask, struct model_start *start)
{
    struct model_answer a = {0};
    struct err e = {0};

    ask.start = start;
    if (model_solve(&ask, &a, &e) < 0)
        printf("# %s\n", e.text);
    double objective = a.x ? a.objective : (double)NAN;
    model_answer_clear(&a);
    return objective;
}

/* One after another, each from where the last one ended, they have the answers they have alone.
 * Returns how many rows for gangs there were. */
static size_t ask_in_turn(const struct grid *g, const bool *must, int *same)
{
    const double never = (double)INFINITY;
    const struct model_ask asks[] = {
        {g, g->usd, must, 1e4, never, SIZE_MAX, false, NULL},
        {g, NULL, must, 1, never, SIZE_MAX, false, NULL},
        {g, NULL, must, 1, 50, SIZE_MAX, false, NULL},
        {g, NULL, must, never, never, 0, false, NULL},
        {g, g->usd, must, 1e6, never, SIZE_MAX, true, NULL},
    };
    AUTO_CLEAR(model_start) struct model_start start = {0};

    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        double alone = objective_of(asks[i], NULL), after = objective_of(asks[i], &start);
        *same += is_near(after, alone);
        if (!is_near(after, alone))
            printf("# question %zu: %.9g alone, %.9g after the others\n", i, alone, after);
    }
    return start.cuts.n;
}

static void questions_in_turn(void)
{
    const struct problem_shape shape = {.jobs = 12, .types = 4, .gang_max = 3, .load = 3};
    const bool must[] = {true, true, true, true, true, true, true, true, true, true, true, true};
    size_t gang_rows = 0;
    int same = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        AUTO(arena) struct arena *arena = arena_new(1 << 20);
        struct policy_problem *p = problem_random_new(arena, &shape, seed);
        struct scope scope;
        struct edges edges;
        struct grid grid;
        scope_init(&scope, p);
        edges_init(&edges, &scope);
        grid_init(&grid, &scope,
                  &(struct grid_ask){.edge = edges.at, .n_windows = edges.n_windows});
        gang_rows += ask_in_turn(&grid, must, &same);
        grid_clear(&grid);
        edges_clear(&edges);
        scope_clear(&scope);
    }
    CHECK(gang_rows > 20, "gangs got in one another's way %zu times", gang_rows);
    CHECK(same == 100, "%d of 100 questions have the same answer after others as alone", same);
}

int main(void)
{
    little_work();
    little_beside_much();
    worth_in_corners();
    worth_in_large();
    questions_in_turn();
    return TAP_DONE();
}
