#include "scene_case.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned case_below(struct scene_case *c, unsigned n)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((c->state >> 33) % n);
}

size_t case_offer(struct scene_case *c, const char *cloud, const char *region, const char *gpu)
{
    size_t i = c->n_offers++;

    assert(i < CASE_OFFERS_MAX);
    c->offers[i] = (struct market_offer){.cloud = cloud,
                                         .region = region,
                                         .zone = (const char *[]){"a", "b", "c", "d"}[i],
                                         .instance_type = "m",
                                         .gpu = gpu,
                                         .gpus = 1,
                                         .points = c->points[i],
                                         .feed = MARKET_FEED_CSV};
    c->listed[i] = &c->offers[i];
    return i;
}

void case_price(struct scene_case *c, size_t offer, double at_s, double usd_per_hour)
{
    struct market_offer *o = &c->offers[offer];

    assert(o->n_points < CASE_POINTS_MAX);
    c->points[offer][o->n_points++] =
        (struct market_point){.at_s = at_s, .usd_per_hour = usd_per_hour};
}

void case_build(struct scene_case *c, double end_s)
{
    static const double start_s = 0;
    struct err e = {0};

    for (size_t i = 0; i < c->n_offers; i++) {
        c->offers[i].begin_s = c->points[i][0].at_s;
        c->offers[i].end_s = end_s;
    }
    c->scene_wish.offers = c->listed;
    c->scene_wish.n_offers = c->n_offers;
    c->scene_wish.preemptions_per_h = c->preemptions_per_h;
    c->scene_wish.starts_s = &start_s;
    c->scene_wish.n_starts = 1;
    c->scene_wish.end_s = end_s;
    c->scene = market_scene_new(&c->scene_wish, &e);
    if (!c->scene) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    double speeds[CASE_OFFERS_MAX];
    for (size_t g = 0; g < c->scene->n_gpus; g++)
        speeds[g] = c->speed_of_gpu[c->scene->gpus[g][1] - '0'];
    c->job_wish.speed_of_gpu = speeds;
    c->job_wish.move_usd_of = c->move_usd;
    c->job = market_job_new(c->scene, &c->job_wish);
    c->job_wish.speed_of_gpu = NULL;
}

void case_clear(struct scene_case *c)
{
    market_job_free(c->job);
    market_scene_free(c->scene);
    memset(c, 0, sizeof *c);
}

struct market_replay case_replay(const struct scene_case *c)
{
    return (struct market_replay){.job = c->job, .work = c->work, .deadline_s = c->deadline_s};
}

static void random_offer(struct scene_case *c, enum case_kind kind)
{
    static const char *const gpus[] = {"g0", "g1", "g2"};
    const char *cloud = case_below(c, 3) ? "aws" : kind == CASE_LEASES ? "gcp" : "azure";
    size_t i = case_offer(c, cloud, case_below(c, 2) ? "r1" : "r2", gpus[case_below(c, 3)]);
    unsigned n = 1 + case_below(c, 3);

    for (unsigned k = 0; k < n; k++) {
        double at_s = k ? c->points[i][k - 1].at_s + 1 + case_below(c, 80000) : 0;
        bool sold = (kind != CASE_PREEMPTED && kind != CASE_LEASES) || case_below(c, 5);
        case_price(c, i, at_s, sold ? 0.5 + 0.25 * case_below(c, 14) : (double)NAN);
    }
    if (cloud[0] == 'g')
        c->offers[i].feed = MARKET_FEED_GCP;
    if (kind == CASE_PREEMPTED && case_below(c, 2))
        c->preemptions_per_h[i] = 0.02;
}

void case_random(struct scene_case *c, uint64_t seed, enum case_kind kind)
{
    *c = (struct scene_case){.state = seed * 7919 + 17, .deadline_s = (double)INFINITY};
    case_below(c, 2);
    for (size_t n = 2 + case_below(c, 2); n > 0; n--)
        random_offer(c, kind);
    for (size_t i = 0; i < CASE_OFFERS_MAX * CASE_OFFERS_MAX; i++)
        c->move_usd[i] = 0.25 * case_below(c, 8);
    for (size_t g = 0; g < 3; g++)
        c->speed_of_gpu[g] = 0.5 + 0.5 * case_below(c, 5);
    c->job_wish.restart_s = case_below(c, 3) * 3600;
    c->job_wish.write_s = case_below(c, 3) * 900;
    c->job_wish.move_s = case_below(c, 3) * 600;
    c->job_wish.checkpoint_s = case_below(c, 2) ? (double)NAN : 7200;
    c->work = (1 + case_below(c, 100)) * 1800;
    if (kind == CASE_DEADLINE) {
        c->scene_wish.look_s = 43200;
        c->deadline_s = (20 + case_below(c, 52)) * 3600;
    }
    c->scene_wish.seed = seed;
    case_build(c, 72 * 3600);
}
