#include "estimate/estimate.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/time.h"
#include "estimate/fit.h"
#include "estimate/internal.h"
#include "estimate/throughput.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SPREAD_GUESSED 0.5
#define SPREAD_GIVEN 0.2
#define NOT_COVERED ((double)NAN)
#define MB_PER_GIB 1024
/* A factor that rounds to 1.0 in the guess is none. */
#define OUTSIDE_LEAST 1.05

static void add_guess(struct guess_list *guesses,
                      const struct spec_stage *stage,
                      const char *what,
                      const char *value,
                      const char *why)
{
    AUTO_MEM char *text = mem_printf("%s: %s", stage->name, what);

    guess_add(guesses, text, value, why);
}

/* ---- the throughput table ---- */

static int unknown_model(const struct spec *spec,
                         const struct spec_stage *stage,
                         const struct throughputs *table,
                         struct err *e)
{
    size_t n;
    const char *const *models = throughputs_models(table, &n);
    const char *close = nearest(stage->estimate.model, models, n);
    AUTO_CLEAR(buf) struct buf known;

    buf_init(&known, 300);
    for (size_t i = 0; i < n; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", models[i]);
    return err_set(e, ERR_USAGE,
                   "%s:%zu: stage '%s': no throughput of model '%s'%s%s%s (known: %s%s)",
                   spec->file, stage->estimate.line, stage->name, stage->estimate.model,
                   close ? ", did you mean '" : "", close ? close : "", close ? "'?" : "",
                   buf_str(&known), known.full ? "..." : "");
}

static int check_model(const struct spec *spec,
                       const struct spec_stage *stage,
                       const struct throughputs *table,
                       struct guess_list *guesses,
                       struct err *e)
{
    struct throughput_model model;
    char batch_size[32];

    if (!throughputs_find(table, stage->estimate.model, &model) && !model.name)
        return unknown_model(spec, stage, table, e);
    if (model.batch_unknown)
        return err_set(e, ERR_USAGE,
                       "%s:%zu: stage '%s': no throughput of model '%s' with batch size %g; "
                       "write '%s' alone for one that is listed",
                       spec->file, stage->estimate.line, stage->name, model.name, model.batch_size,
                       model.name);
    if (model.batch_guessed) {
        snprintf(batch_size, sizeof batch_size, "%g", model.batch_size);
        add_guess(guesses, stage, "batch size", batch_size,
                  "the model names none, and the throughput table has several");
    }
    return 0;
}

/* ---- what was learned ---- */

static const struct estimate_model *find_model(const struct estimate_models *models,
                                               const char *name)
{
    for (size_t i = 0; models && i < models->n; i++)
        if (strcmp(models->items[i].name, name) == 0)
            return &models->items[i];
    return NULL;
}

static const char *nearest_model(const struct estimate_models *models, const char *name)
{
    size_t n = models ? models->n : 0;
    AUTO_MEM const char **names = mem_zero(n + 1, sizeof *names);

    for (size_t i = 0; i < n; i++)
        names[i] = models->items[i].name;
    return nearest(name, names, n);
}

/* CPUs, memory, what the stage says, and for the rest what is usual. */
struct question {
    struct fit_value values[FIT_FEATURES_MAX];
    size_t n;
};

static bool is_asked(const struct question *q, const char *name)
{
    for (size_t i = 0; i < q->n; i++)
        if (strcmp(q->values[i].name, name) == 0)
            return true;
    return false;
}

static int add_args(const struct spec_estimate *estimate, struct question *q, struct err *e)
{
    for (size_t i = 0; i < estimate->n_args; i++) {
        const struct spec_pair *arg = &estimate->args[i];
        if (is_asked(q, arg->key))
            return err_set(e, ERR_USAGE, "%.60s is a size of the machine, no argument", arg->key);
        if (q->n == FIT_FEATURES_MAX)
            return err_set(e, ERR_USAGE, "more arguments than any profile has");
        q->values[q->n++] = fit_value_read(arg->key, arg->value ? arg->value : "");
    }
    return 0;
}

static int make_question(const struct spec_stage *stage,
                         const struct estimate_model *model,
                         double cpus,
                         double memory_mb,
                         struct question *q,
                         struct err *e)
{
    q->values[0] = (struct fit_value){.name = FIT_CPUS, .number = cpus};
    q->values[1] = (struct fit_value){.name = FIT_MEMORY, .number = memory_mb};
    q->n = 2;
    if (add_args(&stage->estimate, q, e) < 0)
        return -1;
    for (size_t i = 0; i < model->n_usual && q->n < FIT_FEATURES_MAX; i++)
        if (!is_asked(q, model->usual[i].name))
            q->values[q->n++] = model->usual[i];
    return 0;
}

/* False: the machine's size is not known, or the model gives no time for it. */
static bool predict(const struct spec_stage *stage,
                    const struct estimate_model *model,
                    const struct catalog_kind *kind,
                    struct fit_prediction *out)
{
    double memory_mb = kind->memory_gib * MB_PER_GIB;
    struct question q;
    struct err ignored;

    return model && model->fit && kind->vcpus > 0 && memory_mb > 0 &&
           make_question(stage, model, kind->vcpus, memory_mb, &q, &ignored) == 0 &&
           fit_predict(model->fit, q.values, q.n, out, &ignored) == 0;
}

static int check_arguments(const struct spec_stage *stage,
                           const struct estimate_model *model,
                           struct err *e)
{
    struct fit_prediction prediction;
    struct question q;
    struct err wrong = {0};

    if (make_question(stage, model, 1, MB_PER_GIB, &q, e) < 0)
        return -1;
    /* A time that no clock could tell depends on the machine: other ones may do. */
    if (fit_predict(model->fit, q.values, q.n, &prediction, &wrong) < 0 && wrong.kind == ERR_USAGE)
        return err_set(e, wrong.kind, "%s", wrong.text);
    return 0;
}

/* The profile is known, has a model, and the stage's arguments are what it takes. */
static int check_profile(const struct spec *spec,
                         const struct spec_stage *stage,
                         const struct estimate_models *models,
                         struct err *e)
{
    const struct spec_estimate *estimate = &stage->estimate;
    const struct estimate_model *model = find_model(models, estimate->profile);

    if (!model) {
        const char *close = nearest_model(models, estimate->profile);
        return err_set(e, ERR_NOTFOUND, "%s:%zu: stage '%s': no such profile '%s'%s%s%s",
                       spec->file, estimate->line, stage->name, estimate->profile,
                       close ? ", did you mean '" : "", close ? close : "", close ? "'?" : "");
    }
    if (!model->fit)
        return err_set(
            e, ERR_NOTFOUND,
            "%s:%zu: stage '%s': profile '%s' has learned nothing yet; tradewind profile "
            "fit %s tells why",
            spec->file, estimate->line, stage->name, model->name, model->name);
    if (check_arguments(stage, model, e) < 0)
        return err_wrap(e, "%s:%zu: stage '%s': profile '%s'", spec->file, estimate->line,
                        stage->name, model->name);
    return 0;
}

static bool run_learned(const struct spec_stage *stage,
                        const struct catalog_kind *kind,
                        const struct estimate_models *models,
                        struct estimate *out)
{
    const struct estimate_model *model = find_model(models, stage->estimate.profile);
    struct fit_prediction prediction;

    if (!predict(stage, model, kind, &prediction))
        return false;
    *out = (struct estimate){
        .run_s = prediction.predicted_s, .low_s = prediction.low_s, .high_s = prediction.high_s};
    return isfinite(prediction.high_s);
}

/* ---- for all ---- */

int estimate_check(const struct spec *spec,
                   const struct spec_stage *stage,
                   const struct throughputs *table,
                   const struct estimate_models *models,
                   struct guess_list *guesses,
                   struct err *e)
{
    switch (stage->estimate.kind) {
    case SPEC_ESTIMATE_GUESS:
        estimate_guess_words(stage, table, guesses);
        return 0;
    case SPEC_ESTIMATE_SECONDS:
    case SPEC_ESTIMATE_WORK:
        return 0;
    case SPEC_ESTIMATE_ITERATIONS:
        return check_model(spec, stage, table, guesses, e);
    case SPEC_ESTIMATE_PROFILE:
        return check_profile(spec, stage, models, e);
    }
    return 0;
}

/* A machine as far as estimates go. */
struct machine {
    const char *instance_type;
    const char *accelerator;    /* "" = none */
    double accelerators, vcpus; /* over all nodes; NaN = unknown */
};

static const struct spec_rate *rate_of_accelerator(const struct spec_estimate *estimate,
                                                   const struct machine *machine)
{
    if (!*machine->accelerator)
        return NULL;
    for (size_t i = 0; i < estimate->n_rates; i++)
        if (catalog_same_accelerator(estimate->rates[i].name, machine->accelerator))
            return &estimate->rates[i];
    return NULL;
}

static const struct spec_rate *rate_named(const struct spec_estimate *estimate, const char *name)
{
    for (size_t i = 0; i < estimate->n_rates; i++)
        if (strcasecmp(estimate->rates[i].name, name) == 0)
            return &estimate->rates[i];
    return NULL;
}

static double seconds_given(const struct spec_estimate *estimate, const struct machine *machine)
{
    if (!estimate->n_rates)
        return estimate->seconds;
    const struct spec_rate *rate = rate_named(estimate, machine->instance_type);
    if (!rate)
        rate = rate_of_accelerator(estimate, machine);
    return rate ? rate->value : NOT_COVERED;
}

static double seconds_of_work(const struct spec_estimate *estimate, const struct machine *machine)
{
    const struct spec_rate *rate = rate_of_accelerator(estimate, machine);
    double units = machine->accelerators;

    if (!rate) {
        rate = rate_named(estimate, "vcpu");
        units = machine->vcpus;
    }
    /* A rate of 0 is a machine the work cannot run on; NaN units fail the comparison too. */
    if (!rate || !(rate->value > 0) || !(units > 0))
        return NOT_COVERED;
    double slowdown = (1 - rate->parallel) + rate->parallel / units; /* Amdahl, against one unit */
    return estimate->work * slowdown / rate->value;
}

/* The table's figures are for one accelerator, and how a model scales is not in it: several
 * accelerators or nodes do not make the run shorter. */
static double seconds_of_iterations(const struct spec_estimate *estimate,
                                    const struct machine *machine,
                                    const struct throughputs *table)
{
    if (!*machine->accelerator)
        return NOT_COVERED;
    double per_s = throughputs_get(table, estimate->model, machine->accelerator);
    return per_s > 0 ? estimate->iterations / per_s : NOT_COVERED;
}

/* NaN: not covered. */
static double run_seconds(const struct spec_estimate *estimate,
                          const struct machine *machine,
                          const struct throughputs *table)
{
    switch (estimate->kind) {
    case SPEC_ESTIMATE_GUESS:
        return NOT_COVERED;
    case SPEC_ESTIMATE_SECONDS:
        return seconds_given(estimate, machine);
    case SPEC_ESTIMATE_WORK:
        return seconds_of_work(estimate, machine);
    case SPEC_ESTIMATE_ITERATIONS:
        return seconds_of_iterations(estimate, machine, table);
    case SPEC_ESTIMATE_PROFILE:
        return NOT_COVERED;
    }
    return NOT_COVERED;
}

bool estimate_run(const struct spec_stage *stage,
                  const struct catalog *catalog,
                  const struct catalog_kind *kind,
                  const struct throughputs *table,
                  const struct estimate_models *models,
                  struct estimate *out)
{
    if (stage->estimate.kind == SPEC_ESTIMATE_PROFILE)
        return run_learned(stage, kind, models, out);
    const struct machine machine = {
        .instance_type = catalog_text(catalog, kind->instance_type),
        .accelerator = catalog_text(catalog, kind->accelerator),
        .accelerators = kind->accelerator_count * stage->num_nodes,
        .vcpus = kind->vcpus * stage->num_nodes,
    };
    double run_s = stage->estimate.kind == SPEC_ESTIMATE_GUESS
                       ? estimate_guess_s(stage, machine.accelerator, table)
                       : run_seconds(&stage->estimate, &machine, table);
    double spread = stage->estimate.kind == SPEC_ESTIMATE_GUESS ? SPREAD_GUESSED : SPREAD_GIVEN;

    if (!isfinite(run_s) || run_s < 0)
        return false;
    *out = (struct estimate){
        .run_s = run_s, .low_s = run_s * (1 - spread), .high_s = run_s * (1 + spread)};
    return true;
}

void estimate_guess_outside(const struct spec_stage *stage,
                            const struct catalog_kind *kind,
                            const struct estimate_models *models,
                            struct guess_list *guesses)
{
    if (stage->estimate.kind != SPEC_ESTIMATE_PROFILE)
        return;
    const struct estimate_model *model = find_model(models, stage->estimate.profile);
    struct fit_prediction prediction;
    size_t n;

    if (!predict(stage, model, kind, &prediction) || prediction.outside < OUTSIDE_LEAST)
        return;
    const char *const *features = fit_features(model->fit, &n);
    for (size_t i = 0; i < n; i++) {
        char time[32];
        if (prediction.factor[i] < OUTSIDE_LEAST)
            continue;
        AUTO_MEM char *why = mem_printf("profile %s: %.3g x outside its runs in %s", model->name,
                                        prediction.factor[i], features[i]);
        add_guess(guesses, stage, "run time", time_text(prediction.predicted_s, time), why);
    }
}
