#include "spec/spec.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "spec/reader.h"
#include "spec/value.h"
#include "spec/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A file of the largest size with its tree fits; aliases and defaults cannot make more of it. */
#define ARENA_MAX_BYTES ((size_t)64 << 20)

/* ---- pipeline-wide fields ---- */

int spec_objective_parse(const char *text, struct spec_goal *out, struct err *e)
{
    static const struct {
        const char *name;
        enum spec_objective objective;
    } names[] = {{"cost", SPEC_COST}, {"time", SPEC_TIME}, {"value", SPEC_VALUE}};
    static const char weighted[] = "weighted:";
    double weight;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i].name) == 0) {
            out->objective = names[i].objective;
            return 0;
        }
    if (strncmp(text, weighted, sizeof weighted - 1) != 0 ||
        !number_parse(text + sizeof weighted - 1, &weight) || !(weight >= 0 && weight <= 1))
        return err_set(e, ERR_USAGE,
                       "\"%.60s\" is not an objective: use cost, time, value or weighted:W with W "
                       "from 0 (cost) to 1 (time)",
                       text);
    out->objective = SPEC_WEIGHTED;
    out->weight = weight;
    return 0;
}

static void read_objective(const struct reader_value *v, void *into)
{
    const char *text;
    struct err e;

    if (reader_text(v, &text) && spec_objective_parse(text, &((struct spec *)into)->goal, &e) < 0)
        reader_value_error(v, "%s", e.text);
}

static void read_defaults(const struct reader_value *v, void *into)
{
    (void)into;
    if (!reader_is_map(v))
        return;
    for (size_t i = 0; i < v->node->n; i++)
        if (strcmp(v->node->entries[i].key, "name") == 0)
            reader_error(v->r, v->node->entries[i].line,
                         "defaults.name: every stage has a name of its own: remove it");
    v->r->defaults = v->node;
}

static void read_execution(const struct reader_value *v, void *into)
{
    const char *text;

    (void)into;
    if (!reader_text(v, &text))
        return;
    v->r->parallel = strcmp(text, "parallel") == 0;
    if (!v->r->parallel && strcmp(text, "serial") != 0)
        reader_value_error(v, "%s is neither serial nor parallel", reader_shown(v));
}

#define INTO(use, member) READER_INTO(use, spec, member)
static const struct reader_field fields[] = {
    {"name", INTO(NAME, name), .may_be_null = true},
    {"objective", .read = read_objective, .may_be_null = true},
    {"budget", INTO(USD, goal.budget_usd), 0, 0, true, (double)INFINITY},
    {"deadline", INTO(SECONDS, goal.deadline_s), 0, VALUE_MAX_KEEP_S, true, (double)INFINITY},
    {"defaults", .read = read_defaults, .may_be_null = true},
    {"execution", .read = read_execution, .may_be_null = true},
    {0},
};

const struct reader_field *header_fields(void)
{
    return fields;
}

/* Reads the pipeline-wide fields of a map; of a stage's map (not alone) no others. */
static void read_header(struct reader *r, const struct yaml_node *node, bool is_alone)
{
    struct reader_value whole = {r, "", node->line, node};

    if (is_alone) {
        reader_fields(&whole, fields, spec_stage_fields(), r->spec);
        return;
    }
    for (size_t i = 0; i < node->n; i++) {
        struct reader_value v = reader_entry(&whole, i);
        const struct reader_field *field = reader_find_field(fields, v.field);
        if (field)
            reader_field(field, &v, r->spec);
    }
}

/* ---- `defaults` under a stage: on YAML nodes, so that every value keeps its line ---- */

static struct yaml_node *new_map(struct reader *r, const struct yaml_node *like, size_t room)
{
    struct yaml_node *map = reader_alloc(r, 1, sizeof *map);
    struct yaml_entry *entries = reader_alloc(r, room, sizeof *entries);

    if (!map || !entries)
        return NULL;
    *map = *like;
    map->entries = entries;
    memcpy(entries, like->entries, like->n * sizeof *entries);
    return map;
}

const struct yaml_node *merge_maps(struct reader *r,
                                   const struct yaml_node *defaults,
                                   const struct yaml_node *own)
{
    struct yaml_node *map = new_map(r, own, own->n + defaults->n);

    if (!map)
        return own;
    for (size_t i = 0; i < defaults->n; i++)
        if (!yaml_get(own, defaults->entries[i].key))
            map->entries[map->n++] = defaults->entries[i];
    return map;
}

/* One field that both give. `resources` is left alone: its places and alternatives merge as what
 * they mean, not key by key (resources.c). */
static const struct yaml_node *merge_field(struct reader *r,
                                           const char *name,
                                           const struct yaml_node *defaults,
                                           const struct yaml_node *own)
{
    if (own->kind != YAML_MAP || defaults->kind != YAML_MAP || strcmp(name, "resources") == 0)
        return own;
    if (strcmp(name, "estimate") == 0)
        return timing_merge(r, defaults, own);
    return merge_maps(r, defaults, own);
}

static const struct yaml_node *merge_defaults(struct reader *r,
                                              const struct yaml_node *defaults,
                                              const struct yaml_node *own)
{
    struct yaml_node *map = new_map(r, own, own->n + defaults->n);

    if (!map)
        return own;
    for (size_t i = 0; i < defaults->n; i++) {
        const struct yaml_entry *entry = &defaults->entries[i];
        struct yaml_entry *same = NULL;

        for (size_t k = 0; k < own->n && !same; k++)
            if (strcmp(map->entries[k].key, entry->key) == 0)
                same = &map->entries[k];
        if (!same && strcmp(entry->key, "resources") != 0) {
            map->entries[map->n++] = *entry;
        } else if (same) {
            /* The entry is ours; the node it shows is shared and stays as it is. */
            struct yaml_node *merged = reader_alloc(r, 1, sizeof *merged);
            if (!merged)
                return own;
            *merged = *merge_field(r, entry->key, entry->value, same->value);
            same->value = merged;
        }
    }
    return map;
}

/* ---- documents ---- */

/* `name` is both the pipeline's and the stage's. */
static bool is_header_only(const char *field)
{
    return reader_find_field(fields, field) && !reader_find_field(spec_stage_fields(), field);
}

static const struct yaml_node *without_header(struct reader *r, const struct yaml_node *node)
{
    struct yaml_node *part = reader_alloc(r, 1, sizeof *part);
    struct yaml_entry *entries = reader_alloc(r, node->n, sizeof *entries);

    if (!part || !entries)
        return node;
    *part = *node;
    part->n = 0;
    part->entries = entries;
    for (size_t i = 0; i < node->n; i++)
        if (!is_header_only(node->entries[i].key))
            entries[part->n++] = node->entries[i];
    return part;
}

/* A first document with nothing but pipeline-wide fields; slips of the pen do not count. */
static bool is_header(const struct yaml_node *node)
{
    bool has_known = false;

    for (size_t i = 0; i < node->n; i++) {
        bool in_header = reader_find_field(fields, node->entries[i].key);
        if (!in_header && reader_find_field(spec_stage_fields(), node->entries[i].key))
            return false;
        has_known |= in_header;
    }
    return has_known;
}

static void reject_header_fields(struct reader *r, const struct yaml_node *node)
{
    for (size_t i = 0; i < node->n; i++)
        if (is_header_only(node->entries[i].key))
            reader_error(
                r, node->entries[i].line,
                "%s: belongs to the whole pipeline: put it into a first document of its own",
                node->entries[i].key);
}

/* The documents that are maps; others are findings. */
static size_t take_maps(struct reader *r,
                        const struct yaml_file *file,
                        const struct yaml_node **maps)
{
    size_t n = 0;

    for (size_t i = 0; i < file->n_documents; i++) {
        const struct yaml_node *node = file->documents[i];
        if (node->kind == YAML_MAP && node->n > 0)
            maps[n++] = node;
        else if (yaml_is_null(node) || node->kind == YAML_MAP)
            reader_warn(r, node->line, "an empty document: ignored");
        else
            reader_error(r, node->line,
                         "a document must be a map of fields, such as run: ..., not %s",
                         yaml_kind_text(node));
    }
    return n;
}

/* The stages, what they refer to, and their datasets. */
static void read_stages(struct reader *r, const struct yaml_node *const *maps, size_t n)
{
    struct spec *spec = r->spec;
    const struct yaml_node *defaults = r->defaults, *resources = yaml_get(defaults, "resources");

    spec->stages = reader_alloc(r, n, sizeof *spec->stages);
    r->drafts = reader_alloc(r, n, sizeof *r->drafts);
    if (r->is_full)
        return;
    spec->n_stages = n;
    r->default_resources = yaml_is_null(resources) ? NULL : resources;
    for (size_t i = 0; i < n && !r->is_full; i++) {
        const struct yaml_node *own = without_header(r, maps[i]);
        r->drafts[i].node = defaults ? merge_defaults(r, defaults, own) : own;
        spec_stage_read(r, i);
    }
    if (!r->is_full)
        spec_graph_resolve(r);
    if (!r->is_full)
        datasets_resolve(r);
}

static void read_pipeline(struct reader *r, const struct yaml_node *const *maps, size_t n)
{
    bool has_header = n > 1 && is_header(maps[0]);

    if (n - has_header > SPEC_MAX_STAGES) {
        reader_error(r, 0, "more than %d stages", SPEC_MAX_STAGES);
        return;
    }
    if (has_header || n == 1)
        read_header(r, maps[0], has_header);
    for (size_t i = has_header; n > 1 && i < n; i++)
        reject_header_fields(r, maps[i]);
    read_stages(r, maps + has_header, n - has_header);
}

struct spec *spec_read_alone(struct reader *r,
                             const char *file,
                             const char *name,
                             const struct yaml_node *map)
{
    struct spec *s = reader_alloc(r, 1, sizeof *s);

    if (!s)
        return NULL;
    *s = (struct spec){.arena = r->arena, .file = file, .name = name, .guesses.arena = r->arena};
    r->spec = s;
    read_stages(r, &map, 1);
    return r->is_full ? NULL : s;
}

static void read_text(struct reader *r, const char *text, size_t len)
{
    struct yaml_file file;

    reader_yaml(r, text, len, &file);
    if (file.broken)
        return;
    const struct yaml_node **maps =
        reader_alloc(r, file.n_documents, sizeof(const struct yaml_node *));
    if (!maps)
        return;
    size_t n = take_maps(r, &file, maps);
    if (n > 0)
        read_pipeline(r, maps, n);
    else if (r->n_errors == 0)
        reader_error(r, 0, "is empty: a pipeline has at least one stage, such as run: echo hello");
}

/* In file order, those found on one line in the order found. */
static void sort_findings(struct reader *r)
{
    for (size_t i = 1; i < r->n_findings; i++) {
        struct spec_finding moved = r->findings[i];
        size_t at = i;
        for (; at > 0 && r->findings[at - 1].line > moved.line; at--)
            r->findings[at] = r->findings[at - 1];
        r->findings[at] = moved;
    }
    if (r->n_left_out) {
        const char *text = reader_printf(r, "%zu more findings are not listed", r->n_left_out);
        if (text)
            r->findings[r->n_findings++] = (struct spec_finding){false, 0, text};
    }
}

/* One block: the findings, and behind them their texts. */
static void hand_out(const struct reader *r, struct spec_finding **findings_out, size_t *n_out)
{
    size_t bytes = r->n_findings * sizeof **findings_out;

    if (!findings_out)
        return;
    for (size_t i = 0; i < r->n_findings; i++)
        bytes += strlen(r->findings[i].text) + 1;
    struct spec_finding *copy = mem_zero(1, bytes);
    char *text = (char *)(copy + r->n_findings);
    for (size_t i = 0; i < r->n_findings; i++) {
        size_t n = strlen(r->findings[i].text) + 1;
        memcpy(text, r->findings[i].text, n);
        copy[i] = (struct spec_finding){r->findings[i].is_error, r->findings[i].line, text};
        text += n;
    }
    *findings_out = copy;
    *n_out = r->n_findings;
}

/* "dir/train.yaml" is the pipeline train. */
static const char *name_from_file(struct arena *a, const char *file)
{
    static const char *const endings[] = {".yaml", ".yml"};
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    size_t n = strlen(base);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t len = strlen(endings[i]);
        if (n > len && strcmp(base + n - len, endings[i]) == 0)
            return arena_dup_n(a, base, n - len);
    }
    return arena_dup(a, base);
}

static struct spec *spec_new(const char *name)
{
    struct spec *s = mem_zero(1, sizeof *s);

    s->arena = arena_new(ARENA_MAX_BYTES);
    s->file = arena_dup(s->arena, name);
    s->name = name_from_file(s->arena, name);
    s->goal = (struct spec_goal){
        .objective = SPEC_COST, .budget_usd = (double)INFINITY, .deadline_s = (double)INFINITY};
    s->guesses.arena = s->arena;
    return s;
}

struct spec *spec_parse(const char *name,
                        const char *text,
                        size_t len,
                        const char *base_dir,
                        struct spec_finding **findings_out,
                        size_t *n_out,
                        struct err *e)
{
    AUTO(spec) struct spec *s = spec_new(name);
    struct spec_finding findings[SPEC_MAX_FINDINGS];
    struct reader r = {.arena = s->arena, .spec = s, .base_dir = base_dir, .findings = findings};

    s->text = arena_dup_n(s->arena, text, len);
    s->base_dir = base_dir ? arena_dup(s->arena, base_dir) : NULL;
    if (findings_out) {
        *findings_out = NULL;
        *n_out = 0;
    }
    read_text(&r, text, len);
    if (r.is_full && r.n_errors == 0) {
        err_set(e, ERR_USAGE, "%s: needs more than %zu MiB of memory: too many aliases or defaults",
                name, ARENA_MAX_BYTES >> 20);
        return NULL;
    }
    sort_findings(&r);
    if (r.n_errors > 0) {
        hand_out(&r, findings_out, n_out);
        reader_first_error(&r, name, e);
        return NULL;
    }
    s->findings = arena_alloc(s->arena, r.n_findings, sizeof *s->findings);
    if (s->findings && r.n_findings) {
        memcpy(s->findings, findings, r.n_findings * sizeof *findings);
        s->n_findings = r.n_findings;
    }
    return TAKE(s);
}

struct spec *spec_load(const char *path,
                       struct spec_finding **findings_out,
                       size_t *n_out,
                       struct err *e)
{
    AUTO_CLEAR(buf) struct buf text;
    const char *slash = strrchr(path, '/');
    AUTO_MEM char *dir = slash ? mem_dup(path) : mem_dup(".");

    if (findings_out) {
        *findings_out = NULL;
        *n_out = 0;
    }
    if (slash)
        dir[slash == path ? 1 : slash - path] = 0;
    buf_init(&text, YAML_MAX_BYTES);
    if (yaml_read(path, &text, e) < 0)
        return NULL;
    return spec_parse(strcmp(path, "-") == 0 ? "stdin" : path, buf_str(&text), text.len, dir,
                      findings_out, n_out, e);
}

void spec_free(struct spec *s)
{
    if (!s)
        return;
    arena_free(s->arena);
    free(s);
}

void spec_findings_free(struct spec_finding *findings, size_t n)
{
    (void)n;
    free(findings);
}
