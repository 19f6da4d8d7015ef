#include "cli/job/profile_parts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "view/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A factor that is shown as 1 is none. */
#define OUTSIDE_LEAST 1.05

/* ---- its jobs ---- */

static int count_job(void *context, const struct lake_job *job, struct err *e)
{
    struct profile_count *count = context;

    (void)e;
    count->runs++;
    count->done += job->state == LAKE_JOB_FINISHED;
    return 0;
}

int profile_count_jobs(struct lake *l, const char *name, struct profile_count *out, struct err *e)
{
    AUTO_MEM char *job_name = broker_profile_job_name(name);
    const struct lake_job_filter mine = {.name = job_name};

    *out = (struct profile_count){0};
    return lake_job_list(l, &mine, count_job, out, e);
}

struct broker_profile *profile_open(const struct command_args *args,
                                    const struct job_desk *desk,
                                    struct err *e)
{
    AUTO(broker_profile)
    struct broker_profile *p = broker_profile_load(desk->home, args->operands[0], e);

    if (!p || broker_profile_refresh(desk->home, desk->lake, p, e) < 0)
        return NULL;
    return TAKE(p);
}

/* ---- as JSON ---- */

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

json_t *profile_json(struct lake *l, const struct broker_profile *p, struct err *e)
{
    AUTO_JSON json_t *fit = p->fit ? fit_to_json(p->fit) : NULL;
    AUTO_MEM char *text = template_text(p->template);
    json_t *o = json_object();
    struct profile_count count;

    if (profile_count_jobs(l, p->name, &count, e) < 0) {
        json_decref(o);
        return NULL;
    }
    json_object_set_new(o, "name", json_text(p->name));
    json_object_set_new(o, "template", json_text(text));
    json_object_set_new(o, "runs", json_integer((json_int_t)count.runs));
    json_object_set_new(o, "done", json_integer((json_int_t)count.done));
    json_object_set_new(o, "model", fit ? model_json(fit) : json_null());
    json_object_set_new(o, "box", fit ? json_incref(json_object_get(fit, "box")) : json_null());
    json_object_set_new(o, "cpus", sizes_json(&p->cpus));
    json_object_set_new(o, "memories_mb", sizes_json(&p->mems_mb));
    return o;
}

/* ---- for people ---- */

static void put_range(struct buf *b, const json_t *range)
{
    json_t *value;
    size_t i;

    json_array_foreach(range, i, value)
    {
        if (json_is_string(value))
            buf_printf(b, "%s%s", i ? ", " : "", json_string_value(value));
        else
            buf_printf(b, "%s%g", i ? " to " : "", json_number_value(value));
    }
}

static void print_coefficients(const json_t *fit)
{
    static const struct table_column columns[] = {
        {.title = "coefficient"},
        {.title = "value", .right = true},
        {.title = "runs had", .cut_rank = 1, .least = 10},
    };
    const struct text_look look = text_look_for(stdout);
    AUTO(table) struct table *table = table_new(columns, 3);
    json_t *all = json_object_get(fit, "coefficients"), *box = json_object_get(fit, "box"), *value;
    const char *name;

    json_object_foreach(all, name, value)
    {
        AUTO_CLEAR(buf) struct buf range;
        buf_init(&range, 4000);
        put_range(&range, json_object_get(box, name));
        table_put(table, name);
        if (json_is_number(value))
            table_printf(table, "%.4f", json_number_value(value));
        else
            table_put(table, "-");
        table_put(table, buf_str(&range));
    }
    table_print(table, stdout, 0, TEXT_COLUMNS, &look);
}

static void print_sizes(const char *before, const struct profile_sizes *sizes, const char *unit)
{
    printf("%s", before);
    for (size_t i = 0; i < sizes->n; i++)
        printf("%s%g", i ? ", " : "", sizes->values[i]);
    printf(" %s", unit);
}

int profile_print(struct lake *l, const struct broker_profile *p, struct err *e)
{
    AUTO_MEM char *text = template_text(p->template);
    struct profile_count count;

    if (profile_count_jobs(l, p->name, &count, e) < 0)
        return -1;
    printf("profile %s: ", p->name);
    text_print(stdout, text, 2000);
    printf("\n%zu jobs, %zu finished", count.runs, count.done);
    print_sizes("; on ", &p->cpus, "CPUs");
    print_sizes(" and ", &p->mems_mb, "MB\n");
    if (!p->fit) {
        printf("nothing learned yet\n");
        return 0;
    }
    AUTO_JSON json_t *fit = fit_to_json(p->fit);
    printf("model %s, learned from %lld runs: leave-one-out error %.1f %%, R2 %.4f\n\n",
           fit_kind(p->fit), (long long)json_integer_value(json_object_get(fit, "runs")),
           100 * fit_loo_error(p->fit), fit_r2(p->fit));
    print_coefficients(fit);
    return 0;
}

/* ---- values ---- */

void profile_settings_clear(struct profile_settings *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->texts[i]);
    free(s->texts);
    free(s->items);
    *s = (struct profile_settings){0};
}

static int add_setting(struct profile_settings *s, const char *text, size_t len, struct err *e)
{
    const char *sign = memchr(text, '=', len);

    if (!sign || sign == text)
        return err_set(e, ERR_USAGE, "\"%.*s\" is no value: write KEY=VALUE, as in epoch=20",
                       (int)(len < 60 ? len : 60), text);
    s->texts = mem_grow(s->texts, s->n + 1, sizeof *s->texts);
    s->items = mem_grow(s->items, s->n + 1, sizeof *s->items);
    char *copy = mem_printf("%.*s", (int)len, text);
    copy[sign - text] = 0;
    s->texts[s->n] = copy;
    s->items[s->n++] = (struct template_setting){copy, copy + (sign - text) + 1};
    return 0;
}

/* A comma with KEY= behind it begins another one; others belong to the value. */
static size_t setting_length(const char *text)
{
    for (const char *comma = strchr(text, ','); comma; comma = strchr(comma + 1, ',')) {
        size_t key = strcspn(comma + 1, ",=");
        if (key && comma[1 + key] == '=')
            return (size_t)(comma - text);
    }
    return strlen(text);
}

static int add_settings(struct profile_settings *s, const char *text, struct err *e)
{
    for (;;) {
        size_t len = setting_length(text);
        if (add_setting(s, text, len, e) < 0)
            return -1;
        if (!text[len])
            return 0;
        text += len + 1;
    }
}

int profile_settings_read(const struct command_args *args,
                          struct profile_settings *out,
                          struct err *e)
{
    for (size_t i = 0; i < args->n_given; i++)
        if (strcmp(args->given[i].option->name, "--values") == 0 &&
            add_settings(out, args->given[i].value, e) < 0)
            return err_wrap(e, "--values");
    for (size_t i = 1; i < args->n_operands; i++)
        if (add_settings(out, args->operands[i], e) < 0)
            return -1;
    return 0;
}

/* ---- sizes ---- */

int profile_sizes_read(const struct command_args *args,
                       const char *option,
                       double step,
                       struct profile_sizes *out,
                       struct err *e)
{
    const char *text = command_value(args, option), *end;
    double value;

    if (!text)
        return 0;
    profile_sizes_clear(out);
    for (;; text = end + 1) {
        if (!number_prefix(text, &end, &value) || (*end && *end != ','))
            return err_set(e, ERR_USAGE, "%s: \"%.60s\" is no list of numbers, as in %g,%g,%g",
                           option, command_value(args, option), step, 2 * step, 4 * step);
        if (value < step || value > 1e9 || fmod(value, step) != 0)
            return err_set(e, ERR_USAGE, "%s: %g is no multiple of %g", option, value, step);
        profile_sizes_add(out, value);
        if (out->n > PROFILE_SIZES_MAX)
            return err_set(e, ERR_USAGE, "%s: more than %d sizes", option, PROFILE_SIZES_MAX);
        if (!*end)
            return 0;
    }
}

int job_read_source(const struct command_args *args,
                    struct app *app,
                    struct app_job_source *out,
                    struct err *e)
{
    const char *wrong;

    if (app_job_source_read(app, command_value(args, "--input"), command_value(args, "--code"), out,
                            &wrong, e) < 0)
        return err_wrap(e, "--%s", wrong);
    return 0;
}

/* ---- predictions ---- */

int profile_predict(const struct broker_profile *p,
                    const struct profile_values *values,
                    double cpus,
                    double memory_mb,
                    struct fit_prediction *out,
                    struct err *e)
{
    struct fit_value all[FIT_FEATURES_MAX] = {{.name = FIT_CPUS, .number = cpus},
                                              {.name = FIT_MEMORY, .number = memory_mb}};

    memcpy(all + 2, values->items, values->n * sizeof *all);
    if (fit_predict(p->fit, all, values->n + 2, out, e) < 0)
        return err_wrap(e, "profile %s", p->name);
    return 0;
}

void profile_print_outside(FILE *out,
                           const struct broker_profile *p,
                           const struct fit_prediction *prediction)
{
    size_t n;
    const char *const *features = fit_features(p->fit, &n);

    for (size_t i = 0; i < n; i++)
        if (prediction->factor[i] >= OUTSIDE_LEAST)
            fprintf(out, "%.3g x outside the runs in %s: the interval knows of chance only there\n",
                    prediction->factor[i], features[i]);
}

json_t *profile_outside_json(const struct broker_profile *p,
                             const struct fit_prediction *prediction)
{
    json_t *all = json_object();
    size_t n;
    const char *const *features = fit_features(p->fit, &n);

    for (size_t i = 0; i < n; i++)
        if (prediction->factor[i] >= OUTSIDE_LEAST)
            json_object_set_new(all, features[i], json_number(prediction->factor[i]));
    return all;
}
