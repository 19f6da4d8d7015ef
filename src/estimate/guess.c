/* Guesses the run time of a stage that has no estimate: by the throughput of a model that it names
 * and the size of its input, else one hour; on other accelerators by their speed. estimate.c calls
 * it. */
#include "estimate/internal.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "estimate/throughput.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HOUR_S 3600.0
#define REFERENCE "V100"
/* One sample of the input: ImageNet's mean photograph has 110 kB. */
#define SAMPLE_GB 1e-4
#define NAME_BYTES 200

/* Dense half-precision peak of the vendors' data sheets over the 125 TFLOP/s of a V100. Where the
 * throughput table has both accelerators, its figures count instead. */
static const struct {
    const char *name;
    double speed;
} speeds[] = {
    {"T4", 0.52},         {"P4", 0.09},          {"A10", 1.0},       {"A10G", 0.56},
    {"L4", 0.97},         {"A40", 1.2},          {"RTXA5000", 0.89}, {"RTXA6000", 1.24},
    {"RTX3090", 0.57},    {"RTX4090", 1.32},     {"RTX5090", 1.68},  {"RTX6000", 1.04},
    {"L40", 1.45},        {"RTX6000-Ada", 1.46}, {"L40S", 2.9},      {"RTXPRO6000", 4.0},
    {"A100", 2.5},        {"A100-80GB", 2.5},    {"H100-NVL", 6.7},  {"H100", 7.9},
    {"H100-MEGA", 7.9},   {"H200", 7.9},         {"GH200", 7.9},     {"MI300X", 10.5},
    {"B200", 18},         {"B300", 18},          {"V100-32GB", 1.0}, {"Trainium", 1.5},
    {"Inferentia2", 1.5}, {"tpu-v2-8", 1.4},     {"tpu-v3-8", 3.4},  {"tpu-v4-8", 8.8},
    {"tpu-v5e-1", 1.6},   {"tpu-v5p-8", 14.7},   {"tpu-v6e-1", 7.3},
};

/* ---- speeds ---- */

double estimate_speed(const struct throughputs *table, const char *accelerator)
{
    double measured = throughputs_speed(table, accelerator, REFERENCE);

    if (measured > 0)
        return measured;
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (catalog_same_accelerator(speeds[i].name, accelerator))
            return speeds[i].speed;
    return (double)NAN;
}

static bool wants_accelerator(const struct spec_stage *stage)
{
    for (size_t i = 0; i < stage->n_alternatives; i++)
        if (stage->alternatives[i].n_accelerators)
            return true;
    return false;
}

/* ---- what the stage says of itself ---- */

/* The word behind an option of the stage's command, as in `--model resnet50`. */
static bool find_option(const char *run, const char *option, char out[static NAME_BYTES])
{
    size_t len = strlen(option);

    for (const char *at = run; at && (at = strstr(at, option)); at += len) {
        const char *value = at + len;
        if ((at > run && !isspace((unsigned char)at[-1])) || (*value != '=' && *value != ' '))
            continue;
        value += strspn(value, "= \"'");
        size_t n = strcspn(value, " \t\n\"';&|");
        if (n == 0 || n >= NAME_BYTES)
            continue;
        memcpy(out, value, n);
        out[n] = 0;
        return true;
    }
    return false;
}

/* What the stage gives for one of these names, as a variable or as an option of its command. */
static bool find_said(const struct spec_stage *stage,
                      const char *const *names,
                      char out[static NAME_BYTES])
{
    for (size_t k = 0; names[k]; k++) {
        char option[32];
        snprintf(option, sizeof option, "--%s", names[k]);
        for (size_t i = 0; i < stage->n_envs; i++)
            if (stage->envs[i].value && strcasecmp(stage->envs[i].key, names[k]) == 0 &&
                snprintf(out, NAME_BYTES, "%s", stage->envs[i].value) < NAME_BYTES)
                return true;
        if (find_option(stage->run, option, out))
            return true;
    }
    return false;
}

/* A training that the throughput table knows. */
struct named {
    struct throughput_model model;
    char written[NAME_BYTES];
    double epochs;
    double seconds; /* on the reference; NaN = the stage names none, or has no input */
};

static struct named find_named(const struct spec_stage *stage, const struct throughputs *table)
{
    static const char *const models[] = {"model", "model_name", "arch", NULL};
    static const char *const epochs[] = {"epochs", "epoch", "num_epochs", NULL};
    struct named n = {.epochs = 1, .seconds = (double)NAN};
    char text[NAME_BYTES];
    double count;

    if (!(stage->estimate.work > 0) || !find_said(stage, models, n.written) ||
        !throughputs_find(table, n.written, &n.model) || !(n.model.batch_size > 0))
        return n;
    if (find_said(stage, epochs, text) && number_parse(text, &count) && count > 0)
        n.epochs = count;
    double per_s = throughputs_get(table, n.written, REFERENCE);
    if (per_s > 0)
        n.seconds = stage->estimate.work / SAMPLE_GB * n.epochs / (n.model.batch_size * per_s);
    return n;
}

/* ---- the guess ---- */

double estimate_guess_s(const struct spec_stage *stage,
                        const char *accelerator,
                        const struct throughputs *table)
{
    double left = stage->estimate.left > 0 ? stage->estimate.left : 1;

    if (!*accelerator || !wants_accelerator(stage))
        return HOUR_S * left;
    const struct named named = find_named(stage, table);
    double speed = estimate_speed(table, accelerator);
    if (!isfinite(named.seconds))
        return HOUR_S / (speed > 0 ? speed : 1) * left;
    double per_s = throughputs_get(table, named.written, accelerator);
    if (per_s > 0)
        speed = per_s / throughputs_get(table, named.written, REFERENCE);
    return named.seconds / (speed > 0 ? speed : 1) * left;
}

void estimate_guess_words(const struct spec_stage *stage,
                          const struct throughputs *table,
                          struct guess_list *guesses)
{
    AUTO_MEM char *what = mem_printf("%s: run time", stage->name);
    char time[32];

    if (!wants_accelerator(stage)) {
        guess_add(guesses, what, "1 h", "no estimate given");
        return;
    }
    const struct named named = find_named(stage, table);
    if (!isfinite(named.seconds)) {
        guess_add(guesses, what, "1 h on a " REFERENCE ", scaled by the accelerator's speed",
                  "no estimate given");
        return;
    }
    AUTO_MEM char *value = mem_printf("%s on a " REFERENCE ", scaled by the accelerator's speed",
                                      time_text(named.seconds, time));
    AUTO_MEM char *why = mem_printf(
        "no estimate given: %g epoch%s of %g GB, 100 kB per sample, at the throughput of %s with "
        "batch size %g",
        named.epochs, named.epochs > 1 ? "s" : "", stage->estimate.work, named.model.name,
        named.model.batch_size);
    guess_add(guesses, what, value, why);
}
