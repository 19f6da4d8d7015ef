/* What a training cost by its events, to the last digit by hand; and the model at the measured pace
 * beside it. */
#include "geo/bill.h"

#include "base/mem.h"
#include "small_world.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GB 1073741824.0
#define M 20e6

static int is(double got, double wanted)
{
    return fabs(got - wanted) <= 1e-9 * fmax(fabs(wanted), 1e-9);
}

static void add(struct geo_events *all, struct geo_event v)
{
    v.requests = v.requests > 0 ? v.requests : 1;
    all->all = mem_room(all->all, all->n, &all->cap, sizeof *all->all);
    all->all[all->n++] = v;
}

/* One round of four workers, two at X and two at Y, with function and store at X: trains 9 s,
 * uploads 1 s (from Y 2 s), is averaged for 2.0004 s, and read in 1 s. Workers poll `polls` times.
 * A round takes 16 s. `stray` moves times, as they do. */
static void add_round(struct geo_events *all, unsigned round, unsigned polls, double stray)
{
    const size_t none = GEO_EVENT_NO_WORKER;
    double t = 1000 + 16.0 * round, there = t + 11 + stray, done = there + 2.0004;

    for (size_t i = 0; i < 4; i++) {
        size_t at = i / 2;
        double up = at == X ? 10 : 11, sent = t + up + stray;
        add(all, (struct geo_event){GEO_EVENT_TRAIN, round, i, at, at, 0, 0, t, t + 9});
        add(all, (struct geo_event){GEO_EVENT_PUT, round, i, at, X, M, 0, t + 9, sent});
        add(all, (struct geo_event){GEO_EVENT_INVOKE, round, none, X, X, i == 3 ? M : 0, 0, sent,
                                    i == 3 ? done : sent + 0.1002});
        add(all, (struct geo_event){GEO_EVENT_LIST, round, none, X, X, 0, 0, sent, sent + 0.1});
        for (unsigned k = 0; k < polls; k++)
            add(all, (struct geo_event){GEO_EVENT_POLL, round, i, X, at, 0, 0, sent, sent + 0.1});
    }
    add(all, (struct geo_event){GEO_EVENT_PUT, round, none, X, X, 0, 0, there, there});
    add(all, (struct geo_event){GEO_EVENT_GET, round, none, X, X, 4 * M, 4, there, done});
    add(all, (struct geo_event){GEO_EVENT_PUT, round, none, X, X, M, 0, there, done});
    add(all, (struct geo_event){GEO_EVENT_AGGREGATE, round, none, X, X, M, 0, there, done});
    add(all, (struct geo_event){GEO_EVENT_DELETE, round, none, X, X, 4 * M, 0, done, done});
    if (round > 0)
        add(all, (struct geo_event){GEO_EVENT_DELETE, round, none, X, X, M, 0, done, done});
    for (size_t i = 0; i < 4; i++)
        add(all, (struct geo_event){GEO_EVENT_GET, round, i, X, i / 2, M, 0, t + 15, t + 16});
}

static void one_round(void)
{
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    struct small_world w;
    struct geo_account a;
    struct err e = {0};

    small_world_init(&w);
    add_round(&all, 0, 5, 0);
    CHECK(geo_account(&w.problem, &all, &a, &e) == 0 && a.rounds == 1, "one round: %s", e.text);
    CHECK(is(a.round_s, 16) && is(a.time_s, 16), "it took 16 s");
    CHECK(is(a.phases.train_s, 9) && is(a.phases.upload_s, 1.5) && is(a.phases.download_s, 1) &&
              is(a.phases.aggregate_s, 2.0004) && is(a.phases.wait_s, 16 - 13.5004),
          "B14: its phases add up to it");
    CHECK(is(a.usd.vm_usd, 4 * 0.1 * 60 / 3600), "A10: a machine bills a minute at least");
    /* 100.2 ms are 101 steps of 1 ms, 2000.4 ms are 2001. */
    CHECK(is(a.usd.faas_usd, (3 * 0.101 + 2.001) * 1.66667e-5 + 4 * 2e-7),
          "A4: every invocation is rounded up and has its fee");
    CHECK(a.counts.invocations == 4 && a.aggregates == 1, "B5, B6: four invocations, one average");
    CHECK(a.counts.reads == 8 + 20 && a.counts.failed_polls == 20, "B9: 2n + l reads");
    CHECK(a.counts.writes == 6 && a.counts.lists == 4, "n + 1 writes, one for the claim, n lists");
    CHECK(is(a.usd.requests_usd, 28 * 4e-7 + 6 * 5e-6 + 4 * 5e-6), "A3: requests at their rates");
    CHECK(is(a.usd.transfer_usd, 2 * M / GB * 0.09 + 2 * M / GB * 0.02),
          "A12: up from Y and down to Y, by 2^30 bytes");
    CHECK(a.counts.wan_bytes == 4 * M, "2 (R - 1) n_r m bytes between the places");
    /* Two inputs from 10 s and two from 11 s to 13.0004 s, the result from then to 16 s. */
    CHECK(is(a.usd.storage_usd * 1e6,
             M / GB * 0.023 / 2628000 * (2 * 3.0004 + 2 * 2.0004 + 2.9996) * 1e6),
          "A1, A2: bytes times seconds");
}

/* B17 and more: a hundred batches of four workers, times that stray. */
static void forecast(void)
{
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    struct small_world w;
    struct geo_account a;
    struct geo_bill usd;
    struct geo_counts counts;
    struct err e = {0};

    small_world_init(&w);
    /* The result is read 5 s (Y: 4 s) after the upload; a poll and its pause take 0.2 s. */
    for (unsigned r = 0; r < 100; r++)
        add_round(&all, r, r % 2 ? 21 : 24, (r * 37 % 100) * 0.01 - 0.5);
    struct geo_placement at = {.topology = SPEC_GEO_CENTRAL, .function = X, .store = X};
    CHECK(geo_account(&w.problem, &all, &a, &e) == 0 && a.rounds == 100, "a hundred rounds");
    AUTO(geo_pace) struct geo_pace *pace = geo_pace_new(&w.problem, &all, &a);
    CHECK(is(pace->sent_bytes, M) && is(pace->mean_bytes, M), "sizes are the measured ones");
    CHECK(is(pace->sites[X].look_s, 0.101) && is(pace->sites[X].work_s, 2.001),
          "an invocation that looks, one that works, as they are billed");
    CHECK(geo_forecast(&w.problem, &at, pace, &a, &usd, &counts), "the model at this pace");
    CHECK(is(usd.vm_usd, 4 * 0.1 * 1600 / 3600) && is(a.usd.vm_usd, usd.vm_usd),
          "machines: all of the time");
    CHECK(is(usd.faas_usd, 100 * ((3 * 0.101 + 2.001) * 1.66667e-5 + 4 * 2e-7)),
          "functions: by the mean of their times");
    CHECK(fabs(usd.faas_usd / a.usd.faas_usd - 1) < 0.001, "as billed one by one");
    CHECK(counts.writes == 600 && a.counts.writes == 600 && counts.lists == 400,
          "n + 2 writes a round: the claim is counted");
    CHECK(is(usd.transfer_usd, a.usd.transfer_usd) &&
              is(usd.transfer_usd, 100 * (2 * M / GB * 0.11)),
          "transfer: exactly");
    CHECK(is(usd.storage_usd * 1e6, a.usd.storage_usd * 1e6),
          "storage: as long as things lay there");
    double model = geo_bill_usd(&usd), bill = geo_bill_usd(&a.usd);
    CHECK(fabs(model / bill - 1) < 0.01, "B17: within 1 %% of the bill: %.6f and %.6f", model,
          bill);
    CHECK(fabs(counts.reads / a.counts.reads - 1) < 0.05, "reads by A5: %.0f of %.0f", counts.reads,
          a.counts.reads);
}

/* Two workers have each result 3 s after the others, who train meanwhile: the rounds of each take
 * 16 s, though from the first one's beginning to the last one's end it is 19. */
static void overlapping(void)
{
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    struct small_world w;
    struct geo_account a;
    struct geo_bill usd;
    struct geo_counts counts;
    struct err e = {0};

    small_world_init(&w);
    for (unsigned r = 0; r < 100; r++)
        add_round(&all, r, 1, 0);
    for (size_t i = 0; i < all.n; i++)
        if (all.all[i].worker == 2 || all.all[i].worker == 3) {
            all.all[i].start_s += 3;
            all.all[i].end_s += 3;
        }
    struct geo_placement at = {.topology = SPEC_GEO_CENTRAL, .function = X, .store = X};
    CHECK(geo_account(&w.problem, &all, &a, &e) == 0 && is(a.round_s, 16), "a round takes 16 s: %g",
          a.round_s);
    AUTO(geo_pace) struct geo_pace *pace = geo_pace_new(&w.problem, &all, &a);
    CHECK(geo_forecast(&w.problem, &at, pace, &a, &usd, &counts) &&
              is(usd.vm_usd, 4 * 0.1 * 1600 / 3600) && is(a.usd.vm_usd, usd.vm_usd),
          "machines by model and bill: %g and %g", usd.vm_usd, a.usd.vm_usd);
    CHECK(is(pace->workers[0].round_s, 16) && is(pace->workers[3].round_s, 16),
          "each has its own rounds");
}

/* Who looks every 0.2 s (a look of 0.05 s, then 0.15 s) from 10 s on, and finds it at 11.2 s, has
 * looked six times in vain; four times if it is there at 10.8 s. Requests of who met another's
 * claim are added as they were counted. */
static void waits(void)
{
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    const size_t none = GEO_EVENT_NO_WORKER;
    const double ends_s[] = {11.2, 10.8};
    struct small_world w;
    struct geo_account a;
    struct geo_bill usd;
    struct geo_counts counts;
    struct err e = {0};

    small_world_init(&w);
    w.problem.n_workers = 1;
    w.problem.poll_s = 0.15;
    for (unsigned r = 0; r < 2; r++) {
        add(&all, (struct geo_event){GEO_EVENT_TRAIN, r, 0, X, X, 0, 0, 0, 9});
        add(&all, (struct geo_event){GEO_EVENT_PUT, r, 0, X, X, M, 0, 9, 10});
        for (double t = 10; t < ends_s[r] - 0.05; t += 0.2)
            add(&all, (struct geo_event){GEO_EVENT_POLL, r, 0, X, X, 0, 0, t, t + 0.05});
        add(&all, (struct geo_event){GEO_EVENT_INVOKE, r, none, X, X, M, 0, 10, 10.5});
        add(&all, (struct geo_event){GEO_EVENT_AGGREGATE, r, none, X, X, M, 0, 10, 10.5});
        add(&all, (struct geo_event){GEO_EVENT_INVOKE, r, none, X, X, 0, 0, 10, 10.1});
        add(&all, (struct geo_event){GEO_EVENT_GET, r, none, X, X, 90, 0, 10, 10.1});
        add(&all, (struct geo_event){GEO_EVENT_PUT, r, none, X, X, 0, 0, 10, 10.1});
        add(&all, (struct geo_event){GEO_EVENT_GET, r, 0, X, X, M, 0, ends_s[r], 12});
    }
    struct geo_placement at = {.topology = SPEC_GEO_CENTRAL, .function = X, .store = X};
    CHECK(geo_account(&w.problem, &all, &a, &e) == 0 && a.counts.failed_polls == 6 + 4, "polls");
    AUTO(geo_pace) struct geo_pace *pace = geo_pace_new(&w.problem, &all, &a);
    CHECK(is(pace->workers[0].polls, (6 + 4) / 2.0), "A5, for the wait of each round: %g",
          pace->workers[0].polls);
    CHECK(is(pace->sites[X].met_reads, 1) && is(pace->sites[X].met_writes, 1),
          "A13: a read a round, and a write");
    CHECK(geo_forecast(&w.problem, &at, pace, &a, &usd, &counts) && counts.failed_polls == 10 &&
              counts.reads == 2 * (2 + 5 + 1) && counts.writes == 2 * (3 + 1),
          "in the model: %g reads, %g writes", counts.reads, counts.writes);
}

/* Two places of two workers, everything global at X: WAN bytes by the formulas of docs/geo.md. */
static void topologies(void)
{
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    struct small_world w;
    struct geo_account a;
    struct geo_bill usd;
    struct geo_counts counts;
    struct err e = {0};

    small_world_init(&w);
    add_round(&all, 0, 0, 0);
    CHECK(geo_account(&w.problem, &all, &a, &e) == 0, "a round");
    AUTO(geo_pace) struct geo_pace *pace = geo_pace_new(&w.problem, &all, &a);
    struct geo_placement regional = {.topology = SPEC_GEO_REGIONAL, .function = X, .store = X};
    struct geo_placement fanout = {.topology = SPEC_GEO_FANOUT, .function = X, .store = X};
    CHECK(geo_forecast(&w.problem, &regional, pace, &a, &usd, &counts), "regional");
    CHECK(counts.wan_bytes == 3 * M, "(R - 1)(1 + n_r) m");
    /* Per place: 2 inputs and a claim; at X: 2 regional means, a claim, the result. */
    CHECK(counts.writes == 2 * 3 + 4 && counts.lists == 4 + 2, "writes and lists of three stores");
    CHECK(geo_forecast(&w.problem, &fanout, pace, &a, &usd, &counts), "fan-out");
    CHECK(counts.wan_bytes == 2 * M, "2 (R - 1) m");
    /* The result goes to each place and is not written at the global store. */
    CHECK(counts.writes == 2 * 3 + 2 + 1 + 2, "pushed straight to the places");
}

static void faults(void)
{
    AUTO_CLEAR(geo_events) struct geo_events all = {0};
    struct small_world w;
    struct geo_account a;
    struct err e = {0};

    small_world_init(&w);
    CHECK(geo_account(&w.problem, &all, &a, &e) < 0 && e.kind == ERR_USAGE, "no event: %s", e.text);
    add_round(&all, 0, 1, 0);
    all.n--; /* the last read */
    CHECK(geo_account(&w.problem, &all, &a, &e) < 0 &&
              strcmp(e.text, "no round was finished by all 4 workers") == 0,
          "one has not read the result");
}

int main(void)
{
    one_round();
    forecast();
    overlapping();
    waits();
    topologies();
    faults();
    return TAP_DONE();
}
