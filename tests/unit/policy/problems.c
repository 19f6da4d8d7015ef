#include "problems.h"

#include "base/auto.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

double problem_random(uint64_t *seed)
{
    *seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static void fill_job(struct arena *a,
                     const struct problem_shape *shape,
                     struct policy_job *m,
                     uint64_t *seed)
{
    double *throughput = arena_alloc(a, shape->types, sizeof *throughput);
    double speed = 20 + 300 * problem_random(seed), mean = 0;

    assert(throughput);
    for (size_t j = 0; j < shape->types; j++) {
        throughput[j] = speed * (0.2 + problem_random(seed)) * (1 + (double)j / 4);
        mean += throughput[j] / (double)shape->types;
    }
    m->name = arena_printf(a, "j%d", (int)(1e9 * problem_random(seed)));
    m->throughput = throughput;
    m->gang = 1 + floor(shape->gang_max * problem_random(seed) * 0.999);
    m->slo_h = 4 + 44 * problem_random(seed);
    m->iterations = mean * m->slo_h * (0.1 + 0.5 * problem_random(seed));
}

struct policy_problem *problem_random_new(struct arena *a,
                                          const struct problem_shape *shape,
                                          uint64_t seed)
{
    struct policy_problem *p = arena_alloc(a, 1, sizeof *p);
    struct policy_type *types = arena_alloc(a, shape->types, sizeof *types);
    struct policy_job *jobs = arena_alloc(a, shape->jobs, sizeof *jobs);
    double instances = 0;

    assert(p && types && jobs);
    for (size_t m = 0; m < shape->jobs; m++) {
        fill_job(a, shape, &jobs[m], &seed);
        instances += 0.35 * jobs[m].gang / shape->load;
    }
    for (size_t j = 0; j < shape->types; j++) {
        types[j].name = arena_printf(a, "t%zu", j);
        types[j].price_usd_per_hour = (0.3 + problem_random(&seed)) * (1 + (double)j / 3);
        types[j].quota =
            ceil(2 * problem_random(&seed) * instances / (double)shape->types + shape->gang_max);
    }
    *p = (struct policy_problem){
        .types = types,
        .n_types = shape->types,
        .jobs = jobs,
        .n_jobs = shape->jobs,
        .budget_usd = (double)INFINITY,
    };
    return p;
}

double problem_objective(const struct policy_problem *p,
                         enum policy_kind kind,
                         enum policy_form form)
{
    AUTO_CLEAR(policy_answer) struct policy_answer answer = {0};
    struct err e = {0};

    if (policy_solve(p, kind, form, &answer, &e) == 0)
        return answer.objective;
    printf("# %s\n", e.text);
    return (double)NAN;
}
