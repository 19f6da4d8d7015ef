/* policy.solve and policy.simulate: from the text of a problem to shares and rounds, without a
 * command line. */
#include "app/calling.h"

#include "tap.h"

#include <math.h>
#include <string.h>

/* One V100 at $3, an hour of work per job: a within the first hour, b within the second. */
#define TYPES "\"types\": [{\"name\": \"V100\", \"price_usd_per_hour\": 3, \"quota\": 1}]"
#define JOB(name, slo)                                                                             \
    "{\"name\": \"" name "\", \"throughput\": {\"V100\": 10}, \"iterations\": 10, \"slo_h\": " slo \
    "}"
static const char two[] = "{" TYPES ", \"jobs\": [" JOB("a", "1") ", " JOB("b", "2") "]}";

static struct calling c;

static json_t *request(const char *field, const char *text, const char *more)
{
    json_t *out = json_pack("{s:s, s:s}", field, text, "policy", "min-cost-slo");
    AUTO_JSON json_t *rest = json_loads(more, 0, NULL);

    json_object_update(out, rest);
    return out;
}

static bool is_near(const json_t *object, const char *name, double wanted)
{
    return json_is_number(json_object_get(object, name)) &&
           fabs(calling_number(object, name) - wanted) <= 1e-6 * fmax(1, wanted); /* as proved */
}

static void check_solve(void)
{
    int result = calling_call(&c, "policy.solve", request("problem", two, "{}"));
    const json_t *window = json_array_get(json_object_get(c.head, "hours"), 1);
    const json_t *jobs = json_object_get(window, "jobs");

    CHECK(result == 0, "solved: %s", c.err.text);
    CHECK(!strcmp(calling_text(c.head, "status"), "optimal") && is_near(c.head, "objective", 6) &&
              is_near(c.head, "bound", 6) && !strcmp(calling_text(c.head, "unit"), "$"),
          "two hours at $3, with a proof");
    CHECK(is_near(window, "from_h", 1) && is_near(json_object_get(jobs, "b"), "V100", 1),
          "b runs in the second hour");
    CHECK(json_is_null(json_object_get(c.head, "shares")) && !json_object_get(c.head, "reason"),
          "windows have hours and no shares; no reason");
    const json_t *use = json_array_get(json_object_get(c.head, "uses"), 1);
    const json_t *job = json_array_get(json_object_get(c.head, "jobs"), 1);
    CHECK(!strcmp(calling_text(use, "job"), "b") && !strcmp(calling_text(use, "type"), "V100") &&
              is_near(use, "from_h", 1) && is_near(use, "to_h", 2) && is_near(use, "gang", 1) &&
              is_near(use, "share", 1) && is_near(use, "hours", 1),
          "each use is a row with all that a table shows");
    CHECK(is_near(job, "gang", 1) && is_near(job, "deadline_h", 2) && is_near(c.head, "windows", 2),
          "jobs have gang and deadline");
}

/* At one rate until the deadline half of a job is missing; 1.5 times later deadlines suffice. */
static void check_infeasible(void)
{
    int result = calling_call(&c, "policy.solve", request("problem", two, "{\"form\": \"rate\"}"));

    CHECK(result == 0 && !strcmp(calling_text(c.head, "status"), "infeasible"),
          "an infeasible problem has an answer: %s", c.err.text);
    CHECK(json_is_null(json_object_get(c.head, "objective")) && is_near(c.head, "stretch", 1.5) &&
              *calling_text(c.head, "reason"),
          "with the reason and the fix: %s", calling_text(c.head, "reason"));
}

/* One after the other, an hour each: $6 in two hours, both deadlines met. */
static void check_simulate(void)
{
    int result = calling_call(
        &c, "policy.simulate",
        request("trace", two, "{\"restart_s\": 0, \"events\": true, \"story\": true}"));
    const json_t *jobs = json_object_get(c.head, "jobs"), *b = json_array_get(jobs, 1);

    CHECK(result == 0, "simulated: %s", c.err.text);
    CHECK(is_near(c.head, "jobs_done", 2) && is_near(c.head, "cost_usd", 6) &&
              is_near(c.head, "makespan_h", 2) && is_near(c.head, "slo_violations", 0) &&
              is_near(c.head, "rounds", 2),
          "two rounds for $6");
    CHECK(json_array_size(jobs) == 2 && is_near(b, "start_h", 1) && is_near(b, "finish_h", 2) &&
              is_near(b, "waited_h", 1) && json_is_true(json_object_get(b, "slo_met")) &&
              is_near(json_object_get(b, "hours"), "V100", 1),
          "the second job waits an hour");
    CHECK(is_near(json_object_get(c.head, "bound"), "cost_usd", 6) &&
              is_near(json_object_get(c.head, "bound"), "cost_gap", 0) &&
              json_is_null(json_object_get(c.head, "prices")),
          "no schedule costs less; prices are constant");
    CHECK(json_array_size(c.items) >= 3 &&
              !strcmp(calling_text(json_array_get(c.items, 0), "event"), "solve"),
          "a solve and two rounds are told");
    const json_t *type = json_array_get(json_object_get(c.head, "types"), 0);
    const json_t *span = json_array_get(json_object_get(c.head, "spans"), 1);
    const json_t *sample = json_array_get(json_object_get(c.head, "samples"), 0);
    CHECK(is_near(type, "quota", 1) && is_near(type, "utilisation", 1) &&
              is_near(c.head, "deadlines", 2) && is_near(c.head, "end_h", 2),
          "types have quota and utilisation");
    CHECK(is_near(span, "job", 1) && is_near(span, "type", 0) && is_near(span, "from_ms", 3.6e6) &&
              is_near(span, "to_ms", 7.2e6) && is_near(sample, "running", 1) &&
              is_near(sample, "waiting", 1) && is_near(sample, "cost_usd", 3),
          "a story has the spans of jobs and a sample of each round");
    result = calling_call(&c, "policy.simulate", request("trace", two, "{}"));
    CHECK(result == 0 && json_array_size(c.items) == 0, "without events where none are requested");
}

/* The V100 costs $1 from the second hour on: 3 + 1. */
static void check_prices(void)
{
    int result = calling_call(
        &c, "policy.simulate",
        request("trace", two,
                "{\"restart_s\": 0, \"prices\": \"at_h,type,price_usd_per_hour\\n1,V100,1\\n\"}"));

    CHECK(result == 0 && is_near(c.head, "cost_usd", 4) &&
              is_near(json_object_get(c.head, "prices"), "rows", 1) &&
              !strcmp(calling_text(c.head, "price_source"), "prices"),
          "prices of the request count: %s", c.err.text);
}

static void check_refused(void)
{
    static const struct {
        const char *operation, *field, *text, *more, *why;
    } cases[] = {
        {"policy.solve", "problem", two, "{\"policy\": null}", "policy: is missing"},
        {"policy.solve", "problem", two, "{\"policy\": \"min-costs\"}", "did you mean min-cost"},
        {"policy.solve", "problem", two, "{\"policy\": \"min-cost\", \"form\": \"rate\"}",
         "form: only min-cost-slo has forms"},
        {"policy.solve", "problem", "[]", "{\"file\": \"p.json\"}", "p.json: expected an object"},
        {"policy.simulate", "trace", two, "{\"round_s\": 0.5}", "round_s"},
        {"policy.simulate", "trace", two, "{\"region\": \"aws\"}", "region is of the imported"},
        {"policy.simulate", "trace", two, "{\"start\": \"May\"}", "start \"May\" is not a time"},
        {"policy.simulate", "policy", "min-cost", "{}", "trace: is missing"},
        {"policy.solve", "file", "no.json", "{}", "no.json: No such file"},
        {"policy.simulate", "trace", two, "{\"start\": \"2020-01-01\"}", "no price histories"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int result = calling_call(&c, cases[i].operation,
                                  request(cases[i].field, cases[i].text, cases[i].more));
        CHECK(result < 0 && strstr(c.err.text, cases[i].why), "%s %s: %s", cases[i].operation,
              cases[i].more, c.err.text);
    }
}

/* Errors spell fields as the caller typed them. */
static void check_spelling(void)
{
    c.spelling = FIELD_AS_OPTION;
    int result = calling_call(&c, "policy.simulate", request("trace", two, "{\"start\": \"May\"}"));
    CHECK(result < 0 && strstr(c.err.text, "--start \"May\" is not a time"), "option: %s",
          c.err.text);
    c.spelling = FIELD_AS_NAME;
}

int main(void)
{
    calling_open(&c);
    check_solve();
    check_infeasible();
    check_simulate();
    check_prices();
    check_refused();
    check_spelling();
    calling_close(&c);
    return TAP_DONE();
}
