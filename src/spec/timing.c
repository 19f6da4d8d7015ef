/* The `estimate` field of a stage. */
#include "base/number.h"
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
    if (v->node->kind == YAML_MAP)
        read_name_rates(v, out, read_seconds_rate, unit);
    else
        reader_duration(v, unit, VALUE_MAX_RUN_S, &out->seconds);
}

static void read_hours(const struct reader_value *v, void *into)
{
    read_time(v, &((struct spec_stage *)into)->estimate, 3600);
}

static void read_minutes(const struct reader_value *v, void *into)
{
    read_time(v, &((struct spec_stage *)into)->estimate, 60);
}

static void read_seconds(const struct reader_value *v, void *into)
{
    read_time(v, &((struct spec_stage *)into)->estimate, 1);
}

static void read_work(const struct reader_value *v, void *into)
{
    struct draft *draft = spec_stage_draft(v->r, into);

    draft->work_is_input = v->node->kind == YAML_SCALAR && strcmp(v->node->text, "input") == 0;
    if (!draft->work_is_input)
        reader_number(v, 0, MAX_WORK, &((struct spec_stage *)into)->estimate.work);
}

static const struct reader_field rate_fields[] = {
    {"base", READER_INTO(ABOVE, spec_rate, value), 0, MAX_RATE},
    {"parallel", READER_INTO(NUMBER, spec_rate, parallel), 0, 1},
    {0},
};

static void read_work_rate(const struct reader_value *v, struct spec_rate *rate, double unit)
{
    (void)unit;
    if (v->node->kind != YAML_MAP) {
        reader_field(&rate_fields[0], v, rate);
        return;
    }
    reader_fields(v, rate_fields, NULL, rate);
    if (!yaml_get(v->node, "base"))
        reader_value_error(v, "needs base: units per second of one");
}

static void read_rate(const struct reader_value *v, void *into)
{
    if (v->node->kind == YAML_MAP)
        read_name_rates(v, &((struct spec_stage *)into)->estimate, read_work_rate, 1);
    else
        reader_value_error(v, "must be a map of units per second, such as {vcpu: 0.008, T4: 0.13}");
}

static void read_args(const struct reader_value *v, void *into)
{
    struct spec_estimate *out = &((struct spec_stage *)into)->estimate;

    if (!reader_is_map(v))
        return;
    out->args = reader_alloc(v->r, v->node->n, sizeof *out->args);
    for (size_t i = 0; out->args && i < v->node->n; i++) {
        struct reader_value entry = reader_entry(v, i);
        struct spec_pair *arg = &out->args[out->n_args];
        arg->key = v->node->entries[i].key;
        out->n_args += reader_text(&entry, &arg->value);
    }
}

#define INTO(use, member) READER_INTO(use, spec_stage, estimate.member)
static const struct reader_field fields[] = {
    {"hours", .read = read_hours, .group = FORM_HOURS},
    {"minutes", .read = read_minutes, .group = FORM_MINUTES},
    {"seconds", .read = read_seconds, .group = FORM_SECONDS},
    {"work", .read = read_work, .group = FORM_WORK},
    {"rate", .read = read_rate, .group = FORM_WORK},
    {"iterations", INTO(NUMBER, iterations), 0, MAX_WORK, .group = FORM_ITERATIONS},
    {"model", INTO(NAME, model), .group = FORM_ITERATIONS},
    {"profile", INTO(NAME, profile), .group = FORM_PROFILE},
    {"args", .read = read_args, .may_be_null = true, .group = FORM_PROFILE},
    {"setup", INTO(SECONDS, setup_s), 0, VALUE_MAX_RUN_S, .may_be_null = true},
    {0},
};

static int form_of(const char *key)
{
    const struct reader_field *field = reader_find_field(fields, key);

    return field ? field->group : FORM_ANY;
}

/* At most one form, and whole; the form that comes last counts. */
static void check_form(const struct reader_value *v, struct spec_estimate *out)
{
    static const struct {
        const char *key, *other;
    } pairs[] = {{"work", "rate"},
                 {"rate", "work"},
                 {"iterations", "model"},
                 {"model", "iterations"},
                 {"args", "profile"}};
    static const enum spec_estimate_kind kinds[] = {
        [FORM_HOURS] = SPEC_ESTIMATE_SECONDS,         [FORM_MINUTES] = SPEC_ESTIMATE_SECONDS,
        [FORM_SECONDS] = SPEC_ESTIMATE_SECONDS,       [FORM_WORK] = SPEC_ESTIMATE_WORK,
        [FORM_ITERATIONS] = SPEC_ESTIMATE_ITERATIONS, [FORM_PROFILE] = SPEC_ESTIMATE_PROFILE,
    };
    const struct yaml_entry *first = NULL;

    for (size_t i = 0; i < v->node->n; i++) {
        const struct yaml_entry *entry = &v->node->entries[i];
        int form = form_of(entry->key);
        if (form == FORM_ANY)
            continue;
        out->kind = kinds[form];
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

/* "3h" is {hours: 3}; a bare number may be hours as well as seconds. */
static void read_duration(const struct reader_value *v, struct spec_estimate *out)
{
    double number;

    if (number_parse(v->node->text, &number)) {
        reader_value_error(v, "%s: write its unit, such as 3h, or {hours: 3}", reader_shown(v));
        return;
    }
    out->kind = SPEC_ESTIMATE_SECONDS;
    reader_duration(v, 1, VALUE_MAX_RUN_S, &out->seconds);
}

void timing_read(const struct reader_value *v, void *into)
{
    struct spec_estimate *out = &((struct spec_stage *)into)->estimate;

    out->line = v->line;
    if (v->node->kind == YAML_SCALAR)
        read_duration(v, out);
    else if (reader_fields(v, fields, NULL, into))
        check_form(v, out);
}

const struct yaml_node *timing_merge(struct reader *r,
                                     const struct yaml_node *defaults,
                                     const struct yaml_node *own)
{
    struct yaml_node kept = *defaults;
    int form = FORM_ANY;

    for (size_t i = 0; i < own->n && form == FORM_ANY; i++)
        form = form_of(own->entries[i].key);
    kept.n = 0;
    kept.entries = reader_alloc(r, defaults->n, sizeof *kept.entries);
    if (!kept.entries)
        return own;
    for (size_t i = 0; i < defaults->n; i++) {
        int inherited = form_of(defaults->entries[i].key);
        if (form == FORM_ANY || inherited == FORM_ANY || inherited == form)
            kept.entries[kept.n++] = defaults->entries[i];
    }
    return merge_maps(r, &kept, own);
}
