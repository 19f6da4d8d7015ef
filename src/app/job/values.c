#include "app/job/values.h"

#include "app/core/lake_open.h"
#include "base/mem.h"
#include "lake/job/job.h"
#include "lake/meta/meta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define POINTS_MAX 1000

void app_values_clear(struct app_values *v)
{
    json_decref(v->params);
    json_decref(v->series);
    json_decref(v->metrics);
    json_decref(v->best);
    json_decref(v->points);
    json_decref(v->owners);
    *v = (struct app_values){0};
}

/* ---- which is better ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool app_metric_falls(const char *name)
{
    static const char *const words[] = {"loss", "error",   "err",  "perplexity", "ppl", "mse",
                                        "mae",  "rmse",    "mape", "nll",        "wer", "cer",
                                        "fid",  "latency", "time", "cost",       "bpc", "regret"};

    for (const char *at = name; *at;) {
        size_t n = 0;
        while (is_letter(at[n]))
            n++;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i]) == n && strncasecmp(at, words[i], n) == 0)
                return true;
        at += n ? n : 1;
    }
    return false;
}

/* ---- one job ---- */

struct adding {
    struct app_values *v;
    const char *stage; /* NULL = of a job alone */
    json_t *counts;    /* steps of each series of the job */
    json_t *lists;     /* its points */
    /* Of the series at hand: */
    char *name;
    json_t *list;
    int64_t seen, every, last; /* points; every which is taken, and the last one */
};

/* Under its name, or under STAGE.NAME where another stage has another value. Takes value. */
static void put(struct adding *a, json_t *to, const char *kind, const char *name, json_t *value)
{
    json_t *old = json_object_get(to, name), *owners = a->v->owners;
    AUTO_MEM char *key = mem_printf("%s%s", kind, name);
    const char *owner = json_string_value(json_object_get(owners, key));

    if (!a->stage || (!old && !owner)) {
        json_object_set_new(to, name, value);
        if (a->stage)
            json_object_set_new(owners, key, json_string(a->stage));
        return;
    }
    if (old && json_equal(old, value)) {
        json_decref(value);
        return;
    }
    if (old && owner) {
        AUTO_MEM char *first = mem_printf("%s.%s", owner, name);
        json_object_set(to, first, old);
        json_object_del(to, name);
    }
    AUTO_MEM char *second = mem_printf("%s.%s", a->stage, name);
    json_object_set_new(to, second, value);
}

static int add_param(void *context, const struct lake_value *v, struct err *e)
{
    struct adding *a = context;

    (void)e;
    put(a, a->v->params, "param ", v->key, lake_value_json(v));
    return 0;
}

static int add_series(void *context, const struct lake_job_series *s, struct err *e)
{
    struct adding *a = context;
    json_t *series = json_object();

    (void)e;
    json_object_set_new(series, "last", json_number(s->last));
    json_object_set_new(series, "min", json_number(s->min));
    json_object_set_new(series, "max", json_number(s->max));
    json_object_set_new(series, "steps", json_integer(s->steps));
    json_object_set_new(series, "last_step", json_number(s->last_step));
    json_object_set_new(a->counts, s->name, json_integer(s->steps));
    put(a, a->v->series, "metric ", s->name, series);
    return 0;
}

static int add_point(void *context, const struct lake_job_metric *m, struct err *e)
{
    struct adding *a = context;

    (void)e;
    if (!a->list || strcmp(a->name, m->name) != 0) {
        free(a->name);
        a->name = mem_dup(m->name);
        a->list = json_array();
        json_object_set_new(a->lists, m->name, a->list);
        const json_t *steps = json_object_get(a->counts, m->name);
        a->every = json_integer_value(steps) / POINTS_MAX + 1;
        a->last = json_integer_value(steps) - 1;
        a->seen = 0;
    }
    if (isfinite(m->value) && (a->seen % a->every == 0 || a->seen == a->last))
        json_array_append_new(a->list, json_pack("[f,f]", m->step, m->value));
    a->seen++;
    return 0;
}

static int add_points(struct app *app, int64_t job, struct adding *a, struct err *e)
{
    AUTO_JSON json_t *lists = json_object();
    json_t *list;
    const char *name;

    a->lists = lists;
    int result = lake_job_metrics(app_lake(app, e), job, NULL, add_point, a, e);
    free(TAKE(a->name));
    json_object_foreach(lists, name, list) put(a, a->v->points, "points ", name, json_incref(list));
    return result;
}

int app_values_add(struct app *app,
                   int64_t job,
                   const char *stage,
                   bool with_points,
                   struct app_values *v,
                   struct err *e)
{
    AUTO_JSON json_t *counts = json_object();
    struct adding a = {.v = v, .stage = stage, .counts = counts};
    struct lake *l = app_lake(app, e);

    v->params = v->params ? v->params : json_object();
    v->series = v->series ? v->series : json_object();
    v->owners = v->owners ? v->owners : json_object();
    if (!l || lake_job_params(l, job, add_param, &a, e) < 0 ||
        lake_job_summaries(l, job, add_series, &a, e) < 0)
        return -1;
    if (!with_points)
        return 0;
    v->points = v->points ? v->points : json_object();
    return add_points(app, job, &a, e);
}

/* ---- side by side ---- */

static const json_t *last_of(const struct app_values *v, const char *name)
{
    return json_object_get(json_object_get(v->series, name), "last");
}

/* The best value of the metric; false: fewer than two have one, or all have the same. */
static bool find_best(const struct app_values *all, size_t n, const char *name, double *best)
{
    bool falls = app_metric_falls(name), differs = false;
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        const json_t *last = last_of(&all[i], name);
        double value = json_number_value(last);
        if (!json_is_number(last))
            continue;
        differs = differs || (found && value != *best);
        if (!found++ || (falls ? value < *best : value > *best))
            *best = value;
    }
    return differs;
}

void app_values_best(struct app_values *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_t *series;
        const char *name;
        double best = 0;
        all[i].best = json_array();
        all[i].metrics = json_object();
        json_object_foreach(all[i].series, name, series)
        {
            json_t *last = json_object_get(series, "last");
            json_object_set(all[i].metrics, name, last);
            if (json_is_number(last) && find_best(all, n, name, &best) &&
                json_number_value(last) == best)
                json_array_append_new(all[i].best, json_string(name));
        }
    }
}
