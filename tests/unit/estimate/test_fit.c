#include "estimate/fit.h"

#include "base/json.h"
#include "estimate/fit_internal.h"
#include "simulate.h"
#include "tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool close_to(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * fmax(1, fabs(want));
}

/* A coefficient of the model; NaN when it has none of that name. */
static double coefficient(const struct fit *f, const char *name)
{
    AUTO_JSON json_t *root = fit_to_json(f);
    const json_t *value = json_object_get(json_object_get(root, "coefficients"), name);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* log y = 1, 2, 2, 5 at log x = 1, 2, 3, 4: the line of test_lsq.c. Residuals of runs left out
 * are e / (1 - h): 1, 1/7, -11/7, 7/3. sigma^2 = 1.8 / 2; at log x = 2.5 the leverage is 1/4;
 * Student's t for 2 degrees of freedom is 4.302653. */
static void by_hand(void)
{
    struct fit_value values[4];
    struct fit_run runs[4];
    static const char *const names[] = {"a", "b", "c", "d"};
    static const double log_y[] = {1, 2, 2, 5};
    struct err e = {0};

    for (int i = 0; i < 4; i++) {
        values[i] = (struct fit_value){.name = "x", .number = exp(i + 1)};
        runs[i] = (struct fit_run){
            .name = names[i], .values = &values[i], .n_values = 1, .runtime_s = exp(log_y[i])};
    }
    AUTO(fit) struct fit *f = fit_new(runs, 4, &e);
    CHECK(f && strcmp(f->kind, "log-linear") == 0, "four runs are fitted: %s", e.text);
    if (!f)
        return;
    CHECK(close_to(coefficient(f, "log(a)"), -0.5, 1e-12) &&
              close_to(coefficient(f, "x"), 1.2, 1e-12),
          "log y = -0.5 + 1.2 log x");
    CHECK(close_to(f->r2, 0.8, 1e-12), "R2 is 1 - 1.8 / 9");
    double loo = (1 - exp(-1)) + (1 - exp(-1.0 / 7)) + (exp(11.0 / 7) - 1) + (1 - exp(-7.0 / 3));
    CHECK(close_to(fit_loo_error(f), loo / 4, 1e-12), "the error of runs left out is %g", loo / 4);
    struct fit_value middle = {.name = "x", .number = exp(2.5)};
    struct fit_prediction p;
    CHECK(fit_predict(f, &middle, 1, &p, &e) == 0 && close_to(p.predicted_s, exp(2.5), 1e-12),
          "exp(-0.5 + 1.2 x 2.5) = exp(2.5)");
    double half = 4.302653 * sqrt(0.9) * sqrt(1.25);
    CHECK(close_to(p.low_s, exp(2.5 - half), 1e-5) && close_to(p.high_s, exp(2.5 + half), 1e-5),
          "between %g and %g", exp(2.5 - half), exp(2.5 + half));
}

static double power_truth(const struct simulate_run *run)
{
    return 3 * pow(run->epoch, 1.2) * pow(run->cpus, -0.8) * pow(run->memory_mb, 0.1);
}

static double product_truth(const struct simulate_run *run)
{
    return power_truth(run) * exp(0.4 * log(run->cpus) * log(run->epoch));
}

/* Without noise the model is the truth, with its coefficients. */
static void without_noise(void)
{
    static const struct {
        simulate_truth *truth;
        const char *kind;
        struct {
            const char *name;
            double value;
        } want[5];
    } cases[] = {
        {power_truth,
         "log-linear",
         {{"log(a)", 1.0986123}, {"epoch", 1.2}, {"cpus", -0.8}, {"memory_mb", 0.1}}},
        {simulate_published,
         "log-linear",
         {{"log(a)", 4.0943446}, {"epoch", 1}, {"cpus", -1}, {"memory_mb", 0}}},
        {simulate_amdahl,
         "amdahl",
         {{"log(a)", 4.0943446}, {"epoch", 1}, {"serial(cpus)", 0.3}, {"memory_mb", 0}}},
        {simulate_capped,
         "amdahl-capped",
         {{"log(a)", 4.0943446}, {"epoch", 1}, {"serial(cpus)", 0.3}, {"memory_mb", 0}}},
        {simulate_cliff,
         "memory-cliff",
         {{"log(a)", 4.0943446}, {"epoch", 1}, {"cpus", -1}, {"memory_mb<1024", 1.0986123}}},
        {simulate_amdahl_cliff,
         "amdahl+memory-cliff",
         {{"epoch", 1}, {"serial(cpus)", 0.3}, {"memory_mb<1024", 1.0986123}}},
        {product_truth,
         "interaction",
         {{"epoch", 1.2}, {"cpus", -0.8}, {"memory_mb", 0.1}, {"cpus*epoch", 0.4}}},
    };
    struct simulate_profile p;
    uint64_t seed = 1;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        simulate_profile(&p, cases[i].truth, 0, 0, &seed);
        AUTO(fit) struct fit *f = fit_new(p.runs, p.n, &e);
        CHECK(f && strcmp(f->kind, cases[i].kind) == 0, "%s is found, not %s%s", cases[i].kind,
              f ? f->kind : "nothing: ", e.text);
        for (size_t k = 0; f && k < 5 && cases[i].want[k].name; k++)
            CHECK(close_to(coefficient(f, cases[i].want[k].name), cases[i].want[k].value, 1e-6),
                  "%s: %s is %g", cases[i].kind, cases[i].want[k].name, cases[i].want[k].value);
        CHECK(f && fit_loo_error(f) < 1e-9 && close_to(f->r2, 1, 1e-9), "%s: no error is left",
              cases[i].kind);
    }
}

/* A step down in time with less memory is no cliff, however well one would fit. */
static double small_is_fast(const struct simulate_run *run)
{
    return simulate_published(run) / (run->memory_mb < 1024 ? 3 : 1);
}

static void no_rising_cliff(void)
{
    struct simulate_profile p;
    uint64_t seed = 1;

    simulate_profile(&p, small_is_fast, 0, 0.05, &seed);
    AUTO(fit) struct fit *f = fit_new(p.runs, p.n, NULL);
    CHECK(f && !strstr(f->kind, "memory-cliff"), "less memory that is faster is no cliff: %s",
          f ? f->kind : "none");
}

/* One run alone has little memory. A cliff would meet it, and nothing could show that it is
 * wrong: only log-linear says from the others what it should take. */
static void no_form_for_one_run(void)
{
    static const double at[][2] = {{512, 30},    {1024, 10.2}, {1024, 9.8}, {1024, 10.1},
                                   {1024, 9.9},  {2048, 9.9},  {2048, 10},  {2048, 10.2},
                                   {2048, 10.1}, {2048, 9.7}};
    struct fit_value values[10];
    struct fit_run runs[10];
    struct err e = {0};

    for (int i = 0; i < 10; i++) {
        values[i] = (struct fit_value){.name = FIT_MEMORY, .number = at[i][0]};
        runs[i] = (struct fit_run){
            .name = "r", .values = &values[i], .n_values = 1, .runtime_s = at[i][1]};
    }
    AUTO(fit) struct fit *one = fit_new(runs, 10, &e);
    CHECK(one && isnan(coefficient(one, "memory_mb<1024")), "one run makes no cliff: %s",
          one ? one->kind : e.text);
    values[1].number = 512;
    runs[1].runtime_s = 31;
    AUTO(fit) struct fit *two = fit_new(runs, 10, &e);
    CHECK(two && close_to(coefficient(two, "memory_mb<1024"), log(3.05), 0.02), "two do: %s",
          two ? two->kind : e.text);
}

/* The error of runs left out, the long way: fit all runs but one, predict that one. */
static double loo_by_refits(const struct simulate_profile *p, const struct fit_form *form)
{
    double sum = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct fit_run others[SIMULATE_RUNS_MAX];
        AUTO_CLEAR(fit_data) struct fit_data d = {0};
        struct fit_shape shape;
        struct fit_prediction predicted;
        struct err e = {0};
        double loo;
        for (size_t k = 0, n = 0; k < p->n; k++)
            if (k != i)
                others[n++] = p->runs[k];
        if (fit_data_init(&d, others, p->n - 1, &e) < 0 || !fit_judge(&d, form, &shape, &loo))
            return (double)NAN;
        AUTO(fit) struct fit *f = fit_build(&d, &shape, loo);
        if (fit_predict(f, p->values[i], 3, &predicted, &e) < 0)
            return (double)NAN;
        sum += fabs(predicted.predicted_s / p->runs[i].runtime_s - 1);
    }
    return sum / (double)p->n;
}

static void left_out(void)
{
    /* features are sorted: cpus, epoch, memory_mb */
    static const struct {
        const char *name;
        struct fit_form form;
    } cases[] = {
        {"log-linear", {.cpu = FIT_CPU_POWER}},
        {"amdahl", {.cpu = FIT_CPU_AMDAHL}},
        {"amdahl-capped", {.cpu = FIT_CPU_CAPPED}},
        {"memory-cliff", {.cliff = true}},
        {"interaction", {.product = true, .pair = {0, 1}}},
        {"amdahl+memory-cliff", {.cpu = FIT_CPU_AMDAHL, .cliff = true}},
        {"all", {.cpu = FIT_CPU_CAPPED, .cliff = true, .product = true, .pair = {1, 2}}},
    };
    struct simulate_profile p;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            AUTO_CLEAR(fit_data) struct fit_data d = {0};
            struct fit_shape shape;
            struct err e = {0};
            double loo = 0;
            uint64_t state = seed;
            simulate_profile(&p, simulate_amdahl_cliff, 0, 0.15, &state);
            bool good = fit_data_init(&d, p.runs, p.n, &e) == 0 &&
                        fit_judge(&d, &cases[i].form, &shape, &loo);
            CHECK(good && close_to(loo, loo_by_refits(&p, &cases[i].form), 1e-10),
                  "%s, seed %d: leaving out is what refits give", cases[i].name, (int)seed);
        }
}

static struct fit_value text(const char *name, const char *value)
{
    return fit_value_read(name, value);
}

/* optimizer sgd takes twice as long as adam, "auto" for the batch is as fast as 64. */
static void categories(void)
{
    static const char *const optimizers[] = {"adam", "sgd"}, *const batches[] = {"64", "auto"};
    struct fit_value values[12][3];
    struct fit_run runs[12];
    struct fit_prediction p;
    struct err e = {0};

    for (int i = 0; i < 12; i++) {
        values[i][0] = text("optimizer", optimizers[i % 2]);
        values[i][1] = text("batch", batches[i / 2 % 2]);
        values[i][2] = text("epoch", (const char *[]){"1", "2", "4"}[i / 4]);
        runs[i] = (struct fit_run){
            .name = "r", .values = values[i], .n_values = 3, .runtime_s = 10 << (i / 4 + i % 2)};
    }
    AUTO(fit) struct fit *f = fit_new(runs, 12, &e);
    CHECK(f, "texts are fitted: %s", e.text);
    if (!f)
        return;
    CHECK(close_to(coefficient(f, "optimizer=sgd"), log(2), 1e-9) &&
              isnan(coefficient(f, "optimizer=adam")),
          "sgd takes log 2 more than adam, with which it is compared");
    CHECK(close_to(coefficient(f, "batch=auto"), 0, 1e-9), "a number beside texts is a text");
    struct fit_value ask[] = {text("epoch", "8"), text("batch", "64"), text("optimizer", "sgd")};
    CHECK(fit_predict(f, ask, 3, &p, &e) == 0 && close_to(p.predicted_s, 160, 1e-9) &&
              close_to(p.outside, 2, 1e-12),
          "8 epochs of sgd take 160 s, at twice the epochs of any run");
    ask[1] = text("batch", "128");
    CHECK(fit_predict(f, ask, 3, &p, &e) < 0 && e.kind == ERR_USAGE && strstr(e.text, "batch") &&
              strstr(e.text, "'128'") && strstr(e.text, "64, auto"),
          "a text that no run had is refused: %s", e.text);
}

static void refused_predictions(void)
{
    static const struct {
        const char *name;
        struct fit_value values[4];
        size_t n;
        const char *says;
    } cases[] = {
        {"a feature is missing",
         {{.name = "cpus", .number = 1}, {.name = "epoch", .number = 1}},
         2,
         "no value is given for memory_mb"},
        {"a feature is unknown", {{.name = "epochs", .number = 1}}, 1, "did you mean epoch"},
        {"it is like none", {{.name = "zzz", .number = 1}}, 1, "it has cpus, epoch, memory_mb"},
        {"one is given twice",
         {{.name = "cpus", .number = 1}, {.name = "cpus", .number = 2}},
         2,
         "twice"},
        {"a number is a text", {{.name = "cpus", .text = "many"}}, 1, "not 'many'"},
        {"a number is 0", {{.name = "cpus", .number = 0}}, 1, "above 0"},
        {"a number is negative", {{.name = "cpus", .number = -1}}, 1, "above 0"},
        {"a number is none", {{.name = "cpus", .number = (double)NAN}}, 1, "above 0"},
        {"a number is infinite", {{.name = "cpus", .number = (double)INFINITY}}, 1, "above 0"},
    };
    struct simulate_profile p;
    struct fit_prediction out;
    uint64_t seed = 5;

    simulate_profile(&p, simulate_published, 0, 0.1, &seed);
    AUTO(fit) struct fit *f = fit_new(p.runs, p.n, NULL);
    for (size_t i = 0; f && i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        CHECK(fit_predict(f, cases[i].values, cases[i].n, &out, &e) < 0 && e.kind == ERR_USAGE &&
                  strstr(e.text, cases[i].says),
              "%s: %s", cases[i].name, e.text);
    }
    struct fit_value far[3];
    struct err e = {0};
    simulate_values(&(struct simulate_run){1e300, 1e-300, 512}, far);
    CHECK(f && fit_predict(f, far, 3, &out, &e) < 0 && e.kind == ERR_NOFIT,
          "no infinite time is predicted: %s", e.text);
}

static void outside(void)
{
    struct simulate_profile p;
    struct fit_prediction in, out;
    struct fit_value at[3];
    uint64_t seed = 6;
    size_t n = 0;

    simulate_profile(&p, simulate_published, 0, 0.15, &seed);
    AUTO(fit) struct fit *f = fit_new(p.runs, p.n, NULL);
    const char *const *names = f ? fit_features(f, &n) : NULL;
    CHECK(n == 3 && strcmp(names[0], "cpus") == 0 && strcmp(names[1], "epoch") == 0 &&
              strcmp(names[2], "memory_mb") == 0,
          "features are sorted");
    simulate_values(&(struct simulate_run){3, 0.5, 1500}, at);
    CHECK(f && fit_predict(f, at, 3, &in, NULL) == 0 && in.outside == 1 && in.factor[0] == 1,
          "the edges of the box are inside");
    simulate_values(&(struct simulate_run){20, 8, 256}, at);
    CHECK(f && fit_predict(f, at, 3, &out, NULL) == 0 && close_to(out.factor[0], 4, 1e-12) &&
              close_to(out.factor[1], 20.0 / 3, 1e-12) && close_to(out.factor[2], 2, 1e-12) &&
              close_to(out.outside, 20.0 / 3, 1e-12),
          "8 CPUs are 4 times, 20 epochs 6.7 times, 256 MB half of what was run");
    CHECK(f && out.high_s / out.low_s > 1.1 * in.high_s / in.low_s,
          "the interval is wider out there");
}

/* What does not change, or changes only together with something else, has no effect of its own. */
static void not_told_apart(void)
{
    struct fit_value values[6][4];
    struct fit_run runs[6];
    struct fit_prediction p;
    struct err e = {0};

    for (int i = 0; i < 6; i++) {
        values[i][0] = (struct fit_value){.name = "cpus", .number = 1 + i % 3};
        values[i][1] = (struct fit_value){.name = "memory_mb", .number = 512 * (1 + i % 3)};
        values[i][2] = (struct fit_value){.name = "batch", .number = 256};
        values[i][3] = (struct fit_value){.name = "epoch", .number = 1 + i / 3};
        runs[i] = (struct fit_run){.name = "r",
                                   .values = values[i],
                                   .n_values = 4,
                                   .runtime_s = 12.0 * (1 + i / 3) / (1 + i % 3)};
    }
    AUTO(fit) struct fit *f = fit_new(runs, 6, &e);
    CHECK(f && strcmp(f->kind, "log-linear") == 0, "such runs are fitted: %s", e.text);
    if (!f)
        return;
    CHECK(isnan(coefficient(f, "batch")) && isnan(coefficient(f, "memory_mb")) &&
              close_to(coefficient(f, "cpus"), -1, 1e-9) &&
              close_to(coefficient(f, "epoch"), 1, 1e-9),
          "a constant and a companion have no coefficient");
    values[0][2].number = 512;
    CHECK(fit_predict(f, values[0], 4, &p, &e) == 0 && close_to(p.predicted_s, 12, 1e-9) &&
              close_to(p.outside, 2, 1e-12),
          "another value of a constant is outside");
}

static void refused_runs(void)
{
    static const struct {
        const char *name;
        size_t run;
        double runtime_s, cpus;
        const char *feature, *text;
        const char *says[2];
    } cases[] = {
        {"no time", 4, 0, 1, "cpus", NULL, {"run-5", "runtime is 0 s"}},
        {"a negative time", 4, -1, 1, "cpus", NULL, {"run-5", "-1"}},
        {"a time that is none", 4, (double)NAN, 1, "cpus", NULL, {"run-5", "nan"}},
        {"an infinite time", 4, (double)INFINITY, 1, "cpus", NULL, {"run-5", "inf"}},
        {"no CPU", 7, 1, 0, "cpus", NULL, {"run-8", "cpus is 0"}},
        {"CPUs that are none", 7, 1, (double)NAN, "cpus", NULL, {"run-8", "cpus is nan"}},
        {"another feature", 7, 1, 1, "gpus", NULL, {"run-8", "no cpus"}},
        {"a feature twice", 0, 1, 1, "epoch", NULL, {"run-1", "two values"}},
        {"a feature's name", 0, 1, 1, "a b", NULL, {"run-1", "'a b' is not a feature's name"}},
        {"a text that is none", 7, 1, 1, "cpus", "\xff", {"run-8", "cpus is not a text"}},
    };
    struct simulate_profile p;
    uint64_t seed = 7;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        simulate_profile(&p, simulate_published, 0, 0.1, &seed);
        p.runs[cases[i].run].runtime_s = cases[i].runtime_s;
        p.values[cases[i].run][1] = (struct fit_value){
            .name = cases[i].feature, .number = cases[i].cpus, .text = cases[i].text};
        AUTO(fit) struct fit *f = fit_new(p.runs, p.n, &e);
        CHECK(!f && e.kind == ERR_USAGE && strstr(e.text, cases[i].says[0]) &&
                  strstr(e.text, cases[i].says[1]),
              "%s: %s", cases[i].name, e.text);
    }
}

static void too_few_too_many(void)
{
    static struct fit_run many[FIT_RUNS_MAX + 1];
    struct simulate_profile p;
    struct err e = {0};
    uint64_t seed = 8;

    simulate_profile(&p, simulate_published, 0, 0.1, &seed);
    AUTO(fit) struct fit *none = fit_new(p.runs, 0, &e);
    CHECK(!none && e.kind == ERR_NOFIT, "no runs: %s", e.text);
    AUTO(fit) struct fit *one = fit_new(p.runs, 1, &e);
    CHECK(!one && e.kind == ERR_NOFIT && strstr(e.text, "at least 2"), "one run: %s", e.text);
    struct fit_run corners[] = {p.runs[0], p.runs[1], p.runs[3], p.runs[9], p.runs[13]};
    AUTO(fit) struct fit *four = fit_new(corners, 4, &e);
    CHECK(!four && e.kind == ERR_NOFIT && strstr(e.text, "4 effects") &&
              strstr(e.text, "at least 5"),
          "as many runs as effects: %s", e.text);
    AUTO(fit) struct fit *five = fit_new(corners, 5, &e);
    CHECK(five, "one more will do");
    for (size_t i = 0; i <= FIT_RUNS_MAX; i++)
        many[i] = p.runs[i % p.n];
    AUTO(fit) struct fit *over = fit_new(many, FIT_RUNS_MAX + 1, &e);
    CHECK(!over && e.kind == ERR_USAGE && strstr(e.text, "2001"), "too many runs: %s", e.text);
    AUTO(fit) struct fit *full = fit_new(many, FIT_RUNS_MAX, &e);
    CHECK(full, "as many as there may be");
}

/* A category of which one run alone has a text: the others cannot predict that run. */
static void indispensable_run(void)
{
    struct fit_value values[5][2];
    struct fit_run runs[5];
    struct err e = {0};

    for (int i = 0; i < 5; i++) {
        values[i][0] = (struct fit_value){.name = "epoch", .number = 1 + i % 2};
        values[i][1] = (struct fit_value){.name = "mode", .text = i == 4 ? "slow" : "fast"};
        runs[i] = (struct fit_run){.name = "r",
                                   .values = values[i],
                                   .n_values = 2,
                                   .runtime_s = (1 + i % 2) * (i < 2 ? 10.0 : 11.0) + 5 * (i == 4)};
    }
    AUTO(fit) struct fit *f = fit_new(runs, 5, &e);
    /* Left out, a run of 10 s is predicted by its companion of 11 s and the other way round, and
     * so are those of 20 s and 22 s: off by 1/10 or 1/11. */
    CHECK(f && close_to(fit_loo_error(f), (1.0 / 10 + 1.0 / 11) / 2, 1e-9),
          "the error is that of the runs that can be left out");
    struct fit_prediction p;
    CHECK(f && fit_predict(f, values[4], 2, &p, &e) == 0 && close_to(p.predicted_s, 16, 1e-9),
          "the one run is met exactly");
}

int main(void)
{
    by_hand();
    without_noise();
    no_rising_cliff();
    no_form_for_one_run();
    left_out();
    categories();
    refused_predictions();
    outside();
    not_told_apart();
    refused_runs();
    too_few_too_many();
    indispensable_run();
    return TAP_DONE();
}
