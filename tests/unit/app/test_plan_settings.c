/* Goals and limits of a request: what --what-if changes, and what the solver gets. */
#include "app/plan/internal.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static const struct spec_goal none = {.budget_usd = HUGE_VAL, .deadline_s = HUGE_VAL};

static const struct field fields[] = {PLAN_GOAL_FIELDS(struct plan_request, )};
static const struct record record = RECORD("goal", struct plan_request, fields);

/* The settings of a request that makes one change to a file's goal. */
static int change(struct spec_goal goal,
                  const char *key,
                  const char *value,
                  struct app_plan_settings *out,
                  struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 16);
    AUTO_JSON json_t *request = json_object();
    struct plan_request q;

    if (record_decode(&record, request, FIELD_AS_NAME, &q, arena, e) < 0 ||
        app_plan_change(&q, key, value, arena, e) < 0)
        return -1;
    return app_plan_settings_read(&q, &goal, "objective", out, e);
}

static void check_set(void)
{
    static const struct {
        const char *key, *value;
        const char *wrong; /* part of the message; NULL = good */
    } cases[] = {
        {"objective", "time", NULL},
        {"objective", "weighted:0.25", NULL},
        {"objective", "fun", "fun"},
        {"budget", "5", NULL},
        {"budget", "0", NULL},
        {"budget", "", "must be a number"},
        {"budget", "-1", "at least 0"},
        {"budget", "nan", "must be a number"},
        {"budget", "5 dollars", "must be a number"},
        {"deadline", "90", NULL},
        {"deadline", "1h30m", NULL},
        {"deadline", "soon", "must be a time such as 90s"},
        {"market", "any", NULL},
        {"market", "Spot", "did you mean spot"},
        {"cloud", "aws", NULL},
        {"cloud", "", "must be from 1"},
        {"region", "", "must be from 1"},
        {"max-hourly", "2.5", NULL},
        {"max-hourly", "x", "must be a number"},
        {"risk", "p95", NULL},
        {"risk", "p50", "must be none or p95"},
        {"solver", "greedy", NULL},
        {"solver", "lp", "must be exact, greedy or exhaustive"},
        {"bugdet", "5", "did you mean \"budget\""},
        {"zzz", "5", "STAGE.location"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct app_plan_settings s;
        struct err e = {0};
        int result = change(none, cases[i].key, cases[i].value, &s, &e);
        if (cases[i].wrong)
            CHECK(result < 0 && e.kind == ERR_USAGE && strstr(e.text, cases[i].wrong),
                  "%s=%s is refused: %s", cases[i].key, cases[i].value, e.text);
        else
            CHECK(result == 0, "%s=%s", cases[i].key, cases[i].value);
    }
}

static void check_values(void)
{
    const struct spec_goal goal = {.budget_usd = 7, .deadline_s = 8};
    struct app_plan_settings s;
    struct err e;

    CHECK(change(goal, "objective", "weighted:0.25", &s, &e) == 0 &&
              s.goal.objective == SPEC_WEIGHTED && fabs(s.goal.weight - 0.25) < 1e-15 &&
              fabs(s.goal.budget_usd - 7) < 1e-15 && fabs(s.goal.deadline_s - 8) < 1e-15,
          "an objective leaves budget and deadline alone");
    CHECK(change(goal, "deadline", "2h", &s, &e) == 0 && fabs(s.goal.deadline_s - 7200) < 1e-9,
          "2h is 7200 s");
    CHECK(change(goal, "market", "spot", &s, &e) == 0 && s.market == PLAN_SPOT, "market");
    CHECK(change(goal, "risk", "p95", &s, &e) == 0 && s.risk_p95, "risk");
    CHECK(change(goal, "risk", "none", &s, &e) == 0 && !s.risk_p95, "no risk");
    CHECK(change(goal, "solver", "exhaustive", &s, &e) == 0 && s.solver == PLAN_EXHAUSTIVE,
          "solver");
    CHECK(change(goal, "cloud", "aws", &s, &e) == 0 && s.solver == PLAN_EXACT &&
              s.market == PLAN_ON_DEMAND && isinf(s.max_hourly_usd) && !s.region,
          "the presets of a request");
}

static void check_objective(void)
{
    static const struct {
        struct spec_goal goal;
        const char *text;
        double value; /* of $4 and half an hour */
    } cases[] = {
        {{.objective = SPEC_COST}, "cost", 4},
        {{.objective = SPEC_TIME}, "time", 1800},
        {{.objective = SPEC_VALUE}, "value", 2},
        {{.objective = SPEC_WEIGHTED, .weight = 0.3}, "weighted:0.3", 0.3 * 0.5 + 0.7 * 4},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[40];
        CHECK(!strcmp(app_plan_objective_text(&cases[i].goal, text), cases[i].text), "%s",
              cases[i].text);
        CHECK(fabs(app_plan_objective(&cases[i].goal, 4000000, 1800) - cases[i].value) < 1e-12,
              "%s of $4 and half an hour", cases[i].text);
    }
}

int main(void)
{
    check_set();
    check_values();
    check_objective();
    return TAP_DONE();
}
