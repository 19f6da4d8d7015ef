/* small_world: two places with round figures, so that a round can be computed by hand. X has two
 * workers and Y has two; within a place there is no round trip, and so neither handshake nor slow
 * start. From X to Y and back a round trip takes 0.1 s and all connections get 10 MB/s together. */
#ifndef SMALL_WORLD_H
#define SMALL_WORLD_H

#include "geo/problem.h"

#include <math.h>

enum { X, Y };

struct small_world {
    struct geo_problem problem;
    struct geo_site sites[2];
    struct geo_link links[4];
    struct geo_worker workers[1200];
};

static inline void small_world_init(struct small_world *w)
{
    const struct geo_worker worker = {.usd_per_hour = 0.1,
                                      .bytes_per_s = (double)INFINITY,
                                      .train_s = 9,
                                      .boot_s = 60,
                                      .data_cached = true};

    *w = (struct small_world){
        .sites = {{.cloud = "aws",
                   .region = "x",
                   .has_function = true,
                   .has_store = true,
                   .function = {.usd_per_s = 1.66667e-5,
                                .usd_per_request = 2e-7,
                                .step_s = 0.001,
                                .trigger_s = 0.3,
                                .cold_s = 0.5},
                   .store = {.usd_per_gb_month = 0.023,
                             .usd_per_read = 4e-7,
                             .usd_per_write = 5e-6,
                             .usd_per_list = 5e-6,
                             .keys_per_list = 1000,
                             .multipart_requests = 2,
                             .connection_bytes_per_s = 100e6,
                             .request_s = 0.1}},
                  {.cloud = "gcp",
                   .region = "y",
                   .has_function = true,
                   .has_store = true,
                   .function = {.usd_per_s = 2e-5,
                                .usd_per_request = 4e-7,
                                .step_s = 0.1,
                                .trigger_s = 0.5,
                                .cold_s = 1},
                   .store = {.usd_per_gb_month = 0.02,
                             .usd_per_read = 5e-7,
                             .usd_per_write = 6e-6,
                             .usd_per_list = 6e-6,
                             .keys_per_list = 5000,
                             .multipart_requests = 1,
                             .connection_bytes_per_s = 100e6,
                             .request_s = 0.1}}},
        .links = {{true, 0, (double)INFINITY, 0},
                  {true, 0.02, 10e6, 0.1},
                  {true, 0.09, 10e6, 0.1},
                  {true, 0, (double)INFINITY, 0}},
    };
    for (size_t i = 0; i < 4; i++) {
        w->workers[i] = worker;
        w->workers[i].site = w->workers[i].data_site = i / 2;
    }
    w->problem = (struct geo_problem){.sites = w->sites,
                                      .n_sites = 2,
                                      .links = w->links,
                                      .workers = w->workers,
                                      .n_workers = 4,
                                      .size_bytes = 20e6,
                                      .quorum = 1,
                                      .connections = 1,
                                      .poll_s = 0.1,
                                      .average_bytes_per_s = 250e6,
                                      .rounds = 1000,
                                      .rounds_per_epoch = 100};
}

/* So many workers, all like the first. */
static inline void small_world_crowd(struct small_world *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->workers[i] = w->workers[0];
    w->problem.n_workers = n;
}

#endif
