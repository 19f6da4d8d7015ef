#include "base/arena.h"
#include "catalog/catalog.h"
#include "estimate/estimate.h"
#include "estimate/throughput.h"
#include "tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char offers[] =
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,"
    "price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
    "aws,r1,,c5.xlarge,4,8,,,,0.17,,\n"
    "aws,r1,,p2.xlarge,4,61,K80,1,,0.9,,\n"
    "aws,r1,,p3.2xlarge,8,61,V100,1,,3.06,,\n"
    "aws,r1,,p3.8xlarge,32,244,V100,4,,12.24,,\n"
    "aws,r1,,p4d.24xlarge,96,1152,A100,8,,32.77,,\n"
    "aws,r1,,half,2,8,T4,0.5,,0.2,,\n"
    "aws,r1,,tpu,,,tpu-v5e-8,1,,9.6,,\n";

static struct catalog *open_offers(void)
{
    char dir[] = "/tmp/tradewind-estimate-XXXXXX", path[64];
    struct err e = {0};

    if (!mkdtemp(dir))
        return NULL;
    snprintf(path, sizeof path, "%s/offers.csv", dir);
    FILE *f = fopen(path, "w");
    if (!f)
        return NULL;
    fputs(offers, f);
    fclose(f);
    struct catalog *c = catalog_open_dir(dir, &e);
    unlink(path);
    rmdir(dir);
    if (!c)
        printf("# %s\n", e.text);
    return c;
}

static const struct catalog_kind *kind_named(const struct catalog *c, const char *type)
{
    for (size_t i = 0; i < c->n_kinds; i++)
        if (strcmp(catalog_text(c, c->kinds[i].instance_type), type) == 0)
            return &c->kinds[i];
    printf("Bail out! no kind %s\n", type);
    exit(EXIT_FAILURE);
}

#define ONE(seconds_) .kind = SPEC_ESTIMATE_SECONDS, .seconds = (seconds_)
#define MAP(...) .kind = SPEC_ESTIMATE_SECONDS, .seconds = (double)NAN, RATES(__VA_ARGS__)
#define WORK(work_, ...) .kind = SPEC_ESTIMATE_WORK, .work = (work_), RATES(__VA_ARGS__)
#define RATES(...)                                                                                 \
    .rates = (struct spec_rate[]){__VA_ARGS__},                                                    \
    .n_rates = sizeof((struct spec_rate[]){__VA_ARGS__}) / sizeof(struct spec_rate)
/* ResNet-50 with a batch size of 128, iterations per second in the source. */
#define V100_PER_S 2.84598121177
#define K80_PER_S 0.296445507119
#define ITERATIONS(n, model_) .kind = SPEC_ESTIMATE_ITERATIONS, .iterations = (n), .model = (model_)

enum { none = -1 }; /* not eligible */

static const struct {
    const char *name;
    struct spec_estimate estimate;
    unsigned nodes;
    const char *type;
    double run_s;
} run_time_cases[] = {
    {"one figure holds on any machine", {ONE(100)}, 1, "c5.xlarge", 100},
    {"one figure is not scaled by nodes", {ONE(100)}, 4, "p3.8xlarge", 100},
    {"no time at all", {ONE(0)}, 1, "c5.xlarge", 0},

    {"map: accelerator", {MAP({"V100", 36000, 1})}, 1, "p3.2xlarge", 36000},
    {"map: case of an accelerator", {MAP({"v100", 36000, 1})}, 1, "p3.2xlarge", 36000},
    {"map: not scaled by count or nodes", {MAP({"V100", 36000, 1})}, 3, "p3.8xlarge", 36000},
    {"map: not covered", {MAP({"V100", 36000, 1})}, 1, "c5.xlarge", none},
    {"map: another accelerator", {MAP({"V100", 36000, 1})}, 1, "p2.xlarge", none},
    {"map: instance type", {MAP({"c5.xlarge", 50, 1})}, 1, "c5.xlarge", 50},
    {"map: instance type beats accelerator, written after it",
     {MAP({"V100", 36000, 1}, {"p3.8xlarge", 10000, 1})},
     1,
     "p3.8xlarge",
     10000},
    {"map: instance type beats accelerator, written before it",
     {MAP({"p3.8xlarge", 10000, 1}, {"V100", 36000, 1})},
     1,
     "p3.8xlarge",
     10000},

    /* 120 / (0.008 x 4) */
    {"work: vCPUs", {WORK(120, {"vcpu", 0.008, 1})}, 1, "c5.xlarge", 3750},
    {"work: over all nodes", {WORK(120, {"vcpu", 0.008, 1})}, 2, "c5.xlarge", 1875},
    {"work: an accelerator that is not listed is rated by vCPUs",
     {WORK(120, {"T4", 0.13, 1}, {"vcpu", 0.008, 1})},
     1,
     "p3.2xlarge",
     1875},
    {"work: a listed accelerator is rated by itself",
     {WORK(120, {"vcpu", 0.008, 1}, {"V100", 0.5, 1})},
     1,
     "p3.8xlarge",
     60},
    {"work: count x nodes", {WORK(120, {"V100", 0.5, 1})}, 3, "p3.8xlarge", 20},
    /* 120 / (0.13 x 0.5) */
    {"work: half an accelerator", {WORK(120, {"T4", 0.13, 1})}, 1, "half", 24000.0 / 13},
    {"work: neither listed", {WORK(120, {"T4", 0.13, 1})}, 1, "c5.xlarge", none},
    {"work: vCPUs unknown", {WORK(120, {"vcpu", 0.008, 1})}, 1, "tpu", none},
    {"work: a listed accelerator needs no vCPUs", {WORK(120, {"tpu-v5e-8", 2, 1})}, 1, "tpu", 60},
    {"work: rate 0 cannot run there",
     {WORK(120, {"V100", 0, 1}, {"vcpu", 0.008, 1})},
     1,
     "p3.2xlarge",
     none},
    {"work: no work", {WORK(0, {"vcpu", 0.008, 1})}, 1, "c5.xlarge", 0},
    /* 120 x (0.1 + 0.9/4) / 0.5 */
    {"Amdahl: four units", {WORK(120, {"V100", 0.5, 0.9})}, 1, "p3.8xlarge", 78},
    {"Amdahl: one unit is the base rate", {WORK(120, {"V100", 0.5, 0.9})}, 1, "p3.2xlarge", 240},
    /* 120 x (0.1 + 0.9/8) / 0.5 */
    {"Amdahl: nodes count as units", {WORK(120, {"V100", 0.5, 0.9})}, 8, "p3.2xlarge", 51},
    {"Amdahl: nothing parallel", {WORK(120, {"V100", 0.5, 0})}, 2, "p3.8xlarge", 240},

    {"iterations: one accelerator",
     {ITERATIONS(2846, "ResNet-50 (batch size 128)")},
     1,
     "p3.2xlarge",
     2846 / V100_PER_S},
    {"iterations: another accelerator",
     {ITERATIONS(2964, "resnet-50 (batch size 128)")},
     1,
     "p2.xlarge",
     2964 / K80_PER_S},
    {"iterations: more accelerators are not faster",
     {ITERATIONS(2846, "ResNet-50 (batch size 128)")},
     1,
     "p3.8xlarge",
     2846 / V100_PER_S},
    {"iterations: nor more nodes",
     {ITERATIONS(2846, "ResNet-50 (batch size 128)")},
     2,
     "p3.8xlarge",
     2846 / V100_PER_S},
    {"iterations: accelerator not in the table",
     {ITERATIONS(2846, "ResNet-50 (batch size 128)")},
     1,
     "half",
     none},
    {"iterations: no accelerator",
     {ITERATIONS(2846, "ResNet-50 (batch size 128)")},
     1,
     "c5.xlarge",
     none},
    {"a profile covers nothing yet",
     {.kind = SPEC_ESTIMATE_PROFILE, .profile = "p"},
     1,
     "c5.xlarge",
     none},
};

static void run_times(const struct catalog *c, const struct throughputs *t)
{
    for (size_t i = 0; i < sizeof run_time_cases / sizeof *run_time_cases; i++) {
        struct spec_stage stage = {.name = "s", .num_nodes = run_time_cases[i].nodes};
        struct estimate got = {0};
        stage.estimate = run_time_cases[i].estimate;
        bool covered =
            estimate_run(&stage, c, kind_named(c, run_time_cases[i].type), t, NULL, &got);
        double want = run_time_cases[i].run_s;
        /* Of the source's digits the table keeps ten. */
        double slack = want * (stage.estimate.kind == SPEC_ESTIMATE_ITERATIONS ? 1e-9 : 1e-12);
        CHECK(want < 0 ? !covered
                       : covered && fabs(got.run_s - want) <= slack &&
                             fabs(got.low_s - 0.8 * want) <= slack &&
                             fabs(got.high_s - 1.2 * want) <= slack,
              "%s (%g s)", run_time_cases[i].name, got.run_s);
    }
}

static void guessed(const struct catalog *c, const struct throughputs *t)
{
    struct spec_stage stage = {
        .name = "s", .num_nodes = 5, .estimate = {.kind = SPEC_ESTIMATE_GUESS}};
    struct estimate got = {0};

    CHECK(estimate_run(&stage, c, kind_named(c, "p3.8xlarge"), t, NULL, &got) &&
              fabs(got.run_s - 3600) < 1e-9 && fabs(got.low_s - 1800) < 1e-9 &&
              fabs(got.high_s - 5400) < 1e-9,
          "without an estimate: an hour, half an hour to an hour and a half");
}

static double guess_on(const struct catalog *c,
                       const struct throughputs *t,
                       const struct spec_stage *stage,
                       const char *type)
{
    struct estimate got = {0};

    return estimate_run(stage, c, kind_named(c, type), t, NULL, &got) ? got.run_s : -1;
}

/* p3.8xlarge has V100, p4d.24xlarge A100, c5.xlarge none. */
static void guessed_by_speed(const struct catalog *c, const struct throughputs *t)
{
    struct spec_accelerator any = {0};
    struct spec_resources gpu = {.accelerators = &any, .n_accelerators = 1};
    struct spec_pair envs[] = {{"MODEL", "resnet_50"}, {"EPOCHS", "3"}};
    struct spec_stage stage = {.name = "train",
                               .num_nodes = 1,
                               .alternatives = &gpu,
                               .n_alternatives = 1,
                               .run = "python train.py",
                               .estimate = {.kind = SPEC_ESTIMATE_GUESS, .work = 10}};
    struct spec spec = {.file = "f.yaml"};
    AUTO(arena) struct arena *a = arena_new(1 << 20);
    struct guess_list guesses = {.arena = a};

    CHECK(fabs(guess_on(c, t, &stage, "p3.8xlarge") - 3600) < 1e-6, "an hour on a V100");
    CHECK(fabs(guess_on(c, t, &stage, "p4d.24xlarge") - 3600 / 2.5) < 1e-6,
          "on an A100 by the data sheets: 312 / 125 of the speed");
    CHECK(fabs(guess_on(c, t, &stage, "c5.xlarge") - 3600) < 1e-6, "an hour without any");
    estimate_check(&spec, &stage, t, NULL, &guesses, NULL);
    CHECK(guesses.n == 1 && strstr(guesses.items[0].value, "1 h on a V100"), "it says so");
    /* 10 GB are 100,000 samples; 3 epochs of batches of 128 at 2.845981212 per second */
    stage.envs = envs;
    stage.n_envs = 2;
    double on_v100 = 3 * 1e5 / 128 / 2.845981212;
    CHECK(fabs(guess_on(c, t, &stage, "p3.8xlarge") - on_v100) < 1e-6,
          "a model that is named: %g s", on_v100);
    CHECK(fabs(guess_on(c, t, &stage, "p4d.24xlarge") - on_v100 / 2.5) < 1e-6,
          "... and scaled where it was not measured");
    estimate_check(&spec, &stage, t, NULL, &guesses, NULL);
    CHECK(guesses.n == 2 && strstr(guesses.items[1].why, "3 epochs of 10 GB") &&
              strstr(guesses.items[1].why, "ResNet-50 with batch size 128"),
          "it says from what: %s", guesses.n == 2 ? guesses.items[1].why : "");
    stage.n_envs = 0;
    stage.run = "cd x && python t.py --arch=resnet18 --epochs 2 --modelling 5";
    CHECK(fabs(guess_on(c, t, &stage, "p3.8xlarge") - 2 * 1e5 / 256 / 16.9873711) < 1e-6,
          "or by options of its command");
    stage.run = "python t.py --model mine --epochs 2";
    CHECK(fabs(guess_on(c, t, &stage, "p3.8xlarge") - 3600) < 1e-6,
          "a model that the table does not have: an hour");
    stage.estimate.left = 0.25;
    CHECK(fabs(guess_on(c, t, &stage, "p4d.24xlarge") - 3600 / 2.5 / 4) < 1e-6,
          "a quarter of it is left");
}

static void zero_throughput(const struct catalog *c)
{
    char path[] = "/tmp/tradewind-estimate-XXXXXX";
    static const char table[] = "model,batch_size,V100\nbig,,0\n";
    struct spec_stage stage = {.name = "s", .num_nodes = 1, .estimate = {ITERATIONS(1, "big")}};
    struct estimate got = {0};
    struct err e = {0};
    int fd = mkstemp(path);

    CHECK(fd >= 0 && write(fd, table, sizeof table - 1) == sizeof table - 1, "write %s", path);
    close(fd);
    AUTO(throughputs) struct throughputs *t = throughputs_load(path, &e);
    unlink(path);
    CHECK(t && !estimate_run(&stage, c, kind_named(c, "p3.2xlarge"), t, NULL, &got),
          "a throughput of 0 cannot run there");
}

static void checks(const struct throughputs *t)
{
    static const struct {
        const char *name;
        struct spec_estimate estimate;
        enum err_kind kind;
        const char *says[3];  /* in the error */
        const char *guess[3]; /* what, value, part of why; NULL = none */
    } cases[] = {
        {"no estimate is a guess",
         {.kind = SPEC_ESTIMATE_GUESS},
         ERR_NONE,
         {0},
         {"train: run time", "1 h", "no estimate given"}},
        {"seconds", {ONE(5)}, ERR_NONE, {0}, {0}},
        {"a model with its batch size", {ITERATIONS(1, "LM (batch size 5)")}, ERR_NONE, {0}, {0}},
        {"a model without a batch size", {ITERATIONS(1, "A3C")}, ERR_NONE, {0}, {0}},
        {"a model with several batch sizes is a guess",
         {ITERATIONS(1, "resnet-50")},
         ERR_NONE,
         {0},
         {"train: batch size", "128", "throughput table"}},
        {"unknown model, near a known one",
         {ITERATIONS(1, "resnet-55"), .line = 7},
         ERR_USAGE,
         {"f.yaml:7: ", "did you mean 'ResNet-50'?", "A3C, CycleGAN, LM"},
         {0}},
        {"unknown model, near none",
         {ITERATIONS(1, "quite something else"), .line = 7},
         ERR_USAGE,
         {"f.yaml:7: ", "'quite something else' (known: A3C", "'train'"},
         {0}},
        {"unknown batch size",
         {ITERATIONS(1, "resnet-50 (batch size 100)"), .line = 7},
         ERR_USAGE,
         {"f.yaml:7: ", "'ResNet-50' with batch size 100", ""},
         {0}},
        {"a profile that nobody made",
         {.kind = SPEC_ESTIMATE_PROFILE, .profile = "fit", .line = 9},
         ERR_NOTFOUND,
         {"f.yaml:9: ", "no such profile 'fit'", "'train'"},
         {0}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(arena) struct arena *arena = arena_new(1 << 16);
        struct guess_list guesses = {.arena = arena};
        struct spec spec = {.file = "f.yaml"};
        struct spec_stage stage = {.name = "train", .num_nodes = 1};
        struct err e = {0};
        stage.estimate = cases[i].estimate;
        bool good =
            estimate_check(&spec, &stage, t, NULL, &guesses, &e) == (cases[i].kind ? -1 : 0) &&
            e.kind == cases[i].kind;
        for (size_t j = 0; cases[i].kind && j < 3; j++)
            good = good && strstr(e.text, cases[i].says[j]);
        if (cases[i].guess[0])
            good = good && guesses.n == 1 &&
                   strcmp(guesses.items[0].what, cases[i].guess[0]) == 0 &&
                   strcmp(guesses.items[0].value, cases[i].guess[1]) == 0 &&
                   strstr(guesses.items[0].why, cases[i].guess[2]);
        else
            good = good && guesses.n == 0;
        CHECK(good, "%s: %s", cases[i].name, e.text);
    }
}

int main(void)
{
    struct err e = {0};
    AUTO(catalog) struct catalog *c = open_offers();
    AUTO(throughputs) struct throughputs *t = throughputs_load(NULL, &e);

    CHECK(c && t, "catalog and throughputs open: %s", e.text);
    if (c && t) {
        run_times(c, t);
        guessed(c, t);
        guessed_by_speed(c, t);
        zero_throughput(c);
        checks(t);
    }
    return TAP_DONE();
}
