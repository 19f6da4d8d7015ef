#include "market/replay.h"

#include "market/store.h"

#include "scene_case.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define H 3600.0
#define USD 1000000

/* Two machines of one region at $1 and $2 an hour, equally fast; nothing costs anything else. */
static void two_offers(struct scene_case *c)
{
    *c = (struct scene_case){.deadline_s = (double)INFINITY, .speed_of_gpu = {1, 2}};
    case_offer(c, "aws", "r1", "g0");
    case_offer(c, "aws", "r1", "g0");
    case_price(c, 0, 0, 1);
    case_price(c, 1, 0, 2);
    c->job_wish.checkpoint_s = (double)NAN;
    c->work = 10 * H;
}

static struct market_bill run(const struct scene_case *c, enum market_policy_kind kind)
{
    const struct market_policy p = {.kind = kind, .margin = 1};

    return market_replay_policy(case_replay(c), &p);
}

static void check_part_hours(void)
{
    struct scene_case c;

    two_offers(&c);
    c.work = 2.5 * H;
    case_build(&c, 100 * H);
    struct market_bill b = run(&c, MARKET_STATIC);
    CHECK(b.cost_microusd == 2500000 && b.finish_s <= 2.5 * H && b.finish_s >= 2.5 * H,
          "two and a half hours at $1 are $2.50, not $3");
    struct market_replay replay = case_replay(&c);
    struct market_bill fixed = market_replay_fixed(&replay, 1);
    CHECK(fixed.cost_microusd == 5 * USD, "the other one costs twice as much");
    case_clear(&c);
}

static void check_restart(void)
{
    struct scene_case c;

    two_offers(&c);
    c.job_wish.restart_s = 0.5 * H;
    case_price(&c, 0, 4 * H, 5); /* the cheap one gets dear after 4 h */
    case_build(&c, 100 * H);
    /* 0.5 h start-up and 3.5 h of work for $4; then 0.5 h and 6.5 h for $14. */
    struct market_bill b = run(&c, MARKET_MARGIN);
    CHECK(b.cost_microusd == 18 * USD && b.finish_s <= 11 * H && b.switches == 1,
          "every start is paid until it works");
    /* Staying: $4, then 6.5 h at $5. */
    CHECK(run(&c, MARKET_STATIC).cost_microusd == 36500000, "who stays pays the new price");
    case_clear(&c);
}

static void check_move(void)
{
    struct scene_case c;

    two_offers(&c);
    c.offers[1].region = "r2";
    c.job_wish.write_s = 360;
    c.job_wish.move_s = 720;
    c.move_usd[0 * 2 + 1] = 0.25;
    case_price(&c, 0, 4 * H, 5);
    case_build(&c, 100 * H);
    /* 4 h for $4; $0.25 to move; 0.1 h to write and 0.2 h to move, then 6 h, at $2. */
    struct market_bill b = run(&c, MARKET_GREEDY);
    CHECK(b.cost_microusd == 4 * USD + 250000 + 12600000 && b.moves_microusd == 250000,
          "a move costs its transfer, and the new machine while it lasts");
    case_clear(&c);
}

/* Margin compares with what is left to save. */
static void check_margin(void)
{
    struct scene_case c;

    two_offers(&c);
    c.job_wish.restart_s = H;
    c.work = 5 * H;
    case_price(&c, 0, 2 * H, 3); /* after 1 h of work: $1 an hour dearer than the other */
    case_build(&c, 100 * H);
    /* 4 h are left: moving saves $4 and costs $2. */
    CHECK(run(&c, MARKET_MARGIN).switches == 1, "worth it with 4 h left");
    case_clear(&c);
    two_offers(&c);
    c.job_wish.restart_s = H;
    c.work = 2.5 * H;
    case_price(&c, 0, 2 * H, 3);
    case_build(&c, 100 * H);
    /* 1.5 h are left: it would save $1.50. */
    CHECK(run(&c, MARKET_MARGIN).switches == 0, "not with an hour and a half left");
    CHECK(run(&c, MARKET_GREEDY).switches == 1, "greedy moves anyway");
    case_clear(&c);
}

/* An offer that is withdrawn at a known time is a preemption to the second. */
static void check_preemption(void)
{
    struct scene_case c;

    two_offers(&c);
    c.job_wish.restart_s = 0.5 * H;
    c.job_wish.write_s = 0.25 * H;
    c.job_wish.checkpoint_s = H;
    c.work = 4 * H;
    case_price(&c, 0, 3.5 * H, (double)NAN);
    case_build(&c, 100 * H);
    /* 0.5 h start-up, then 1 h work and 0.25 h writing, twice: 2 h saved at 3.0 h. The 0.5 h since
     * are lost at 3.5 h ($3.50). The other one: 0.5 h, then 1 h, 0.25 h, 1 h without a last
     * checkpoint: 2.75 h at $2. */
    struct market_bill b = run(&c, MARKET_STATIC);
    CHECK(b.cost_microusd == 9 * USD && b.preemptions == 1, "lost work is done and paid again");
    CHECK(fabs(b.work_lost - 0.5 * H) < 1e-6 && fabs(b.finish_s - 6.25 * H) < 1e-6,
          "half an hour is lost");
    case_clear(&c);
}

/* GCP takes a machine back after 24 h; that is known, so a checkpoint is written in time. */
static void check_lease(void)
{
    struct scene_case c;

    two_offers(&c);
    c.offers[0].cloud = "gcp";
    c.job_wish.restart_s = H;
    c.job_wish.write_s = H;
    c.work = 30 * H;
    case_build(&c, 100 * H);
    const struct market_replay replay = case_replay(&c);
    /* 1 + 23 h, then 2 + 7 h. */
    struct market_bill b = market_replay_fixed(&replay, 0);
    CHECK(b.cost_microusd == 33 * USD && b.preemptions == 1 && b.switches == 0 &&
              !(b.work_lost > 0),
          "a lease that ends is renewed, at the cost of a start and a checkpoint");
    case_clear(&c);
}

/* Work that is worth $1.50 an hour waits for the price to fall, as long as the deadline allows. */
static void check_threshold(void)
{
    static const struct {
        const char *name;
        double deadline_h, fall_h;
        double want_usd, want_h;
    } cases[] = {
        {"the price falls in time", 20, 5, 4, 9},
        {"it does not: the last moment counts, a look earlier at most", 10, 50, 8, 10},
    };
    const struct market_policy p = {.kind = MARKET_THRESHOLD, .margin = 1, .usd_per_work = 1.5 / H};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene_case c = {.speed_of_gpu = {1}, .work = 4 * H};
        case_offer(&c, "aws", "r1", "g0");
        case_price(&c, 0, 0, 2);
        case_price(&c, 0, cases[i].fall_h * H, 1);
        c.scene_wish.look_s = H;
        c.deadline_s = cases[i].deadline_h * H;
        c.job_wish.checkpoint_s = (double)NAN;
        case_build(&c, 100 * H);
        struct market_bill b = market_replay_policy(case_replay(&c), &p);
        CHECK(b.finished && fabs((double)b.cost_microusd - cases[i].want_usd * USD) < 1 &&
                  fabs(b.finish_s - cases[i].want_h * H) < 1e-6,
              "threshold: %s", cases[i].name);
        case_clear(&c);
    }
}

/* Both cost less than their work is worth: by $1 and by $2.50 an hour. */
static void check_surplus(void)
{
    const struct market_policy p = {.kind = MARKET_THRESHOLD, .margin = 1, .usd_per_work = 2 / H};
    struct scene_case c;

    two_offers(&c);
    c.offers[1].gpu = "g1"; /* twice as fast */
    c.points[1][0].usd_per_hour = 1.5;
    c.deadline_s = 100 * H;
    case_build(&c, 200 * H);
    struct market_bill b = market_replay_policy(case_replay(&c), &p);
    CHECK(b.first == 1 && b.cost_microusd == 7500000, "threshold: the larger surplus wins");
    case_clear(&c);
}

static void check_gpu_use(void)
{
    static const struct {
        enum market_gpu_use use;
        int64_t want_microusd;
        double want_h;
    } cases[] = {
        {MARKET_GPU_SHARE, 2500000, 10}, /* a quarter of $1, ten hours */
        {MARKET_GPU_WHOLE, 2500000, 2.5},
        {MARKET_GPU_ALONE, 10000000, 10},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene_case c;
        two_offers(&c);
        c.offers[0].gpus = 4;
        c.scene_wish.use = cases[i].use;
        case_build(&c, 100 * H);
        const struct market_replay replay = case_replay(&c);
        struct market_bill b = market_replay_fixed(&replay, 0);
        CHECK(b.cost_microusd == cases[i].want_microusd &&
                  fabs(b.finish_s - cases[i].want_h * H) < 1e-6,
              "a machine with 4 GPUs, way %zu to use it", i);
        case_clear(&c);
    }
}

static void check_checkpoints(void)
{
    /* Daly for M = 10 h, 72 s: x = sqrt(72 / 72000) = 0.0316228; sqrt(2 * 72 * 36000) = 2276.84;
     * times 1 + 0.0105409 + 0.000111111, less 72: 2229.09. */
    CHECK(fabs(market_checkpoint_s(1 / (10 * H), 72) - 2229.09) < 0.01, "Daly's interval");
    CHECK(isinf(market_checkpoint_s(0, 72)), "no preemptions, no checkpoints");
    CHECK(fabs(market_checkpoint_s(0.01, 300) - 100) < 1e-9,
          "writing that takes longer than twice a life: the mean life");
}

static void check_seed(void)
{
    struct scene_case a, b, other;

    case_random(&a, 77, CASE_PREEMPTED);
    case_random(&b, 77, CASE_PREEMPTED);
    size_t cells = a.scene->n_events * a.scene->n_offers;
    CHECK(a.scene->n_events == b.scene->n_events &&
              memcmp(a.scene->taken_back, b.scene->taken_back, cells) == 0 &&
              run(&a, MARKET_MARGIN).cost_microusd == run(&b, MARKET_MARGIN).cost_microusd,
          "the same seed gives the same bill");
    two_offers(&other);
    other.preemptions_per_h[0] = 0.1;
    size_t events[3];
    for (uint64_t seed = 0; seed < 3; seed++) {
        other.scene_wish.seed = seed;
        case_build(&other, 10000 * H);
        events[seed] = 0;
        for (size_t k = 0; k < other.scene->n_events; k++)
            events[seed] += other.scene->taken_back[k * 2] && k + 1 < other.scene->n_events;
        market_job_free(other.job);
        market_scene_free(other.scene);
    }
    /* 1000 are expected; 5 standard deviations are 158. */
    CHECK(events[0] != events[1] && events[0] > 842 && events[0] < 1158 && events[1] > 842 &&
              events[1] < 1158,
          "as many preemptions as the rate says, others by another seed: %zu, %zu", events[0],
          events[1]);
    case_clear(&a);
    case_clear(&b);
}

/* Keep-alive records: two lives of 10 h, one of them ended by a preemption. */
static void check_measured(void)
{
    static const struct market_spell spells[] = {{0, 10 * H, 1}, {0, 10 * H, 0}};
    struct scene_case c;

    two_offers(&c);
    c.offers[0].spells = spells;
    c.offers[0].n_spells = 2;
    struct market m = {.offers = c.offers, .n_offers = c.n_offers};
    CHECK(fabs(market_preemptions_measured(&m, &c.offers[1]) - 0.05) < 1e-12,
          "one end in 20 hours of life");
    c.offers[1].cloud = "azure";
    CHECK(isnan(market_preemptions_measured(&m, &c.offers[1])), "no lives, no rate");
}

int main(void)
{
    check_part_hours();
    check_restart();
    check_move();
    check_margin();
    check_preemption();
    check_lease();
    check_threshold();
    check_surplus();
    check_gpu_use();
    check_checkpoints();
    check_seed();
    check_measured();
    return TAP_DONE();
}
