#include "estimate/learned.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/time.h"
#include "estimate/fit.h"

#include <math.h>
#include <string.h>

#define MB_PER_GIB 1024
/* A factor that rounds to 1.0 in the guess is none. */
#define OUTSIDE_LEAST 1.05

/* ---- which model ---- */

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

/* ---- what it is asked with ---- */

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

/* ---- for estimate.c ---- */

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

int estimate_learned_check(const struct spec *spec,
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

bool estimate_learned_run(const struct spec_stage *stage,
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
        estimate_add_guess(guesses, stage, "run time", time_text(prediction.predicted_s, time),
                           why);
    }
}
