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

/* ---- values ---- */

static bool read_positive(const struct reader_value *v, double most, double *out)
{
    double value;

    if (!reader_number(v, 0, most, &value))
        return false;
    if (value <= 0) {
        reader_value_error(v, "must be above 0");
        return false;
    }
    *out = value;
    return true;
}

static void read_usd(const struct reader_value *v, double *out)
{
    double usd;

    if (!reader_usd(v, &usd))
        return;
    if (!(usd > 0 && usd <= SPEC_CLUSTER_MAX_USD))
        reader_value_error(v, "%s is out of range: above 0, at most %.0f USD per hour",
                           reader_shown(v), SPEC_CLUSTER_MAX_USD);
    else
        *out = usd;
}

/* One name, or a list of them. */
static void read_names(const struct reader_value *v, const char ***out, size_t *n_out)
{
    size_t n = v->node->kind == YAML_LIST ? v->node->n : 1;

    if (v->node->kind == YAML_MAP || n == 0 || n > MAX_TYPES) {
        reader_value_error(v, "must be a list of 1 to %d types, as in [m4.large, m4.2xlarge]",
                           MAX_TYPES);
        return;
    }
    const char **names = reader_alloc(v->r, n, sizeof *names);
    if (!names)
        return;
    *out = names;
    *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        struct reader_value item = v->node->kind == YAML_LIST ? reader_item(v, i) : *v;
        *n_out += reader_name(&item, &names[*n_out]);
    }
}

/* ---- fields; into is a struct spec_cluster ---- */

static void read_name(const struct reader_value *v, void *into)
{
    reader_name(v, &((struct spec_cluster *)into)->name);
}

static void read_run(const struct reader_value *v, void *into)
{
    reader_text(v, &((struct spec_cluster *)into)->run);
}

static void read_batch(const struct reader_value *v, void *into)
{
    read_positive(v, 1e9, &((struct spec_cluster *)into)->batch);
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

static void read_max(const struct reader_value *v, void *into)
{
    double n;

    if (!reader_number(v, 1, SPEC_CLUSTER_MAX_WORKERS, &n))
        return;
    if (n != floor(n))
        reader_value_error(v, "%s is not a whole number", reader_shown(v));
    else
        ((struct spec_cluster *)into)->max_workers = n;
}

static void read_budget(const struct reader_value *v, void *into)
{
    read_usd(v, &((struct spec_cluster *)into)->budget_usd);
}

static void read_work(const struct reader_value *v, void *into)
{
    read_positive(v, MAX_WORK, &((struct spec_cluster *)into)->work);
}

static void read_share(const struct reader_value *v, void *into)
{
    read_positive(v, 1, &((struct spec_cluster *)into)->share);
}

static void read_place(const struct reader_value *v, void *into)
{
    struct spec_cluster *s = into;
    const char *text;
    struct err e;

    s->place_line = v->line;
    if (!reader_text(v, &text))
        return;
    if (spec_place_parse(text, v->r->arena, &s->place, &e) < 0)
        reader_value_error(v, "%s", e.text);
    else if (!s->place.cloud || !s->place.region)
        reader_value_error(v, "%s names no region: write CLOUD/REGION, as in aws/eu-west-2",
                           reader_shown(v));
}

/* ---- types ---- */

static void read_price(const struct reader_value *v, void *into)
{
    read_usd(v, &((struct spec_cluster_type *)into)->usd_per_hour);
}

static void read_network(const struct reader_value *v, void *into)
{
    read_positive(v, MAX_MBPS, &((struct spec_cluster_type *)into)->network_mbps);
}

static void read_mbps(const struct reader_value *v, void *into)
{
    read_positive(v, MAX_MBPS, &((struct spec_cluster_type *)into)->mbps);
}

static void read_per_s(const struct reader_value *v, void *into)
{
    read_positive(v, MAX_PER_S, &((struct spec_cluster_type *)into)->per_s);
}

static const struct reader_field type_fields[] = {
    {"price", READER_READ, read_price},
    {"network_mbps", READER_READ, read_network},
    {"mbps", READER_READ, read_mbps},
    {"per_s", READER_READ, read_per_s},
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

/* ---- the file ---- */

static const struct reader_field server_fields[] = {
    {"type", READER_READ, read_servers},
    {"types", READER_READ, read_servers},
    {0},
};
static const struct reader_field worker_fields[] = {
    {"type", READER_READ, read_workers},
    {"types", READER_READ, read_workers},
    {"max", READER_READ, read_max},
    {0},
};

static void read_server_map(const struct reader_value *v, void *into)
{
    reader_fields(v, server_fields, NULL, into);
}

static void read_worker_map(const struct reader_value *v, void *into)
{
    reader_fields(v, worker_fields, NULL, into);
}

static const struct reader_field fields[] = {
    {"name", READER_READ, read_name},
    {"run", READER_READ, read_run},
    {"batch", READER_READ, read_batch},
    {"server", READER_READ, read_server_map},
    {"workers", READER_READ, read_worker_map},
    {"budget", READER_READ, read_budget},
    {"work", READER_READ, read_work},
    {"share", READER_READ, read_share},
    {"location", READER_READ, read_place},
    {"place", READER_OLD, read_place},
    {"types", READER_READ, read_types},
    /* Of the stage, below. */
    {"setup", READER_CARRIED, NULL},
    {"workdir", READER_CARRIED, NULL},
    {"envs", READER_CARRIED, NULL},
    {"secrets", READER_CARRIED, NULL},
    {"inputs", READER_CARRIED, NULL},
    {"outputs", READER_CARRIED, NULL},
    {"checkpoint", READER_CARRIED, NULL},
    {0},
};

/* ---- what runs on it ---- */

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

static void read_stage(struct reader *r, const struct yaml_node *root, struct spec_cluster *s)
{
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
    struct spec_finding findings[SPEC_MAX_FINDINGS];
    struct reader r = {.arena = s->arena, .findings = findings};
    const struct yaml_node *root = reader_document(&r, text, len, "cluster");

    if (root) {
        struct reader_value whole = {&r, "", root->line, root};
        reader_fields(&whole, fields, NULL, s);
        read_stage(&r, root, s);
    }
    if (r.n_errors == 0 && !r.is_full)
        return TAKE(s);
    reader_first_error(&r, name, e);
    return NULL;
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
