/* Operations on geo-distributed training through the table alone; the sums behind plans are in
 * tests/unit/geo. */
#include "app/geo/geo.h"
#include "calling.h"
#include "tap.h"

#include <math.h>

static const char *const file = "name: four\n"
                                "model: {size: 17MB}\n"
                                "rounds: 100\n"
                                "train: {seconds: 9}\n"
                                "workers:\n"
                                "  - {location: aws/ap-south-1}\n"
                                "  - {location: aws/eu-west-2}\n"
                                "  - {location: aws/us-west-2, count: 2}\n";

static bool is_near(double got, double wanted)
{
    return fabs(got - wanted) < 1e-9;
}

static void test_plan(struct calling *c)
{
    CHECK(calling_call(c, "geo.plan", json_pack("{s:s}", "training", file)) == 0, "plans: %s",
          c->err.text);
    CHECK(is_near(calling_number(c->head, "workers"), 4) &&
              is_near(calling_number(c->head, "considered"), 12 * 12 * 3) &&
              json_array_size(json_object_get(c->head, "placements")) == 12 * 12 * 3,
          "12 functions, 12 stores, 3 topologies");
    const json_t *best = json_object_get(c->head, "best");
    const json_t *cost = json_object_get(json_object_get(c->head, "total"), "cost");
    /* 100 rounds of 17e6 / 2^30 GB x (0.086 + 0.02 up, 0.02 + 0.02 down). */
    CHECK(!strcmp(calling_text(best, "function"), "aws/us-west-2") &&
              is_near(calling_number(cost, "transfer"), 0.231154),
          "the transfer of the best, to the micro-dollar");
    CHECK(json_array_size(json_object_get(c->head, "options")) == 4, "settings to change");

    CHECK(
        calling_call(c, "geo.plan",
                     json_pack("{s:s, s:s, s:s, s:s, s:f}", "training", file, "topology", "fanout",
                               "function", "gcp", "store", "aws/eu-west-2", "quorum", 0.5)) == 0,
        "constraints: %s", c->err.text);
    const json_t *placements = json_object_get(c->head, "placements");
    CHECK(json_array_size(placements) == 4 &&
              !strcmp(calling_text(json_array_get(placements, 3), "topology"), "fanout"),
          "one topology and store, the functions of one cloud");
    CHECK(json_array_size(json_object_get(c->head, "options")) == 3, "the quorum is chosen");
}

static void test_paper(struct calling *c)
{
    CHECK(calling_call(c, "geo.paper", json_object()) == 0, "the paper: %s", c->err.text);
    CHECK(json_array_size(json_object_get(c->head, "cells")) == 2 * 48 &&
              json_array_size(json_object_get(c->head, "bandwidths")) == 3 * 4 * 2 * 4,
          "48 cells of two trainings, 3 clouds x 4 cities x 2 stores x 4 cities");
}

static void test_refused(struct calling *c)
{
    static const struct {
        const char *operation, *field, *value;
        enum err_kind kind;
        const char *text;
    } cases[] = {
        {"geo.plan", "objective", "money", ERR_USAGE, "must be cost or time"},
        {"geo.plan", "topology", "ring", ERR_USAGE, "must be central, regional, fanout or any"},
        {"geo.plan", "workers", "aws", ERR_USAGE, "names no region"},
        {"geo.plan", "function", "aws/eu-north-1", ERR_NOFIT, "no tariff of a function"},
        {"geo.plan", "place", "aws", ERR_USAGE, "unknown field \"place\""},
        {"geo.run", "on", "local", ERR_USAGE, "nothing to run"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(calling_call(
                  c, cases[i].operation,
                  json_pack("{s:s, s:s}", "training", file, cases[i].field, cases[i].value)) < 0 &&
                  c->err.kind == cases[i].kind && strstr(c->err.text, cases[i].text),
              "%s with %s %s: %s", cases[i].operation, cases[i].field, cases[i].value, c->err.text);
    CHECK(calling_call(c, "geo.plan", json_object()) < 0 &&
              strstr(c->err.text, "there are no workers"),
          "nothing to plan: %s", c->err.text);
}

static void put_numbers(const char *path, float a, float b)
{
    const float numbers[] = {a, b};
    FILE *out = fopen(path, "we");
    size_t n = out ? fwrite(numbers, sizeof *numbers, 2, out) : 0;

    assert(n == 2);
    fclose(out);
}

static void test_aggregate(struct calling *c)
{
    AUTO(arena) struct arena *arena = arena_new((size_t)1 << 20);
    AUTO(app) struct app *app = app_new(&(struct app_options){.home = c->home, .role = APP_ADMIN});
    AUTO_MEM char *a = mem_printf("%s/a.f32", c->home), *b = mem_printf("%s/b.f32", c->home);
    AUTO_MEM char *mean = mem_printf("%s/mean.f32", c->home);
    AUTO_JSON json_t *request =
        json_pack("{s:[s, s], s:s, s:s}", "files", a, b, "out", mean, "weights", "1,3");
    struct answer answer = {.arena = arena};
    float got[2] = {0};
    struct err e = {0};

    put_numbers(a, 1, 10);
    put_numbers(b, 5, 2);
    CHECK(operation_call(app, &aggregate_operation, request, FIELD_AS_NAME, &answer, &e) == 0,
          "averages: %s", e.text);
    FILE *in = fopen(mean, "re");
    CHECK(in && fread(got, sizeof *got, 2, in) == 2 && is_near((double)got[0], 4) &&
              is_near((double)got[1], 4),
          "(1 + 3 x 5) / 4 and (10 + 3 x 2) / 4");
    if (in)
        fclose(in);
    json_object_set_new(request, "weights", json_string("1"));
    CHECK(operation_call(app, &aggregate_operation, request, FIELD_AS_NAME, &answer, &e) < 0 &&
              strstr(e.text, "1 for 2 files"),
          "a weight is missing: %s", e.text);
}

int main(void)
{
    struct calling c;

    calling_open(&c);
    test_plan(&c);
    test_paper(&c);
    test_refused(&c);
    test_aggregate(&c);
    calling_close(&c);
    return TAP_DONE();
}
