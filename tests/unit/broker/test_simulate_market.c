/* Stages that follow a market: bills by hand, and the same as a replay of the same job through the
 * same market, to the micro-dollar and the millisecond. */
#include "broker/sim/simulate.h"

#include "base/mem.h"
#include "pipeline.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define H 3600.0
/* 2020-01-01 */
#define ORIGIN_S 1577836800.0
#define OFFERS 4
#define POINTS 6
#define USD 1000000

static struct pipeline p;

struct town {
    uint64_t state;
    struct market_point points[OFFERS][POINTS];
    struct market_offer offers[OFFERS];
    const struct market_offer *listed[OFFERS];
    double preemptions_per_h[OFFERS], move_usd[OFFERS * OFFERS];
    size_t n;
    struct market_scene_wish scene_wish;
    struct market_job_wish job_wish;
    struct market_scene *scene;
    struct market_job *job;
    struct simulate_trade trades[2];
    struct simulate_market market;
};

static unsigned below(struct town *t, unsigned n)
{
    t->state = t->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((t->state >> 33) % n);
}

static void add_offer(struct town *t, const char *cloud, const char *region, const char *gpu)
{
    t->offers[t->n] = (struct market_offer){.cloud = cloud,
                                            .region = region,
                                            .zone = (const char *[]){"a", "b", "", "d"}[t->n],
                                            .instance_type = "m",
                                            .gpu = gpu,
                                            .gpus = 1,
                                            .points = t->points[t->n],
                                            .feed = MARKET_FEED_CSV};
    t->listed[t->n] = &t->offers[t->n];
    t->n++;
}

static void add_price(struct town *t, double after_s, double usd_per_hour)
{
    struct market_offer *o = &t->offers[t->n - 1];

    t->points[t->n - 1][o->n_points++] =
        (struct market_point){.at_s = ORIGIN_S + after_s, .usd_per_hour = usd_per_hour};
}

static void build(struct town *t, double length_s)
{
    static const double start_s = ORIGIN_S;
    struct err e = {0};
    double speeds[OFFERS];

    for (size_t i = 0; i < t->n; i++) {
        t->offers[i].begin_s = t->points[i][0].at_s;
        t->offers[i].end_s = ORIGIN_S + length_s;
    }
    t->scene_wish.offers = t->listed;
    t->scene_wish.preemptions_per_h = t->preemptions_per_h;
    t->scene_wish.n_offers = t->n;
    t->scene_wish.starts_s = &start_s;
    t->scene_wish.n_starts = 1;
    t->scene_wish.begin_s = ORIGIN_S;
    t->scene_wish.end_s = ORIGIN_S + length_s;
    t->scene = market_scene_new(&t->scene_wish, &e);
    if (!t->scene) {
        printf("Bail out! %s\n", e.text);
        exit(EXIT_FAILURE);
    }
    for (size_t g = 0; g < t->scene->n_gpus; g++)
        speeds[g] = 0.5 * (t->scene->gpus[g][1] - '0');
    t->job_wish.speed_of_gpu = speeds;
    t->job_wish.move_usd_of = t->move_usd;
    t->job = market_job_new(t->scene, &t->job_wish);
    t->market = (struct simulate_market){.scene = t->scene,
                                         .use = t->scene_wish.use,
                                         .restart_s = t->job_wish.restart_s,
                                         .stages = t->trades};
    for (size_t i = 0; i < 2; i++)
        t->trades[i].job = t->job;
}

static void clear(struct town *t)
{
    market_job_free(t->job);
    market_scene_free(t->scene);
}

static struct market_bill replay(const struct town *t)
{
    const struct simulate_trade *x = &t->trades[0];

    return market_replay_policy(
        (struct market_replay){.job = t->job,
                               .start = market_scene_event(t->scene, ORIGIN_S),
                               .work = x->work,
                               .deadline_s = x->deadline_s},
        &x->policy);
}

static int run(struct town *t)
{
    pipeline_again(&p);
    p.options.market = &t->market;
    p.options.begin_ms = (int64_t)(ORIGIN_S * 1000);
    return pipeline_run(&p);
}

static bool same(const struct market_bill *b)
{
    int64_t time_ms = llround(p.result.time_s * 1000);

    return pipeline_cost(&p) == b->cost_microusd && p.result.data_microusd == b->moves_microusd &&
           time_ms == llround((b->finish_s - ORIGIN_S) * 1000) &&
           p.result.switches == b->switches && p.result.preemptions == b->preemptions &&
           (p.result.state == RUN_FINISHED) == b->finished;
}

/* ---- by hand ---- */

/* A machine at $1 that costs $3 from noon on, and one at $2. */
static void two_offers(struct town *t)
{
    *t = (struct town){.job_wish = {.restart_s = H, .write_s = 0.5 * H, .checkpoint_s = 2 * H}};
    add_offer(t, "aws", "r1", "g2");
    add_price(t, 0, 1);
    add_price(t, 12 * H, 3);
    add_offer(t, "aws", "r1", "g2");
    add_price(t, 0, 2);
    for (size_t i = 0; i < 2; i++)
        t->trades[i] = (struct simulate_trade){.policy = {.kind = MARKET_MARGIN, .margin = 1},
                                               .work = 20 * H,
                                               .deadline_s = (double)INFINITY};
    for (size_t i = 0; i < OFFERS * OFFERS; i++)
        t->move_usd[i] = 0.25;
}

static void check_by_hand(void)
{
    struct town t;

    two_offers(&t);
    build(&t, 200 * H);
    /* Until noon: 1 h start-up; 4 times 2 h of work and 0.5 h writing; 1 h of work: 9 h done, $12.
     * The other: 1.5 h until it works, 11 h of work with 5 checkpoints, at $2; $0.25 for moving:
     * 15 h, $30.25. */
    CHECK(run(&t) == 0 && p.result.state == RUN_FINISHED, "a stage follows prices: %s",
          p.result.reason);
    CHECK(p.result.compute_microusd == 42 * USD && p.result.data_microusd == USD / 4 &&
              p.result.time_s == 27 * H && p.result.switches == 1 && p.result.machines == 2,
          "and moves at noon: %lld + %lld in %.3f s", (long long)p.result.compute_microusd,
          (long long)p.result.data_microusd, p.result.time_s);
    CHECK(strstr(buf_str(&p.log), "moves to m in aws/b at $2.0000/h; 55.0 % is left"),
          "which is told with its price");
    CHECK(pipeline_count(&p, 0) == 2 && pipeline_count(&p, MACHINE_GONE) == 2 && !p.result.open,
          "its machines are on record, and gone");
    clear(&t);
}

/* Withdrawn at 7 h: since 1 h, twice 2 h of work and 0.5 h writing were done, the last hour is
 * lost. From then on 1 h start-up, 16 h of work with 7 checkpoints, at $2. */
static void check_loss(void)
{
    struct town t;

    two_offers(&t);
    t.points[0][1] = (struct market_point){.at_s = ORIGIN_S + 7 * H, .usd_per_hour = (double)NAN};
    build(&t, 200 * H);
    CHECK(run(&t) == 0 && p.result.preemptions == 1 && p.result.compute_microusd == 48 * USD &&
              p.result.data_microusd == USD / 4 && p.result.time_s == 27.5 * H,
          "a lost machine: %lld + %lld in %.3f h", (long long)p.result.compute_microusd,
          (long long)p.result.data_microusd, p.result.time_s / H);
    CHECK(strstr(buf_str(&p.log), "is reclaimed; 80.0 % is left"), "which is told");
    clear(&t);
}

/* The second stage begins where the first one ends, between two events, by the prices of then: 27 h
 * as above; then 1 h, 20 h of work and 9 checkpoints: 25.5 h at $2. */
static void check_chain(void)
{
    struct town t;

    two_offers(&t);
    build(&t, 200 * H);
    pipeline_clear(&p);
    pipeline_init(&p, 2);
    CHECK(run(&t) == 0 && p.result.time_s == 52.5 * H && p.result.machines == 3 &&
              pipeline_cost(&p) == (42 + 51) * USD + USD / 4,
          "stages follow one another through a market: %lld in %.3f h",
          (long long)pipeline_cost(&p), p.result.time_s / H);
    t.trades[1].job = NULL;
    CHECK(run(&t) == 0 && p.result.time_s == 27 * H + 600 &&
              pipeline_cost(&p) == 42 * USD + USD / 4 + 600 * CHEAP,
          "one that does not follow it runs as planned, at its own price");
    clear(&t);
    pipeline_clear(&p);
    pipeline_init(&p, 1);
}

static void check_ends(void)
{
    struct town t;

    two_offers(&t);
    build(&t, 20 * H);
    CHECK(run(&t) == 0 && p.result.state == RUN_FAILED && !p.result.open,
          "a history that ends before the work does");
    CHECK(strstr(buf_str(&p.log), "price histories end"), "is told");
    clear(&t);

    two_offers(&t);
    build(&t, 200 * H);
    p.options.max_microusd = 20 * USD;
    CHECK(run(&t) == 0 && p.result.state == RUN_STOPPED && pipeline_cost(&p) <= 20 * USD &&
              pipeline_cost(&p) > 19 * USD && !p.result.open,
          "a cap holds at prices that move: %lld", (long long)pipeline_cost(&p));
    int64_t before = pipeline_cost(&p);
    p.options.max_microusd = -1;
    CHECK(pipeline_resume(&p) == 0 && p.result.state == RUN_FINISHED &&
              pipeline_cost(&p) > before + 40 * USD && !p.result.open,
          "and the run goes on from there");
    clear(&t);
}

static int die_at_the_end(void *context, const struct simulate_event *event, struct err *e)
{
    (void)context;
    return event->kind == SIMULATE_STAGE && event->state == STAGE_FINISHED
               ? err_set(e, ERR_IO, "the power went out")
               : 0;
}

/* Stays through noon: 1 h start-up, 20 h of work, 9 checkpoints: 12 h at $1 and 13.5 h at $3.
 * Nobody gives the machine back but a sweep, which knows no prices. */
static void check_sweep(void)
{
    struct machine_cleanup how = {0};
    struct town t;
    int64_t compute, data;

    two_offers(&t);
    t.trades[0].policy.kind = MARKET_STATIC;
    build(&t, 200 * H);
    p.options.tell = die_at_the_end;
    CHECK(run(&t) < 0 && pipeline_count(&p, MACHINE_GONE) == 0, "a machine is left behind");
    CHECK(simulate_cleanup(p.home, p.runs, p.machines, &how, &p.err) == 0 && !how.open &&
              pipeline_count(&p, MACHINE_GONE) == 1,
          "a sweep gives it back");
    CHECK(machines_bill(p.machines, p.run.id, INT64_MAX, &compute, &data, &p.err) == 0 &&
              compute == 52500000,
          "and the record knows what it cost at moving prices: %lld", (long long)compute);
    clear(&t);
    pipeline_clear(&p);
    pipeline_init(&p, 1);
}

/* ---- against replays ---- */

static void random_town(struct town *t, uint64_t seed)
{
    static const char *const clouds[] = {"aws", "azure", "gcp"};
    static const char *const gpus[] = {"g1", "g2", "g5"};
    bool hurried;

    *t = (struct town){.state = seed * 7919 + 17};
    below(t, 2);
    hurried = below(t, 3) == 0;
    for (size_t n = 2 + below(t, 3); n > 0; n--) {
        add_offer(t, clouds[below(t, 3)], below(t, 2) ? "r1" : "r2", gpus[below(t, 3)]);
        t->offers[t->n - 1].gpus = 1 << below(t, 3);
        double at_s = 0;
        for (unsigned k = 1 + below(t, POINTS - 1); k > 0; k--, at_s += 1 + below(t, 90000))
            add_price(t, at_s, below(t, 8) || at_s < 1 ? 0.3 + 0.173 * below(t, 14) : (double)NAN);
        t->preemptions_per_h[t->n - 1] = below(t, 2) ? 0.01 * below(t, 20) : 0;
    }
    for (size_t i = 0; i < OFFERS * OFFERS; i++)
        t->move_usd[i] = 0.0173 * below(t, 8);
    t->scene_wish.use = (enum market_gpu_use)below(t, 3);
    t->scene_wish.seed = seed;
    t->scene_wish.look_s = hurried ? H : 0;
    t->job_wish.restart_s = 0.7 * below(t, 3000);
    t->job_wish.write_s = 0.11 * below(t, 900);
    t->job_wish.move_s = 0.13 * below(t, 900);
    t->job_wish.checkpoint_s = below(t, 2) ? (double)NAN : 1 + below(t, 7200);
    build(t, 240 * H);
    t->trades[0] = (struct simulate_trade){
        .job = t->job,
        .work = (1 + below(t, 200000)) / 1.7,
        .deadline_s = hurried ? ORIGIN_S + (20 + below(t, 150)) * H : (double)INFINITY,
        .policy = {.kind = MARKET_GREEDY + (hurried ? below(t, 3) : below(t, 2)),
                   .margin = 0.5 + below(t, 3),
                   .usd_per_work = (0.2 + 0.1 * below(t, 10)) / H}};
}

static void check_replays(void)
{
    size_t n = getenv("TRADEWIND_SLOW") ? 30 : 100, equal = 0, switches = 0, losses = 0;
    size_t policies[MARKET_THRESHOLD + 1] = {0};

    for (uint64_t seed = 1; seed <= n; seed++) {
        struct town t;
        random_town(&t, seed);
        struct market_bill b = replay(&t);
        bool good = run(&t) == 0 && same(&b) && !p.result.open;
        if (!good)
            CHECK(false,
                  "seed %d: %lld in %.3f s, %zu switches, %zu losses; a replay %lld in %.3f s, %zu "
                  "and %zu",
                  (int)seed, (long long)pipeline_cost(&p), p.result.time_s, p.result.switches,
                  p.result.preemptions, (long long)b.cost_microusd, b.finish_s - ORIGIN_S,
                  b.switches, b.preemptions);
        equal += good;
        switches += b.switches;
        losses += b.preemptions;
        policies[t.trades[0].policy.kind]++;
        clear(&t);
    }
    CHECK(equal == n, "%zu of %zu random markets: the bill of the replay, to the micro-dollar",
          equal, n);
    CHECK(switches > n / 10 && losses > n / 5 && policies[MARKET_GREEDY] &&
              policies[MARKET_MARGIN] && policies[MARKET_THRESHOLD],
          "with %zu switches and %zu losses, under every policy", switches, losses);
}

int main(void)
{
    pipeline_init(&p, 1);
    check_by_hand();
    check_loss();
    check_chain();
    check_ends();
    check_sweep();
    check_replays();
    pipeline_clear(&p);
    return TAP_DONE();
}
