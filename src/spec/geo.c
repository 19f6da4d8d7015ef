#include "spec/geo.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "spec/config.h"
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
#define SITES_MAX 256

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

static bool read_bytes(const struct reader_value *v, double *out)
{
    double gb;

    if (!reader_size(v, &gb))
        return false;
    *out = round(gb * BYTES_PER_GB);
    return true;
}

static void read_size(const struct reader_value *v, void *into)
{
    struct spec_geo *s = into;

    if (read_bytes(v, &s->size_bytes) && s->size_bytes < 1)
        reader_value_error(v, "must be above 0");
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
    reader_value_error(v, "%s is not a topology: use central, regional, fanout or any",
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
        reader_value_error(
            v,
            "%s is not a compression: use none, int8 or topk:SHARE with a SHARE above "
            "0 and at most 1, as in topk:0.01",
            reader_shown(v));
    }
}

static void read_poll(const struct reader_value *v, void *into)
{
    struct spec_geo *s = into;

    if (reader_duration(v, 1, MAX_POLL_S, &s->poll_s) && s->poll_s < 0.001)
        reader_value_error(v, "%s is too often: at least 0.001 s", reader_shown(v));
}

static void read_data_size(const struct reader_value *v, void *into)
{
    read_bytes(v, &((struct spec_geo_worker *)into)->data_bytes);
}

#define OF_WORKER(use, member) READER_INTO(use, spec_geo_worker, member)
static const struct reader_field data_fields[] = {
    {"from", OF_WORKER(TEXT, data)},
    {"size", .read = read_data_size},
    {"location", OF_WORKER(REGION, data_place)},
    {"place", OF_WORKER(REGION, data_place), .is_old = true},
    {"cached", OF_WORKER(BOOL, data_cached)},
    {0},
};

static void read_data(const struct reader_value *v, void *into)
{
    if (v->node->kind == YAML_MAP)
        reader_fields(v, data_fields, NULL, into);
    else
        reader_text(v, &((struct spec_geo_worker *)into)->data);
}

static const struct reader_field worker_fields[] = {
    {"location", OF_WORKER(REGION, place)},
    {"place", OF_WORKER(REGION, place), .is_old = true},
    {"instance_type", OF_WORKER(NAME, instance_type)},
    {"count", OF_WORKER(COUNT, count), 1, SPEC_GEO_MAX_WORKERS},
    {"seconds", OF_WORKER(SECONDS, train_s), 0, MAX_ROUND_S},
    {"data", .read = read_data},
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

/* ---- sites ---- */

static void read_address(const struct reader_value *v, void *into)
{
    struct spec_geo_site *s = into;

    if (reader_name(v, &s->address) && strpbrk(s->address, "/@ "))
        reader_value_error(v, "%s is not a host name or address: leave out user, port and path",
                           reader_shown(v));
}

static void read_site_store(const struct reader_value *v, void *into)
{
    struct spec_geo_site *s = into;

    if (reader_name(v, &s->store) && !config_is_bucket(s->store) &&
        strncmp(s->store, "dir:/", 5) != 0)
        reader_value_error(v,
                           "%s is not a store: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, "
                           "az://ACCOUNT/CONTAINER/PREFIX or dir:/PATH",
                           reader_shown(v));
}

static void read_endpoint(const struct reader_value *v, void *into)
{
    struct spec_geo_site *s = into;

    if (reader_name(v, &s->endpoint) && strncmp(s->endpoint, "http://", 7) != 0 &&
        strncmp(s->endpoint, "https://", 8) != 0)
        reader_value_error(v, "%s is not an address: write https://HOST:PORT", reader_shown(v));
}

#define OF_SITE(use, member) READER_INTO(use, spec_geo_site, member)
static const struct reader_field site_fields[] = {
    {"on", OF_SITE(NAME, on)},          {"function_on", OF_SITE(NAME, function_on)},
    {"address", .read = read_address},  {"port", OF_SITE(COUNT, port), 1, 65535},
    {"store", .read = read_site_store}, {"endpoint", .read = read_endpoint},
    {"region", OF_SITE(NAME, region)},  {0},
};

const struct spec_geo_site *spec_geo_site(const struct spec_geo *s,
                                          const char *cloud,
                                          const char *region)
{
    for (size_t i = 0; i < s->n_sites; i++)
        if (strcmp(s->sites[i].place.cloud, cloud) == 0 &&
            strcmp(s->sites[i].place.region, region) == 0)
            return &s->sites[i];
    return NULL;
}

static void read_site(const struct reader_value *v, const char *key, struct spec_geo *s)
{
    struct spec_geo_site *site = &s->sites[s->n_sites];
    struct err e;

    *site = (struct spec_geo_site){.line = v->line};
    if (spec_place_parse(key, v->r->arena, &site->place, &e) < 0) {
        reader_value_error(v, "%s", e.text);
        return;
    }
    if (!site->place.cloud || !site->place.region) {
        reader_value_error(v, "names no region: write CLOUD/REGION, as in aws/eu-west-2");
        return;
    }
    if (spec_geo_site(s, site->place.cloud, site->place.region)) {
        reader_value_error(v, "is given twice: remove one");
        return;
    }
    if (reader_fields(v, site_fields, NULL, site))
        s->n_sites++;
}

static void read_sites(const struct reader_value *v, void *into)
{
    struct spec_geo *s = into;

    if (!reader_is_map(v))
        return;
    if (v->node->n > SITES_MAX) {
        reader_value_error(v, "%zu locations: at most %d", v->node->n, SITES_MAX);
        return;
    }
    s->n_sites = 0;
    s->sites = reader_alloc(v->r, v->node->n + 1, sizeof *s->sites);
    for (size_t i = 0; s->sites && i < v->node->n; i++) {
        struct reader_value site = reader_entry(v, i);
        read_site(&site, v->node->entries[i].key, s);
    }
}

/* ---- the file ---- */

#define INTO(use, member) READER_INTO(use, spec_geo, member)
static const struct reader_field model_fields[] = {
    {"size", .read = read_size},
    {0},
};
static const struct reader_field train_fields[] = {
    {"run", INTO(TEXT, run)},
    {"workdir", INTO(TEXT, workdir)},
    {"seconds", INTO(SECONDS, train_s), 0, MAX_ROUND_S},
    {"rounds_per_epoch", INTO(WHOLE, rounds_per_epoch), 1, SPEC_GEO_MAX_ROUNDS},
    {0},
};
static const struct reader_field aggregator_fields[] = {
    {"function", INTO(PLACE, function)}, {"store", INTO(PLACE, store)},
    {"memory", .read = read_memory},     {"mb_per_s", INTO(NUMBER, average_mb_per_s), 1, 1e6},
    {"weighted", INTO(BOOL, weighted)},  {0},
};
static const struct reader_field fields[] = {
    {"name", INTO(NAME, name)},
    {"model", .use = READER_MAP, .inner = model_fields},
    {"rounds", INTO(WHOLE, rounds), 1, SPEC_GEO_MAX_ROUNDS},
    {"train", .use = READER_MAP, .inner = train_fields},
    {"workers", .read = read_workers},
    {"aggregator", .use = READER_MAP, .inner = aggregator_fields},
    {"topology", .read = read_topology},
    {"compression", .read = read_compression},
    {"quorum", INTO(ABOVE, quorum), 0, 1},
    {"connections", INTO(COUNT, connections), 1, SPEC_GEO_MAX_CONNECTIONS},
    {"poll", .read = read_poll},
    {"retries", INTO(NUMBER, retries), 0, 100},
    {"same_region_usd_per_gb", INTO(NUMBER, same_region_usd_per_gb), 0, MAX_USD_PER_GB},
    {"sites", .read = read_sites},
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
    const struct reader_file file = {s->arena, name, "training", .fields = fields};

    return reader_file(&file, text, len, s, e) < 0 ? NULL : TAKE(s);
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
