/* sim_dag HOME: simulates a planned pipeline of 1,000 stages, 20 layers of 50 that each need two of
 * the layer above, on ten kinds of machines, records included; prints the seconds that took. Always
 * the same run. */
#include "base/time.h"
#include "broker/sim/simulate.h"

#include <stdio.h>
#include <stdlib.h>

#define LAYERS 20
#define WIDTH 50
#define STAGES (LAYERS * WIDTH)
#define KINDS 10

static char names[STAGES][16], types[KINDS][16];
static size_t needs[STAGES][2];
static struct run_stage stages[STAGES];
static struct simulate_stage where[STAGES];

static void make_stage(unsigned i)
{
    unsigned layer = i / WIDTH, at = i % WIDTH;

    snprintf(names[i], sizeof names[i], "s%u", i);
    needs[i][0] = (size_t)(layer - 1) * WIDTH + at;
    needs[i][1] = (size_t)(layer - 1) * WIDTH + (at * 7 + layer) % WIDTH;
    stages[i].plan = (struct run_stage_plan){.name = names[i],
                                             .needs = needs[i],
                                             .n_needs = layer ? 2 : 0,
                                             .nodes = 1,
                                             .checkpoint_s = 600};
    where[i] = (struct simulate_stage){.provider = "aws",
                                       .region = "us-east-1",
                                       .zone = "",
                                       .instance_type = types[i * 13 % KINDS],
                                       .accelerator = "",
                                       .nodes = 1,
                                       .price_usd_per_hour = 0.1 + 0.05 * (i % KINDS),
                                       .input_s = i % 17,
                                       .work_s = 300 + i * 37 % 2700};
}

static int simulate(const char *home, struct simulate_result *out, struct err *e)
{
    AUTO(runs) struct runs *runs = runs_open(home, e);
    AUTO(machines) struct machines *machines = runs ? machines_open(home, e) : NULL;
    struct run run = {.name = "dag",
                      .file = "dag.yaml",
                      .user = "bench",
                      .on = "sim",
                      .stages = stages,
                      .n_stages = STAGES};
    struct simulate_options options = {.home = home,
                                       .runs = runs,
                                       .machines = machines,
                                       .run = &run,
                                       .stages = where,
                                       .seed = 1,
                                       .noise = 0.03,
                                       .boot_s = 60,
                                       .max_microusd = -1};

    if (!machines)
        return -1;
    runs_relax(runs);
    machines_relax(machines);
    if (runs_add(runs, &run, e) < 0)
        return -1;
    double begin_s = time_monotonic_s();
    if (simulate_run(&options, out, e) < 0)
        return -1;
    printf("%.6f\n", time_monotonic_s() - begin_s);
    return out->state == RUN_FINISHED && !out->open ? 0 : err_set(e, ERR_IO, "%s", out->reason);
}

int main(int argc, char **argv)
{
    struct simulate_result result;
    struct err e = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: sim_dag HOME\n");
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < KINDS; i++)
        snprintf(types[i], sizeof types[i], "kind-%u", i);
    for (unsigned i = 0; i < STAGES; i++)
        make_stage(i);
    if (simulate(argv[1], &result, &e) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "sim_dag: %s\n", e.text);
    return EXIT_FAILURE;
}
