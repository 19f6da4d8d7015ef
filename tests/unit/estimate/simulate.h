/* simulate: profiles of a program whose run time is known, with noise from a seed. */
#ifndef TESTS_ESTIMATE_SIMULATE_H
#define TESTS_ESTIMATE_SIMULATE_H

#include "estimate/fit.h"

#include <stddef.h>
#include <stdint.h>

#define SIMULATE_RUNS_MAX 64

struct simulate_run {
    double epoch, cpus, memory_mb;
};

/* What the run takes without noise, in seconds. */
typedef double simulate_truth(const struct simulate_run *run);

struct simulate_profile {
    struct simulate_run at[SIMULATE_RUNS_MAX];
    struct fit_value values[SIMULATE_RUNS_MAX][3];
    struct fit_run runs[SIMULATE_RUNS_MAX];
    char names[SIMULATE_RUNS_MAX][16];
    size_t n;
};

/* Every combination of epochs 1, 2, 3, memory 512, 1024, 2048 MB and CPUs 0.5, 1, 2 (the published
 * profile), or with `wide` CPUs 0.5, 1, 2, 4, 8. Noise is lognormal. */
void simulate_profile(
    struct simulate_profile *p, simulate_truth *truth, int wide, double sigma, uint64_t *seed);

/* The values of a run, in the order epoch, cpus, memory_mb. */
void simulate_values(const struct simulate_run *run, struct fit_value values[static 3]);

/* Uniform in (0, 1), and standard normal. */
double simulate_uniform(uint64_t *seed);
double simulate_normal(uint64_t *seed);

/* The published shape, and what may be wrong with it: a serial share of 30 %, also when half a CPU
 * halves it; three times as slow below 1024 MB; both. */
simulate_truth simulate_published, simulate_amdahl, simulate_capped, simulate_cliff,
    simulate_amdahl_cliff;

#endif
