/* `inputs`, `outputs` and `file_mounts` as written; what they refer to is found out later. */
#include "base/arena.h"
#include "base/buf.h"
#include "spec/place.h"
#include "spec/reader.h"
#include "spec/value.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REFERENCE_BYTES 4096

static struct draft_input *add_input(struct reader *r, struct draft *draft, size_t line)
{
    if (r->n_inputs == SPEC_MAX_DATASETS) {
        reader_error(r, line, "more than %d inputs in one file", SPEC_MAX_DATASETS);
        return NULL;
    }
    if (draft->n_inputs == draft->cap_inputs) {
        size_t cap = draft->cap_inputs ? draft->cap_inputs * 2 : 4;
        struct draft_input *grown = reader_alloc(r, cap, sizeof *grown);
        if (!grown)
            return NULL;
        if (draft->n_inputs)
            memcpy(grown, draft->inputs, draft->n_inputs * sizeof *grown);
        draft->inputs = grown;
        draft->cap_inputs = cap;
    }
    r->n_inputs++;
    struct draft_input *input = &draft->inputs[draft->n_inputs++];
    *input = (struct draft_input){.line = line};
    return input;
}

static bool check_reference(const struct reader_value *v, const char *text)
{
    size_t n = strlen(text);

    if (n == 0 || n > MAX_REFERENCE_BYTES || strpbrk(text, "\n\r\t")) {
        reader_value_error(v, "%s must be one line of 1 to %d bytes", reader_quote(v->r, text),
                           MAX_REFERENCE_BYTES);
        return false;
    }
    return true;
}

static void read_from(const struct reader_value *v, void *into)
{
    struct draft_input *input = into;
    const char *text;

    if (reader_text(v, &text) && check_reference(v, text))
        input->from = text;
}

static void read_input_size(const struct reader_value *v, void *into)
{
    struct draft_input *input = into;

    if (!yaml_is_null(v->node))
        input->has_size = reader_size(v, &input->size_gb);
}

static void read_place(const struct reader_value *v, void *into)
{
    struct draft_input *input = into;
    const char *text;
    struct err e;

    if (yaml_is_null(v->node) || !reader_name(v, &text))
        return;
    if (spec_place_parse(text, v->r->arena, &input->place, &e) < 0)
        reader_value_error(v, "%s", e.text);
    else
        input->has_place = input->place.cloud || input->place.region;
}

static const struct reader_field input_fields[] = {
    {"from", READER_READ, read_from},
    {"size", READER_READ, read_input_size},
    {"location", READER_READ, read_place},
    {"place", READER_OLD, read_place},
    {0},
};

static void read_input_item(const struct reader_value *v, struct draft *draft)
{
    struct draft_input *input = add_input(v->r, draft, v->line);

    if (!input)
        return;
    if (v->node->kind == YAML_MAP) {
        reader_fields(v, input_fields, NULL, input);
        if (!yaml_get(v->node, "from"))
            reader_value_error(v, "needs from: a stage's output, a path or a URI");
    } else {
        read_from(v, input);
    }
    if (!input->from)
        draft->n_inputs--;
}

/* {s3://bucket/x: 100}, where the gigabytes may also be {size, location}. */
static void read_input_entry(const struct reader_value *v, const char *from, struct draft *draft)
{
    struct draft_input *input = add_input(v->r, draft, v->line);

    if (!input)
        return;
    if (v->node->kind == YAML_MAP)
        reader_fields(v, input_fields + 1, NULL, input);
    else
        read_input_size(v, input);
    input->from = from;
    if (!check_reference(v, from))
        draft->n_inputs--;
}

void data_read_inputs(const struct reader_value *v, struct draft *draft)
{
    if (yaml_is_null(v->node))
        return;
    draft->has_inputs = true;
    if (v->node->kind == YAML_SCALAR) {
        reader_value_error(v, "%s: write a list, such as [{from: %s, size: 10}]", reader_shown(v),
                           "s3://bucket/data");
        return;
    }
    for (size_t i = 0; i < v->node->n && !v->r->is_full; i++) {
        struct reader_value child =
            v->node->kind == YAML_MAP ? reader_entry(v, i) : reader_item(v, i);
        if (v->node->kind == YAML_MAP)
            read_input_entry(&child, v->node->entries[i].key, draft);
        else
            read_input_item(&child, draft);
    }
}

struct output_pair {
    struct spec_output *output;
    struct draft_size *size;
};

static void read_output_name(const struct reader_value *v, void *into)
{
    struct output_pair *pair = into;
    const char *text;

    if (reader_text(v, &text) && check_reference(v, text))
        pair->output->name = text;
}

static void read_output_size(const struct reader_value *v, void *into)
{
    struct draft_size *size = ((struct output_pair *)into)->size;

    if (yaml_is_null(v->node))
        return;
    size->is_factor = v->node->kind == YAML_SCALAR && value_factor(v->node->text, &size->value);
    size->is_said = size->is_factor ||
                    (v->node->kind == YAML_SCALAR && value_size_gb(v->node->text, &size->value));
    if (!size->is_said)
        reader_value_error(v,
                           "%s is not a size: write gigabytes (12.5), 500MB, 2TB, or 9x for nine "
                           "times the stage's input; at most 1e9 GB",
                           reader_shown(v));
}

static void read_keep(const struct reader_value *v, void *into)
{
    if (!yaml_is_null(v->node))
        reader_duration(v, 86400, VALUE_MAX_KEEP_S, &((struct output_pair *)into)->output->keep_s);
}

static const struct reader_field output_fields[] = {
    {"name", READER_READ, read_output_name},
    {"size", READER_READ, read_output_size},
    {"keep", READER_READ, read_keep},
    {0},
};

/* One entry of the map or item of the list. */
static void read_output(const struct reader_value *v, const char *name, struct output_pair *pair)
{
    pair->output->line = v->line;
    if (name) {
        if (v->node->kind == YAML_MAP)
            reader_fields(v, output_fields + 1, NULL, pair);
        else
            read_output_size(v, pair);
        if (check_reference(v, name))
            pair->output->name = name;
    } else if (v->node->kind == YAML_MAP) {
        reader_fields(v, output_fields, NULL, pair);
        if (!yaml_get(v->node, "name"))
            reader_value_error(v, "needs name");
    } else {
        read_output_name(v, pair);
    }
}

static const struct spec_output *find_output(const struct spec_stage *stage, const char *name)
{
    for (size_t i = 0; i < stage->n_outputs; i++)
        if (strcmp(stage->outputs[i].name, name) == 0)
            return &stage->outputs[i];
    return NULL;
}

void data_read_outputs(const struct reader_value *v, struct draft *draft, struct spec_stage *stage)
{
    if (yaml_is_null(v->node))
        return;
    if (v->node->kind == YAML_SCALAR) {
        reader_value_error(v, "%s: write a map, such as {model: 5}", reader_shown(v));
        return;
    }
    if (v->r->n_outputs + v->node->n > SPEC_MAX_DATASETS) {
        reader_value_error(v, "more than %d outputs in one file", SPEC_MAX_DATASETS);
        return;
    }
    v->r->n_outputs += v->node->n;
    stage->outputs = reader_alloc(v->r, v->node->n, sizeof *stage->outputs);
    draft->sizes = reader_alloc(v->r, v->node->n, sizeof *draft->sizes);
    for (size_t i = 0; i < v->node->n && !v->r->is_full; i++) {
        bool is_map = v->node->kind == YAML_MAP;
        struct reader_value child = is_map ? reader_entry(v, i) : reader_item(v, i);
        struct output_pair pair = {&stage->outputs[stage->n_outputs],
                                   &draft->sizes[stage->n_outputs]};

        read_output(&child, is_map ? v->node->entries[i].key : NULL, &pair);
        const struct spec_output *same =
            pair.output->name ? find_output(stage, pair.output->name) : NULL;
        if (same)
            reader_value_error(&child, "output %s stands twice: first on line %zu",
                               reader_quote(v->r, same->name), same->line);
        stage->n_outputs += pair.output->name && !same;
    }
}

static const char *env_value(const struct spec_stage *stage, const char *name, size_t n)
{
    for (size_t i = 0; i < stage->n_envs; i++)
        if (strlen(stage->envs[i].key) == n && memcmp(stage->envs[i].key, name, n) == 0)
            return stage->envs[i].value;
    return NULL;
}

static size_t name_length(const char *p)
{
    size_t n = 0;

    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    return n;
}

/* SkyPilot fills $NAME and ${NAME} of `envs` into mounts. What has no value yet stays. */
static const char *fill_in(struct reader *r, const char *text, const struct spec_stage *stage)
{
    AUTO_CLEAR(buf) struct buf out;

    buf_init(&out, MAX_REFERENCE_BYTES);
    while (*text) {
        size_t braced = text[0] == '$' && text[1] == '{';
        size_t n = text[0] == '$' ? name_length(text + 1 + braced) : 0;
        size_t whole = 1 + n + 2 * braced;
        const char *value = NULL;

        if (n && (!braced || text[2 + n] == '}'))
            value = env_value(stage, text + 1 + braced, n);
        if (value)
            buf_puts(&out, value);
        else
            buf_add(&out, text, whole = 1);
        text += whole;
    }
    return reader_printf(r, "%s", buf_str(&out));
}

static void add_mount(const struct reader_value *v,
                      struct draft *draft,
                      const struct spec_stage *stage)
{
    const char *text;

    if (!reader_text(v, &text))
        return;
    text = strchr(text, '$') ? fill_in(v->r, text, stage) : text;
    if (!text || !check_reference(v, text))
        return;
    struct draft_input *input = add_input(v->r, draft, v->line);
    if (input) {
        input->from = text;
        input->is_mount = true;
    }
}

struct mount {
    struct draft *draft;
    const struct spec_stage *stage;
};

/* A bucket, a path, or a list of paths. */
static void read_source(const struct reader_value *v, void *into)
{
    struct mount *m = into;

    if (yaml_is_null(v->node))
        return;
    if (v->node->kind != YAML_LIST) {
        add_mount(v, m->draft, m->stage);
        return;
    }
    for (size_t i = 0; i < v->node->n; i++) {
        struct reader_value item = reader_item(v, i);
        add_mount(&item, m->draft, m->stage);
    }
}

static const struct reader_field storage_fields[] = {
    {"source", READER_READ, read_source},
    {"name", READER_CARRIED, NULL},
    {"store", READER_CARRIED, NULL},
    {"mode", READER_CARRIED, NULL},
    {"persistent", READER_CARRIED, NULL},
    {"config", READER_IGNORED, NULL},
    {0},
};

void data_read_mounts(const struct reader_value *v,
                      struct draft *draft,
                      const struct spec_stage *stage)
{
    struct mount m = {draft, stage};

    if (yaml_is_null(v->node) || !reader_is_map(v))
        return;
    for (size_t i = 0; i < v->node->n && !v->r->is_full; i++) {
        struct reader_value entry = reader_entry(v, i);
        if (entry.node->kind == YAML_MAP)
            reader_fields(&entry, storage_fields, NULL, &m);
        else
            add_mount(&entry, draft, stage);
    }
}
