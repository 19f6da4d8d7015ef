#include "estimate/estimate.h"

#include "base/buf.h"
#include "base/nearest.h"
#include "estimate/learned.h"
#include "estimate/throughput.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define GUESS_S 3600.0
#define SPREAD_GUESSED 0.5
#define SPREAD_GIVEN 0.2
#define NOT_COVERED ((double)NAN)

void estimate_add_guess(struct guess_list *guesses,
                        const struct spec_stage *stage,
                        const char *what,
                        const char *value,
                        const char *why)
{
    struct buf text;

    buf_init(&text, 1024);
    buf_printf(&text, "%s: %s", stage->name, what);
    guess_add(guesses, buf_str(&text), value, why);
    buf_clear(&text);
}

static int unknown_model(const struct spec *spec,
                         const struct spec_stage *stage,
                         const struct throughputs *table,
                         struct err *e)
{
    size_t n;
    const char *const *models = throughputs_models(table, &n);
    const char *close = nearest(stage->estimate.model, models, n);
    struct buf known;

    buf_init(&known, 300);
    for (size_t i = 0; i < n; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", models[i]);
    err_set(e, ERR_USAGE, "%s:%zu: stage '%s': no throughput of model '%s'%s%s%s (known: %s%s)",
            spec->file, stage->estimate.line, stage->name, stage->estimate.model,
            close ? ", did you mean '" : "", close ? close : "", close ? "'?" : "", buf_str(&known),
            known.full ? "..." : "");
    buf_clear(&known);
    return -1;
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
        estimate_add_guess(guesses, stage, "batch size", batch_size,
                           "the model names none, and the throughput table has several");
    }
    return 0;
}

int estimate_check(const struct spec *spec,
                   const struct spec_stage *stage,
                   const struct throughputs *table,
                   const struct estimate_models *models,
                   struct guess_list *guesses,
                   struct err *e)
{
    switch (stage->estimate.kind) {
    case SPEC_ESTIMATE_GUESS:
        estimate_add_guess(guesses, stage, "run time", "1 h", "no estimate given");
        return 0;
    case SPEC_ESTIMATE_SECONDS:
    case SPEC_ESTIMATE_WORK:
        return 0;
    case SPEC_ESTIMATE_ITERATIONS:
        return check_model(spec, stage, table, guesses, e);
    case SPEC_ESTIMATE_PROFILE:
        return estimate_learned_check(spec, stage, models, e);
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
        return GUESS_S;
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
        return estimate_learned_run(stage, kind, models, out);
    const struct machine machine = {
        .instance_type = catalog_text(catalog, kind->instance_type),
        .accelerator = catalog_text(catalog, kind->accelerator),
        .accelerators = kind->accelerator_count * stage->num_nodes,
        .vcpus = kind->vcpus * stage->num_nodes,
    };
    double run_s = run_seconds(&stage->estimate, &machine, table);
    double spread = stage->estimate.kind == SPEC_ESTIMATE_GUESS ? SPREAD_GUESSED : SPREAD_GIVEN;

    if (!isfinite(run_s) || run_s < 0)
        return false;
    *out = (struct estimate){
        .run_s = run_s, .low_s = run_s * (1 - spread), .high_s = run_s * (1 + spread)};
    return true;
}
