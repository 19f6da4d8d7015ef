#include "estimate/estimate.h"

#include "base/arena.h"
#include "estimate/fit.h"
#include "tap.h"

#include <math.h>
#include <string.h>

/* Runs that took exactly 10 s x epoch / cpus. */
static struct fit *learn(void)
{
    static const double cpus[] = {0.5, 1, 2}, epochs[] = {1, 2, 5};
    struct fit_value values[9][3];
    struct fit_run runs[9];
    struct err e = {0};

    for (size_t i = 0; i < 9; i++) {
        values[i][0] = (struct fit_value){.name = FIT_CPUS, .number = cpus[i / 3]};
        values[i][1] = (struct fit_value){.name = FIT_MEMORY, .number = 1024};
        values[i][2] = (struct fit_value){.name = "epoch", .number = epochs[i % 3]};
        runs[i] = (struct fit_run){.name = "run",
                                   .values = values[i],
                                   .n_values = 3,
                                   .runtime_s = 10 * epochs[i % 3] / cpus[i / 3]};
    }
    return fit_new(runs, 9, &e);
}

static struct catalog_kind machine(double vcpus, double memory_gib)
{
    return (struct catalog_kind){.vcpus = vcpus, .memory_gib = memory_gib};
}

static struct spec_stage stage_of(const char *profile, struct spec_pair *args, size_t n)
{
    return (struct spec_stage){.name = "train",
                               .num_nodes = 1,
                               .estimate = {.kind = SPEC_ESTIMATE_PROFILE,
                                            .profile = profile,
                                            .args = args,
                                            .n_args = n,
                                            .line = 7}};
}

static void runs(const struct estimate_models *models)
{
    struct spec_pair args[] = {{"epoch", "4"}};
    const struct spec_stage stage = stage_of("mnist", args, 1);
    const struct catalog_kind two = machine(2, 1), eight = machine(8, 1),
                              unknown = machine((double)NAN, 1), blank = machine(2, (double)NAN);
    struct estimate got;

    CHECK(estimate_run(&stage, NULL, &two, NULL, models, &got) && fabs(got.run_s - 20) < 0.01,
          "4 epochs on 2 vCPU: 20 s");
    CHECK(got.low_s <= got.run_s && got.high_s >= got.run_s, "between low and high");
    CHECK(estimate_run(&stage, NULL, &eight, NULL, models, &got) && fabs(got.run_s - 5) < 0.01,
          "beyond the runs, too");
    CHECK(!estimate_run(&stage, NULL, &unknown, NULL, models, &got) &&
              !estimate_run(&stage, NULL, &blank, NULL, models, &got),
          "a machine of unknown size is not covered");
}

static void guesses(const struct estimate_models *models)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 16);
    struct guess_list list = {.arena = arena};
    struct spec_pair args[] = {{"epoch", "20"}}, within[] = {{"epoch", "5"}};
    const struct spec_stage stage = stage_of("mnist", args, 1), tame = stage_of("mnist", within, 1);
    const struct spec_stage given = {.name = "x", .estimate = {.kind = SPEC_ESTIMATE_SECONDS}};
    const struct catalog_kind one = machine(1, 1), eight = machine(8, 1);

    estimate_guess_outside(&tame, &one, models, &list);
    estimate_guess_outside(&given, &one, models, &list);
    CHECK(list.n == 0, "within the runs nothing is guessed");
    estimate_guess_outside(&stage, &eight, models, &list);
    CHECK(list.n == 2 &&
              strcmp(list.items[0].why, "profile mnist: 4 x outside its runs in cpus") == 0 &&
              strcmp(list.items[1].why, "profile mnist: 4 x outside its runs in epoch") == 0 &&
              strcmp(list.items[0].what, "train: run time") == 0,
          "8 CPUs after 0.5 to 2, and 20 epochs after 1 to 5: %s", list.n ? list.items[0].why : "");
}

static void checks(const struct estimate_models *models)
{
    static const struct {
        const char *name, *profile;
        struct spec_pair args[2];
        size_t n;
        enum err_kind kind;
        const char *text;
    } cases[] = {
        {"all is said", "mnist", {{"epoch", "4"}}, 1, ERR_NONE, ""},
        {"the usual may be said, too", "usual", {{"epoch", "4"}}, 1, ERR_NONE, ""},
        {"or left out", "usual", {{0}}, 0, ERR_NONE, ""},
        {"an argument is missing", "mnist", {{0}}, 0, ERR_USAGE, "p.yaml:7: stage 'train'"},
        {"one too many", "mnist", {{"epoch", "4"}, {"x", "1"}}, 2, ERR_USAGE, "x"},
        {"CPUs come from the machine", "mnist", {{"cpus", "4"}}, 1, ERR_USAGE, "size"},
        {"no number", "mnist", {{"epoch", "many"}}, 1, ERR_USAGE, "epoch"},
        {"a slip",
         "mnits",
         {{0}},
         0,
         ERR_NOTFOUND,
         "p.yaml:7: stage 'train': no such profile 'mnits', did you mean 'mnist'?"},
        {"nothing like it", "zzz", {{0}}, 0, ERR_NOTFOUND, "no such profile 'zzz'"},
        {"without runs", "fresh", {{0}}, 0, ERR_NOTFOUND, "learned nothing yet"},
    };
    const struct spec spec = {.file = "p.yaml"};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct spec_pair args[2] = {cases[i].args[0], cases[i].args[1]};
        const struct spec_stage stage = stage_of(cases[i].profile, args, cases[i].n);
        struct guess_list none = {0};
        struct err e = {0};
        int result = estimate_check(&spec, &stage, NULL, models, &none, &e);
        CHECK(result == (cases[i].kind ? -1 : 0) && e.kind == cases[i].kind &&
                  strstr(e.text, cases[i].text),
              "%s: %s", cases[i].name, e.text);
        CHECK(estimate_check(&spec, &stage, NULL, models, &none, NULL) == result,
              "%s, and nobody wants to know why", cases[i].name);
    }
}

int main(void)
{
    AUTO(fit) struct fit *fit = learn();
    const struct fit_value usual[] = {{.name = "epoch", .number = 2}};
    const struct estimate_model items[] = {
        {.name = "fresh"},
        {.name = "mnist", .fit = fit},
        {.name = "usual", .fit = fit, .usual = usual, .n_usual = 1}};
    const struct estimate_models models = {items, 3};

    runs(&models);
    guesses(&models);
    checks(&models);
    return TAP_DONE();
}
