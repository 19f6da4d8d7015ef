/* Simulations: one case by hand, what must hold of any, and that it can be stopped and repeated.
 * tests/referee/policy_rounds.py replays random traces by rules written down anew. */
#include "policy/rounds.h"

#include "base/auto.h"
#include "policy/internal.h"
#include "policy/problems.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOUR ((int64_t)3600000)

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 1e-6 * fmax(1, fabs(want));
}

/* Two jobs of two hours, one machine at $3 and from hour 3 on at $5. The second comes at 0:30,
 * waits for the first under min-cost, and has an hour at each price: $6 and $8. Whoever knew it all
 * could do no better: three of the four hours cost $3 already. */
static void by_hand(void)
{
    static const double ten[] = {10}, three[] = {3};
    static const struct policy_type types[] = {{.name = "A", .price_usd_per_hour = 5, .quota = 1}};
    static const struct policy_job jobs[] = {
        {.name = "a", .gang = 1, .iterations = 20, .slo_h = (double)INFINITY, .throughput = ten},
        {.name = "b", .gang = 1, .iterations = 20, .slo_h = 3, .throughput = ten},
    };
    static const struct policy_interval steps[] = {{3, three}};
    static const double arrival[] = {0, 0.5};
    const struct policy_problem p = {.types = types,
                                     .n_types = 1,
                                     .jobs = jobs,
                                     .n_jobs = 2,
                                     .intervals = steps,
                                     .n_intervals = 1,
                                     .budget_usd = (double)INFINITY};
    const struct rounds_ask ask = {
        .problem = &p, .arrival_h = arrival, .kind = POLICY_MIN_COST, .round_ms = HOUR};
    AUTO_CLEAR(rounds_result) struct rounds_result r = {0};
    struct err e = {0};

    CHECK(rounds_simulate(&ask, &r, &e) == 0 && r.n_done == 2, "both are done: %s", e.text);
    CHECK(r.jobs[0].start_ms == 0 && r.jobs[0].finish_ms == 2 * HOUR &&
              r.jobs[0].cost_microusd == 6000000,
          "the first at once, for $6");
    CHECK(r.jobs[1].start_ms == 2 * HOUR && r.jobs[1].finish_ms == 4 * HOUR &&
              r.jobs[1].cost_microusd == 8000000,
          "the second after it, for $3 + $5");
    CHECK(r.late == 1 && r.jobs[1].deadline_ms == 3 * HOUR + HOUR / 2,
          "it is late by half an hour");
    CHECK(r.cost_microusd == 14000000 && is_near(r.bound_usd, 14), "$14, and $%g at best",
          r.bound_usd);
    CHECK(is_near(r.bound_end_h, 4), "four hours of work for one machine: %g", r.bound_end_h);
}

/* ---- what must hold of any ---- */

struct look {
    const struct policy_problem *p;
    bool broken;
    int64_t cost_microusd, now_ms;
    size_t rounds, stop_after;
};

static void on_ran(
    void *context, int64_t from_ms, int64_t to_ms, const struct rounds_run *runs, size_t n)
{
    struct look *l = context;
    double used[16] = {0};

    l->broken |= from_ms < l->now_ms || to_ms <= from_ms || n == 0;
    l->now_ms = to_ms;
    l->rounds++;
    for (size_t i = 0; i < n; i++) {
        used[runs[i].type] += l->p->jobs[runs[i].job].gang;
        l->cost_microusd += runs[i].cost_microusd;
        l->broken |= runs[i].to_ms > to_ms || runs[i].lost_ms > runs[i].to_ms - from_ms;
        for (size_t k = 0; k < i; k++)
            l->broken |= runs[k].job == runs[i].job;
    }
    for (size_t j = 0; j < l->p->n_types; j++)
        l->broken |= used[j] > l->p->types[j].quota;
}

static bool on_stop(void *context, size_t done)
{
    const struct look *l = context;

    (void)done;
    return l->stop_after > 0 && l->rounds >= l->stop_after;
}

/* Iterations that its hours on machines did, less those that restarts took at the fastest. */
static bool is_work_done(const struct policy_problem *p, const struct rounds_result *r, size_t m)
{
    double most = 0, fastest = 0;

    for (size_t j = 0; j < p->n_types; j++) {
        double speed = p->jobs[m].throughput[j];
        most += speed * (double)r->type_ms[m * p->n_types + j] / ROUNDS_HOUR_MS;
        fastest = fmax(fastest, speed);
    }
    double least = most - fastest * (double)r->jobs[m].lost_ms / ROUNDS_HOUR_MS;
    double rounding = fastest / ROUNDS_HOUR_MS;
    return least <= p->jobs[m].iterations + rounding && most >= p->jobs[m].iterations - rounding;
}

static bool is_consistent(const struct rounds_ask *ask,
                          const struct look *l,
                          const struct rounds_result *r)
{
    int64_t sum = 0;
    bool good = !l->broken && r->n_done == r->n_jobs && l->rounds == r->rounds;

    for (size_t m = 0; m < r->n_jobs; m++) {
        const struct rounds_job *job = &r->jobs[m];
        sum += job->cost_microusd;
        good = good && job->arrival_ms <= job->start_ms && job->start_ms <= job->finish_ms &&
               is_work_done(ask->problem, r, m);
    }
    /* A micro-dollar for every time one was written: a round of a job, or a step in it. */
    double rounding = 1e-6 * (double)(2 * r->rounds * r->n_jobs);
    return good && sum == r->cost_microusd && sum == l->cost_microusd &&
           r->bound_usd <= 1e-6 * (double)sum + rounding &&
           r->bound_end_h * ROUNDS_HOUR_MS <= (double)r->last_ms + 1;
}

static void any(enum policy_kind kind)
{
    const struct problem_shape shape = {.jobs = 25, .types = 4, .gang_max = 3, .load = 1};
    int good = 0, same = 0, stopped = 0;

    for (uint64_t seed = 1; seed <= 4; seed++) {
        AUTO(arena) struct arena *a = arena_new(1 << 20);
        struct policy_problem *p = problem_random_new(a, &shape, seed);
        double arrival[25];
        uint64_t state = seed;
        for (int m = 0; m < 25; m++)
            arrival[m] = 40 * problem_random(&state);
        const struct rounds_preemption gone = {5 * HOUR + 1, 9 * HOUR, 1, 2};
        struct look l = {.p = p}, again = l, brief = {.p = p, .stop_after = 5};
        struct rounds_watch watch = {.context = &l, .ran = on_ran, .stop = on_stop};
        struct rounds_ask ask = {.problem = p,
                                 .arrival_h = arrival,
                                 .preemptions = &gone,
                                 .n_preemptions = 1,
                                 .kind = kind,
                                 .round_ms = HOUR / 2,
                                 .restart_ms = HOUR / 20,
                                 .seed = seed,
                                 .watch = &watch};
        AUTO_CLEAR(rounds_result) struct rounds_result r = {0}, other = {0}, part = {0};
        struct err e = {0};
        if (rounds_simulate(&ask, &r, &e) < 0)
            printf("# %s\n", e.text);
        good += is_consistent(&ask, &l, &r);
        watch.context = &again;
        same += rounds_simulate(&ask, &other, &e) == 0 &&
                memcmp(r.jobs, other.jobs, r.n_jobs * sizeof *r.jobs) == 0;
        watch.context = &brief;
        stopped += rounds_simulate(&ask, &part, &e) == 0 && part.stopped && part.rounds == 5;
    }
    CHECK(good == 4, "%s: quotas, gangs, work and bill hold", policy_kind_name(kind));
    CHECK(same == 4, "%s: the same again", policy_kind_name(kind));
    CHECK(stopped == 4, "%s: stopped when asked to", policy_kind_name(kind));
}

/* ---- releases ---- */

/* $5 in the first hour, $1 in the second, $4 after it; one machine, an hour of work. Whoever may
 * begin at 1 pays $1; at 1.5, half of it at $1 and half at $4; released at 0.5 and due at 1.5,
 * half an hour at $1 and half at $5. */
static void releases(void)
{
    static const double ten[] = {10}, five[] = {5}, one[] = {1};
    static const struct policy_type types[] = {{.name = "A", .price_usd_per_hour = 4, .quota = 1}};
    static const struct policy_interval steps[] = {{1, five}, {2, one}};
    static const struct {
        double release_h, slo_h, usd;
    } cases[] = {{0, (double)INFINITY, 1}, {1, 2, 1}, {1.5, (double)INFINITY, 2.5}, {0.5, 1.5, 3}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct policy_job job = {.name = "a",
                                       .gang = 1,
                                       .iterations = 10,
                                       .throughput = ten,
                                       .release_h = cases[i].release_h,
                                       .slo_h = cases[i].slo_h};
        const struct policy_problem p = {.types = types,
                                         .n_types = 1,
                                         .jobs = &job,
                                         .n_jobs = 1,
                                         .intervals = steps,
                                         .n_intervals = 2,
                                         .budget_usd = (double)INFINITY};
        double bound = 0;
        CHECK(policy_cost_bound(&p, &bound, NULL) == 0 && is_near(bound, cases[i].usd),
              "released at %g: $%g", cases[i].release_h, bound);
        CHECK(is_near(problem_objective(&p, POLICY_MIN_COST_SLO, POLICY_WINDOWS), cases[i].usd),
              "which can be had");
    }
}

int main(void)
{
    by_hand();
    releases();
    for (int kind = 0; kind < POLICY_KINDS; kind++)
        any((enum policy_kind)kind);
    return TAP_DONE();
}
