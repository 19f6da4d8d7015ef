/* plan.solve and plan.check: from the text of a pipeline to a plan, without a command line. */
#include "app/calling.h"
#include "app/plan/plan.h"

#include "tap.h"

#include <math.h>
#include <string.h>

/* 0.36 dollars per hour are 100 micro-dollars per second. */
static const char offers[] =
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,"
    "price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
    "aws,r1,,cheap,4,16,,,,0.36,,\n"
    "aws,r2,,cheap,4,16,,,,0.72,,\n"
    "gcp,r9,r9-a,fast,8,32,,,,1.44,,\n";
/* 600 s on any of them: billed 600 s, and 60 s of boot before. */
static const char pipeline[] = "name: one\nestimate: {seconds: 600}\nrun: a\n";

static struct calling c;
static char *catalog;

static json_t *request(const char *more)
{
    json_t *out = json_pack("{s:s, s:s}", "pipeline", pipeline, "catalog", catalog);
    AUTO_JSON json_t *rest = json_loads(more, 0, NULL);

    json_object_update(out, rest);
    return out;
}

static bool is_near(const json_t *object, const char *name, double wanted)
{
    return json_is_number(json_object_get(object, name)) &&
           fabs(calling_number(object, name) - wanted) < 1e-9;
}

static void check_solve(void)
{
    int result = calling_call(&c, "plan.solve", request("{}"));
    const json_t *stage = json_array_get(json_object_get(c.head, "stages"), 0);
    const json_t *singles = json_object_get(c.head, "single_cloud");

    CHECK(result == 0, "solved: %s", c.err.text);
    CHECK(!strcmp(calling_text(c.head, "status"), "optimal") && is_near(c.head, "cost_usd", 0.06) &&
              is_near(c.head, "time_s", 660) && is_near(c.head, "gap", 0),
          "the cheapest offer, with its proof");
    CHECK(!strcmp(calling_text(stage, "name"), "one") &&
              !strcmp(calling_text(stage, "region"), "r1") &&
              json_is_string(json_object_get(stage, "zone")) && is_near(stage, "boot_s", 60) &&
              is_near(stage, "compute_usd", 0.06),
          "its stage");
    CHECK(json_array_size(singles) == 2 && is_near(json_array_get(singles, 1), "cost_usd", 0.24),
          "single clouds, cheapest first");
    CHECK(!json_object_get(c.head, "reason") && !json_object_get(c.head, "pareto") &&
              !json_object_get(c.head, "explain") && !json_object_get(c.head, "what_if"),
          "members that were not asked for are absent");
    CHECK(!strcmp(calling_text(c.head, "best_single_cloud"), "aws") &&
              !strcmp(calling_text(c.head, "risk"), "none") &&
              !json_object_get(c.head, "budget_usd") && !json_object_get(c.head, "explained"),
          "the best single cloud, and no limits");
}

static void check_further(void)
{
    int result = calling_call(
        &c, "plan.solve",
        request("{\"pareto\": true, \"explain\": \"one\","
                " \"what_if\": [\"cloud=gcp\", \"one.location=aws/r2\", \"max-hourly=0.1\"]}"));
    const json_t *explain = json_object_get(c.head, "explain");
    const json_t *what_if = json_object_get(c.head, "what_if");

    CHECK(result == 0, "solved: %s", c.err.text);
    CHECK(json_array_size(explain) == 2 && is_near(json_array_get(explain, 0), "delta_usd", 0.06) &&
              !strcmp(calling_text(json_array_get(explain, 1), "zone"), "r9-a"),
          "the stage at each other location, by added cost");
    CHECK(is_near(json_array_get(what_if, 0), "cost_usd", 0.24) &&
              is_near(json_array_get(what_if, 1), "delta_usd", 0.06),
          "changed settings");
    CHECK(json_is_null(json_object_get(json_array_get(what_if, 2), "cost_usd")) &&
              *calling_text(json_array_get(what_if, 2), "reason"),
          "a change that leaves no plan");
    CHECK(json_array_size(json_object_get(c.head, "pareto")) == 1 &&
              json_is_true(json_object_get(c.head, "pareto_complete")),
          "the frontier: all take as long, one is cheapest");
}

static void check_infeasible(void)
{
    int result = calling_call(&c, "plan.solve", request("{\"budget_usd\": 0.01}"));

    CHECK(result == 0 && !strcmp(calling_text(c.head, "status"), "infeasible") &&
              *calling_text(c.head, "reason"),
          "no plan within the budget is an answer: %s", calling_text(c.head, "reason"));
    CHECK(is_near(json_object_get(c.head, "cheapest"), "cost_usd", 0.06) &&
              !json_object_get(c.head, "stages") && !json_object_get(c.head, "cost_usd"),
          "it has the cheapest plan and no stages");
    CHECK(is_near(c.head, "budget_usd", 0.01) &&
              json_is_false(json_object_get(c.head, "limits_leave_nothing")),
          "and the budget");
    result = calling_call(&c, "plan.solve", request("{\"max_hourly_usd\": 0.1}"));
    CHECK(result == 0 && json_is_true(json_object_get(c.head, "limits_leave_nothing")),
          "limits of all offers that exclude every plan");
}

static void check_refused(void)
{
    static const struct {
        const char *more, *why;
    } cases[] = {
        {"{\"market\": \"moon\"}", "market \"moon\": must be on-demand, spot or any"},
        {"{\"deadline_s\": \"soon\"}", "deadline_s \"soon\": must be a time"},
        {"{\"explain\": \"two\"}", "explain two: pipeline has no stage \"two\""},
        {"{\"what_if\": [\"budgets=1\"]}", "what_if: budgets=1: no setting \"budgets\""},
        {"{\"env\": [\"X\"]}", "env X: write KEY=VALUE"},
        {"{\"pipeline\": \"nmae: x\"}", "pipeline:1: stage stage-1: unknown field \"nmae\""},
        {"{\"pipeline\": null}", "the pipeline is missing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int result = calling_call(&c, "plan.solve", request(cases[i].more));
        CHECK(result < 0 && strstr(c.err.text, cases[i].why), "%s: %s", cases[i].more, c.err.text);
    }
}

/* Errors spell fields as the caller typed them. */
static void check_spelling(void)
{
    c.spelling = FIELD_AS_OPTION;
    CHECK(calling_call(&c, "plan.solve", request("{\"env\": [\"X\"]}")) < 0 &&
              strstr(c.err.text, "--env X: write KEY=VALUE"),
          "option: %s", c.err.text);
    CHECK(calling_call(&c, "plan.solve", request("{\"objective\": \"fun\"}")) < 0 &&
              strstr(c.err.text, "--objective: \"fun\""),
          "option: %s", c.err.text);
    c.spelling = FIELD_AS_NAME;
}

static void check_check(void)
{
    int result = calling_call(
        &c, "plan.check",
        json_pack("{s:s, s:s}", "file", "p.yaml", "pipeline", "name: x\nestimate: {hours: no}\n"));
    const json_t *finding = json_array_get(json_object_get(c.head, "findings"), 0);

    CHECK(result == 0 && json_is_false(json_object_get(c.head, "valid")) &&
              is_near(finding, "line", 2) && !strcmp(calling_text(finding, "severity"), "error"),
          "a bad file is an answer: %s", calling_text(finding, "text"));
    result = calling_call(&c, "plan.check", json_pack("{s:s}", "pipeline", pipeline));
    CHECK(result == 0 && json_is_true(json_object_get(c.head, "valid")), "a good file");
    result = calling_call(&c, "plan.check", json_pack("{s:s}", "file", "/not/there.yaml"));
    CHECK(result < 0 && strstr(c.err.text, "not/there.yaml"), "no file: %s", c.err.text);
}

/* Jumps an hour whenever it is read: every limit is over at once. */
static double hasty_clock(void)
{
    static double now_s;

    return now_s += 3600;
}

/* The time for side questions is over before the first of them: the plan stays as it is. */
static void check_side_questions(void)
{
    AUTO(arena) struct arena *arena = arena_new((size_t)1 << 20);
    AUTO(app) struct app *app = app_new(&(struct app_options){.home = c.home, .role = APP_ADMIN});
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);
    struct answer answer = {.arena = arena, .request = plan_solve_operation.request};
    struct plan_request q = {.pipeline = pipeline,
                             .catalog = catalog,
                             .market = 1,
                             .risk = 1,
                             .solver = 1,
                             .solve_limit_s = 10,
                             .budget_usd = (double)NAN,
                             .deadline_s = (double)NAN,
                             .max_hourly_usd = (double)NAN};
    struct app_plan_report report;

    p->now_s = hasty_clock;
    int result = app_plan_open(p, app, &q, &answer, &c.err);
    CHECK(result == 0 && app_plan_ask(p, false, &c.err) == 0, "asked: %s", c.err.text);
    app_plan_ask_singles(p);
    app_plan_suggest(p);
    CHECK(p->n_suggestions == 0, "no suggestion");
    result = app_plan_report(p, arena, &report, &c.err);
    CHECK(result == 0 && report.point.cost_microusd == 60000 && !report.reason,
          "the plan stands: %s", report.status);
    CHECK(!report.single_cloud_complete && report.single_cloud.n == 1,
          "single clouds: the plan's own is known without asking, the others are left out");
}

int main(void)
{
    calling_open(&c);
    calling_put(&c, "prices/offers.csv", offers);
    catalog = mem_printf("%s/prices", c.home);
    check_solve();
    check_further();
    check_infeasible();
    check_refused();
    check_spelling();
    check_check();
    check_side_questions();
    free(catalog);
    calling_close(&c);
    return TAP_DONE();
}
