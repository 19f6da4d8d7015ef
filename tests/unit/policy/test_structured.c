#include "policy/internal.h"

#include "base/auto.h"
#include "policy/lp.h"
#include "problems.h"
#include "tap.h"

#include <math.h>
#include <string.h>

/* Enough columns for the interior-point method to be chosen. */
#define JOBS 600
#define TYPES 36

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 2e-6 * fabs(want);
}

/* A random problem with one quota of a group, and questions about it. */
struct fixture {
    struct arena *arena;
    struct policy_problem *p;
    struct policy_group group;
    double units[TYPES];
    struct scope scope;
    struct grid grid;
    double edge[2];
    bool must[JOBS];
    struct cuts cuts;
};

static void fixture_clear(struct fixture *f)
{
    cuts_clear(&f->cuts);
    grid_clear(&f->grid);
    scope_clear(&f->scope);
    arena_free(f->arena);
}

static void fixture_init(struct fixture *f, uint64_t seed, bool deadlines, double load)
{
    const struct problem_shape shape = {.jobs = JOBS, .types = TYPES, .gang_max = 3, .load = load};

    *f = (struct fixture){.arena = arena_new(16 << 20), .edge = {0, deadlines ? 48 : 20}};
    f->p = problem_random_new(f->arena, &shape, seed);
    memset(f->must, true, sizeof f->must);
    f->units[3] = 2;
    f->units[7] = 1;
    f->group = (struct policy_group){
        .name = "g", .units = f->units, .quota = f->p->types[3].quota + f->p->types[7].quota / 2};
    f->p->groups = &f->group;
    f->p->n_groups = 1;
    scope_init(&f->scope, f->p);
    for (size_t m = 0; m < JOBS && !deadlines; m++)
        f->scope.deadline_h[m] = (double)INFINITY;
    grid_init(&f->grid, &f->scope,
              &(struct grid_ask){.edge = f->edge, .n_windows = 1, .price_at_start = !deadlines});
    cuts_init(&f->cuts, &f->grid);
}

/* The optimum by CLP, of the plain program; NAN when it is not proved. */
static double by_clp(const struct model_ask *ask)
{
    struct lp lp;
    struct lp_point at;
    double unit = 1; /* the program's costs are parts of their mean */

    model_program(ask, &lp);
    for (int j = 0; ask->cost && j < lp.n_columns; j++)
        if (lp.cost[j] > 0) {
            unit = ask->cost[j] / lp.cost[j];
            break;
        }
    lp_point_init(&at, &lp);
    bool good = clp_try(&lp, CLP_PRIMAL, true, &at, NULL) == 0 && lp_is_proved(&at, 1e-3);
    double objective = at.objective * unit;
    lp_point_clear(&at);
    lp_clear(&lp);
    return good ? objective : (double)NAN;
}

static void compare(const char *name, const struct fixture *f, const struct model_ask *ask)
{
    struct model_answer a = {0};
    double want = by_clp(ask);

    CHECK(structured_fits(ask, &f->cuts), "%s: it is a case for the method", name);
    CHECK(structured_solve(ask, &f->cuts, &a), "%s: it gets there", name);
    CHECK(is_near(a.objective, want) && a.bound <= a.objective &&
              a.objective - a.bound <= POLICY_GAP * a.objective,
          "%s: %.9g, bound %.9g; CLP has %.9g", name, a.objective, a.bound, want);
    bool allowed = !ask->cost && ask->first_scaled == SIZE_MAX;
    CHECK(allowed ? fabs(a.total_shortfall - a.objective) < 1e-9 : a.total_shortfall < 1e-7,
          "%s: %s falls short", name, allowed ? "so much" : "nothing");
    model_answer_clear(&a);
}

static void dollars(uint64_t seed)
{
    AUTO_CLEAR(fixture) struct fixture f;

    fixture_init(&f, seed, true, 1.4);
    compare("dollars", &f,
            &(struct model_ask){.grid = &f.grid,
                                .cost = f.grid.usd,
                                .must_finish = f.must,
                                .shortfall_cost = 1e6,
                                .budget_usd = (double)INFINITY,
                                .first_scaled = SIZE_MAX});
}

static void makespan(void)
{
    AUTO_CLEAR(fixture) struct fixture f;

    fixture_init(&f, 3, false, 1.4);
    double budget = 1.2 * problem_objective(f.p, POLICY_MIN_COST, POLICY_WINDOWS);
    compare("makespan", &f,
            &(struct model_ask){.grid = &f.grid,
                                .must_finish = f.must,
                                .shortfall_cost = (double)INFINITY,
                                .budget_usd = budget,
                                .first_scaled = 0});
}

/* Quotas of a fourth of what is needed: what is missing at least, also within a budget, and how
 * much later everything would be done. */
static void too_much(uint64_t seed)
{
    AUTO_CLEAR(fixture) struct fixture f;

    fixture_init(&f, seed, true, 6);
    struct model_ask ask = {.grid = &f.grid,
                            .must_finish = f.must,
                            .shortfall_cost = 1,
                            .budget_usd = (double)INFINITY,
                            .first_scaled = SIZE_MAX};
    compare("too much", &f, &ask);
    ask.budget_usd = 0.5 * problem_objective(f.p, POLICY_MIN_COST, POLICY_WINDOWS);
    compare("too dear", &f, &ask);
    ask.budget_usd = ask.shortfall_cost = (double)INFINITY;
    ask.first_scaled = 0;
    compare("too late", &f, &ask);
}

/* With gangs that do not divide quotas, rows for them are added until none is violated. */
static void gangs(void)
{
    AUTO(arena) struct arena *arena = arena_new(16 << 20);
    const struct problem_shape shape = {.jobs = JOBS, .types = TYPES, .gang_max = 5, .load = 3};
    struct policy_problem *p = problem_random_new(arena, &shape, 12);
    AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
    double used[TYPES][6] = {{0}};
    int broken = 0;

    CHECK(policy_solve(p, POLICY_MIN_COST_SLO, POLICY_RATE, &a, NULL) == 0 &&
              a.status == POLICY_OPTIMAL,
          "gangs: an answer: %s", a.reason);
    for (size_t i = 0; i < a.n_uses; i++)
        for (int size = 1; size <= (int)p->jobs[a.uses[i].job].gang; size++)
            used[a.uses[i].type][size] += a.uses[i].share;
    for (int j = 0; j < TYPES; j++)
        for (int size = 1; size <= 5; size++)
            broken += used[j][size] > floor(p->types[j].quota / size) + 1e-5 * p->types[j].quota;
    CHECK(broken == 0, "gangs: none overlap that cannot");
}

/* Any prices prove something, and never more than is true. */
static void any_prices(void)
{
    /* Two jobs on two of four types: the second type is cheaper and slower, quotas are 1. */
    double work[2 * IPM_WIDTH(4)] = {2, 1.5, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0};
    double cost[2 * IPM_WIDTH(4)] = {4, 1, 9, 9, 0, 0, 0, 0, 3, 1, 9, 9};
    const double gang[2] = {1, 1};
    struct ipm_row rows[4] = {{.weight = gang, .most = 1},
                              {.weight = gang, .most = 1},
                              {.weight = gang, .most = 1},
                              {.weight = gang, .most = 1}};
    struct ipm_problem p = {.n_jobs = 2,
                            .n_types = 4,
                            .work = work,
                            .cost = cost,
                            .rows = rows,
                            .n_rows = 4,
                            .shortfall_cost = 100,
                            .gap = 1e-8};
    struct ipm_answer a;
    uint64_t seed = 1;
    double worth[2], most = 0;

    /* By hand: the second type does a unit for 2/3 and for 1, the first for 2 and 1.5. Its hour
     * goes to the first job, 2/3, and the last third to the second job, which does a third there
     * and two thirds on the first type: 2/3 + 1/3 + 1. */
    CHECK(ipm_solve(&p, &a) && fabs(a.objective - 2) < 1e-6 && fabs(a.bound - 2) < 1e-6,
          "two jobs: %.9g, bound %.9g", a.objective, a.bound);
    ipm_answer_clear(&a);
    for (int i = 0; i < 1000; i++) {
        double price[4] = {0};
        price[0] = problem_random(&seed);
        price[1] = 3 * problem_random(&seed);
        most = fmax(most, ipm_bound(&p, price, worth));
    }
    CHECK(most <= 2 + 1e-9 && most > 1.9, "a thousand prices prove up to %g", most);
}

int main(void)
{
    any_prices();
    dollars(1);
    dollars(2);
    makespan();
    too_much(4);
    gangs();
    return TAP_DONE();
}
