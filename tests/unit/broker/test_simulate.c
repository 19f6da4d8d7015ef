/* Pipelines on the cloud on paper: bills by hand, every trouble, the same run for the same seed. */
#include "broker/sim/simulate.h"

#include "pipeline.h"
#include "tap.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct pipeline p;

static bool world_is_gone(void)
{
    char path[400];
    struct stat st;

    snprintf(path, sizeof path, "%s/sims/%lld", p.home, (long long)p.run.id);
    return stat(path, &st) < 0;
}

/* Nothing bills, nothing is billed twice, the records say the same as the result. */
static bool all_is_well(void)
{
    return p.result.open == 0 && world_is_gone() &&
           pipeline_count(&p, 0) == pipeline_count(&p, MACHINE_GONE) &&
           p.result.compute_microusd == pipeline_recorded(&p);
}

/* ---- bills ---- */

static void bills(void)
{
    pipeline_init(&p, 2);
    CHECK(pipeline_run(&p) == 0 && p.result.state == RUN_FINISHED && all_is_well(),
          "a chain of two on the same kind of machine finishes");
    CHECK(p.result.machines == 1 && pipeline_cost(&p) == 1200 * CHEAP && p.result.time_s == 1200,
          "its machine is kept: one, of 1200 s");

    pipeline_again(&p);
    p.where[1] = dear(90);
    p.where[1].setup_s = 7;
    p.where[1].input_s = 3.5;
    p.where[1].transfer_microusd = 1234;
    p.where[1].storage_microusd = 50;
    CHECK(pipeline_run(&p) == 0 && p.result.machines == 2 && all_is_well(),
          "on two kinds each stage has its own");
    /* 600 s, and 7 + 3.5 + 90 = 100.5 s, of which 101 are begun. */
    CHECK(p.result.compute_microusd == 600 * CHEAP + 101 * DEAR && p.result.data_microusd == 1284,
          "setup, input and data are on the bill: %lld + %lld",
          (long long)p.result.compute_microusd, (long long)p.result.data_microusd);
    CHECK(p.result.time_s == 700.5, "and in the time");

    pipeline_again(&p);
    p.stages[1].plan.n_needs = 0;
    p.where[0].nodes = 3;
    p.where[0].work_s = 10;
    CHECK(pipeline_run(&p) == 0 && p.result.machines == 4 && p.result.time_s == 600,
          "stages that need nothing run beside each other");
    CHECK(pipeline_cost(&p) == 3 * 60 * CHEAP + 600 * CHEAP && all_is_well(),
          "three nodes cost three times, and a minute at least");
    pipeline_clear(&p);
}

static void boots(void)
{
    pipeline_init(&p, 1);
    p.options.boot_s = 100;
    CHECK(pipeline_run(&p) == 0 && p.result.time_s >= 675 && p.result.time_s <= 725,
          "a boot takes 3/4 to 5/4 of its mean");
    CHECK(pipeline_cost(&p) == (int64_t)ceil(p.result.time_s) * CHEAP && all_is_well(),
          "and is billed");
    pipeline_clear(&p);
}

/* ---- troubles ---- */

static const struct {
    const char *name, *troubles;
    enum run_state state;
    bool spot;
    int64_t cost;   /* -1: as the records say */
    double least_s; /* the run takes so long, and as exactly where most is the same */
    double most_s;
    unsigned replans;
    const char *text; /* in what is told */
} troubles[] = {
    {"capacity", "capacity aws/us-east-1 m5.large 1x", RUN_FINISHED, false, 600 * DEAR, 600, 600, 1,
     "there is none now; next best: e2-big in gcp/us-central1"},
    {"quota", "quota aws 1x", RUN_FINISHED, false, 600 * DEAR, 600, 600, 1, "limit of the account"},
    {"unsupported", "unsupported aws/us-east-1/us-east-1a 1x", RUN_FINISHED, false, 600 * DEAR, 600,
     600, 1, "not offered"},
    {"capacity everywhere", "capacity", RUN_FAILED, false, 0, 0, 0, 2, "no other plan"},
    {"permission", "permission aws", RUN_FAILED, false, 0, 0, 0, 0, "may not launch"},
    {"auth", "auth", RUN_FAILED, false, 0, 0, 0, 0, "sign in again"},
    {"throttle", "throttle 7s 3x", RUN_FINISHED, false, 600 * CHEAP, 621, 700, 0, "finished"},
    {"throttle for ever", "throttle", RUN_FAILED, false, 0, 1800, 1900, 0, "too many calls"},
    {"transient", "transient 3x", RUN_FINISHED, false, 600 * CHEAP, 600, 640, 0, "finished"},
    {"timeout before launch", "timeout-before-launch 2x", RUN_FINISHED, false, 600 * CHEAP, 600,
     640, 0, "finished"},
    {"timeout after launch", "timeout-after-launch 2x", RUN_FINISHED, false, -1, 600, 640, 0,
     "finished"},
    {"slow to show", "slow-visible 90s 1x", RUN_FINISHED, false, 690 * CHEAP, 690, 690, 0,
     "finished"},
    {"slow to boot", "slow-boot 60s", RUN_FINISHED, false, 660 * CHEAP, 660, 660, 0, "finished"},
    /* It is waited for half an hour. */
    {"never boots", "never-boots aws", RUN_FINISHED, false, 1800 * CHEAP + 600 * DEAR, 2400, 2400,
     1, "is not up after 30 m"},
    /* 200 s are saved, 400 are left. */
    {"preempted", "preempt-after 250s", RUN_FINISHED, true, 250 * CHEAP + 400 * DEAR, 650, 650, 1,
     "reclaimed by the cloud after 4 m 10 s; 67 % of the work is left"},
    {"preempted without notice", "preempt-after 250s\nno-notice", RUN_FINISHED, true,
     250 * CHEAP + 400 * DEAR, 650, 650, 1, "reclaimed"},
    {"preempted while it boots", "slow-boot 80s\npreempt-after 70s", RUN_FINISHED, true,
     70 * CHEAP + 680 * DEAR, 750, 750, 1, "100 % of the work is left"},
    {"terminate fails", "terminate-fails 4x", RUN_FINISHED, false, -1, 600, 600, 0,
     "is not terminated yet"},
    {"timeout after terminate", "timeout-after-terminate 2x", RUN_FINISHED, false, 600 * CHEAP, 600,
     600, 0, "finished"},
    {"list fails", "list-fails 1x", RUN_FINISHED, false, 600 * CHEAP, 600, 600, 0, "finished"},
    {"list is empty", "list-empty", RUN_FINISHED, false, 600 * CHEAP, 600, 600, 0, "finished"},
};

static void every_trouble(void)
{
    pipeline_init(&p, 1);
    for (size_t i = 0; i < COUNT(troubles); i++) {
        const char *name = troubles[i].name;
        pipeline_again(&p);
        p.options.troubles = troubles[i].troubles;
        p.where[0].spot = troubles[i].spot;
        p.stages[0].plan.checkpoint_s = 100;
        CHECK(pipeline_run(&p) == 0 && p.result.state == troubles[i].state, "%s: state %d, %s",
              name, (int)p.result.state, p.result.reason);
        /* A cloud that says nothing cannot confirm that there is nothing. */
        size_t open = strcmp(troubles[i].troubles, "throttle") == 0;
        CHECK(p.result.open == open &&
                  pipeline_count(&p, 0) == pipeline_count(&p, MACHINE_GONE) + open,
              "%s: all is given back", name);
        CHECK(pipeline_cost(&p) == pipeline_recorded(&p) &&
                  (troubles[i].cost < 0 || pipeline_cost(&p) == troubles[i].cost),
              "%s: costs %lld", name, (long long)pipeline_cost(&p));
        CHECK(p.result.time_s >= troubles[i].least_s && p.result.time_s <= troubles[i].most_s,
              "%s: takes %g s", name, p.result.time_s);
        CHECK(p.replans == troubles[i].replans && strstr(buf_str(&p.log), troubles[i].text),
              "%s: %u plans, and it is said", name, p.replans);
    }
    pipeline_clear(&p);
}

static void lost_answers_cost_once(void)
{
    pipeline_init(&p, 1);
    p.options.troubles = "timeout-after-launch 3x";
    CHECK(pipeline_run(&p) == 0 && p.result.machines == 1 && pipeline_count(&p, 0) == 1,
          "three lost answers are one machine");
    CHECK(pipeline_cost(&p) == (int64_t)ceil(p.result.time_s) * CHEAP && p.result.time_s > 600,
          "which bills from the first on: %g s", p.result.time_s);
    pipeline_clear(&p);
}

static void blocked_gang(void)
{
    pipeline_init(&p, 1);
    p.where[0].nodes = 3;
    p.options.troubles = "timeout-before-launch 2x\ncapacity aws 1x";
    CHECK(pipeline_run(&p) == 0 && p.result.state == RUN_FINISHED && all_is_well(),
          "a gang whose first node is refused goes elsewhere");
    CHECK(pipeline_cost(&p) == 3 * 600 * DEAR, "as a whole");
    pipeline_clear(&p);
}

static void what_refuses_to_go(void)
{
    struct machine_cleanup sweep = {0};

    pipeline_init(&p, 1);
    p.options.troubles = "terminate-fails";
    CHECK(pipeline_run(&p) == 0 && p.result.open == 1 && !world_is_gone(),
          "a machine that is never given back is left open, and told");
    CHECK(pipeline_count(&p, MACHINE_DELETING) == 1, "its record says so");
    sweep.dry_run = true;
    CHECK(simulate_cleanup(p.home, p.runs, p.machines, &sweep, &p.err) == 0 && sweep.open == 1 &&
              pipeline_count(&p, MACHINE_DELETING) == 1,
          "a dry sweep finds it and leaves it");
    sweep.dry_run = false;
    CHECK(simulate_cleanup(p.home, p.runs, p.machines, &sweep, &p.err) == 0 && sweep.open == 0 &&
              pipeline_count(&p, MACHINE_GONE) == 1 && world_is_gone(),
          "a sweep gives it back");
    pipeline_clear(&p);
}

static void one_failure_stops_what_needs_it(void)
{
    pipeline_init(&p, 3);
    p.stages[2].plan.n_needs = 0;
    p.where[0] = dear(600);
    p.options.troubles = "capacity gcp";
    CHECK(pipeline_run(&p) == 0 && p.result.state == RUN_FAILED && all_is_well(),
          "a stage that finds no machine fails");
    CHECK(pipeline_cost(&p) == 600 * CHEAP && strstr(buf_str(&p.log), " 1 skipped ") &&
              strstr(buf_str(&p.log), " 2 finished "),
          "what needs it is left out, the rest runs");
    pipeline_clear(&p);
}

/* ---- limits ---- */

static void spending(void)
{
    pipeline_init(&p, 2);
    p.options.max_microusd = 500 * CHEAP + CHEAP / 2;
    CHECK(pipeline_run(&p) == 0 && p.result.state == RUN_STOPPED && all_is_well(),
          "spending stops: %s", p.result.reason);
    CHECK(pipeline_cost(&p) == 500 * CHEAP && p.result.time_s == 500, "at the last second: %lld",
          (long long)pipeline_cost(&p));
    p.options.max_microusd = -1;
    CHECK(pipeline_resume(&p) == 0 && p.result.state == RUN_FINISHED && all_is_well() &&
              pipeline_cost(&p) == (500 + 1200) * CHEAP,
          "the rest can be bought later");

    pipeline_again(&p);
    p.options.max_microusd = 59 * CHEAP;
    CHECK(pipeline_run(&p) == 0 && p.result.state == RUN_STOPPED && pipeline_cost(&p) == 0,
          "what cannot be paid for a minute is not rented");
    pipeline_again(&p);
    p.options.max_microusd = 700 * CHEAP;
    p.where[0].transfer_microusd = 701 * CHEAP;
    CHECK(pipeline_run(&p) == 0 && p.result.state == RUN_STOPPED && p.result.data_microusd == 0,
          "nor is data moved that is too dear");
    pipeline_clear(&p);
}

/* ---- the seed ---- */

static char *play(uint64_t seed)
{
    p.options.seed = seed;
    p.options.noise = 0.05;
    p.options.boot_s = 60;
    p.options.preemptions_per_hour = 12;
    p.options.troubles = "throttle 2s 3x\ntransient 5x\ntimeout-after-launch 4x";
    pipeline_again(&p);
    for (size_t i = 0; i < p.run.n_stages; i++) {
        p.where[i].spot = i % 2;
        p.stages[i].plan.checkpoint_s = 60;
        p.stages[i].plan.n_needs = i % 3 > 0;
    }
    if (pipeline_run(&p) < 0 || !all_is_well())
        return NULL;
    buf_printf(&p.log, "%g %lld", p.result.time_s, (long long)pipeline_cost(&p));
    return strdup(buf_str(&p.log));
}

static void seeds(void)
{
    pipeline_init(&p, 30);
    char *first = play(7), *second = play(7), *other = play(8);
    CHECK(first && second && !strcmp(first, second), "the same seed is the same run");
    CHECK(other && strcmp(first, other) != 0, "another seed is another");
    CHECK(strstr(first, "reclaimed"), "and it has its losses");
    free(first);
    free(second);
    free(other);
    pipeline_clear(&p);
}

static void noise(void)
{
    double sum = 0, square = 0;

    pipeline_init(&p, 400);
    for (size_t i = 0; i < p.run.n_stages; i++)
        p.where[i].work_s = 1000;
    p.options.noise = 0.05;
    CHECK(pipeline_run(&p) == 0 && p.result.state == RUN_FINISHED, "400 stages with noise");
    const char *line = buf_str(&p.log);
    size_t n = 0;
    for (; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        double took = 0;
        if (sscanf(line, "%*f %*d finished %lf", &took) != 1)
            continue;
        n++;
        sum += log(took / 1000);
        square += log(took / 1000) * log(took / 1000);
    }
    double mean = sum / (double)n, deviation = sqrt(square / (double)n - mean * mean);
    /* Of 400 draws: within four standard errors. */
    CHECK(n == 400 && fabs(deviation - 0.05) < 4 * 0.05 / sqrt(800), "deviates by %g", deviation);
    CHECK(fabs(mean + 0.05 * 0.05 / 2) < 4 * 0.05 / 20, "around 1: %g", mean);
    pipeline_clear(&p);
}

int main(void)
{
    bills();
    boots();
    every_trouble();
    lost_answers_cost_once();
    blocked_gang();
    what_refuses_to_go();
    one_failure_stops_what_needs_it();
    spending();
    seeds();
    noise();
    return TAP_DONE();
}
