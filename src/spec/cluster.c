#include "spec/cluster.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "spec/reader.h"
#include "spec/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)32 << 20)
#define MAX_TYPES 1000
#define MAX_MBPS 1e9
#define MAX_PER_S 1e12
#define MAX_WORK 1e15

/* One name, or a list of them. */
static void read_names(const struct reader_value *v, const char ***out, size_t *n_out)
{
    size_t n = v->node->kind == YAML_LIST ? v->node->n : 1;

    if (v->node->kind == YAML_MAP || n == 0 || n > MAX_TYPES)
        reader_value_error(v, "must be a list of 1 to %d types, as in [m4.large, m4.2xlarge]",
                           MAX_TYPES);
    else
        reader_texts(v, reader_name, out, n_out);
}

static void read_servers(const struct reader_value *v, void *into)
{
    struct spec_cluster *s = into;

    read_names(v, &s->servers, &s->n_servers);
    s->servers_line = v->line;
}

static void read_workers(const struct reader_value *v, void *into)
{
    struct spec_cluster *s = into;

    read_names(v, &s->workers, &s->n_workers);
    s->workers_line = v->line;
}

static void read_place(const struct reader_value *v, void *into)
{
    struct spec_cluster *s = into;

    s->place_line = v->line;
    reader_region(v, &s->place);
}

#define OF_TYPE(use, member) READER_INTO(use, spec_cluster_type, member)
static const struct reader_field type_fields[] = {
    {"price", OF_TYPE(PRICE, usd_per_hour), 0, SPEC_CLUSTER_MAX_USD},
    {"network_mbps", OF_TYPE(ABOVE, network_mbps), 0, MAX_MBPS},
    {"mbps", OF_TYPE(ABOVE, mbps), 0, MAX_MBPS},
    {"per_s", OF_TYPE(ABOVE, per_s), 0, MAX_PER_S},
    {0},
};

static void read_types(const struct reader_value *v, void *into)
{
    struct spec_cluster *s = into;

    if (!reader_is_map(v))
        return;
    if (v->node->n > MAX_TYPES) {
        reader_value_error(v, "%zu types: at most %d", v->node->n, MAX_TYPES);
        return;
    }
    s->types = reader_alloc(v->r, v->node->n + 1, sizeof *s->types);
    for (size_t i = 0; s->types && i < v->node->n; i++) {
        struct reader_value entry = reader_entry(v, i);
        struct spec_cluster_type *t = &s->types[s->n_types++];
        *t = (struct spec_cluster_type){v->node->entries[i].key,
                                        (double)NAN,
                                        (double)NAN,
                                        (double)NAN,
                                        (double)NAN,
                                        entry.line};
        reader_fields(&entry, type_fields, NULL, t);
    }
}

#define INTO(use, member) READER_INTO(use, spec_cluster, member)
static const struct reader_field server_fields[] = {
    {"type", .read = read_servers},
    {"types", .read = read_servers},
    {0},
};
static const struct reader_field worker_fields[] = {
    {"type", .read = read_workers},
    {"types", .read = read_workers},
    {"max", INTO(WHOLE, max_workers), 1, SPEC_CLUSTER_MAX_WORKERS},
    {0},
};
static const struct reader_field fields[] = {
    {"name", INTO(NAME, name)},
    {"run", INTO(TEXT, run)},
    {"batch", INTO(ABOVE, batch), 0, 1e9},
    {"server", .use = READER_MAP, .inner = server_fields},
    {"workers", .use = READER_MAP, .inner = worker_fields},
    {"budget", INTO(PRICE, budget_usd), 0, SPEC_CLUSTER_MAX_USD},
    {"work", INTO(ABOVE, work), 0, MAX_WORK},
    {"share", INTO(ABOVE, share), 0, 1},
    {"location", .read = read_place},
    {"place", .read = read_place, .is_old = true},
    {"types", .read = read_types},
    /* Of the stage, below. */
    {"setup", .use = READER_CARRIED},
    {"workdir", .use = READER_CARRIED},
    {"envs", .use = READER_CARRIED},
    {"secrets", .use = READER_CARRIED},
    {"inputs", .use = READER_CARRIED},
    {"outputs", .use = READER_CARRIED},
    {"checkpoint", .use = READER_CARRIED},
    {0},
};

static bool is_of_stage(const char *field)
{
    const struct reader_field *known = reader_find_field(fields, field);

    return strcmp(field, "run") == 0 || (known && known->use == READER_CARRIED);
}

/* The fields of the stage as a map of their own, with its name. */
static const struct yaml_node *stage_node(struct reader *r, const struct yaml_node *root)
{
    struct yaml_node *node = reader_alloc(r, 1, sizeof *node);
    struct yaml_node *name = reader_alloc(r, 1, sizeof *name);
    struct yaml_entry *entries = reader_alloc(r, root->n + 1, sizeof *entries);

    if (!node || !name || !entries)
        return NULL;
    *node = *root;
    *name = (struct yaml_node){.kind = YAML_SCALAR, .line = root->line, .text = SPEC_CLUSTER_STAGE};
    node->entries = entries;
    node->n = 0;
    entries[node->n++] = (struct yaml_entry){"name", root->line, name};
    for (size_t i = 0; i < root->n; i++)
        if (is_of_stage(root->entries[i].key))
            entries[node->n++] = root->entries[i];
    return node;
}

static void read_stage(struct reader *r, const struct yaml_node *root, void *into)
{
    struct spec_cluster *s = into;
    const struct yaml_node *node = stage_node(r, root);

    s->pipeline = node ? spec_read_alone(r, s->file, s->name, node) : NULL;
    struct spec_output *model = reader_alloc(r, 1, sizeof *model);
    if (!s->pipeline || !model || s->pipeline->n_stages != 1)
        return;
    struct spec_stage *stage = &s->pipeline->stages[0];
    if (stage->n_outputs)
        return;
    *model = (struct spec_output){.name = SPEC_CLUSTER_OUTPUT, .line = root->line};
    stage->outputs = model;
    stage->n_outputs = 1;
}

static struct spec_cluster *cluster_new(const char *name)
{
    struct spec_cluster *s = mem_zero(1, sizeof *s);

    s->arena = arena_new(ARENA_MAX_BYTES);
    s->file = s->name = arena_dup(s->arena, name);
    s->max_workers = s->budget_usd = s->work = (double)NAN;
    s->share = 0.95;
    return s;
}

struct spec_cluster *spec_cluster_parse(const char *name,
                                        const char *text,
                                        size_t len,
                                        struct err *e)
{
    AUTO(spec_cluster) struct spec_cluster *s = cluster_new(name);
    const struct reader_file file = {s->arena, name, "cluster", fields, .then = read_stage};

    return reader_file(&file, text, len, s, e) < 0 ? NULL : TAKE(s);
}

struct spec_cluster *spec_cluster_load(const char *path, struct err *e)
{
    AUTO_CLEAR(buf) struct buf text;

    buf_init(&text, YAML_MAX_BYTES);
    if (yaml_read(path, &text, e) < 0)
        return NULL;
    return spec_cluster_parse(strcmp(path, "-") == 0 ? "stdin" : path, buf_str(&text), text.len, e);
}

void spec_cluster_free(struct spec_cluster *s)
{
    if (!s)
        return;
    arena_free(s->arena);
    free(s);
}

int spec_cluster_set(struct spec_cluster *s, const char *name, const char *value, struct err *e)
{
    static const struct reader_group groups[] = {
        {"server.", server_fields}, {"workers.", worker_fields}, {"", fields}, {0}};

    return reader_set(s->arena, groups, name, value, s, e);
}

const struct spec_cluster_type *spec_cluster_type(const struct spec_cluster *s, const char *name)
{
    for (size_t i = 0; i < s->n_types; i++)
        if (strcmp(s->types[i].name, name) == 0)
            return &s->types[i];
    return NULL;
}
