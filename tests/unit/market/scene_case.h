/* scene_case: small markets for tests, drawn from a seed or written down. */
#ifndef SCENE_CASE_H
#define SCENE_CASE_H

#include "market/replay.h"

#include <stdint.h>

#define CASE_OFFERS_MAX 4
#define CASE_POINTS_MAX 8

struct scene_case {
    uint64_t state; /* of the generator */
    struct market_point points[CASE_OFFERS_MAX][CASE_POINTS_MAX];
    struct market_offer offers[CASE_OFFERS_MAX];
    const struct market_offer *listed[CASE_OFFERS_MAX];
    double preemptions_per_h[CASE_OFFERS_MAX];
    size_t n_offers;
    double move_usd[CASE_OFFERS_MAX * CASE_OFFERS_MAX];
    double speed_of_gpu[CASE_OFFERS_MAX];
    struct market_scene_wish scene_wish;
    struct market_job_wish job_wish;
    struct market_scene *scene;
    struct market_job *job;
    double work, deadline_s;
};

/* An offer to which case_price adds what it costs from a time on (NaN = withdrawn). GPUs are called
 * "g0", "g1" ...: the number indexes speed_of_gpu. Returns its index. */
size_t case_offer(struct scene_case *c, const char *cloud, const char *region, const char *gpu);
void case_price(struct scene_case *c, size_t offer, double at_s, double usd_per_hour);
/* Makes scene and job of what was put in, from 0 to end_s, with one start at 0. */
void case_build(struct scene_case *c, double end_s);
void case_clear(struct scene_case *c);

enum case_kind { CASE_PLAIN, CASE_PREEMPTED, CASE_LEASES, CASE_DEADLINE, CASE_N_KINDS };
/* Everything drawn. */
void case_random(struct scene_case *c, uint64_t seed, enum case_kind kind);
/* 0 .. n-1 */
unsigned case_below(struct scene_case *c, unsigned n);

struct market_replay case_replay(const struct scene_case *c);

#endif
