/* The cloud on paper: boots, preemptions, prices and the clock. */
#include "cloud/faults.h"

#include "tap.h"
#include "world.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void boots(void)
{
    struct world w;
    struct cloud_machine m;
    double sum_s = 0, least_s = 1e9, most_s = 0;
    const int n = 400;

    world_init(&w, "sim");
    w.options.boot_s = 100;
    AUTO(cloud) struct cloud *c = world_open(&w);
    CHECK(cloud_next_ms(c) == INT64_MAX, "nothing happens to no machines");
    for (int i = 0; i < n; i++) {
        char token[32];
        snprintf(token, sizeof token, "boot-%d", i);
        launch(c, token, &m);
        int64_t up_ms = cloud_next_ms(c);
        if (m.state != CLOUD_REQUESTED || m.ready_ms)
            CHECK(false, "a machine is up at once");
        w.now_ms = up_ms - 1;
        look(c, token, &m);
        bool waits = m.state == CLOUD_REQUESTED && m.ready_ms == 0;
        w.now_ms = up_ms;
        look(c, token, &m);
        if (!waits || m.state != CLOUD_RUNNING || m.ready_ms != up_ms)
            CHECK(false, "%s: up at another time than foretold", token);
        double boot_s = (double)(up_ms - m.launched_ms) / 1000;
        sum_s += boot_s;
        least_s = fmin(least_s, boot_s);
        most_s = fmax(most_s, boot_s);
    }
    /* Uniform on 75 .. 125: the mean of 400 has a standard deviation of 14.43 / 20 = 0.72. */
    CHECK(fabs(sum_s / n - 100) < 4 * 0.72, "boots take 100 s on average: %.2f", sum_s / n);
    CHECK(least_s >= 75 && least_s < 77 && most_s <= 125 && most_s > 123,
          "from 75 to 125 s: %.2f to %.2f", least_s, most_s);
    world_clear(&w);
}

/* When a spot machine of this seed is taken, in hours from its launch. */
static double taken_after_h(struct world *w, struct cloud *c, const char *token)
{
    struct cloud_request q = world_request(token);
    struct cloud_machine m;

    q.spot = true;
    launch_as(c, &q, &m);
    while (m.state != CLOUD_PREEMPTED) {
        int64_t next_ms = cloud_next_ms(c);
        if (next_ms == INT64_MAX || next_ms <= w->now_ms)
            return -1;
        w->now_ms = next_ms;
        look(c, token, &m);
    }
    return (double)(m.ended_ms - m.launched_ms) / (double)HOUR_MS;
}

/* Times to the first event of a Poisson process of rate r: mean 1/r, and exp(-r t) are longer than
 * t. Of n machines the mean has a standard deviation of 1/r/sqrt(n), a share p one of
 * sqrt(p (1 - p) / n) <= 0.5/sqrt(n); tolerance: three of them. The seeds are fixed, so it holds
 * always or never. */
static void preemption_rate(double rate, int seeds, int tokens)
{
    const int n = seeds * tokens;
    double sum_h = 0, deviation = 1 / sqrt(n);
    int longer[3] = {0}, failed = 0;
    static const double at[] = {0.25, 1, 2};

    for (int s = 0; s < seeds; s++) {
        struct world w;
        world_init(&w, "sim");
        w.options.seed = (uint64_t)s;
        w.options.preemptions_per_hour = rate;
        AUTO(cloud) struct cloud *c = world_open(&w);
        for (int i = 0; i < tokens; i++) {
            char token[32];
            snprintf(token, sizeof token, "spot-%d", i);
            double h = taken_after_h(&w, c, token);
            failed += h < 0;
            sum_h += h;
            for (size_t k = 0; k < COUNT(at); k++)
                longer[k] += h > at[k] / rate;
        }
        world_clear(&w);
    }
    CHECK(failed == 0, "%g an hour: each of %d spot machines is taken once", rate, n);
    CHECK(fabs(sum_h / n * rate - 1) < 3 * deviation, "after 1/rate on average: %.3f of it",
          sum_h / n * rate);
    for (size_t k = 0; k < COUNT(at); k++)
        CHECK(fabs((double)longer[k] / n - exp(-at[k])) < 1.5 * deviation,
              "%.3f live longer than %g of that", (double)longer[k] / n, at[k]);
}

static void notice(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    w.options.troubles = "preempt-after 1000s 1x\npreempt-after 100s 1x\n"
                         "no-notice * other\npreempt-after * other 1000s";
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = world_request("a");
    launch_as(c, &q, &m);
    q.spot = true;
    q.token = "b";
    launch_as(c, &q, &m);
    w.now_ms = BEGIN_MS + 880 * 1000 - 1;
    CHECK(look(c, "b", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING && m.spot && !m.notice_ms,
          "a spot machine knows nothing until two minutes before");
    CHECK(cloud_next_ms(c) == BEGIN_MS + 880 * 1000, "then the notice comes");
    w.now_ms++;
    CHECK(look(c, "b", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING &&
              m.notice_ms == BEGIN_MS + 1000 * 1000,
          "which says when it will be taken");
    w.now_ms = BEGIN_MS + 1000 * 1000;
    CHECK(look(c, "b", &m) == CLOUD_FINE && m.state == CLOUD_PREEMPTED && m.ended_ms == w.now_ms &&
              m.notice_ms == w.now_ms,
          "and then it is");
    CHECK(strcmp(listed(c), "a ") == 0, "what was taken does not bill");
    CHECK(terminate(c, "b") == CLOUD_FINE && look(c, "b", &m) == CLOUD_FINE &&
              m.state == CLOUD_PREEMPTED,
          "giving it back changes nothing");
    CHECK(look(c, "a", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING,
          "a machine at the full price is not taken");
    q.token = "c";
    launch_as(c, &q, &m);
    CHECK(m.notice_ms == w.now_ms + 100 * 1000, "taken within two minutes: notice at once");
    w.now_ms += 50 * 1000;
    terminate(c, "c");
    w.now_ms += 100 * 1000;
    CHECK(look(c, "c", &m) == CLOUD_FINE && m.state == CLOUD_GONE &&
              m.ended_ms == w.now_ms - 100 * 1000,
          "given back before: it was not taken");
    q.token = "d";
    q.instance_type = "other";
    launch_as(c, &q, &m);
    w.now_ms += 999 * 1000;
    CHECK(look(c, "d", &m) == CLOUD_FINE && m.state == CLOUD_RUNNING && !m.notice_ms,
          "some clouds give no notice");
    w.now_ms += 1000;
    CHECK(look(c, "d", &m) == CLOUD_FINE && m.state == CLOUD_PREEMPTED, "and take it all the same");
    world_clear(&w);
}

static void early_clock(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    w.now_ms = 1;
    w.options.troubles = "preempt-after 10s";
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = world_request("a");
    q.spot = true;
    launch_as(c, &q, &m);
    AUTO(cloud) struct cloud *later = world_open(&w);
    CHECK(look(later, "a", &m) == CLOUD_FINE && m.notice_ms == 10001, "a clock may begin at 1: %s",
          world_error.err.text);
    world_clear(&w);
}

static void deleting(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *c = world_open(&w);
    launch(c, "a", &m);
    w.now_ms += HOUR_MS;
    terminate(c, "a");
    CHECK(look(c, "a", &m) == CLOUD_FINE && m.state == CLOUD_DELETING && m.ended_ms == w.now_ms,
          "given back: it is being deleted");
    CHECK(strcmp(listed(c), "a ") == 0, "and listed until it is gone");
    int64_t gone_ms = cloud_next_ms(c);
    CHECK(gone_ms == w.now_ms + 10 * 1000, "which takes ten seconds");
    w.now_ms += 5000;
    terminate(c, "a");
    CHECK(cloud_next_ms(c) == gone_ms, "asking again does not prolong it");
    w.now_ms = gone_ms;
    CHECK(look(c, "a", &m) == CLOUD_FINE && m.state == CLOUD_GONE && strcmp(listed(c), "") == 0,
          "then it is gone");
    CHECK(cloud_cost_microusd(&m, w.now_ms + DAY_MS) == 3060000, "an hour was billed");
    CHECK(cloud_next_ms(c) == INT64_MAX, "and nothing happens any more");
    launch(c, "b", &m);
    terminate(c, "b");
    w.now_ms += HOUR_MS;
    CHECK(look(c, "b", &m) == CLOUD_FINE && m.state == CLOUD_GONE && m.ready_ms == 0,
          "given back while it booted: it was never up");
    world_clear(&w);
}

static void prices(void)
{
    struct world w;
    struct cloud_machine m;

    world_init(&w, "sim");
    AUTO(cloud) struct cloud *c = world_open(&w);
    struct cloud_request q = world_request("a");
    q.bill_min_s = 60;
    launch_as(c, &q, &m);
    CHECK(m.price_usd_per_hour == 3.06 && m.bill_min_s == 60, "the offer's price and least time");
    CHECK(strcmp(m.provider, "aws") == 0 && strcmp(m.region, "us-east-1") == 0 &&
              strcmp(m.zone, "us-east-1a") == 0 && strcmp(m.instance_type, "p3.2xlarge") == 0 &&
              m.cpus == 8 && m.memory_gb == 61 && strcmp(m.accelerator, "V100") == 0 &&
              m.accelerators == 1 && !*m.exec_driver,
          "the machine is as it was asked for");
    q.spot = true;
    q.max_price_usd_per_hour = 3;
    q.token = "b";
    CHECK(launch_as(c, &q, &m) == CLOUD_CAPACITY && world_error.scope == CLOUD_ZONE,
          "a bid below the price gets none: %s", world_error.err.text);
    q.max_price_usd_per_hour = 3.06;
    CHECK(launch_as(c, &q, &m) == CLOUD_FINE, "a bid of the price does");
    world_clear(&w);
}

static const char *state_name(enum cloud_state state)
{
    return state == CLOUD_PREEMPTED ? "preempted" : state == CLOUD_RUNNING ? "running" : "other";
}

/* Everything that happens to ten machines of a seed, launched in this order. */
static void story(uint64_t seed, bool backwards, char *out, size_t room)
{
    struct world w;
    struct cloud_machine m;
    size_t at = 0;

    world_init(&w, "sim");
    w.options.seed = seed;
    w.options.preemptions_per_hour = 0.5;
    AUTO(cloud) struct cloud *c = world_open(&w);
    for (int i = 0; i < 10; i++) {
        int number = backwards ? 9 - i : i;
        char token[16];
        snprintf(token, sizeof token, "t-%d", number);
        struct cloud_request q = world_request(token);
        q.spot = number % 2;
        launch_as(c, &q, &m);
    }
    for (int64_t next_ms; (next_ms = cloud_next_ms(c)) != INT64_MAX;) {
        w.now_ms = next_ms;
        for (int i = 0; i < 10; i++) {
            char token[16];
            snprintf(token, sizeof token, "t-%d", i);
            look(c, token, &m);
            at += (size_t)snprintf(out + at, room - at, "%lld %s %s\n",
                                   (long long)(next_ms - BEGIN_MS), token, state_name(m.state));
        }
    }
    world_clear(&w);
}

static void determinism(void)
{
    static char a[65536], b[65536], other[65536], backwards[65536];

    story(7, false, a, sizeof a);
    story(7, false, b, sizeof b);
    story(8, false, other, sizeof other);
    story(7, true, backwards, sizeof backwards);
    CHECK(strstr(a, "preempted") && strstr(a, "running"), "ten machines, half of them spot");
    CHECK(strcmp(a, b) == 0, "the same seed tells the same story");
    CHECK(strcmp(a, backwards) == 0, "in whichever order they are launched");
    CHECK(strcmp(a, other) != 0, "another seed another one");
}

int main(void)
{
    boots();
    preemption_rate(6, 60, 100);
    preemption_rate(0.05, 10, 50);
    notice();
    early_clock();
    deleting();
    prices();
    determinism();
    return TAP_DONE();
}
