#include "cli/plan/plan_parts.h"
#include "tap.h"

#include <math.h>
#include <string.h>

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
        {"budget", "", "no amount"},
        {"budget", "-1", "no amount"},
        {"budget", "nan", "no amount"},
        {"budget", "5 dollars", "no amount"},
        {"deadline", "90", NULL},
        {"deadline", "1h30m", NULL},
        {"deadline", "soon", "duration"},
        {"market", "any", NULL},
        {"market", "Spot", "none of: on-demand, spot, any"},
        {"cloud", "aws", NULL},
        {"cloud", "", "missing"},
        {"region", "", "missing"},
        {"max-hourly", "2.5", NULL},
        {"max-hourly", "x", "no amount"},
        {"risk", "p95", NULL},
        {"risk", "p50", "none of: p95, none"},
        {"solver", "greedy", NULL},
        {"solver", "lp", "none of: exact, greedy, exhaustive"},
        {"bugdet", "5", "did you mean \"budget\""},
        {"zzz", "5", "STAGE.place"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cli_plan_settings s = {0};
        struct err e = {0};
        int result = cli_plan_set(&s, cases[i].key, cases[i].value, &e);
        if (cases[i].wrong)
            CHECK(result < 0 && e.kind == ERR_USAGE && strstr(e.text, cases[i].wrong),
                  "%s=%s is refused: %s", cases[i].key, cases[i].value, e.text);
        else
            CHECK(result == 0, "%s=%s", cases[i].key, cases[i].value);
    }
}

static void check_values(void)
{
    struct cli_plan_settings s = {.goal = {.budget_usd = 7, .deadline_s = 8}};
    struct err e;

    CHECK(cli_plan_set(&s, "objective", "weighted:0.25", &e) == 0 &&
              s.goal.objective == SPEC_WEIGHTED && fabs(s.goal.weight - 0.25) < 1e-15 &&
              fabs(s.goal.budget_usd - 7) < 1e-15 && fabs(s.goal.deadline_s - 8) < 1e-15,
          "an objective leaves budget and deadline alone");
    CHECK(cli_plan_set(&s, "deadline", "2h", &e) == 0 && fabs(s.goal.deadline_s - 7200) < 1e-9,
          "2h is 7200 s");
    CHECK(cli_plan_set(&s, "market", "spot", &e) == 0 && s.market == PLAN_SPOT, "market");
    CHECK(cli_plan_set(&s, "risk", "p95", &e) == 0 && s.risk_p95, "risk");
    CHECK(cli_plan_set(&s, "risk", "none", &e) == 0 && !s.risk_p95, "no risk");
    CHECK(cli_plan_set(&s, "solver", "exhaustive", &e) == 0 && s.solver == PLAN_EXHAUSTIVE,
          "solver");
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
        CHECK(!strcmp(cli_plan_objective_text(&cases[i].goal, text), cases[i].text), "%s",
              cases[i].text);
        CHECK(fabs(cli_plan_objective(&cases[i].goal, 4000000, 1800) - cases[i].value) < 1e-12,
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
