/* Reads the fields of one stage. spec.c calls it for every document of a pipeline file. */
#include "spec/reader.h"
#include "spec/value.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

struct parts {
    struct spec_stage *stage;
    struct draft *draft;
    struct reader_value resources, mounts; /* .node NULL = absent */
};

static void read_script(const struct reader_value *v, const char **out)
{
    if (!yaml_is_null(v->node))
        reader_text(v, out);
}

static void read_run(const struct reader_value *v, void *into)
{
    read_script(v, &((struct parts *)into)->stage->run);
}

static void read_setup(const struct reader_value *v, void *into)
{
    read_script(v, &((struct parts *)into)->stage->setup);
}

static void read_workdir_url(const struct reader_value *v, void *into)
{
    reader_text(v, &((struct spec_stage *)into)->workdir);
}

static void read_workdir_ref(const struct reader_value *v, void *into)
{
    if (!yaml_is_null(v->node))
        reader_text(v, &((struct spec_stage *)into)->workdir_ref);
}

static void read_workdir(const struct reader_value *v, void *into)
{
    static const struct reader_field fields[] = {
        {"url", READER_READ, read_workdir_url},
        {"ref", READER_READ, read_workdir_ref},
        {0},
    };
    struct spec_stage *stage = ((struct parts *)into)->stage;

    if (yaml_is_null(v->node))
        return;
    if (v->node->kind != YAML_MAP) {
        reader_text(v, &stage->workdir);
        return;
    }
    reader_fields(v, fields, NULL, stage);
    if (!yaml_get(v->node, "url"))
        reader_value_error(v, "needs url beside ref");
}

static bool is_variable_name(const char *key)
{
    if (!isalpha((unsigned char)key[0]) && key[0] != '_')
        return false;
    for (; *key; key++)
        if (!isalnum((unsigned char)*key) && *key != '_')
            return false;
    return true;
}

/* Values may be secret: no message may show one, only its key. */
static void read_pairs(const struct reader_value *v, struct spec_pair **out, size_t *n_out)
{
    if (yaml_is_null(v->node) || !reader_is_map(v))
        return;
    struct spec_pair *pairs = reader_alloc(v->r, v->node->n, sizeof *pairs);
    if (!pairs)
        return;
    for (size_t i = 0; i < v->node->n; i++) {
        struct reader_value entry = reader_entry(v, i);
        pairs[i].key = v->node->entries[i].key;
        if (!is_variable_name(pairs[i].key))
            reader_value_error(&entry, "is no variable name: use letters, digits and _");
        if (!yaml_is_null(entry.node))
            reader_text(&entry, &pairs[i].value);
    }
    *out = pairs;
    *n_out = v->node->n;
}

static void read_envs(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = ((struct parts *)into)->stage;

    read_pairs(v, &stage->envs, &stage->n_envs);
}

static void read_secrets(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = ((struct parts *)into)->stage;

    read_pairs(v, &stage->secrets, &stage->n_secrets);
}

static void read_num_nodes(const struct reader_value *v, void *into)
{
    double nodes;

    if (yaml_is_null(v->node) || !reader_number(v, 1, VALUE_MAX_NODES, &nodes))
        return;
    if (nodes != floor(nodes))
        reader_value_error(v, "%s is not a whole number", reader_shown(v));
    else
        ((struct parts *)into)->stage->num_nodes = (unsigned)nodes;
}

static void read_checkpoint(const struct reader_value *v, void *into)
{
    struct spec_stage *stage = ((struct parts *)into)->stage;

    if (yaml_is_null(v->node))
        return;
    if (reader_duration(v, 1, VALUE_MAX_RUN_S, &stage->checkpoint_s) && stage->checkpoint_s <= 0)
        reader_value_error(v,
                           "must be longer than 0: leave it out for a stage without checkpoints");
}

static void read_needs(const struct reader_value *v, void *into)
{
    struct draft *draft = ((struct parts *)into)->draft;

    if (yaml_is_null(v->node))
        return;
    if (v->node->kind == YAML_MAP) {
        reader_value_error(v, "must be a stage's name or a list of names, not a map");
        return;
    }
    draft->needs = v->node;
    draft->needs_line = v->line;
}

static void read_inputs(const struct reader_value *v, void *into)
{
    data_read_inputs(v, ((struct parts *)into)->draft);
}

static void read_outputs(const struct reader_value *v, void *into)
{
    struct parts *parts = into;

    data_read_outputs(v, parts->draft, parts->stage);
}

static void read_estimate(const struct reader_value *v, void *into)
{
    struct parts *parts = into;

    timing_read(v, parts->draft, &parts->stage->estimate);
}

static void keep_resources(const struct reader_value *v, void *into)
{
    if (!yaml_is_null(v->node))
        ((struct parts *)into)->resources = *v;
}

static void keep_mounts(const struct reader_value *v, void *into)
{
    ((struct parts *)into)->mounts = *v;
}

static const struct reader_field fields[] = {
    {"name", READER_CARRIED, NULL}, /* take_name comes first, for the messages */
    {"run", READER_READ, read_run},
    {"setup", READER_READ, read_setup},
    {"workdir", READER_READ, read_workdir},
    {"envs", READER_READ, read_envs},
    {"secrets", READER_READ, read_secrets},
    {"num_nodes", READER_READ, read_num_nodes},
    {"file_mounts", READER_READ, keep_mounts},
    {"inputs", READER_READ, read_inputs},
    {"outputs", READER_READ, read_outputs},
    {"estimate", READER_READ, read_estimate},
    {"checkpoint", READER_READ, read_checkpoint},
    {"resources", READER_READ, keep_resources},
    {"needs", READER_READ, read_needs},
    {"service", READER_IGNORED, NULL},
    {"pool", READER_IGNORED, NULL},
    {"volumes", READER_IGNORED, NULL},
    {"config", READER_IGNORED, NULL},
    {"event_callback", READER_IGNORED, NULL},
    {"job_recovery", READER_IGNORED, NULL},
    {"experimental", READER_IGNORED, NULL},
    {"file_mounts_mapping", READER_IGNORED, NULL},
    {"volume_mounts", READER_IGNORED, NULL},
    {"storage_mounts", READER_IGNORED, NULL},
    {"metadata", READER_IGNORED, NULL},
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
    struct parts parts = {.stage = stage, .draft = draft};
    struct reader_value whole = {r, "", draft->node->line, draft->node};

    stage->line = draft->node->line;
    stage->num_nodes = 1;
    stage->estimate = (struct spec_estimate){.seconds = (double)NAN, .line = stage->line};
    take_name(r, index);
    reader_fields(&whole, fields, header_fields(), &parts);
    resources_read(r, parts.resources.node ? &parts.resources : NULL, r->default_resources, stage);
    if (parts.mounts.node)
        data_read_mounts(&parts.mounts, draft, stage);
    r->stage = NULL;
}
