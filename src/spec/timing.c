/* The `estimate` field of a stage. */
#include "spec/reader.h"
#include "spec/value.h"

#include <math.h>
#include <string.h>

#define MAX_WORK 1e15
#define MAX_RATE 1e15

/* Keys of one form belong together; two forms in one estimate are an error. */
enum form {
    FORM_ANY, /* beside every form */
    FORM_HOURS,
    FORM_MINUTES,
    FORM_SECONDS,
    FORM_WORK,
    FORM_ITERATIONS,
    FORM_PROFILE
};

struct draft_timing {
    struct draft *draft;
    struct spec_estimate *out;
};

static void read_name_rates(const struct reader_value *v,
                            struct spec_estimate *out,
                            void (*read)(const struct reader_value *, struct spec_rate *, double),
                            double unit)
{
    if (v->node->n == 0)
        reader_value_error(v, "is empty: name at least one accelerator or instance type");
    struct spec_rate *rates = reader_alloc(v->r, v->node->n, sizeof *rates);
    if (!rates)
        return;
    for (size_t i = 0; i < v->node->n; i++) {
        struct reader_value entry = reader_entry(v, i);
        rates[i] = (struct spec_rate){.name = v->node->entries[i].key, .parallel = 1};
        if (!rates[i].name[0])
            reader_value_error(&entry, "an accelerator or instance type has a name");
        read(&entry, &rates[i], unit);
    }
    out->rates = rates;
    out->n_rates = v->node->n;
}

static void read_seconds_rate(const struct reader_value *v, struct spec_rate *rate, double unit)
{
    reader_duration(v, unit, VALUE_MAX_RUN_S, &rate->value);
}

static void read_time(const struct reader_value *v, struct spec_estimate *out, double unit)
{
    out->kind = SPEC_ESTIMATE_SECONDS;
    if (v->node->kind == YAML_MAP)
        read_name_rates(v, out, read_seconds_rate, unit);
    else
        reader_duration(v, unit, VALUE_MAX_RUN_S, &out->seconds);
}

static void read_hours(const struct reader_value *v, void *into)
{
    read_time(v, ((struct draft_timing *)into)->out, 3600);
}

static void read_minutes(const struct reader_value *v, void *into)
{
    read_time(v, ((struct draft_timing *)into)->out, 60);
}

static void read_seconds(const struct reader_value *v, void *into)
{
    read_time(v, ((struct draft_timing *)into)->out, 1);
}

static void read_work(const struct reader_value *v, void *into)
{
    struct draft_timing *t = into;

    t->out->kind = SPEC_ESTIMATE_WORK;
    t->draft->work_is_input = v->node->kind == YAML_SCALAR && strcmp(v->node->text, "input") == 0;
    if (!t->draft->work_is_input)
        reader_number(v, 0, MAX_WORK, &t->out->work);
}

static void read_base(const struct reader_value *v, void *into)
{
    struct spec_rate *rate = into;

    if (reader_number(v, 0, MAX_RATE, &rate->value) && rate->value <= 0)
        reader_value_error(v, "a rate must be above 0");
}

static void read_parallel(const struct reader_value *v, void *into)
{
    reader_number(v, 0, 1, &((struct spec_rate *)into)->parallel);
}

static void read_work_rate(const struct reader_value *v, struct spec_rate *rate, double unit)
{
    static const struct reader_field fields[] = {
        {"base", READER_READ, read_base},
        {"parallel", READER_READ, read_parallel},
        {0},
    };

    (void)unit;
    if (v->node->kind != YAML_MAP) {
        read_base(v, rate);
        return;
    }
    reader_fields(v, fields, NULL, rate);
    if (!yaml_get(v->node, "base"))
        reader_value_error(v, "needs base: units per second of one");
}

static void read_rate(const struct reader_value *v, void *into)
{
    struct draft_timing *t = into;

    t->out->kind = SPEC_ESTIMATE_WORK;
    if (v->node->kind == YAML_MAP)
        read_name_rates(v, t->out, read_work_rate, 1);
    else
        reader_value_error(v, "must be a map of units per second, such as {vcpu: 0.008, T4: 0.13}");
}

static void read_iterations(const struct reader_value *v, void *into)
{
    struct draft_timing *t = into;

    t->out->kind = SPEC_ESTIMATE_ITERATIONS;
    reader_number(v, 0, MAX_WORK, &t->out->iterations);
}

static void read_model(const struct reader_value *v, void *into)
{
    struct draft_timing *t = into;

    t->out->kind = SPEC_ESTIMATE_ITERATIONS;
    reader_name(v, &t->out->model);
}

static void read_profile(const struct reader_value *v, void *into)
{
    struct draft_timing *t = into;

    t->out->kind = SPEC_ESTIMATE_PROFILE;
    reader_name(v, &t->out->profile);
}

static void read_args(const struct reader_value *v, void *into)
{
    struct spec_estimate *out = ((struct draft_timing *)into)->out;

    out->kind = SPEC_ESTIMATE_PROFILE;
    if (yaml_is_null(v->node) || !reader_is_map(v))
        return;
    out->args = reader_alloc(v->r, v->node->n, sizeof *out->args);
    for (size_t i = 0; out->args && i < v->node->n; i++) {
        struct reader_value entry = reader_entry(v, i);
        struct spec_pair *arg = &out->args[out->n_args];
        arg->key = v->node->entries[i].key;
        out->n_args += reader_text(&entry, &arg->value);
    }
}

static void read_setup(const struct reader_value *v, void *into)
{
    if (!yaml_is_null(v->node))
        reader_duration(v, 1, VALUE_MAX_RUN_S, &((struct draft_timing *)into)->out->setup_s);
}

static const struct {
    struct reader_field field;
    enum form form;
} keys[] = {
    {{"hours", READER_READ, read_hours}, FORM_HOURS},
    {{"minutes", READER_READ, read_minutes}, FORM_MINUTES},
    {{"seconds", READER_READ, read_seconds}, FORM_SECONDS},
    {{"work", READER_READ, read_work}, FORM_WORK},
    {{"rate", READER_READ, read_rate}, FORM_WORK},
    {{"iterations", READER_READ, read_iterations}, FORM_ITERATIONS},
    {{"model", READER_READ, read_model}, FORM_ITERATIONS},
    {{"profile", READER_READ, read_profile}, FORM_PROFILE},
    {{"args", READER_READ, read_args}, FORM_PROFILE},
    {{"setup", READER_READ, read_setup}, FORM_ANY},
};

#define N_KEYS (sizeof keys / sizeof *keys)

static enum form form_of(const char *key)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].field.name, key) == 0)
            return keys[i].form;
    return FORM_ANY;
}

/* At most one form, and whole. */
static void check_form(const struct reader_value *v)
{
    static const struct {
        const char *key, *other;
    } pairs[] = {{"work", "rate"},
                 {"rate", "work"},
                 {"iterations", "model"},
                 {"model", "iterations"},
                 {"args", "profile"}};
    const struct yaml_entry *first = NULL;

    for (size_t i = 0; i < v->node->n; i++) {
        const struct yaml_entry *entry = &v->node->entries[i];
        enum form form = form_of(entry->key);
        if (form == FORM_ANY)
            continue;
        if (first && form != form_of(first->key))
            reader_error(v->r, entry->line,
                         "%s: %s beside %s on line %zu: an estimate has one form, keep one",
                         v->field, entry->key, first->key, first->line);
        if (!first)
            first = entry;
    }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (yaml_get(v->node, pairs[i].key) && !yaml_get(v->node, pairs[i].other))
            reader_value_error(v, "%s needs %s beside it", pairs[i].key, pairs[i].other);
}

void timing_read(const struct reader_value *v, struct draft *draft, struct spec_estimate *out)
{
    struct draft_timing t = {draft, out};
    struct reader_field fields[N_KEYS + 1] = {0};

    for (size_t i = 0; i < N_KEYS; i++)
        fields[i] = keys[i].field;
    out->line = v->line;
    if (yaml_is_null(v->node))
        return;
    if (v->node->kind == YAML_SCALAR)
        reader_value_error(v, "%s: write which form it has, such as {hours: 3}", reader_shown(v));
    else if (reader_fields(v, fields, NULL, &t))
        check_form(v);
}

const struct yaml_node *timing_merge(struct reader *r,
                                     const struct yaml_node *defaults,
                                     const struct yaml_node *own)
{
    struct yaml_node kept = *defaults;
    enum form form = FORM_ANY;

    for (size_t i = 0; i < own->n && form == FORM_ANY; i++)
        form = form_of(own->entries[i].key);
    kept.n = 0;
    kept.entries = reader_alloc(r, defaults->n, sizeof *kept.entries);
    if (!kept.entries)
        return own;
    for (size_t i = 0; i < defaults->n; i++) {
        enum form inherited = form_of(defaults->entries[i].key);
        if (form == FORM_ANY || inherited == FORM_ANY || inherited == form)
            kept.entries[kept.n++] = defaults->entries[i];
    }
    return merge_maps(r, &kept, own);
}
