#include "simulate.h"

#include <math.h>
#include <stdio.h>

/* splitmix64: any seed does. */
double simulate_uniform(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

double simulate_normal(uint64_t *seed)
{
    double radius = sqrt(-2 * log(simulate_uniform(seed)));

    return radius * cos(2 * M_PI * simulate_uniform(seed));
}

void simulate_values(const struct simulate_run *run, struct fit_value values[static 3])
{
    values[0] = (struct fit_value){.name = "epoch", .number = run->epoch};
    values[1] = (struct fit_value){.name = FIT_CPUS, .number = run->cpus};
    values[2] = (struct fit_value){.name = FIT_MEMORY, .number = run->memory_mb};
}

static void add_run(struct simulate_profile *p, const struct simulate_run *run, double runtime_s)
{
    size_t i = p->n++;

    p->at[i] = *run;
    simulate_values(run, p->values[i]);
    snprintf(p->names[i], sizeof p->names[i], "run-%zu", i + 1);
    p->runs[i] = (struct fit_run){
        .name = p->names[i], .values = p->values[i], .n_values = 3, .runtime_s = runtime_s};
}

void simulate_profile(
    struct simulate_profile *p, simulate_truth *truth, int wide, double sigma, uint64_t *seed)
{
    static const double cpus[] = {0.5, 1, 2, 4, 8};

    p->n = 0;
    for (int e = 1; e <= 3; e++)
        for (int c = 0; c < (wide ? 5 : 3); c++)
            for (int mb = 512; mb <= 2048; mb *= 2) {
                struct simulate_run run = {.epoch = e, .cpus = cpus[c], .memory_mb = mb};
                add_run(p, &run, truth(&run) * exp(sigma * simulate_normal(seed)));
            }
}

double simulate_published(const struct simulate_run *run)
{
    return 60 * run->epoch / run->cpus;
}

double simulate_amdahl(const struct simulate_run *run)
{
    return 60 * run->epoch * (0.3 + 0.7 / run->cpus);
}

double simulate_capped(const struct simulate_run *run)
{
    return 60 * run->epoch * (0.3 / fmin(run->cpus, 1) + 0.7 / run->cpus);
}

double simulate_cliff(const struct simulate_run *run)
{
    return simulate_published(run) * (run->memory_mb < 1024 ? 3 : 1);
}

double simulate_amdahl_cliff(const struct simulate_run *run)
{
    return simulate_amdahl(run) * (run->memory_mb < 1024 ? 3 : 1);
}
