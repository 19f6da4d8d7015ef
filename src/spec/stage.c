/* Reads the fields of one stage. What its inputs refer to is found out later. spec.c calls it for
 * every document of a pipeline file. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/shell.h"
#include "spec/place.h"
#include "spec/reader.h"
#include "spec/value.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define MAX_REFERENCE_BYTES 4096

struct draft *spec_stage_draft(const struct reader *r, const struct spec_stage *stage)
{
    return &r->drafts[stage - r->spec->stages];
}

static void read_workdir(const struct reader_value *v, void *into)
{
    static const struct reader_field fields[] = {
        {"url", READER_INTO(TEXT, spec_stage, workdir)},
        {"ref", READER_INTO(TEXT, spec_stage, workdir_ref), .may_be_null = true},
        {0},
    };
    struct spec_stage *stage = into;

    if (v->node->kind != YAML_MAP) {
        reader_text(v, &stage->workdir);
        return;
    }
    reader_fields(v, fields, NULL, stage);
    if (!yaml_get(v->node, "url"))
        reader_value_error(v, "needs url beside ref");
}

/* Of a file below the workdir, without "./" before it. */
static bool read_code_path(const struct reader_value *v, const char **out)
{
    const char *text;

    if (!reader_name(v, &text))
        return false;
    while (!strncmp(text, "./", 2))
        text += 2 + strspn(text + 2, "/");
    bool leads_out = text[0] == '/' || text[0] == '~';
    for (const char *p = text; *p; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        leads_out = leads_out || (n == 2 && !strncmp(p, "..", 2));
        p += n;
    }
    if (!*text || !strcmp(text, ".") || leads_out) {
        reader_value_error(v, "%s is not a path below the workdir: write code: all for all of it",
                           reader_shown(v));
        return false;
    }
    *out = text;
    return true;
}

static void read_code(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = into;
    const char *text;

    stage->code_line = v->line;
    if (v->node->kind == YAML_SCALAR && reader_text(v, &text) && !strcmp(text, "all"))
        stage->all_code = true;
    else if (reader_texts(v, read_code_path, &stage->code, &stage->n_code) && !stage->n_code)
        reader_value_error(v, "names no file: write all, or leave it out for what the stage is "
                              "seen to use");
}

/* Values may be secret: no message may show one, only its key. */
static void read_pairs(const struct reader_value *v, struct spec_pair **out, size_t *n_out)
{
    if (!reader_is_map(v))
        return;
    struct spec_pair *pairs = reader_alloc(v->r, v->node->n, sizeof *pairs);
    if (!pairs)
        return;
    for (size_t i = 0; i < v->node->n; i++) {
        struct reader_value entry = reader_entry(v, i);
        pairs[i].key = v->node->entries[i].key;
        if (!shell_is_variable(pairs[i].key, strlen(pairs[i].key)))
            reader_value_error(&entry,
                               "is not a variable name: use letters, digits and _, no digit first");
        if (!yaml_is_null(entry.node))
            reader_text(&entry, &pairs[i].value);
    }
    *out = pairs;
    *n_out = v->node->n;
}

static void read_envs(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = into;

    read_pairs(v, &stage->envs, &stage->n_envs);
}

static void read_secrets(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = into;

    read_pairs(v, &stage->secrets, &stage->n_secrets);
}

static void read_checkpoint(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = into;

    if (reader_duration(v, 1, VALUE_MAX_RUN_S, &stage->checkpoint_s) && stage->checkpoint_s <= 0)
        reader_value_error(v,
                           "must be longer than 0: leave it out for a stage without checkpoints");
}

static void read_metrics(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = into;
    const char *text;

    if (!reader_text(v, &text))
        return;
    stage->json_metrics = strcmp(text, "json") == 0;
    if (!stage->json_metrics)
        reader_value_error(v,
                           "must be json: printed lines such as {\"loss\": 0.4, \"step\": 10} are "
                           "metrics; lines [TRADEWIND_METRIC] always are");
}

static void read_needs(const struct reader_value *v, void *into)
{
    struct draft *draft = spec_stage_draft(v->r, into);

    if (v->node->kind == YAML_MAP) {
        reader_value_error(v, "must be a stage's name or a list of names, not a map");
        return;
    }
    draft->needs = v->node;
    draft->needs_line = v->line;
}

/* ---- inputs, outputs and file_mounts ---- */

static struct draft_input *add_input(struct reader *r, struct draft *draft, size_t line)
{
    if (r->n_inputs == SPEC_MAX_DATASETS) {
        reader_error(r, line, "more than %d inputs in one file", SPEC_MAX_DATASETS);
        return NULL;
    }
    struct draft_input *all =
        arena_room(r->arena, draft->inputs, draft->n_inputs, &draft->cap_inputs, sizeof *all);
    if (!all) {
        r->is_full = true;
        return NULL;
    }
    draft->inputs = all;
    r->n_inputs++;
    struct draft_input *input = &all[draft->n_inputs++];
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

static void read_reference(const struct reader_value *v, const char **out)
{
    const char *text;

    if (reader_text(v, &text) && check_reference(v, text))
        *out = text;
}

static void read_from(const struct reader_value *v, void *into)
{
    read_reference(v, &((struct draft_input *)into)->from);
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

    if (reader_place(v, &input->place))
        input->has_place = input->place.cloud || input->place.region;
}

static const struct reader_field input_fields[] = {
    {"from", .read = read_from},
    {"size", .read = read_input_size},
    {"location", .read = read_place, .may_be_null = true},
    {"place", .read = read_place, .may_be_null = true, .is_old = true},
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

static void read_inputs(const struct reader_value *v, void *into)
{
    struct draft *draft = spec_stage_draft(v->r, into);

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
    read_reference(v, &((struct output_pair *)into)->output->name);
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
    {"name", .read = read_output_name},
    {"size", .read = read_output_size},
    {"keep", .read = read_keep},
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

static void read_outputs(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = into;
    struct draft *draft = spec_stage_draft(v->r, stage);

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
            reader_value_error(&child, "output %s is given twice: first on line %zu",
                               reader_quote(v->r, same->name), same->line);
        else if (pair.output->name && strchr(pair.output->name, '/'))
            reader_warn(v->r, child.line,
                        "%s: is planned, but a run refuses it: outputs of runs go to the lake, "
                        "under names without '/'",
                        child.field);
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

/* One place of file_mounts while its sources are read. */
struct mounting {
    struct spec_stage *stage;
    const char *target;
    size_t n; /* sources so far */
};

/* Of a list of sources each gets its own name below the target; NULL: it has none. */
static const char *target_of(const struct reader_value *v, const char *target, const char *from)
{
    size_t n = strlen(from);

    while (n > 1 && from[n - 1] == '/')
        n--;
    size_t at = n;
    while (at && from[at - 1] != '/')
        at--;
    if (strspn(from + at, "./") == strlen(from + at)) {
        reader_value_error(v, "%s has no name to appear under: mount it at a path of its own",
                           reader_quote(v->r, from));
        return NULL;
    }
    return reader_printf(v->r, "%s/%.*s", target, (int)(n - at), from + at);
}

static void add_mount(const struct reader_value *v, struct mounting *m, bool is_listed)
{
    struct spec_stage *stage = m->stage;
    const char *text;

    if (!reader_text(v, &text))
        return;
    text = strchr(text, '$') ? fill_in(v->r, text, stage) : text;
    if (!text || !check_reference(v, text))
        return;
    const char *target = is_listed ? target_of(v, m->target, text) : m->target;
    struct draft_input *input =
        target ? add_input(v->r, spec_stage_draft(v->r, stage), v->line) : NULL;
    if (input) {
        input->from = text;
        input->is_mount = true;
        input->target = target;
        m->n++;
    }
}

/* A bucket, a path, or a list of paths. */
static void read_source(const struct reader_value *v, void *into)
{
    if (v->node->kind != YAML_LIST)
        add_mount(v, into, false);
    for (size_t i = 0; v->node->kind == YAML_LIST && i < v->node->n; i++) {
        struct reader_value item = reader_item(v, i);
        add_mount(&item, into, true);
    }
}

/* What a mount is made of is copied; nothing is written back. */
static void read_mode(const struct reader_value *v, void *into)
{
    const char *text;

    (void)into;
    if (reader_text(v, &text) && strcmp(text, "COPY") != 0)
        reader_warn(v->r, v->line,
                    "%s: %s is ignored: the stage gets a copy, and what it writes there is not "
                    "kept (outputs are)",
                    v->field, reader_shown(v));
}

static const struct reader_field storage_fields[] = {
    {"source", .read = read_source, .may_be_null = true},
    {"name", .use = READER_IGNORED},
    {"store", .use = READER_IGNORED},
    {"mode", .read = read_mode, .may_be_null = true},
    {"persistent", .use = READER_IGNORED},
    {"config", .use = READER_IGNORED},
    {0},
};

static bool is_target(const char *text)
{
    size_t n = strlen(text);

    if (n == 0 || n > MAX_REFERENCE_BYTES || !strcmp(text, "~") || strspn(text, "/.") == n)
        return false;
    for (const char *p = text; *p; p++) {
        bool begins = p == text || p[-1] == '/';
        if ((unsigned char)*p < ' ' || (begins && !strncmp(p, "..", 2) && (!p[2] || p[2] == '/')))
            return false;
    }
    return true;
}

/* SkyPilot would make a bucket: here nothing would be kept of what is written there. */
static void add_empty(const struct reader_value *v, const struct mounting *m)
{
    struct draft *draft = spec_stage_draft(v->r, m->stage);
    struct spec_mount *all = arena_room(v->r->arena, draft->empty_mounts, draft->n_empty,
                                        &draft->cap_empty, sizeof *all);

    reader_warn(v->r, v->line,
                "%s: has no source, and a bucket for it is not made: declare what the stage writes "
                "in outputs",
                v->field);
    v->r->is_full |= !all;
    if (!all)
        return;
    draft->empty_mounts = all;
    all[draft->n_empty++] = (struct spec_mount){m->target, SIZE_MAX, v->line};
}

/* Comes after `envs`, whose values it may name. */
static void read_mounts(const struct reader_value *v, struct spec_stage *stage)
{
    if (!reader_is_map(v))
        return;
    for (size_t i = 0; i < v->node->n && !v->r->is_full; i++) {
        struct reader_value entry = reader_entry(v, i);
        struct mounting m = {.stage = stage, .target = v->node->entries[i].key};
        if (!is_target(m.target))
            reader_value_error(&entry, "is not a path where something can be mounted: write "
                                       "/DIRECTORY, ~/DIRECTORY, or one below the workdir");
        else if (entry.node->kind != YAML_MAP)
            add_mount(&entry, &m, false);
        else if (reader_fields(&entry, storage_fields, NULL, &m) && m.n == 0 &&
                 (!yaml_get(entry.node, "source") || yaml_is_null(yaml_get(entry.node, "source"))))
            add_empty(&entry, &m);
    }
}

/* ---- the stage ---- */

static void keep_resources(const struct reader_value *v, void *into)
{
    spec_stage_draft(v->r, into)->resources = *v;
}

static void keep_mounts(const struct reader_value *v, void *into)
{
    spec_stage_draft(v->r, into)->mounts = *v;
}

static const struct reader_field fields[] = {
    {"name", .use = READER_CARRIED}, /* take_name comes first, for the messages */
    {"run", READER_INTO(TEXT, spec_stage, run), .may_be_null = true},
    {"setup", READER_INTO(TEXT, spec_stage, setup), .may_be_null = true},
    {"workdir", .read = read_workdir, .may_be_null = true},
    {"code", .read = read_code, .may_be_null = true},
    {"envs", .read = read_envs, .may_be_null = true},
    {"secrets", .read = read_secrets, .may_be_null = true},
    {"num_nodes", READER_INTO(COUNT, spec_stage, num_nodes), 1, VALUE_MAX_NODES, true},
    {"file_mounts", .read = keep_mounts, .may_be_null = true},
    {"inputs", .read = read_inputs, .may_be_null = true},
    {"outputs", .read = read_outputs, .may_be_null = true},
    {"estimate", .read = timing_read, .may_be_null = true},
    {"checkpoint", .read = read_checkpoint, .may_be_null = true},
    {"metrics", .read = read_metrics, .may_be_null = true},
    {"resources", .read = keep_resources, .may_be_null = true},
    {"needs", .read = read_needs, .may_be_null = true},
    {"service", .use = READER_IGNORED},
    {"pool", .use = READER_IGNORED},
    {"volumes", .use = READER_IGNORED},
    {"config", .use = READER_IGNORED},
    {"event_callback", .use = READER_IGNORED},
    {"job_recovery", .use = READER_IGNORED},
    {"experimental", .use = READER_IGNORED},
    {"file_mounts_mapping", .use = READER_IGNORED},
    {"volume_mounts", .use = READER_IGNORED},
    {"storage_mounts", .use = READER_IGNORED},
    {"metadata", .use = READER_IGNORED},
    {0},
};

const struct reader_field *spec_stage_fields(void)
{
    return fields;
}

/* The stage's name; `stage-N` also when the given one is no name, so that messages have one. */
static void take_name(struct reader *r, size_t index)
{
    struct spec_stage *stage = &r->spec->stages[index];
    const struct yaml_node *node = r->drafts[index].node;

    stage->name = reader_printf(r, "stage-%zu", index + 1);
    r->stage = stage->name;
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_entry *entry = &node->entries[i];
        struct reader_value v = {r, "name", entry->line, entry->value};
        if (strcmp(entry->key, "name") == 0 && !yaml_is_null(entry->value))
            reader_name(&v, &stage->name);
    }
    r->stage = stage->name;
}

void spec_stage_read(struct reader *r, size_t index)
{
    struct spec_stage *stage = &r->spec->stages[index];
    struct draft *draft = &r->drafts[index];
    struct reader_value whole = {r, "", draft->node->line, draft->node};

    stage->line = draft->node->line;
    stage->num_nodes = 1;
    stage->estimate = (struct spec_estimate){.seconds = (double)NAN, .line = stage->line};
    take_name(r, index);
    reader_fields(&whole, fields, header_fields(), stage);
    resources_read(r, draft->resources.node ? &draft->resources : NULL, r->default_resources,
                   stage);
    if (draft->mounts.node)
        read_mounts(&draft->mounts, stage);
    if (stage->n_code && !stage->workdir)
        reader_error(r, stage->code_line,
                     "code: names files of the workdir, and the stage has none");
    r->stage = NULL;
}
