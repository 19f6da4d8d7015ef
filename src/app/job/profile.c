#include "app/job/profile.h"

#include "app/job/job.h"
#include "base/buf.h"
#include "base/mem.h"
#include "lake/job/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Factors below are shown as 1: within the runs. */
#define OUTSIDE_LEAST 1.05

/* ---- the record ---- */

static void model_cell(const void *record, struct buf *out)
{
    const struct app_profile *p = record;

    buf_puts(out, p->model ? json_string_value(json_object_get(p->model, "kind")) : "-");
}

static void error_cell(const void *record, struct buf *out)
{
    const struct app_profile *p = record;

    if (isnan(p->loo_error))
        buf_puts(out, "-");
    else
        buf_printf(out, "%.1f %%", 100 * p->loo_error);
}

/* clang-format off */
#define PROFILE(TYPE, member) FIELD(TYPE, struct app_profile, member)
static const struct field profile_fields[] = {
    {"name", PROFILE(TEXT, name), .help = "Name of the profile.", .heading = "profile",
     .cut_rank = 2, .least_width = 12},
    {"template", PROFILE(TEXT, template), .help = "Command with its lists."},
    {"runs", PROFILE(INT, runs), .help = "Jobs that the profile submitted.", .heading = "jobs"},
    {"done", PROFILE(INT, done), .help = "Those that finished.", .heading = "done"},
    {"imported", PROFILE(INT, imported), .help = "Runs that were imported.", .heading = "imported"},
    {"model", PROFILE(JSON, model), .heading = "model", .cell = model_cell,
     .help = "Model of the run time: kind, coefficients, loo_error, r2, runs; null until there are "
             "enough runs."},
    {"box", PROFILE(JSON, box), .help = "Values of each feature that the model was learned from."},
    {"cpus", PROFILE(JSON, cpus), .help = "CPUs that were tried."},
    {"memories_mb", PROFILE(JSON, memories_mb), .unit = "MB", .help = "Memory that was tried."},
    {"error_column", PROFILE(REAL, loo_error), .heading = "error", .is_column_only = true,
     .cell = error_cell, .help = "Leave-one-out error of the model."},
    {"command_column", PROFILE(TEXT, template), .heading = "command", .is_column_only = true,
     .cut_rank = 1, .least_width = 20, .help = "Command with its lists."},
};
/* clang-format on */
const struct record app_profile_record = RECORD("profile", struct app_profile, profile_fields);

static void app_profile_clear(struct app_profile *p)
{
    json_decref(p->model);
    json_decref(p->box);
    json_decref(p->cpus);
    json_decref(p->memories_mb);
}

static json_t *sizes_json(const struct profile_sizes *sizes)
{
    json_t *list = json_array();

    for (size_t i = 0; i < sizes->n; i++)
        json_array_append_new(list, json_number(sizes->values[i]));
    return list;
}

static json_t *model_json(const json_t *fit)
{
    static const char *const keys[] = {"kind", "coefficients", "loo_error", "r2", "runs"};
    json_t *model = json_object();

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        json_object_set(model, keys[i], json_object_get(fit, keys[i]));
    return model;
}

static int count_job(void *context, const struct lake_job *job, struct err *e)
{
    struct app_profile *p = context;

    (void)e;
    p->runs++;
    p->done += job->state == LAKE_JOB_FINISHED;
    return 0;
}

int app_profile_answer(struct app *app,
                       const struct broker_profile *p,
                       int (*answer)(struct answer *out, const void *record, struct err *e),
                       struct answer *out,
                       struct err *e)
{
    AUTO_JSON json_t *fit = p->fit ? fit_to_json(p->fit) : NULL;
    AUTO_MEM char *text = template_text(p->template);
    AUTO_MEM char *job_name = broker_profile_job_name(p->name);
    const struct lake_job_filter jobs = {.name = job_name};
    struct lake *l = app_lake(app, e);
    AUTO_CLEAR(app_profile)
    struct app_profile record = {
        .name = p->name,
        .template = p->template->n ? text : NULL,
        .imported = (int64_t)p->imported.n,
        .model = fit ? model_json(fit) : NULL,
        .box = fit ? json_incref(json_object_get(fit, "box")) : NULL,
        .cpus = sizes_json(&p->cpus),
        .memories_mb = sizes_json(&p->mems_mb),
        .loo_error = p->fit ? fit_loo_error(p->fit) : (double)NAN,
    };

    if (!l || lake_job_list(l, &jobs, count_job, &record, e) < 0)
        return -1;
    return answer(out, &record, e);
}

struct broker_profile *app_profile_load(struct app *app, const char *name, struct err *e)
{
    const char *home = app_home(app, e);

    return home ? broker_profile_load(home, name, e) : NULL;
}

struct broker_profile *app_profile_open(struct app *app, const char *name, struct err *e)
{
    struct lake *l = app_lake(app, e);
    AUTO(broker_profile) struct broker_profile *p = l ? app_profile_load(app, name, e) : NULL;

    if (!p || broker_profile_refresh(app_home(app, e), l, p, e) < 0)
        return NULL;
    return TAKE(p);
}

/* ---- profile.list ---- */

struct listing {
    struct app *app;
    struct answer *out;
};

static int list_one(void *context, const char *name, struct err *e)
{
    struct listing *s = context;
    AUTO(broker_profile) struct broker_profile *p = app_profile_load(s->app, name, e);

    return p ? app_profile_answer(s->app, p, answer_item, s->out, e) : -1;
}

static int run_list(struct app *app, const void *request, struct answer *out, struct err *e)
{
    struct listing s = {app, out};
    const char *home = app_home(app, e);

    (void)request;
    return home ? broker_profile_each(home, list_one, &s, e) : -1;
}

const struct operation profile_list_operation = {
    .name = "profile.list",
    .summary = "List profiles.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &record_none,
    .item = &app_profile_record,
    .is_live = true,
    .run = run_list,
};

/* ---- profile.get, profile.fit ---- */

struct get_request {
    const char *name;
};

static const struct field get_fields[] = {
    {"name", FIELD(TEXT, struct get_request, name), .help = "Name of the profile.",
     .required = true, .operand = true},
};
static const struct record get_record = RECORD("profile_get", struct get_request, get_fields);

static int run_get(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct get_request *q = request;
    AUTO(broker_profile) struct broker_profile *p = app_profile_load(app, q->name, e);

    return p ? app_profile_answer(app, p, answer_head, out, e) : -1;
}

static int run_fit(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct get_request *q = request;
    struct lake *l = app_lake(app, e);
    AUTO(broker_profile) struct broker_profile *p = l ? app_profile_load(app, q->name, e) : NULL;

    if (!p || broker_profile_learn(app_home(app, e), l, p, e) < 0)
        return -1;
    return app_profile_answer(app, p, answer_head, out, e);
}

const struct operation profile_get_operation = {
    .name = "profile.get",
    .summary = "Get a profile and its model of the run time.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    .request = &get_record,
    .answer = &app_profile_record,
    .is_live = true,
    .run = run_get,
};

const struct operation profile_fit_operation = {
    .name = "profile.fit",
    .summary = "Fit the model of a profile again, to every finished job of its command.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    .request = &get_record,
    .answer = &app_profile_record,
    .run = run_fit,
};

/* ---- settings ---- */

static int add_setting(
    struct app_profile_settings *s, const char *text, size_t len, struct arena *a, struct err *e)
{
    const char *sign = memchr(text, '=', len);

    if (!sign || sign == text)
        return err_set(e, ERR_USAGE, "\"%.*s\" is not KEY=VALUE; give a value as in epoch=20",
                       (int)(len < 60 ? len : 60), text);
    s->items = arena_room(a, s->items, s->n, &s->cap, sizeof *s->items);
    if (!s->items)
        return err_set(e, ERR_NOFIT, "there are too many values");
    size_t key = (size_t)(sign - text);
    s->items[s->n++] = (struct template_setting){arena_dup_n(a, text, key),
                                                 arena_dup_n(a, sign + 1, len - key - 1)};
    return 0;
}

/* A comma with KEY= behind it begins another setting; others belong to the value. */
static size_t setting_length(const char *text)
{
    for (const char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
        size_t key = strcspn(comma + 1, ",=");
        if (key && comma[1 + key] == '=')
            return (size_t)(comma - text);
    }
    return strlen(text);
}

static int add_settings(struct app_profile_settings *s,
                        const struct field_list *texts,
                        struct arena *a,
                        struct err *e)
{
    for (size_t i = 0; i < texts->n; i++)
        for (const char *text = texts->items[i];;) {
            size_t len = setting_length(text);
            if (add_setting(s, text, len, a, e) < 0)
                return -1;
            if (!text[len])
                break;
            text += len + 1;
        }
    return 0;
}

int app_profile_settings_read(struct app_profile_settings *s,
                              const struct field_list *values,
                              const struct field_list *settings,
                              const struct answer *out,
                              struct err *e)
{
    char option[64];

    if (add_settings(s, values, out->arena, e) < 0)
        return err_wrap(e, "%s", answer_spell(out, "values", option));
    return add_settings(s, settings, out->arena, e);
}

/* ---- profile.predict ---- */

static json_t *outside_json(const struct broker_profile *p, const struct fit_prediction *got)
{
    json_t *all = json_object();
    size_t n;
    const char *const *features = fit_features(p->fit, &n);

    for (size_t i = 0; i < n; i++)
        if (got->factor[i] >= OUTSIDE_LEAST)
            json_object_set_new(all, features[i], json_number(got->factor[i]));
    return all;
}

int app_profile_predict(const struct broker_profile *p,
                        const struct profile_values *values,
                        double cpus,
                        double memory_mb,
                        struct app_prediction *out,
                        struct err *e)
{
    struct fit_value all[FIT_FEATURES_MAX] = {{.name = FIT_CPUS, .number = cpus},
                                              {.name = FIT_MEMORY, .number = memory_mb}};
    struct fit_prediction got;

    memcpy(all + 2, values->items, values->n * sizeof *all);
    if (fit_predict(p->fit, all, values->n + 2, &got, e) < 0)
        return err_wrap(e, "profile %s", p->name);
    *out = (struct app_prediction){.predicted_s = got.predicted_s,
                                   .low_s = got.low_s,
                                   .high_s = got.high_s,
                                   .outside = got.outside,
                                   .outside_by = outside_json(p, &got)};
    return 0;
}

struct predict_request {
    const char *name;
    struct field_list settings, values;
    double cpus;
    const char *memory;
};

/* clang-format off */
#define PREDICT(TYPE, member) FIELD(TYPE, struct predict_request, member)
static const struct field predict_fields[] = {
    {"name", PREDICT(TEXT, name), .help = "Name of the profile.", .required = true,
     .operand = true},
    {"settings", PREDICT(LIST, settings), .operand = true,
     .help = "Values of arguments, as in epoch=20."},
    {"values", PREDICT(LIST, values), .value = "KEY=VALUE",
     .help = "Value of an argument of the command, as in epoch=20; several with commas or blanks "
             "between them."},
    {"cpus", PREDICT(REAL, cpus), .value = "N",
     .help = "CPUs, in halves (default: 1, or the nearest profiled number)."},
    {"memory", PREDICT(TEXT, memory), .value = "SIZE",
     .help = "Memory, as in 512 or 2GB (default: 1GB, or the nearest profiled size)."},
};

#define GOT(TYPE, member) FIELD(TYPE, struct app_prediction, member)
static const struct field prediction_fields[] = {
    {"predicted_s", GOT(DURATION, predicted_s), .unit = "s", .help = "Predicted run time."},
    {"low_s", GOT(DURATION, low_s), .unit = "s", .help = "Low end of the 95 % interval."},
    {"high_s", GOT(DURATION, high_s), .unit = "s", .help = "High end of the 95 % interval."},
    {"outside", GOT(REAL, outside),
     .help = "Largest factor beyond the runs that the model was learned from; 1 within."},
    {"outside_by", GOT(JSON, outside_by), .help = "Factor of each feature beyond those runs."},
};
/* clang-format on */

static double within(const struct profile_sizes *sizes, double value)
{
    return fmin(fmax(value, sizes->values[0]), sizes->values[sizes->n - 1]);
}

static int run_predict(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct predict_request *q = request;
    AUTO_CLEAR(profile_values) struct profile_values values = {0};
    struct app_profile_settings settings = {0};
    struct lake_job_request size;
    struct app_prediction got;

    if (app_profile_settings_read(&settings, &q->values, &q->settings, out, e) < 0 ||
        app_job_read_size(isnan(q->cpus) ? 1 : q->cpus, q->memory ? q->memory : "1GB", out, &size,
                          e) < 0)
        return -1;
    AUTO(broker_profile) struct broker_profile *p = app_profile_open(app, q->name, e);
    if (!p || broker_profile_values(p, settings.items, settings.n, &values, e) < 0)
        return -1;
    double cpus = isnan(q->cpus) ? within(&p->cpus, size.cpus) : size.cpus;
    double mb = (double)size.memory_mb;
    mb = q->memory ? mb : within(&p->mems_mb, mb);
    if (app_profile_predict(p, &values, cpus, mb, &got, e) < 0)
        return -1;
    int result = answer_head(out, &got, e);
    json_decref(got.outside_by);
    return result;
}

const struct operation profile_predict_operation = {
    .name = "profile.predict",
    .summary = "Predict the run time of a command from its profile.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct predict_request, predict_fields),
    .answer = RECORD_AT("prediction", struct app_prediction, prediction_fields),
    .run = run_predict,
};
