/* Every equation of docs/geo.md, by hand on a world of round figures. */
#include "geo/model.h"

#include "small_world.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define GB 1073741824.0

static int is(double got, double wanted)
{
    return fabs(got - wanted) <= 1e-12 * fmax(fabs(wanted), 1e-6);
}

static struct geo_placement at(const struct small_world *w, enum spec_geo_topology t, size_t site)
{
    struct geo_placement p;

    if (!geo_evaluate(&w->problem, t, site, site, &p))
        memset(&p, 0, sizeof p);
    return p;
}

/* Workers of X: 0.1 s for the request and 20 MB at 100 MB/s: there at 9.3 s. Of Y: handshake 0.2,
 * round trip 0.1, store 0.1, slow start 0.7 - 0.18542, bytes 2: there at 11.91458 s. */
#define UP_X 0.3
#define SLOW (0.7 - 0.18542)
#define UP_Y (0.2 + 0.1 + 0.1 + SLOW + 2)
/* Lists 0.1; reads 4 x 0.1 and 80 MB at 100 MB/s; averages 80 MB at 250 MB/s; writes 0.1 + 0.2. */
#define WORK (0.1 + 0.4 + 0.8 + 0.32 + 0.3)
#define DONE (9 + UP_Y + 0.3 + WORK)
#define DOWN_X (0.05 + 0.1 + 0.2)
#define DOWN_Y (0.05 + 0.1 + 0.1 + SLOW + 2)

static void central(void)
{
    struct small_world w;

    small_world_init(&w);
    struct geo_placement p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(is(p.round_s, 16.89916), "time: last upload, event, function, last download");
    CHECK(is(p.phases.train_s, 9), "phases: training");
    CHECK(is(p.phases.upload_s, (UP_X + UP_Y) / 2), "upload, mean of the workers");
    CHECK(is(p.phases.aggregate_s, 0.3 + WORK), "aggregate: event and function");
    CHECK(is(p.phases.download_s, (DOWN_X + DOWN_Y) / 2), "download: half a poll, then bytes");
    CHECK(is(p.phases.wait_s, 2.51458), "wait: the rest of the round");
    /* Equations 3, 4, 5, 7, 8 and 9. */
    CHECK(is(p.bill.vm_usd, 4 * 0.1 * 16.89916 / 3600),
          "equation 3: machines bill the whole round");
    CHECK(is(p.bill.faas_usd, (3 * 0.1 + WORK) * 1.66667e-5 + 4 * 2e-7),
          "equation 4 and A4: four invocations, three of them short, and the request fee");
    CHECK(p.counts.invocations == 4, "B5: one invocation per upload");
    /* X waits 4.83458 s and polls every 0.1 s: 48 times each; Y 2.22 s every 0.2 s: 11 times. */
    CHECK(p.counts.failed_polls == 118, "A5: polls that fail, by the round trip of each worker");
    CHECK(p.counts.reads == 2 * 4 + 118, "equation 5: 2n + l reads");
    CHECK(p.counts.writes == 5 && p.counts.lists == 4, "n + 1 writes, n lists");
    CHECK(is(p.bill.requests_usd, 126 * 4e-7 + 5 * 5e-6 + 4 * 5e-6), "A3: a rate is per request");
    CHECK(is(p.bill.transfer_usd, 2 * 20e6 / GB * 0.09 + 2 * 20e6 / GB * 0.02),
          "equations 7, 8, 9 and A12: by 2^30 bytes, up from Y and down to Y");
    CHECK(p.counts.wan_bytes == 80e6, "four times 20 MB between the places: 2 (R - 1) n_r m");
    double held_s = 2 * (DONE - 9 - UP_X) + 2 * (DONE - 9 - UP_Y) + 16.89916;
    CHECK(is(p.bill.storage_usd * 1e6, 20e6 / GB * 0.023 / 2628000 * held_s * 1e6),
          "A1 and A2: bytes times the seconds they lie there, of a month of 730 hours");
    CHECK(p.bill.storage_usd < 2e-5 * 20e6 / GB * 0.023, "not a month for every round");
}

/* Bills of 1000 rounds, to the micro-dollar. */
static void totals(void)
{
    struct small_world w;
    struct geo_total t;
    struct err e;

    small_world_init(&w);
    struct geo_placement p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(geo_total(&w.problem, &p, &t, &e) == 0, "a total");
    CHECK(is(t.time_s, 60 + 0.5 + 16899.16), "A10: boot, cold start and the rounds");
    /* 16,960 s at 4 x 0.1 USD per hour. */
    CHECK(t.vm_microusd == 1884444, "A10: machines by the whole second");
    /* 37,800.074 and four cold starts of 0.5 s. */
    CHECK(t.faas_microusd == 37833, "A4: functions, and their cold start once");
    CHECK(t.requests_microusd == 95400, "requests");
    CHECK(t.storage_microusd == 5, "storage");
    CHECK(t.transfer_microusd == 4097819, "transfer");
    CHECK(t.total_microusd == 1884444 + 37833 + 95400 + 5 + 4097819, "their sum");

    w.problem.rounds = 1;
    for (size_t i = 0; i < 4; i++)
        w.workers[i].boot_s = 0;
    geo_total(&w.problem, &p, &t, &e);
    CHECK(t.vm_microusd == 6667, "A10: a minute at least: 4 x 0.1 / 60 USD");
    w.problem.rounds = 1e9;
    w.sites[X].store.usd_per_read = 1;
    p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(geo_total(&w.problem, &p, &t, &e) < 0 && e.kind == ERR_USAGE,
          "more than money can hold is an error");
}

static void training_data(void)
{
    struct small_world w;
    struct geo_total with, without;
    struct err e;

    small_world_init(&w);
    struct geo_placement p = at(&w, SPEC_GEO_CENTRAL, X);
    geo_total(&w.problem, &p, &without, &e);
    w.workers[0].data_bytes = 10 * GB;
    w.workers[0].data_site = Y;
    geo_total(&w.problem, &p, &with, &e);
    CHECK(with.transfer_microusd - without.transfer_microusd == 900000,
          "A11: data from elsewhere once, 10 GB at 0.09");
    /* Y to X: handshake, round trip, the store, slow start, 10 MB/s. */
    const double load_s = 0.2 + 0.1 + 0.1 + SLOW + 10 * GB / 10e6;
    CHECK(is(with.time_s, without.time_s + load_s), "A10: and the time it takes");
    w.workers[0].data_cached = false;
    geo_total(&w.problem, &p, &with, &e);
    CHECK(with.transfer_microusd - without.transfer_microusd == 9000000,
          "once for each of the ten epochs where it is not kept");
    CHECK(is(with.time_s, without.time_s + 10 * load_s), "each time anew");
    w.workers[0].data_site = X;
    geo_total(&w.problem, &p, &with, &e);
    CHECK(with.transfer_microusd == without.transfer_microusd, "B2: nothing from its own place");
}

static void invocations(void)
{
    struct small_world w;

    small_world_init(&w);
    w.sites[X].function.step_s = 0.1;
    struct geo_placement p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(is(p.bill.faas_usd, (3 * 0.1 + 2.0) * 1.66667e-5 + 4 * 2e-7),
          "A4: 1.92 s are 2.0 s where 100 ms is the step");

    small_world_init(&w);
    w.problem.retries = 0.5;
    p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(is(p.bill.requests_usd, 1.5 * 95.4e-6), "A13: half of the requests come twice");
    CHECK(p.counts.invocations == 6 &&
              is(p.bill.faas_usd, (5 * 0.1 + WORK) * 1.66667e-5 + 6 * 2e-7),
          "and so do events, whose invocations only look");
}

static void requests(void)
{
    struct small_world w;

    small_world_init(&w);
    small_world_crowd(&w, 1001);
    struct geo_placement p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(p.counts.lists == 2002, "A6: 1,001 keys take two lists where one has 1,000");
    p = at(&w, SPEC_GEO_CENTRAL, Y);
    CHECK(p.counts.lists == 1001, "and one where it has 5,000");

    small_world_init(&w);
    w.problem.connections = 8;
    p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(p.counts.writes == 4 * 5 + 1, "20 MB are three parts of at least 5 MiB");
    CHECK(p.counts.reads - p.counts.failed_polls == 4 + 4 * 3, "and three ranges");
    w.problem.size_bytes = 48e6;
    p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(p.counts.writes == 4 * 10 + 1, "A7: eight parts are ten requests on S3");
    p = at(&w, SPEC_GEO_CENTRAL, Y);
    CHECK(p.counts.writes == 4 * 9 + 1, "nine on Azure");
    CHECK(p.counts.reads - p.counts.failed_polls == 4 + 4 * 8, "eight ranges of each download");

    small_world_init(&w);
    w.problem.size_bytes = 6e9;
    p = at(&w, SPEC_GEO_CENTRAL, X);
    CHECK(p.counts.writes == 5 * 4, "A7: above 5 GB there are two parts, four requests");
}

static void same_region(void)
{
    struct small_world w;

    small_world_init(&w);
    double before = at(&w, SPEC_GEO_CENTRAL, X).bill.transfer_usd;
    w.links[0].usd_per_gb = 0.01;
    struct geo_placement p = at(&w, SPEC_GEO_CENTRAL, X);
    /* Up and down of two workers, four reads and one write of the function. */
    CHECK(is(p.bill.transfer_usd - before, 9 * 20e6 / GB * 0.01),
          "A8: what stays in a region bills where its way is not free");
    CHECK(p.counts.wan_bytes == 80e6, "but does not leave it");
}

static void apart(void)
{
    struct small_world w;
    struct geo_placement p;

    small_world_init(&w);
    CHECK(geo_evaluate(&w.problem, SPEC_GEO_CENTRAL, Y, X, &p), "B12: function here, store there");
    /* Up from Y, four reads X to Y, the mean back, down to Y. */
    CHECK(is(p.bill.transfer_usd,
             2 * 20e6 / GB * 0.09 + 4 * 20e6 / GB * 0.02 + 20e6 / GB * 0.09 + 2 * 20e6 / GB * 0.02),
          "equations 7, 8 and 9 with function and store apart");
    w.links[X * 2 + Y].exists = false;
    CHECK(!geo_evaluate(&w.problem, SPEC_GEO_CENTRAL, Y, X, &p), "a way that nobody sells is none");
}

static void regional(void)
{
    struct small_world w;

    small_world_init(&w);
    struct geo_placement p = at(&w, SPEC_GEO_REGIONAL, X);
    /* X: there at 9.3, event 0.3, 0.1 + 0.2 + 0.4 + 0.16 + 0.3: 10.76 s. Y: there at 9.3, event
     * 0.5, 0.1 + 0.2 + 0.4 + 0.16 and 20 MB to X: 13.57458 s. Then 0.3 + 1.16. */
    double far_work = 0.86 + UP_Y, done = 9.3 + 0.5 + far_work + 0.3 + 1.16;
    CHECK(is(p.round_s, done + DOWN_Y), "variant A: regions, then all read from the global store");
    CHECK(is(p.phases.aggregate_s, (0.3 + 1.16 + 0.5 + far_work) / 2 + 1.46),
          "aggregate: both levels");
    CHECK(is(p.phases.train_s + p.phases.upload_s + p.phases.wait_s + p.phases.aggregate_s +
                 p.phases.download_s,
             p.round_s),
          "phases add up");
    /* 3.77458 s are 3.8 s at Y. */
    CHECK(is(p.bill.faas_usd, 2 * (1.26 * 1.66667e-5 + 2 * 2e-7) + 3.9 * 2e-5 + 2 * 4e-7),
          "functions of both levels");
    CHECK(p.counts.failed_polls == 2 * 57 + 2 * 28, "polls of the global store");
    /* X: 2 writes, 2 lists, 2 reads of its region; 3 writes, 2 lists, 2 reads and 4 + l of all. */
    CHECK(is(p.bill.requests_usd,
             (2 + 2 + 4 + 170) * 4e-7 + 5 * 5e-6 + 4 * 5e-6 + 2 * 5e-7 + 2 * 6e-6 + 2 * 6e-6),
          "requests of both levels");
    CHECK(is(p.bill.transfer_usd, 20e6 / GB * 0.09 + 2 * 20e6 / GB * 0.02),
          "one mean up, two results down");
    CHECK(p.counts.wan_bytes == 60e6, "(R - 1)(1 + n_r) m");
}

static void fanout(void)
{
    struct small_world w;

    small_world_init(&w);
    struct geo_placement p = at(&w, SPEC_GEO_FANOUT, X);
    double done = 9.3 + 0.5 + 0.86 + UP_Y + 0.3 + 1.16;
    CHECK(is(p.round_s, done + UP_Y + 0.35), "variant B: to Y once, then from its own store");
    CHECK(p.counts.failed_polls == 2 * 60 + 2 * 86, "polls of the regional stores");
    CHECK(is(p.bill.requests_usd, (2 + 2 + 2 + 120) * 4e-7 + 6 * 5e-6 + 4 * 5e-6 +
                                      (2 + 2 + 172) * 5e-7 + 3 * 6e-6 + 2 * 6e-6),
          "requests: one more write in each region");
    CHECK(is(p.bill.transfer_usd, 20e6 / GB * 0.09 + 20e6 / GB * 0.02), "one up, one down");
    CHECK(p.counts.wan_bytes == 40e6, "2 (R - 1) m");
    w.sites[Y].has_function = false;
    CHECK(at(&w, SPEC_GEO_FANOUT, X).round_s == 0, "a region without a function cannot average");
    CHECK(at(&w, SPEC_GEO_CENTRAL, X).round_s > 0, "but can take part in a central one");
}

static void compression(void)
{
    struct small_world w;

    small_world_init(&w);
    w.problem.compression = SPEC_GEO_INT8;
    CHECK(geo_sent_bytes(&w.problem) == 5e6 && geo_merged_bytes(&w.problem, 4) == 5e6,
          "int8: a quarter both ways");
    CHECK(at(&w, SPEC_GEO_CENTRAL, X).counts.wan_bytes == 20e6, "and so between places");
    w.problem.compression = SPEC_GEO_TOPK;
    w.problem.topk = 0.01;
    CHECK(is(geo_sent_bytes(&w.problem), 0.4e6), "top-k: a hundredth, with an index each");
    CHECK(is(geo_merged_bytes(&w.problem, 4), 1.6e6), "the sum of four has four times as many");
    CHECK(geo_merged_bytes(&w.problem, 400) == 20e6, "at most all of them");
    struct geo_placement p = at(&w, SPEC_GEO_REGIONAL, X);
    CHECK(is(p.counts.wan_bytes, 0.8e6 + 2 * 1.6e6), "regional: the mean of two up, of four down");
}

static void quorum(void)
{
    struct small_world w;

    small_world_init(&w);
    w.problem.quorum = 0.5;
    struct geo_placement p = at(&w, SPEC_GEO_CENTRAL, X);
    /* The two of X are enough: 0.1 + 0.2 + 0.4 + 0.16 + 0.3 after the event. */
    CHECK(is(p.round_s, 9.3 + 0.3 + 1.16 + DOWN_X), "a quorum does not wait for the far ones");
    CHECK(p.counts.invocations == 4 && p.counts.lists == 4, "late ones still cause events");
    CHECK(p.counts.reads - p.counts.failed_polls == 2 + 4, "but are not averaged");
    CHECK(is(p.bill.vm_usd, 4 * 0.1 * p.round_s / 3600), "all machines bill");
    w.problem.quorum = 0.51;
    CHECK(at(&w, SPEC_GEO_CENTRAL, X).round_s > 11.9, "more than half needs one of Y");
}

/* R = 4 regions with n_r = 2 and 17 MB: 204, 153 and 102 MB. */
static void wan_bytes(void)
{
    static const struct {
        enum spec_geo_topology topology;
        double bytes;
    } cases[] = {{SPEC_GEO_CENTRAL, 204e6}, {SPEC_GEO_REGIONAL, 153e6}, {SPEC_GEO_FANOUT, 102e6}};
    struct small_world w;
    struct geo_site sites[4];
    struct geo_link links[16];

    small_world_init(&w);
    small_world_crowd(&w, 8);
    for (size_t i = 0; i < 16; i++) {
        sites[i / 4] = w.sites[X];
        links[i] = w.links[i / 4 == i % 4 ? 0 : 1];
        w.workers[i / 2].site = i / 2 % 4;
    }
    w.problem.sites = sites;
    w.problem.n_sites = 4;
    w.problem.links = links;
    w.problem.size_bytes = 17e6;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(at(&w, cases[i].topology, 2).counts.wan_bytes == cases[i].bytes,
              "%s: %.0f MB between places", spec_geo_topology_text(cases[i].topology),
              cases[i].bytes / 1e6);
}

int main(void)
{
    central();
    totals();
    training_data();
    invocations();
    requests();
    same_region();
    apart();
    regional();
    fanout();
    compression();
    quorum();
    wan_bytes();
    return TAP_DONE();
}
