#include "load.h"

static void objectives(void)
{
    static const struct {
        const char *text;
        enum spec_objective objective;
        double weight;
        bool good;
    } cases[] = {
        {"cost", SPEC_COST, 0, true},
        {"time", SPEC_TIME, 0, true},
        {"value", SPEC_VALUE, 0, true},
        {"weighted:0.3", SPEC_WEIGHTED, 0.3, true},
        {"weighted:0", SPEC_WEIGHTED, 0, true},
        {"weighted:1", SPEC_WEIGHTED, 1, true},
        {"weighted:1.1", SPEC_COST, 0, false},
        {"weighted:-0.1", SPEC_COST, 0, false},
        {"weighted:", SPEC_COST, 0, false},
        {"weighted", SPEC_COST, 0, false},
        {"weighted:nan", SPEC_COST, 0, false},
        {"costs", SPEC_COST, 0, false},
        {"", SPEC_COST, 0, false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct spec_goal goal = {0};
        struct err e = {0};
        int result = spec_objective_parse(cases[i].text, &goal, &e);
        CHECK((result == 0) == cases[i].good && goal.objective == cases[i].objective &&
                  goal.weight == cases[i].weight && (result == 0 || e.kind == ERR_USAGE),
              "objective \"%s\"", cases[i].text);
    }
}

static void goals(void)
{
    static const char *const texts[] = {
        "name: p\nobjective: weighted:0.3\nbudget: $12.5\ndeadline: 3h\n---\nrun: x\n",
        "name: p\nobjective: weighted:0.3\nbudget: 12.5\ndeadline: 10800\nrun: x\n",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        AUTO(spec) struct spec *s = load(texts[i]);
        CHECK(same(s->name, "p") && s->n_stages == 1 && s->goal.objective == SPEC_WEIGHTED &&
                  s->goal.weight == 0.3 && s->goal.budget_usd == 12.5 &&
                  s->goal.deadline_s == 10800 && s->n_findings == 0,
              "%s", i ? "in a document of one stage" : "in a header");
        CHECK(same(s->stages[0].name, i ? "p" : "stage-1"), "and the stage's name");
    }
    AUTO(spec) struct spec *s = load("run: x\nobjective:\nbudget: ~\ndeadline: null\n");
    CHECK(s->goal.objective == SPEC_COST && isinf(s->goal.budget_usd) && isinf(s->goal.deadline_s),
          "nothing said: cost, no budget, no deadline");
}

int main(void)
{
    static const struct refused bad[] = {
        {"objective: speed\n---\nrun: x\n", 1, "objective: \"speed\" is not an objective"},
        {"budget: -1\n---\nrun: x\n", 1, "budget: \"-1\" is not an amount"},
        {"deadline: soon\n---\nrun: x\n", 1, "\"soon\" is not a duration"},
        {"deadline: -3h\n---\nrun: x\n", 1, "cannot be negative"},
        {"execution: paralel\n---\nrun: x\n", 1, "neither serial nor parallel"},
        {"defaults: [a]\n---\nrun: x\n", 1, "defaults: must be a map, not a list"},
        {"defaults: {name: x}\n---\nrun: x\n", 1, "defaults.name"},
        {"name: p\nobjectiv: cost\n---\nrun: x\n", 2, "\"objectiv\": did you mean objective?"},
        {"name: p\nbudjet: 5\n---\nrun: x\n", 2, "did you mean budget?"},
        {"run: x\nname: a\n---\nrun: y\nbudget: 5\n", 5,
         "budget: belongs to the whole pipeline: put it into a first document"},
        {"run: x\nobjective: time\n---\nrun: y\n", 2, "objective: belongs to the whole pipeline"},
        {"name: [a]\n---\nrun: x\n", 1, "name: must be text, not a list"},
    };

    objectives();
    goals();
    check_all_refused(bad, COUNT(bad));
    return TAP_DONE();
}
