/* Operations on training clusters through the table alone; figures by hand, as in
 * tests/cli/cluster.t. */
#include "calling.h"
#include "tap.h"

#include <math.h>

/* Prices and rates are the file's, so that no catalog counts. */
static const char *const file = "name: paper\n"
                                "server: {type: s}\n"
                                "workers: {types: [a, b], max: 6}\n"
                                "types:\n"
                                "  s: {price: 0.125, network_mbps: 450}\n"
                                "  a: {price: 0.25, mbps: 100, per_s: 2}\n"
                                "  b: {price: 1.75, mbps: 200, per_s: 10}\n";

static bool is_near(double got, double wanted)
{
    return fabs(got - wanted) < 1e-9;
}

/* 0.95 x 450 = 427.5 Mbit/s for workers. */
static void test_recommend(struct calling *c)
{
    CHECK(calling_call(c, "cluster.recommend",
                       json_pack("{s:s, s:s}", "cluster", file, "algorithm", "scala-opt")) == 0,
          "scala-opt: %s", c->err.text);
    CHECK(!strcmp(calling_text(c->head, "worker_type"), "b") &&
              is_near(calling_number(c->head, "workers"), 2) &&
              is_near(calling_number(c->head, "usd_per_hour"), 3.625) &&
              !strcmp(calling_text(c->head, "limited_by"), "network"),
          "427.5 / 200 = 2.1: two of b for 0.125 + 2 x 1.75");
    CHECK(json_is_null(json_object_get(c->head, "location")) && json_array_size(c->items) == 2,
          "no location, and both types were considered");
    CHECK(json_array_size(json_object_get(c->head, "algorithms")) == 4, "algorithms to compare");

    CHECK(calling_call(c, "cluster.recommend",
                       json_pack("{s:s, s:s, s:s, s:i}", "cluster", file, "algorithm",
                                 "scala-opt-m", "type", "a", "work", 800)) == 0,
          "scala-opt-m: %s", c->err.text);
    const json_t *predicted = json_object_get(c->head, "predicted");
    CHECK(is_near(calling_number(c->head, "workers"), 4) &&
              is_near(calling_number(predicted, "throughput"), 8) &&
              is_near(calling_number(predicted, "time_s"), 100) &&
              is_near(calling_number(predicted, "cost_usd"), 1.125 * 100 / 3600),
          "four of a do 800 iterations in 100 s at 0.125 + 4 x 0.25 per hour");
}

static void test_refused(struct calling *c)
{
    static const struct {
        const char *operation, *field, *value;
        enum err_kind kind;
        const char *text;
    } cases[] = {
        {"cluster.recommend", "algorithm", "best", ERR_USAGE, "algorithm \"best\": must be"},
        {"cluster.recommend", "algorithm", "scala-opt-m", ERR_USAGE, "give type"},
        {"cluster.recommend", "location", "nowhere", ERR_USAGE, "nowhere"},
        {"cluster.start", "on", "sim", ERR_USAGE, "names no command to run"},
        {"cluster.measure", "on", "local", ERR_USAGE, "on a machine of its own"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(calling_call(
                  c, cases[i].operation,
                  json_pack("{s:s, s:s}", "cluster", file, cases[i].field, cases[i].value)) < 0 &&
                  c->err.kind == cases[i].kind && strstr(c->err.text, cases[i].text),
              "%s with %s %s: %s", cases[i].operation, cases[i].field, cases[i].value, c->err.text);
    CHECK(calling_call(c, "cluster.recommend", json_object()) < 0 &&
              strstr(c->err.text, "the cluster is missing"),
          "no file: %s", c->err.text);
    CHECK(calling_call(c, "cluster.recommend",
                       json_pack("{s:s, s:f}", "cluster", file, "budget_usd", 0.2)) < 0 &&
              c->err.kind == ERR_NOFIT,
          "a budget below one worker: %s", c->err.text);
}

/* Rates of an earlier measurement need no run. */
static void test_measured_before(struct calling *c)
{
    calling_put(c, "config.yaml", "hosts: {lab: [{host: a.invalid}, {host: b.invalid}]}\n");
    calling_put(c, "measured.csv", "command,batch,type,mbps,per_s\n./train,,lab,3.5,7\n");
    CHECK(calling_call(
              c, "cluster.measure",
              json_pack("{s:s, s:s}", "cluster", "name: x\nrun: ./train\n", "on", "lab")) == 0,
          "measured before: %s", c->err.text);
    CHECK(is_near(calling_number(c->head, "mbps"), 3.5) &&
              is_near(calling_number(c->head, "per_s"), 7) &&
              json_is_null(json_object_get(c->head, "run")) &&
              json_is_false(json_object_get(c->head, "again")),
          "the rates of measured.csv");
}

int main(void)
{
    struct calling c;

    calling_open(&c);
    test_recommend(&c);
    test_refused(&c);
    test_measured_before(&c);
    calling_close(&c);
    return TAP_DONE();
}
