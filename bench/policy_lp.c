/* One large policy problem, solved once: prints CPU seconds, objective, bound and peak memory.
 * usage: policy_lp JOBS TYPES min-cost-slo|min-makespan ours|dual|primal|barrier[+presolve] */
#include "base/auto.h"
#include "policy/lp.h"
#include "policy/model.h"
#include "policy/problems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define ARENA_BYTES ((size_t)4 << 30)
#define SEED 7

static double cpu_s(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static long peak_mb(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss / 1024;
}

/* The least dollars for all work times this are the budget of the makespan. */
#define BUDGET_TIMES 1.2

static int ours(const struct policy_problem *p, enum policy_kind kind)
{
    AUTO_CLEAR(policy_answer) struct policy_answer a = {0};
    struct err e = {0};
    double began = cpu_s();

    if (policy_solve(p, kind, POLICY_RATE, &a, &e) < 0 || a.status != POLICY_OPTIMAL) {
        fprintf(stderr, "policy_lp: %s%s\n", e.text, a.reason);
        return EXIT_FAILURE;
    }
    printf("%.3f %.9g %.9g %ld\n", cpu_s() - began, a.objective, a.bound, peak_mb());
    return EXIT_SUCCESS;
}

/* CLP on the plain program, which has no shortfalls. */
static int clp(const struct policy_problem *p, enum policy_kind kind, const char *how)
{
    struct scope s;
    struct grid g;
    struct lp lp;
    struct lp_point at;
    struct err e = {0};
    bool rate = kind == POLICY_MIN_COST_SLO;
    enum clp_method method = !strncmp(how, "dual", 4)     ? CLP_DUAL
                             : !strncmp(how, "primal", 6) ? CLP_PRIMAL
                                                          : CLP_BARRIER;
    double edge[2] = {0, rate ? 48 : 10};
    bool *must = calloc(p->n_jobs, sizeof *must);

    if (!must)
        return EXIT_FAILURE;
    scope_init(&s, p);
    for (size_t m = 0; m < p->n_jobs; m++) {
        must[m] = true;
        if (!rate)
            s.deadline_h[m] = (double)INFINITY;
    }
    grid_init(&g, &s, &(struct grid_ask){.edge = edge, .n_windows = 1, .price_at_start = true});
    model_program(&(struct model_ask){.grid = &g,
                                      .cost = rate ? g.usd : NULL,
                                      .must_finish = must,
                                      .shortfall_cost = (double)INFINITY,
                                      .budget_usd = p->budget_usd,
                                      .first_scaled = rate ? SIZE_MAX : 0},
                  &lp);
    lp_point_init(&at, &lp);
    double began = cpu_s();
    if (clp_try(&lp, method, strstr(how, "+presolve") != NULL, &at, &e) < 0) {
        fprintf(stderr, "policy_lp: %s\n", e.text);
        return EXIT_FAILURE;
    }
    printf("%.3f %.9g %.9g %ld\n", cpu_s() - began, at.objective, at.bound, peak_mb());
    bool proved = lp_is_proved(&at, 1e-3);
    lp_point_clear(&at);
    lp_clear(&lp);
    grid_clear(&g);
    scope_clear(&s);
    free(must);
    return proved ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    AUTO(arena) struct arena *a = arena_new(ARENA_BYTES);

    if (argc != 5) {
        fprintf(stderr, "usage: policy_lp JOBS TYPES POLICY METHOD\n");
        return 2;
    }
    enum policy_kind kind =
        strcmp(argv[3], "min-makespan") == 0 ? POLICY_MIN_MAKESPAN : POLICY_MIN_COST_SLO;
    const struct problem_shape shape = {.jobs = strtoul(argv[1], NULL, 10),
                                        .types = strtoul(argv[2], NULL, 10),
                                        .gang_max = 4,
                                        .load = 1.5};
    struct policy_problem *p = problem_random_new(a, &shape, SEED);
    if (kind == POLICY_MIN_MAKESPAN)
        p->budget_usd = BUDGET_TIMES * problem_objective(p, POLICY_MIN_COST, POLICY_WINDOWS);
    return strcmp(argv[4], "ours") == 0 ? ours(p, kind) : clp(p, kind, argv[4]);
}
