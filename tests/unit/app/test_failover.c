/* Which offer comes next when a cloud refuses one: a catalog of four offers, and what is expected
 * by their prices and by the scope of what was refused. */
#include "app/calling.h"
#include "app/run/failover.h"
#include "base/json.h"
#include "base/time.h"
#include "broker/core/runs.h"
#include "broker/machine/refusals.h"
#include "tap.h"

#include <math.h>

/* Per hour: 0.36 and 0.45 in zones of one region, 0.54, 0.72; and 0.9 with a GPU. */
static const char offers[] =
    "# date: 2026-11-01\n"
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,"
    "network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
    "aws,us-east-1,us-east-1a,m5.xlarge,4,16,,,10,0.36,,\n"
    "aws,us-east-1,us-east-1b,m5.xlarge,4,16,,,10,0.45,,\n"
    "aws,us-west-2,us-west-2a,m5.xlarge,4,16,,,10,0.54,,\n"
    "aws,us-east-1,us-east-1a,c5.xlarge,4,8,,,10,0.72,,\n"
    "aws,us-east-1,us-east-1a,g4dn.xlarge,4,16,T4,1,10,0.9,,\n";
/* The first stage is refused, the second one waits, and only a T4 will do for the third. */
static const char pipeline[] =
    "name: three\n---\nname: one\nestimate: {seconds: 30}\nrun: 'true'\n"
    "outputs: {o: 0.001}\n---\nname: two\nneeds: one\n"
    "estimate: {seconds: 30}\nrun: 'true'\n---\nname: gpu\n"
    "resources: {accelerators: T4}\nestimate: {seconds: 30}\nrun: 'true'\n";

static struct calling c;
static struct broker_options options;

static struct job_offer offer_of(const char *zone, const char *type, double price)
{
    struct job_offer o = {.provider = "aws", .cpus = 4, .price_usd_per_hour = price};

    snprintf(o.region, sizeof o.region, "%.9s", zone);
    snprintf(o.zone, sizeof o.zone, "%s", zone);
    snprintf(o.instance_type, sizeof o.instance_type, "%s", type);
    if (type[0] == 'g')
        snprintf(o.accelerator, sizeof o.accelerator, "T4");
    return o;
}

static int64_t add_run(struct runs *runs)
{
    static const char *const command[] = {"true"};
    static const size_t first = 0;
    AUTO_JSON json_t *request = json_pack("{s:{s:s, s:s}, s:s}", "plan", "file", "three.yaml",
                                          "pipeline", pipeline, "on", "aws");
    AUTO_MEM char *text = json_dumps(request, 0);
    const struct job_offer cheap = offer_of("us-east-1a", "m5.xlarge", 0.36),
                           gpu = offer_of("us-east-1a", "g4dn.xlarge", 0.9);
    struct run_stage stages[3] = {
        {.plan = {.name = "one", .offer = cheap}},
        {.plan = {.name = "two", .needs = &first, .n_needs = 1, .offer = cheap}},
        {.plan = {.name = "gpu", .offer = gpu}}};
    for (size_t i = 0; i < 3; i++) {
        stages[i].plan.command = command;
        stages[i].plan.n_command = 1;
        stages[i].plan.place = "aws/us-east-1a";
        stages[i].plan.instance_type = stages[i].plan.offer.instance_type;
        stages[i].plan.nodes = 1;
    }
    struct run run = {.name = "three",
                      .file = "three.yaml",
                      .user = "ann",
                      .on = "aws",
                      .request = text,
                      .stages = stages,
                      .n_stages = 3};
    struct err e = {0};
    CHECK(runs_add(runs, &run, &e) == 0, "a run is recorded: %s", e.text);
    return run.id;
}

static struct machine_refusal refusal(struct job_offer o, enum cloud_failure f, enum cloud_scope s)
{
    return (struct machine_refusal){.offer = o, .failure = f, .scope = s, .at_ms = time_epoch_ms()};
}

static int again(
    int64_t run, const struct machine_refusal *list, size_t n, struct job_offer *o, struct err *e)
{
    const struct broker_replan question = {.run = run, .stage = "one", .refusals = list, .n = n};
    struct job_offer server;

    *o = list[0].offer;
    o->disk_gb = 70;
    *e = (struct err){0};
    return app_run_failover(&options, &question, o, &server, e);
}

static void test_next(int64_t run, struct runs *runs)
{
    const struct job_offer cheap = offer_of("us-east-1a", "m5.xlarge", 0.36);
    struct job_offer o;
    struct err e;

    const struct machine_refusal zone[] = {refusal(cheap, CLOUD_CAPACITY, CLOUD_ZONE)};
    CHECK(again(run, zone, 1, &o, &e) == 0 && !strcmp(o.zone, "us-east-1b") &&
              fabs(o.price_usd_per_hour - 0.45) < 1e-9 && !strcmp(o.instance_type, "m5.xlarge"),
          "without a zone: its neighbour; %s %s %g %s", o.zone, o.instance_type,
          o.price_usd_per_hour, e.text);
    CHECK(!(fabs(o.disk_gb - 70) > 0), "the disk is the one that was asked for");
    struct run known;
    CHECK(runs_get(runs, run, &known, &e) == 0 &&
              !strcmp(known.stages[1].plan.offer.zone, "us-east-1b") &&
              fabs(known.stages[1].plan.price_usd_per_hour - 0.45) < 1e-9,
          "the stage that waits moves with it: %s", known.stages[1].plan.offer.zone);
    CHECK(!strcmp(known.stages[2].plan.offer.instance_type, "g4dn.xlarge"),
          "one that needs a GPU keeps its offer");
    run_clear(&known);

    const struct machine_refusal region[] = {refusal(cheap, CLOUD_CAPACITY, CLOUD_REGION)};
    CHECK(again(run, region, 1, &o, &e) == 0 && !strcmp(o.region, "us-west-2") &&
              fabs(o.price_usd_per_hour - 0.54) < 1e-9,
          "without the type in a region: the other region; %s %s", o.region, e.text);

    const struct machine_refusal account[] = {refusal(cheap, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT)};
    CHECK(again(run, account, 1, &o, &e) == 0 && !strcmp(o.instance_type, "c5.xlarge"),
          "without the type anywhere: another type; %s %s", o.instance_type, e.text);

    /* A quota is for all types without GPUs: 0.72 is of that region, too. */
    const struct machine_refusal quota[] = {refusal(cheap, CLOUD_QUOTA, CLOUD_REGION)};
    CHECK(again(run, quota, 1, &o, &e) == 0 && !strcmp(o.region, "us-west-2"),
          "without a quota in a region: the other region; %s %s", o.region, e.text);
    const struct machine_refusal quotas[] = {
        refusal(cheap, CLOUD_QUOTA, CLOUD_REGION),
        refusal(offer_of("us-west-2a", "m5.xlarge", 0.54), CLOUD_QUOTA, CLOUD_REGION)};
    CHECK(again(run, quotas, 2, &o, &e) == 0 && !strcmp(o.instance_type, "g4dn.xlarge"),
          "without any of CPUs alone: the GPU; %s %s", o.instance_type, e.text);

    /* The market that is refused is that of the offer. */
    struct job_offer spot = cheap;
    spot.spot = true;
    const struct machine_refusal other[] = {refusal(spot, CLOUD_CAPACITY, CLOUD_REGION)};
    CHECK(again(run, other, 1, &o, &e) == 0 && !strcmp(o.zone, "us-east-1a") && !o.spot,
          "without spot: the same on demand; %s %s", o.zone, e.text);

    const struct machine_refusal all[] = {
        quotas[0], quotas[1],
        refusal(offer_of("us-east-1a", "g4dn.xlarge", 0.9), CLOUD_CAPACITY, CLOUD_ZONE)};
    CHECK(again(run, all, 3, &o, &e) < 0 && e.kind == ERR_NOFIT, "without any there is none: %s",
          e.text);
}

static void test_strangers(int64_t run)
{
    struct job_offer o = offer_of("us-east-1a", "m5.xlarge", 0.36);
    struct err e = {0};
    struct broker_replan question = {.run = run, .stage = "other"};
    struct job_offer server;

    CHECK(app_run_failover(&options, &question, &o, &server, &e) < 0 && e.kind == ERR_NOFIT,
          "a stage that the run has not: %s", e.text);
    question.run = run + 7;
    e = (struct err){0};
    CHECK(app_run_failover(&options, &question, &o, &server, &e) < 0 && e.kind == ERR_NOTFOUND,
          "a run that is not there: %s", e.text);
}

int main(void)
{
    struct err e = {0};

    calling_open(&c);
    options.home = c.home;
    setenv("AWS_ACCESS_KEY_ID", "AKIDMODEL", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "model/secret+key", 1);
    int result = calling_call(&c, "catalog.import",
                              json_pack("{s:[s]}", "paths", calling_put(&c, "offers.csv", offers)));
    CHECK(result == 0, "a catalog of five offers: %s", c.err.text);
    struct runs *runs = runs_open(c.home, &e);
    CHECK(runs, "the record of runs: %s", e.text);
    int64_t run = add_run(runs);
    test_next(run, runs);
    test_strangers(run);
    runs_free(runs);
    calling_close(&c);
    return TAP_DONE();
}
