#include "spec/geo.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "spec/internal.h"
#include "spec/reader.h"
#include "spec/value.h"
#include "spec/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_MAX_BYTES ((size_t)32 << 20)
#define BYTES_PER_GB 1e9
#define MAX_ROUND_S (30 * 86400.0)
#define MAX_POLL_S 3600
#define MAX_USD_PER_GB 1e4

static const char *const topologies[] = {
    [SPEC_GEO_CENTRAL] = "central",
    [SPEC_GEO_REGIONAL] = "regional",
    [SPEC_GEO_FANOUT] = "fanout",
    [SPEC_GEO_ANY] = "any",
};

const char *spec_geo_topology_text(enum spec_geo_topology topology)
{
    return topologies[topology];
}

/* ---- values ---- */

static bool read_bytes(const struct reader_value *v, double *out)
{
    double gb;

    if (!reader_size(v, &gb))
        return false;
    *out = round(gb * BYTES_PER_GB);
    return true;
}

static bool read_whole(const struct reader_value *v, double least, double most, double *out)
{
    double value;

    if (!reader_number(v, least, most, &value))
        return false;
    if (value != floor(value)) {
        reader_value_error(v, "%s is not a whole number", reader_shown(v));
        return false;
    }
    *out = value;
    return true;
}

static bool read_seconds(const struct reader_value *v, double most, double *out)
{
    return reader_duration(v, 1, most, out);
}

static bool spec_geo_read_place(const struct reader_value *v, struct spec_place *out)
{
    const char *text;
    struct err e;

    if (!reader_text(v, &text))
        return false;
    if (spec_place_parse(text, v->r->arena, out, &e) == 0)
        return true;
    reader_value_error(v, "%s", e.text);
    return false;
}

/* "any" is no location in particular. */
static void read_open_place(const struct reader_value *v, struct spec_place *out)
{
    const char *text;

    if (reader_text(v, &text) && strcmp(text, "any") == 0)
        *out = (struct spec_place){0};
    else if (v->node->kind == YAML_SCALAR && !yaml_is_null(v->node))
        spec_geo_read_place(v, out);
}

/* ---- fields; into is a struct spec_geo ---- */

static void read_name(const struct reader_value *v, void *into)
{
    reader_name(v, &((struct spec_geo *)into)->name);
}

static void read_size(const struct reader_value *v, void *into)
{
    struct spec_geo *s = into;

    if (read_bytes(v, &s->size_bytes) && s->size_bytes < 1)
        reader_value_error(v, "must be above 0");
}

static void read_rounds(const struct reader_value *v, void *into)
{
    read_whole(v, 1, SPEC_GEO_MAX_ROUNDS, &((struct spec_geo *)into)->rounds);
}

static void read_run(const struct reader_value *v, void *into)
{
    reader_text(v, &((struct spec_geo *)into)->run);
}

static void read_workdir(const struct reader_value *v, void *into)
{
    reader_text(v, &((struct spec_geo *)into)->workdir);
}

static void read_weighted(const struct reader_value *v, void *into)
{
    reader_bool(v, &((struct spec_geo *)into)->weighted);
}

static void read_train_s(const struct reader_value *v, void *into)
{
    read_seconds(v, MAX_ROUND_S, &((struct spec_geo *)into)->train_s);
}

static void read_epoch(const struct reader_value *v, void *into)
{
    read_whole(v, 1, SPEC_GEO_MAX_ROUNDS, &((struct spec_geo *)into)->rounds_per_epoch);
}

static void read_function(const struct reader_value *v, void *into)
{
    read_open_place(v, &((struct spec_geo *)into)->function);
}

static void read_store(const struct reader_value *v, void *into)
{
    read_open_place(v, &((struct spec_geo *)into)->store);
}

static void read_memory(const struct reader_value *v, void *into)
{
    double gb;

    if (!reader_size(v, &gb))
        return;
    if (gb < 0.125 || gb > 32)
        reader_value_error(v, "%s is out of range: functions have 128MB to 32GB", reader_shown(v));
    else
        ((struct spec_geo *)into)->memory_gb = gb;
}

static void read_speed(const struct reader_value *v, void *into)
{
    reader_number(v, 1, 1e6, &((struct spec_geo *)into)->average_mb_per_s);
}

static void read_topology(const struct reader_value *v, void *into)
{
    const char *text;

    if (!reader_text(v, &text))
        return;
    for (size_t i = 0; i < sizeof topologies / sizeof *topologies; i++)
        if (strcmp(text, topologies[i]) == 0) {
            ((struct spec_geo *)into)->topology = (enum spec_geo_topology)i;
            return;
        }
    reader_value_error(v, "%s is no topology: use central, regional, fanout or any",
                       reader_shown(v));
}

static void read_compression(const struct reader_value *v, void *into)
{
    static const char topk[] = "topk:";
    struct spec_geo *s = into;
    const char *text;
    double share;

    if (!reader_text(v, &text))
        return;
    if (strcmp(text, "none") == 0) {
        s->compression = SPEC_GEO_PLAIN;
    } else if (strcmp(text, "int8") == 0) {
        s->compression = SPEC_GEO_INT8;
    } else if (strncmp(text, topk, sizeof topk - 1) == 0 &&
               number_parse(text + sizeof topk - 1, &share) && share > 0 && share <= 1) {
        s->compression = SPEC_GEO_TOPK;
        s->topk = share;
    } else {
        reader_value_error(v,
                           "%s is no compression: use none, int8 or topk:SHARE with a SHARE above "
                           "0 and at most 1, as in topk:0.01",
                           reader_shown(v));
    }
}

static void read_quorum(const struct reader_value *v, void *into)
{
    struct spec_geo *s = into;

    if (reader_number(v, 0, 1, &s->quorum) && s->quorum <= 0)
        reader_value_error(v, "must be above 0");
}

static void read_connections(const struct reader_value *v, void *into)
{
    double n;

    if (read_whole(v, 1, SPEC_GEO_MAX_CONNECTIONS, &n))
        ((struct spec_geo *)into)->connections = (unsigned)n;
}

static void read_poll(const struct reader_value *v, void *into)
{
    struct spec_geo *s = into;

    if (read_seconds(v, MAX_POLL_S, &s->poll_s) && s->poll_s < 0.001)
        reader_value_error(v, "%s is too often: at least 0.001 s", reader_shown(v));
}

static void read_retries(const struct reader_value *v, void *into)
{
    reader_number(v, 0, 100, &((struct spec_geo *)into)->retries);
}

static void read_same_region(const struct reader_value *v, void *into)
{
    reader_number(v, 0, MAX_USD_PER_GB, &((struct spec_geo *)into)->same_region_usd_per_gb);
}

/* ---- workers ---- */

static void read_worker_place(const struct reader_value *v, void *into)
{
    struct spec_geo_worker *w = into;

    if (spec_geo_read_place(v, &w->place) && (!w->place.cloud || !w->place.region))
        reader_value_error(v, "%s names no region: write CLOUD/REGION, as in aws/eu-west-2",
                           reader_shown(v));
}

static void read_type(const struct reader_value *v, void *into)
{
    reader_name(v, &((struct spec_geo_worker *)into)->instance_type);
}

static void read_count(const struct reader_value *v, void *into)
{
    double n;

    if (read_whole(v, 1, SPEC_GEO_MAX_WORKERS, &n))
        ((struct spec_geo_worker *)into)->count = (unsigned)n;
}

static void read_worker_s(const struct reader_value *v, void *into)
{
    read_seconds(v, MAX_ROUND_S, &((struct spec_geo_worker *)into)->train_s);
}

static void read_from(const struct reader_value *v, void *into)
{
    reader_text(v, &((struct spec_geo_worker *)into)->data);
}

static void read_data_size(const struct reader_value *v, void *into)
{
    read_bytes(v, &((struct spec_geo_worker *)into)->data_bytes);
}

static void read_data_place(const struct reader_value *v, void *into)
{
    struct spec_geo_worker *w = into;

    if (spec_geo_read_place(v, &w->data_place) && (!w->data_place.cloud || !w->data_place.region))
        reader_value_error(v, "%s names no region: write CLOUD/REGION", reader_shown(v));
}

static void read_cached(const struct reader_value *v, void *into)
{
    reader_bool(v, &((struct spec_geo_worker *)into)->data_cached);
}

static const struct reader_field data_fields[] = {
    {"from", READER_READ, read_from},           {"size", READER_READ, read_data_size},
    {"location", READER_READ, read_data_place}, {"place", READER_OLD, read_data_place},
    {"cached", READER_READ, read_cached},       {0},
};

static void read_data(const struct reader_value *v, void *into)
{
    if (v->node->kind == YAML_MAP)
        reader_fields(v, data_fields, NULL, into);
    else
        read_from(v, into);
}

static const struct reader_field worker_fields[] = {
    {"location", READER_READ, read_worker_place},
    {"place", READER_OLD, read_worker_place},
    {"instance_type", READER_READ, read_type},
    {"count", READER_READ, read_count},
    {"seconds", READER_READ, read_worker_s},
    {"data", READER_READ, read_data},
    {0},
};

static const struct spec_geo_worker worker_default = {
    .count = 1, .train_s = (double)NAN, .data_cached = true};

static double n_workers(const struct spec_geo *s)
{
    double n = 0;

    for (size_t i = 0; i < s->n_workers; i++)
        n += s->workers[i].count;
    return n;
}

static void read_workers(const struct reader_value *v, void *into)
{
    struct spec_geo *s = into;

    if (v->node->kind != YAML_LIST || v->node->n == 0) {
        reader_value_error(v,
                           "must be a list of workers, as in [{location: aws/eu-west-2}], not %s",
                           v->node->kind == YAML_LIST ? "an empty one" : yaml_kind_text(v->node));
        return;
    }
    s->n_workers = 0;
    s->workers = reader_alloc(v->r, v->node->n, sizeof *s->workers);
    for (size_t i = 0; s->workers && i < v->node->n; i++) {
        struct reader_value item = reader_item(v, i);
        struct spec_geo_worker *w = &s->workers[s->n_workers++];
        *w = worker_default;
        w->line = item.line;
        if (reader_fields(&item, worker_fields, NULL, w) && !yaml_get(item.node, "location") &&
            !yaml_get(item.node, "place"))
            reader_value_error(&item, "has no location: write location: CLOUD/REGION");
    }
    if (n_workers(s) > SPEC_GEO_MAX_WORKERS)
        reader_value_error(v, "%.0f workers: at most %d can be planned", n_workers(s),
                           SPEC_GEO_MAX_WORKERS);
}

/* ---- the file ---- */

static const struct reader_field model_fields[] = {
    {"size", READER_READ, read_size},
    {0},
};
static const struct reader_field train_fields[] = {
    {"run", READER_READ, read_run},
    {"workdir", READER_READ, read_workdir},
    {"seconds", READER_READ, read_train_s},
    {"rounds_per_epoch", READER_READ, read_epoch},
    {0},
};
static const struct reader_field aggregator_fields[] = {
    {"function", READER_READ, read_function}, {"store", READER_READ, read_store},
    {"memory", READER_READ, read_memory},     {"mb_per_s", READER_READ, read_speed},
    {"weighted", READER_READ, read_weighted}, {0},
};

static void read_model(const struct reader_value *v, void *into)
{
    reader_fields(v, model_fields, NULL, into);
}

static void read_train(const struct reader_value *v, void *into)
{
    reader_fields(v, train_fields, NULL, into);
}

static void read_aggregator(const struct reader_value *v, void *into)
{
    reader_fields(v, aggregator_fields, NULL, into);
}

static const struct reader_field fields[] = {
    {"name", READER_READ, read_name},
    {"model", READER_READ, read_model},
    {"rounds", READER_READ, read_rounds},
    {"train", READER_READ, read_train},
    {"workers", READER_READ, read_workers},
    {"aggregator", READER_READ, read_aggregator},
    {"topology", READER_READ, read_topology},
    {"compression", READER_READ, read_compression},
    {"quorum", READER_READ, read_quorum},
    {"connections", READER_READ, read_connections},
    {"poll", READER_READ, read_poll},
    {"retries", READER_READ, read_retries},
    {"same_region_usd_per_gb", READER_READ, read_same_region},
    {"sites", READER_READ, spec_geo_read_sites},
    {0},
};

struct spec_geo *spec_geo_new(const char *name)
{
    struct spec_geo *s = mem_zero(1, sizeof *s);

    s->arena = arena_new(ARENA_MAX_BYTES);
    s->file = s->name = arena_dup(s->arena, name);
    s->rounds = 1;
    s->rounds_per_epoch = SPEC_GEO_MAX_ROUNDS;
    s->train_s = (double)NAN;
    s->memory_gb = 1;
    s->average_mb_per_s = 250;
    s->topology = SPEC_GEO_ANY;
    s->quorum = 1;
    s->connections = 1;
    s->poll_s = 0.1;
    return s;
}

struct spec_geo *spec_geo_parse(const char *name, const char *text, size_t len, struct err *e)
{
    AUTO(spec_geo) struct spec_geo *s = spec_geo_new(name);
    struct spec_finding findings[SPEC_MAX_FINDINGS];
    struct reader r = {.arena = s->arena, .findings = findings};
    const struct yaml_node *root = reader_document(&r, text, len, "training");

    if (root) {
        struct reader_value whole = {&r, "", root->line, root};
        reader_fields(&whole, fields, NULL, s);
    }
    if (r.n_errors == 0 && !r.is_full)
        return TAKE(s);
    reader_first_error(&r, name, e);
    return NULL;
}

struct spec_geo *spec_geo_load(const char *path, struct err *e)
{
    AUTO_CLEAR(buf) struct buf text;

    buf_init(&text, YAML_MAX_BYTES);
    if (yaml_read(path, &text, e) < 0)
        return NULL;
    return spec_geo_parse(strcmp(path, "-") == 0 ? "stdin" : path, buf_str(&text), text.len, e);
}

void spec_geo_free(struct spec_geo *s)
{
    if (!s)
        return;
    arena_free(s->arena);
    free(s);
}

/* ---- the command line ---- */

int spec_geo_set(struct spec_geo *s, const char *name, const char *value, struct err *e)
{
    static const struct reader_group groups[] = {{"model.", model_fields},
                                                 {"train.", train_fields},
                                                 {"aggregator.", aggregator_fields},
                                                 {"", fields},
                                                 {0}};

    return reader_set(s->arena, groups, name, value, s, e);
}

int spec_geo_set_workers(struct spec_geo *s, const char *list, struct err *e)
{
    char *rest = arena_dup(s->arena, list);
    size_t n = 1;

    for (const char *p = list; *p; p++)
        n += *p == ',';
    s->n_workers = 0;
    s->workers = n <= SPEC_GEO_MAX_WORKERS ? arena_alloc(s->arena, n, sizeof *s->workers) : NULL;
    if (!rest || !s->workers)
        return err_set(e, ERR_USAGE, "workers: %zu of them: at most %d can be planned", n,
                       SPEC_GEO_MAX_WORKERS);
    for (char *part; (part = strsep(&rest, ","));) {
        struct spec_geo_worker *w = &s->workers[s->n_workers++];
        *w = worker_default;
        if (spec_place_parse(part, s->arena, &w->place, e) < 0)
            return err_wrap(e, "workers");
        if (!w->place.cloud || !w->place.region)
            return err_set(e, ERR_USAGE,
                           "workers: \"%.60s\" names no region: write CLOUD:REGION, as in "
                           "aws:eu-west-2",
                           part);
    }
    return 0;
}

int spec_geo_check(const struct spec_geo *s, struct err *e)
{
    if (s->n_workers == 0)
        return err_set(
            e, ERR_USAGE,
            "%s: there are no workers: write workers: [{location: aws/eu-west-2}] or give "
            "--workers aws:eu-west-2,...",
            s->file);
    if (!(s->size_bytes >= 1))
        return err_set(e, ERR_USAGE,
                       "%s: the size of a gradient is missing: write model: {size: 17MB} or give "
                       "--size 17MB",
                       s->file);
    for (size_t i = 0; i < s->n_workers; i++)
        if (isnan(s->workers[i].train_s) && isnan(s->train_s))
            return err_set(
                e, ERR_USAGE,
                "%s: the training time of a round is missing: write train: {seconds: 9} or "
                "give --train-s 9",
                s->file);
    return 0;
}
