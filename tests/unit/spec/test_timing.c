#include "load.h"

static void single_figures(void)
{
    static const struct {
        const char *estimate;
        double seconds, setup_s;
    } cases[] = {
        {"{hours: 3}", 10800, 0},
        {"3h", 10800, 0},
        {"1h30m", 5400, 0},
        {"{minutes: 2.5}", 150, 0},
        {"{seconds: 90}", 90, 0},
        {"{hours: 90m}", 5400, 0},
        {"{seconds: 1h30m}", 5400, 0},
        {"{hours: 1, setup: 60}", 3600, 60},
        {"{hours: 1, setup: 2m}", 3600, 120},
        {"{seconds: 0}", 0, 0},
        {"{hours: 1, setup: null}", 3600, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[100];
        snprintf(text, sizeof text, "run: x\nestimate: %s\n", cases[i].estimate);
        AUTO(spec) struct spec *s = load(text);
        const struct spec_estimate *e = &s->stages[0].estimate;
        CHECK(e->kind == SPEC_ESTIMATE_SECONDS && e->seconds == cases[i].seconds &&
                  e->n_rates == 0 && e->setup_s == cases[i].setup_s && e->line == 2,
              "estimate: %s", cases[i].estimate);
    }
}

static void absent(void)
{
    static const char *const texts[] = {"run: x\n", "run: x\nestimate:\n",
                                        "run: x\nestimate: {}\n"};

    for (size_t i = 0; i < COUNT(texts); i++) {
        AUTO(spec) struct spec *s = load(texts[i]);
        const struct spec_estimate *e = &s->stages[0].estimate;
        CHECK(e->kind == SPEC_ESTIMATE_GUESS && isnan(e->seconds) && e->setup_s == 0,
              "a guess without an estimate (%zu)", i);
    }
    AUTO(spec) struct spec *s = load("run: x\nestimate: {setup: 30}\n");
    CHECK(s->stages[0].estimate.kind == SPEC_ESTIMATE_GUESS && s->stages[0].estimate.setup_s == 30,
          "setup alone leaves the run a guess");
}

static void maps(void)
{
    AUTO(spec)
    struct spec *s = load("run: x\nestimate: {hours: {V100: 10, A100: 4h, m5.large: 90m}}\n");
    const struct spec_estimate *e = &s->stages[0].estimate;

    CHECK(e->kind == SPEC_ESTIMATE_SECONDS && isnan(e->seconds) && e->n_rates == 3,
          "a map of hours");
    CHECK(same(e->rates[0].name, "V100") && e->rates[0].value == 36000 &&
              e->rates[1].value == 14400 && same(e->rates[2].name, "m5.large") &&
              e->rates[2].value == 5400,
          "its figures in seconds");

    AUTO(spec)
    struct spec *w = load("run: x\nestimate:\n  work: 120\n  rate: {vcpu: 0.008, T4: "
                          "{base: 0.13, parallel: 0.9}, A10G: {base: 2}}\n  setup: 60\n");
    e = &w->stages[0].estimate;
    CHECK(e->kind == SPEC_ESTIMATE_WORK && e->work == 120 && e->n_rates == 3 && e->setup_s == 60,
          "work and rate");
    CHECK(e->rates[0].value == 0.008 && e->rates[0].parallel == 1 && e->rates[1].value == 0.13 &&
              e->rates[1].parallel == 0.9 && e->rates[2].parallel == 1,
          "rates with and without Amdahl's share");

    AUTO(spec) struct spec *i = load("run: x\nestimate: {iterations: 50000, model: resnet-50}\n");
    e = &i->stages[0].estimate;
    CHECK(e->kind == SPEC_ESTIMATE_ITERATIONS && e->iterations == 50000 &&
              same(e->model, "resnet-50"),
          "iterations of a model");

    AUTO(spec)
    struct spec *p = load("run: x\nestimate: {profile: mine, args: {epoch: 20, size: big}}\n");
    e = &p->stages[0].estimate;
    CHECK(e->kind == SPEC_ESTIMATE_PROFILE && same(e->profile, "mine") && e->n_args == 2 &&
              same(e->args[0].key, "epoch") && same(e->args[0].value, "20"),
          "a profile with arguments");
    AUTO(spec) struct spec *bare = load("run: x\nestimate: {profile: mine}\n");
    CHECK(bare->stages[0].estimate.n_args == 0, "a profile without");
}

static void work_is_input(void)
{
    AUTO(spec)
    struct spec *s = load(
        "name: a\noutputs: {x: 40}\n---\nname: b\ninputs: [a.x, {from: 's3://b/y', size: 2.5}]\n"
        "estimate: {work: input, rate: {vcpu: 1}}\n");

    CHECK(near(s->stages[1].estimate.work, 42.5), "work: input is the sum of the inputs");
}

static void inherited(void)
{
    AUTO(spec)
    struct spec *s = load("defaults:\n"
                          "  estimate: {rate: {vcpu: 2}, work: 10, setup: 5}\n"
                          "---\n{name: a, run: x}\n"
                          "---\nname: b\nestimate: {work: 20}\n"
                          "---\nname: c\nestimate: {hours: 1}\n"
                          "---\nname: d\nestimate: {setup: 9}\n"
                          "---\nname: e\nestimate:\n");
    const struct spec_estimate *a = &s->stages[0].estimate, *b = &s->stages[1].estimate,
                               *c = &s->stages[2].estimate, *d = &s->stages[3].estimate;

    CHECK(a->kind == SPEC_ESTIMATE_WORK && a->work == 10 && a->setup_s == 5,
          "the defaults' estimate");
    CHECK(b->work == 20 && b->n_rates == 1 && b->setup_s == 5, "one key of the same form");
    CHECK(c->kind == SPEC_ESTIMATE_SECONDS && c->seconds == 3600 && c->n_rates == 0 &&
              c->setup_s == 5,
          "another form replaces it, setup stays");
    CHECK(d->kind == SPEC_ESTIMATE_WORK && d->setup_s == 9, "setup alone changes setup alone");
    CHECK(s->stages[4].estimate.kind == SPEC_ESTIMATE_GUESS, "null takes it away");

    AUTO(spec)
    struct spec *t = load(
        "defaults: {estimate: {hours: 1}}\n---\nname: a\nestimate: {minutes: 5}\n---\nname: b\n");
    CHECK(t->stages[0].estimate.seconds == 300 && t->stages[1].estimate.seconds == 3600,
          "minutes replace hours");

    AUTO(spec)
    struct spec *u = load("defaults: {estimate: 3h}\n---\nname: a\nestimate: 5m\n"
                          "---\nname: b\n");
    CHECK(u->stages[0].estimate.seconds == 300 && u->stages[1].estimate.seconds == 10800,
          "a duration replaces a duration");
}

int main(void)
{
    static const struct refused bad[] = {
        {"estimate: 3\n", 1, "estimate: \"3\": write its unit, such as 3h, or {hours: 3}"},
        {"estimate: soon\n", 1, "\"soon\" is not a duration"},
        {"estimate: [1]\n", 1, "must be a map, not a list"},
        {"estimate:\n  hour: 3\n", 2, "did you mean hours?"},
        {"estimate:\n  hours: 3\n  work: 1\n", 3, "work beside hours on line 2"},
        {"estimate:\n  hours: 3\n  minutes: 1\n", 3, "minutes beside hours on line 2"},
        {"estimate:\n  work: 3\n", 1, "work needs rate beside it"},
        {"estimate:\n  rate: {vcpu: 1}\n", 1, "rate needs work beside it"},
        {"estimate:\n  iterations: 3\n", 1, "iterations needs model"},
        {"estimate:\n  model: x\n", 1, "model needs iterations"},
        {"estimate:\n  args: {a: 1}\n", 1, "args needs profile"},
        {"estimate:\n  hours: -1\n", 2, "cannot be negative"},
        {"estimate:\n  hours: soon\n", 2, "\"soon\" is not a duration"},
        {"estimate:\n  hours: .inf\n", 2, "is not a duration"},
        {"estimate:\n  hours: 87661\n", 2, "longer than"},
        {"estimate:\n  hours: null\n", 2, "nothing is not a duration"},
        {"estimate:\n  hours: {}\n", 2, "is empty"},
        {"estimate:\n  hours:\n    A100: 1\n    V100: x\n", 4, "estimate.hours.V100"},
        {"estimate:\n  work: -1\n  rate: {vcpu: 1}\n", 2, "\"-1\" is out of range"},
        {"estimate:\n  work: inputs\n  rate: {vcpu: 1}\n", 2, "\"inputs\" is not a number"},
        {"estimate:\n  work: 1\n  rate: 0.5\n", 3, "such as {vcpu: 0.008"},
        {"estimate:\n  work: 1\n  rate: {vcpu: 0}\n", 3, "must be above 0"},
        {"estimate:\n  work: 1\n  rate: {T4: {base: 1, parallel: 1.5}}\n", 3,
         "parallel: \"1.5\" is out of range: 0 to 1"},
        {"estimate:\n  work: 1\n  rate: {T4: {parallel: 0.5}}\n", 3, "needs base"},
        {"estimate:\n  work: 1\n  rate: {T4: {base: 1, paralel: 0.5}}\n", 3,
         "did you mean parallel?"},
        {"estimate:\n  iterations: many\n  model: m\n", 2, "\"many\" is not a number"},
        {"estimate:\n  iterations: 5\n  model: [m]\n", 3, "must be text"},
        {"estimate:\n  hours: 1\n  setup: -3\n", 3, "cannot be negative"},
        {"estimate:\n  profile: p\n  args: [1]\n", 3, "must be a map"},
    };

    single_figures();
    absent();
    maps();
    work_is_input();
    inherited();
    check_all_refused(bad, COUNT(bad));
    return TAP_DONE();
}
