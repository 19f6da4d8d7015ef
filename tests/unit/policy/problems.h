/* problems: small and random policy problems for the tests of policy/. */
#ifndef TEST_POLICY_PROBLEMS_H
#define TEST_POLICY_PROBLEMS_H

#include "base/arena.h"
#include "policy/policy.h"

#include <stdint.h>

/* A random number from 0 to 1; the same ones from the same seed everywhere. */
double problem_random(uint64_t *seed);

struct problem_shape {
    size_t jobs, types;
    double gang_max;
    double load; /* about 1: quotas just do */
};

/* Every job runs on every type and has iterations and a deadline. */
struct policy_problem *problem_random_new(struct arena *a,
                                          const struct problem_shape *shape,
                                          uint64_t seed);

/* The objective; NAN when infeasible or when it fails, which is printed. */
double problem_objective(const struct policy_problem *p,
                         enum policy_kind kind,
                         enum policy_form form);

#endif
