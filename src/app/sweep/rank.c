/* rank: which trial of a sweep is best, the alias of its output, and the report for people and
 * programs. start.c and show.c call it. */
#include "app/core/lake_open.h"
#include "app/run/run.h"
#include "app/sweep/trials.h"
#include "base/mem.h"
#include "lake/meta/meta_value.h"
#include "lake/set/set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIAS "best"

/* Finished trials before others, then the better value, then the earlier trial. */
static int compare(const struct sweep_trial *x, const struct sweep_trial *y, bool less_is_better)
{
    bool x_ended = x->state == HALVING_ENDED, y_ended = y->state == HALVING_ENDED;
    bool x_none = isnan(x->value), y_none = isnan(y->value);

    if (x_none != y_none)
        return x_none - y_none;
    if (x_ended != y_ended)
        return y_ended - x_ended;
    if (!x_none && x->value != y->value)
        return (x->value < y->value) == less_is_better ? -1 : 1;
    return (x > y) - (x < y);
}

struct ranking {
    const struct sweep_trials *t;
    bool less_is_better;
};

static int by_rank(const void *a, const void *b, void *context)
{
    const struct ranking *r = context;

    return compare(&r->t->items[*(const size_t *)a], &r->t->items[*(const size_t *)b],
                   r->less_is_better);
}

const struct sweep_trial *sweep_trials_best(const struct sweep_trials *t,
                                            const struct sweep_plan *plan)
{
    const struct sweep_trial *best = NULL;

    for (size_t i = 0; i < t->n; i++) {
        const struct sweep_trial *trial = &t->items[i];
        bool counts = trial->state == HALVING_ENDED && !isnan(trial->value);
        if (counts && (!best || compare(trial, best, plan->less_is_better) < 0))
            best = trial;
    }
    return best;
}

/* ---- the alias ---- */

static int set_alias(struct lake *l, const char *version, struct err *e)
{
    AUTO_CLEAR(lake_ref) struct lake_ref ref = {0};

    return lake_resolve(l, version, LAKE_READ, &ref, e) < 0 ? -1
                                                            : lake_alias_set(l, &ref, ALIAS, e);
}

/* Whether "@S:4" is a version of the set. */
static bool is_of_set(const char *version, const char *set)
{
    size_t n = strlen(set);

    return *version == '@' && strncmp(version + 1, set, n) == 0 && version[n + 1] == ':';
}

/* Each set that a stage of the run made, or the one that is named. */
static int alias_run(struct app *app,
                     const struct sweep_plan *plan,
                     const struct sweep_trial *best,
                     struct err *e)
{
    AUTO_CLEAR(run) struct run r = {0};
    struct lake *l = app_lake(app, e);

    if (app_run_load(app, best->id, &r, e) < 0)
        return -1;
    for (size_t i = 0; i < r.n_stages; i++) {
        struct app_run_job job;
        if (app_run_job_recorded(l, r.id, &r.stages[i], &job, e) < 0)
            return -1;
        if (job.output_set[0] && (!plan->output || is_of_set(job.output_set, plan->output)) &&
            set_alias(l, job.output_set, e) < 0)
            return -1;
    }
    return 0;
}

int sweep_trials_alias(struct app *app,
                       const struct sweep_plan *plan,
                       const struct sweep_trial *best,
                       struct err *e)
{
    if (!best || !best->output || (!plan->is_pipeline && !plan->output))
        return 0;
    int result = plan->is_pipeline ? alias_run(app, plan, best, e)
                                   : set_alias(app_lake(app, e), best->output, e);
    return result < 0 ? err_wrap(e, "alias @%s:" ALIAS, plan->output ? plan->output : "SET") : 0;
}

/* ---- the report ---- */

static int take_param(void *context, const struct lake_value *v, struct err *e)
{
    (void)e;
    json_object_set_new(context, v->key, lake_value_json(v));
    return 0;
}

/* The keys arg1, arg2 ... of words of a command that belong to no option. */
static bool is_word(const char *key)
{
    return strncmp(key, "arg", 3) == 0 && key[3] >= '0' && key[3] <= '9';
}

static int take_word(void *context, const struct lake_value *v, struct err *e)
{
    return is_word(v->key) ? take_param(context, v, e) : 0;
}

static json_t *params_of(struct app *app, const struct sweep_trial *trial, struct err *e)
{
    struct lake *l = app_lake(app, e);

    if (trial->params) {
        json_t *params = json_loads(trial->params, 0, NULL);
        const char *key;
        json_t *value;
        json_object_foreach(params, key, value)
        {
            struct lake_value v = {.key = key, .text = json_string_value(value)};
            v.kind = meta_value_kind(v.text, &v.number);
            json_object_set_new(params, key, lake_value_json(&v));
        }
        return params ? params : json_object();
    }
    AUTO_JSON json_t *params = json_object();
    if (!trial->n)
        return TAKE(params);
    int64_t id = trial->ids[trial->n - 1];
    return lake_job_params(l, id, take_param, params, e) < 0 ||
                   lake_job_tags(l, id, take_word, params, e) < 0
               ? NULL
               : TAKE(params);
}

static bool same_values(const struct app_sweep_trial *trials,
                        size_t n,
                        const char *a,
                        const char *b)
{
    for (size_t i = 0; i < n; i++)
        if (!json_equal(json_object_get(trials[i].params, a), json_object_get(trials[i].params, b)))
            return false;
    return true;
}

/* Drops words (arg1, arg2 ...) that repeat the value of a named parameter. */
static void drop_words(struct app_sweep_trial *trials, size_t n)
{
    AUTO_JSON json_t *first = n ? json_deep_copy(trials[0].params) : NULL;
    const char *key, *other;
    json_t *value, *another;

    json_object_foreach(first, key, value)
    {
        bool again = false;
        json_object_foreach(first, other, another)
        {
            again =
                again || (is_word(key) && !is_word(other) && same_values(trials, n, key, other));
        }
        for (size_t i = 0; again && i < n; i++)
            json_object_del(trials[i].params, key);
    }
}

/* Drops parameters that all trials have in common. */
static void keep_different(struct app_sweep_trial *trials, size_t n)
{
    AUTO_JSON json_t *first = n > 1 ? json_deep_copy(trials[0].params) : NULL;
    const char *key;
    json_t *value;

    json_object_foreach(first, key, value)
    {
        bool same = true;
        for (size_t i = 1; same && i < n; i++)
            same = json_equal(value, json_object_get(trials[i].params, key));
        for (size_t i = 0; same && i < n; i++)
            json_object_del(trials[i].params, key);
    }
}

static int fill(struct app *app,
                const struct sweep_plan *plan,
                const struct sweep_trial *from,
                struct app_sweep_trial *to,
                const struct answer *out,
                struct err *e)
{
    int64_t *jobs = answer_alloc(out, from->n_jobs + 1, sizeof *jobs, e);

    *to = (struct app_sweep_trial){
        .rank = FIELD_NONE,
        .state = from->n ? from->state_text : "new",
        .value = from->value,
        .step = from->step,
        .runtime_s = from->runtime_s,
        .cost_microusd = from->cost_microusd,
        .run = plan->is_pipeline && from->n ? from->id : FIELD_NONE,
        .output = from->output ? arena_dup(out->arena, from->output) : NULL,
        .params = params_of(app, from, e),
    };
    if (!jobs || !to->params)
        return -1;
    if (from->n_jobs) /* a trial that has not begun has none */
        memcpy(jobs, from->jobs, from->n_jobs * sizeof *jobs);
    to->jobs = (struct field_ints){jobs, from->n_jobs};
    return 0;
}

void app_sweep_clear(struct app_sweep *report)
{
    const struct app_sweep_trial *trials = report->trials.items;

    for (size_t i = 0; i < report->trials.n; i++)
        json_decref(trials[i].params);
    *report = (struct app_sweep){0};
}

int sweep_trials_report(const struct sweep_trials *t,
                        struct app *app,
                        const struct sweep_plan *plan,
                        const struct answer *out,
                        struct app_sweep *report,
                        struct err *e)
{
    AUTO_MEM size_t *order = mem_zero(t->n + 1, sizeof *order);
    struct app_sweep_trial *trials = answer_alloc(out, t->n + 1, sizeof *trials, e);
    struct ranking r = {t, plan->less_is_better};
    const struct sweep_trial *best = sweep_trials_best(t, plan);

    if (!trials)
        return -1;
    *report = (struct app_sweep){.name = plan->name,
                                 .search = plan->search,
                                 .metric = plan->metric,
                                 .goal = !plan->metric          ? NULL
                                         : plan->less_is_better ? "min"
                                                                : "max",
                                 .best = best ? best->output : NULL,
                                 .jobs = (int64_t)t->n,
                                 .is_pipeline = plan->is_pipeline,
                                 .trials = {trials, 0}};
    for (size_t i = 0; i < t->n; i++)
        order[i] = i;
    qsort_r(order, t->n, sizeof *order, by_rank, &r);
    for (size_t i = 0; i < t->n; i++) {
        const struct sweep_trial *from = &t->items[order[i]];
        report->trials.n++;
        if (fill(app, plan, from, &trials[i], out, e) < 0)
            return -1;
        trials[i].best = from == best;
        trials[i].rank = isnan(from->value) ? FIELD_NONE : (int64_t)i + 1;
        report->finished += from->state == HALVING_ENDED;
        report->stopped += from->state == HALVING_PAUSED;
    }
    keep_different(trials, t->n);
    drop_words(trials, t->n);
    return 0;
}
