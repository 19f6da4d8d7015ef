/* compose: a planned training as a run of the broker, with one stage per worker and one for the
 * functions of each site. */
#include "app/geo/internal.h"
#include "app/run/location.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "broker/pipeline/advance.h"
#include "broker/pipeline/code.h"
#include "spec/config.h"

#include <assert.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGGREGATOR "tradewind-aggregator"
#define ENVS_MAX 32
#define AGGREGATOR_WORDS_MAX 20
/* Of a worker or function whose host has no size in the configuration. */
#define CPUS 1.0
#define MEMORY_MB 1024
/* Workers save their state in $TRADEWIND_CHECKPOINT; on hosts it is fetched this often. */
#define CHECKPOINT_S 30
static const char *keep(struct app_geo_run *g, const char *s)
{
    return s ? arena_dup(g->arena, s) : NULL;
}

/* ---- programs and code ---- */

static int copy_program(const char *from, const char *to, struct err *e)
{
    struct stat st;
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, result = -1;

    if (in >= 0 && fstat(in, &st) == 0)
        out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (out >= 0)
        result = file_copy(in, out, (uint64_t)st.st_size);
    if (result < 0)
        file_error(e, "copy", from);
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    return result;
}

/* Hosts get the program as they get code: as a set version. */
static int store_program(struct app_geo_run *g,
                         struct app *app,
                         const char **ref_out,
                         struct err *e)
{
    const char *tmp = app_variable(app, "TMPDIR");
    AUTO_MEM char *root = mem_printf("%s/tradewind-geo-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    AUTO_MEM char *program = app_geo_find(app, AGGREGATOR, "TRADEWIND_AGGREGATOR", "", e);
    AUTO_CLEAR(code) struct code code = {0};

    if (!program)
        return -1;
    if (!mkdtemp(root))
        return file_error(e, "make a directory like", root);
    AUTO_MEM char *directory = mem_printf("%s/aggregator", root);
    AUTO_MEM char *copy = mem_printf("%s/" AGGREGATOR, directory);
    int result = mkdir(directory, 0700) < 0 ? file_error(e, "make", directory) : 0;
    if (result == 0)
        result = copy_program(program, copy, e);
    if (result == 0)
        result = code_store(app_lake(app, e), g->geo.config->home, directory, &code, e);
    file_remove_tree(root);
    *ref_out = keep(g, code.ref);
    return result;
}

static int store_workdir(struct app_geo_run *g, struct lake *l, struct code *out, struct err *e)
{
    AUTO_MEM char *file = mem_dup(g->geo.spec->file);
    const char *dir = g->geo.spec->workdir;

    if (!dir)
        return 0;
    AUTO_MEM char *path = dir[0] == '/' ? mem_dup(dir) : mem_printf("%s/%s", dirname(file), dir);
    return code_store(l, g->geo.config->home, path, out, e) < 0 ? err_wrap(e, "train.workdir") : 0;
}

/* ---- a function's stage ---- */

/* A command while it is made. */
struct words {
    struct app_geo_run *g;
    const char **items;
    size_t n;
    bool too_large; /* the arena is full */
};

/* word NULL: the arena is full. */
static void put_word(struct words *w, const char *word)
{
    w->too_large = w->too_large || !word;
    w->items[w->n++] = word;
}

/* bash -c SCRIPT NAME; room for more words behind them. false: the arena is full. */
static bool begin_script(
    struct app_geo_run *g, const char *script, const char *name, size_t more, struct words *out)
{
    *out = (struct words){g, arena_alloc(g->arena, more + 4, sizeof *out->items), 0, false};
    if (!out->items)
        return false;
    put_word(out, "bash");
    put_word(out, "-c");
    put_word(out, script);
    put_word(out, name);
    return true;
}

static void put_pair(struct words *w, const char *name, const char *value)
{
    if (*value)
        put_word(w, arena_printf(w->g->arena, "%s=%s", name, value));
}

static void put_number(struct words *w, const char *name, double value)
{
    put_word(w, arena_printf(w->g->arena, "%s=%.15g", name, value));
}

static void put_setting(void *context, const char *name, const char *value)
{
    put_pair(context, name, value);
}

/* Number, variables and the end of an aggregator, as function.sh takes them. */
static void put_aggregator(struct words *w, size_t i, bool is_local)
{
    const struct app_geo_run *g = w->g;

    put_word(w, arena_printf(g->arena, "%zu", i));
    app_geo_aggregator_settings(g, i, put_setting, w);
    put_number(w, "PORT", g->aggregators[i].port);
    put_pair(w, "TRADEWIND_LISTEN", is_local ? "127.0.0.1" : "0.0.0.0");
    put_pair(w, "TRADEWIND_EVENT_LOG", "/dev/stdout");
    put_word(w, "--");
}

static void compose_function(struct app_geo_run *g, size_t site, struct run_stage_plan *out)
{
    bool is_local = strcmp(app_geo_run_on(g, site, true), "local") == 0 && !g->is_cloud;
    struct words w;

    if (!begin_script(g, app_geo_function_script, "function",
                      g->n_aggregators * AGGREGATOR_WORDS_MAX, &w))
        return;
    for (size_t i = 0; i < g->n_aggregators; i++)
        if (g->aggregators[i].site == site)
            put_aggregator(&w, i, is_local);
    out->command = w.items;
    out->n_command = w.too_large ? 0 : w.n;
    out->serves = true;
}

/* ---- a worker's stage ---- */

struct env_list {
    struct app_geo_run *g;
    struct run_pair *pairs;
    size_t n;
};

static void add_env(struct env_list *l, const char *key, const char *value)
{
    if (*value && l->n < ENVS_MAX)
        l->pairs[l->n++] = (struct run_pair){key, keep(l->g, value)};
}

static void add_env_number(struct env_list *l, const char *key, double value)
{
    AUTO_MEM char *text = mem_printf("%.15g", value);

    add_env(l, key, text);
}

const struct spec_geo_worker *app_geo_run_entry(const struct spec_geo *s,
                                                size_t worker,
                                                size_t *index)
{
    size_t i = 0;

    while (worker >= s->workers[i].count)
        worker -= s->workers[i++].count;
    *index = worker;
    return &s->workers[i];
}

/* Its part of the training data, and how to reach the store of its own location. */
static void add_data(struct env_list *l, size_t worker)
{
    const struct geo_site *site =
        &l->g->geo.problem->sites[l->g->geo.problem->workers[worker].site];
    const struct spec_geo_site *said = spec_geo_site(l->g->geo.spec, site->cloud, site->region);
    size_t index;
    const struct spec_geo_worker *entry = app_geo_run_entry(l->g->geo.spec, worker, &index);

    add_env_number(l, "TRADEWIND_SHARD", (double)index);
    add_env_number(l, "TRADEWIND_SHARDS", entry->count);
    if (!entry->data || strncmp(entry->data, "lake:", 5) == 0)
        return;
    add_env(l, "TRADEWIND_DATA", entry->data);
    add_env(l, "TRADEWIND_DATA_ENDPOINT", said && said->endpoint ? said->endpoint : "");
    add_env(l, "TRADEWIND_DATA_REGION", said && said->region ? said->region : "");
}

static void add_compression(struct env_list *l)
{
    AUTO_MEM char *topk = mem_printf("topk:%.15g", l->g->geo.spec->topk);

    switch (l->g->geo.spec->compression) {
    case SPEC_GEO_PLAIN:
        return;
    case SPEC_GEO_INT8:
        add_env(l, "TRADEWIND_COMPRESSION", "int8");
        return;
    case SPEC_GEO_TOPK:
        add_env(l, "TRADEWIND_COMPRESSION", topk);
    }
}

static void compose_envs(struct app_geo_run *g, size_t worker, struct run_stage_plan *out)
{
    const struct app_geo_aggregator *a = &g->aggregators[g->gatherer_of[worker]];
    const struct app_geo_aggregator *last = &g->aggregators[g->n_aggregators - 1];
    const struct geo_site *site = &g->geo.problem->sites[g->geo.problem->workers[worker].site];
    AUTO_MEM char *location = mem_printf("%s/%s", site->cloud, site->region);
    struct env_list l = {.g = g, .pairs = arena_alloc(g->arena, ENVS_MAX, sizeof *l.pairs)};

    if (!l.pairs)
        return;
    add_env(&l, "TRADEWIND_STORE", a->in.url);
    add_env(&l, "TRADEWIND_STORE_ENDPOINT", a->in.endpoint);
    add_env(&l, "TRADEWIND_STORE_REGION", a->in.region);
    if (g->at.topology == SPEC_GEO_REGIONAL) {
        add_env(&l, "TRADEWIND_MEAN_STORE", last->in.url);
        add_env(&l, "TRADEWIND_MEAN_ENDPOINT", last->in.endpoint);
        add_env(&l, "TRADEWIND_MEAN_REGION", last->in.region);
    }
    add_env(&l, "TRADEWIND_EVENT_URL", a->event_url);
    add_env(&l, "TRADEWIND_INSECURE", g->is_insecure ? "1" : "");
    add_env_number(&l, "TRADEWIND_WORKER", g->index_of[worker]);
    add_env_number(&l, "TRADEWIND_WORKERS", a->workers);
    add_env_number(&l, "TRADEWIND_RANK", (double)worker);
    add_env_number(&l, "TRADEWIND_RANKS", (double)g->geo.problem->n_workers);
    add_env_number(&l, "TRADEWIND_ROUNDS", g->geo.spec->rounds);
    add_env_number(&l, "TRADEWIND_POLL_S", g->geo.spec->poll_s);
    add_env(&l, "TRADEWIND_LOCATION", location);
    add_env(&l, "TRADEWIND_PLACE", location); /* its earlier name */
    add_compression(&l);
    add_env_number(&l, "TRADEWIND_CONNECTIONS", g->geo.spec->connections);
    add_env(&l, "TRADEWIND_EVENT_LOG", "/dev/stdout");
    add_data(&l, worker);
    out->envs = l.pairs;
    out->n_envs = l.n;
}

static void compose_command(struct app_geo_run *g, size_t worker, struct run_stage_plan *out)
{
    const struct app_geo_aggregator *a = &g->aggregators[g->gatherer_of[worker]];
    const struct app_geo_aggregator *last = &g->aggregators[g->n_aggregators - 1];
    struct words w;

    if (!begin_script(g, app_geo_worker_script, "worker", 3, &w))
        return;
    put_word(&w, keep(g, g->geo.spec->run));
    put_word(&w, arena_printf(g->arena, "%s/%u", a->address, a->port));
    if (a != last)
        put_word(&w, arena_printf(g->arena, "%s/%u", last->address, last->port));
    out->command = w.items;
    out->n_command = w.too_large ? 0 : w.n;
}

static void compose_worker(struct app_geo_run *g,
                           size_t worker,
                           const struct code *code,
                           struct run_stage_plan *out)
{
    const struct geo_worker *w = &g->geo.problem->workers[worker];
    size_t index;
    const char *data = app_geo_run_entry(g->geo.spec, worker, &index)->data;
    AUTO_MEM char *set = advance_set_name(g->geo.spec->name, "model", "");

    compose_command(g, worker, out);
    compose_envs(g, worker, out);
    if (data && strncmp(data, "lake:", 5) == 0) {
        struct run_input *in = arena_alloc(g->arena, 1, sizeof *in);
        if (in)
            in->ref = data + 5;
        out->inputs = in;
        out->n_inputs = in ? 1 : 0;
    }
    out->code = keep(g, code->ref);
    out->commit = code->ref ? keep(g, code->commit) : "";
    out->dirty = code->dirty;
    /* All workers end with the same model; that of the first one is kept. */
    out->output = worker == 0 ? keep(g, set) : NULL;
    out->checkpoint_s = CHECKPOINT_S;
    out->price_usd_per_hour =
        out->offer.provider[0] ? out->offer.price_usd_per_hour : w->usd_per_hour;
    out->planned_s = g->total.time_s;
}

/* ---- all ---- */

/* Stages share this machine evenly; a host belongs to its stage. */
static int compose_size(struct app_geo_run *g,
                        struct run_stage_plan *p,
                        size_t sharers,
                        struct err *e)
{
    struct app_run_location location;
    struct app_run_room room;

    assert(sharers > 0); /* itself */
    if (app_run_location_find(g->geo.config, p->on, "on", &location, e) < 0)
        return err_wrap(e, "%s: stage %s", g->geo.spec->file, p->name);
    if (location.is_cloud) /* app_geo_run_offers */
        return 0;
    if (location.n_hosts == 0) {
        p->cpus = floor(location.here.cpus / (double)sharers * 100) / 100;
        p->memory_mb = location.here.memory_mb / sharers;
        p->memory_mb = p->memory_mb < MEMORY_MB ? p->memory_mb : MEMORY_MB;
        return 0;
    }
    if (sharers > location.n_hosts)
        return err_set(e, ERR_NOFIT, "%s: group %s has %zu hosts, and %zu are needed at once",
                       g->geo.spec->file, p->on, location.n_hosts, sharers);
    if (app_run_location_room(&location, (unsigned)sharers, NULL, &room, e) < 0)
        return -1;
    p->cpus = room.cpus > 0 ? room.cpus : CPUS;
    p->memory_mb = room.memory_mb > 0 ? room.memory_mb : MEMORY_MB;
    return 0;
}

static int compose_sizes(struct app_geo_run *g, struct run *out, struct err *e)
{
    if (out->n_stages > g->geo.config->limits.jobs_per_user)
        return err_set(
            e, ERR_NOFIT,
            "%s: %zu workers and functions have to run at once, and limits.jobs_per_user "
            "is %u: tradewind config set limits.jobs_per_user %zu",
            g->geo.spec->file, out->n_stages, g->geo.config->limits.jobs_per_user, out->n_stages);
    for (size_t i = 0; i < out->n_stages; i++) {
        size_t sharers = 0;
        for (size_t k = 0; k < out->n_stages; k++)
            sharers += strcmp(out->stages[k].plan.on, out->stages[i].plan.on) == 0;
        if (compose_size(g, &out->stages[i].plan, sharers, e) < 0)
            return -1;
    }
    return 0;
}

/* Of the clouds that have a store of this training. */
static bool has_store(const struct app_geo_run *g, const char *scheme)
{
    for (size_t i = 0; i < g->n_aggregators; i++)
        if (strncmp(g->aggregators[i].in.url, scheme, strlen(scheme)) == 0)
            return true;
    return false;
}

/* Keys that are texts: files and identities of machines are the hosts' own. */
static const struct {
    const char *scheme, *name;
} key_names[] = {
    {"s3://", "AWS_ACCESS_KEY_ID"},   {"s3://", "AWS_SECRET_ACCESS_KEY"},
    {"s3://", "AWS_SESSION_TOKEN"},   {"az://", "AZURE_STORAGE_CONNECTION_STRING"},
    {"az://", "AZURE_STORAGE_KEY"},   {"az://", "AZURE_STORAGE_SAS_TOKEN"},
    {"az://", "AZURE_TENANT_ID"},     {"az://", "AZURE_CLIENT_ID"},
    {"az://", "AZURE_CLIENT_SECRET"},
};
#define KEYS_MAX (sizeof key_names / sizeof *key_names + 1)

/* Workers send it to functions, which refuse events without it. */
static const char *make_token(struct app_geo_run *g)
{
    unsigned char bytes[16];
    char text[2 * sizeof bytes + 1];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return NULL;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return keep(g, text);
}

/* Keys for the stores, where the caller has them; else hosts find their own. */
static int compose_secrets(struct app_geo_run *g, const struct app *app, struct err *e)
{
    struct run *out = &g->run;
    const char *values[KEYS_MAX] = {make_token(g)};
    const char **used = arena_alloc(g->arena, KEYS_MAX, sizeof *used);
    struct run_secret *all = arena_alloc(g->arena, out->n_stages * KEYS_MAX, sizeof *all);
    size_t n = 1;

    if (!used || !all || !values[0])
        return err_set(e, ERR_IO, "no random bytes for the training's token");
    used[0] = "TRADEWIND_EVENT_TOKEN";
    for (size_t i = 0; i < KEYS_MAX - 1; i++) {
        const char *name = key_names[i].name;
        if (has_store(g, key_names[i].scheme) && app_variable(app, name)) {
            used[n] = name;
            values[n++] = keep(g, app_variable(app, name));
        }
    }
    for (size_t i = 0; i < out->n_stages; i++) {
        struct run_stage_plan *p = &out->stages[i].plan;
        p->secrets = used;
        p->n_secrets = n;
        for (size_t k = 0; k < n; k++)
            all[out->n_secrets++] = (struct run_secret){p->name, used[k], values[k]};
    }
    out->secrets = all;
    return 0;
}

static void add_party(struct app_geo_run *g, struct run *out, size_t worker, size_t site)
{
    const struct geo_site *s = &g->geo.problem->sites[site];
    struct run_stage_plan *p = &out->stages[out->n_stages++].plan;
    bool is_function = worker == GEO_EVENT_NO_WORKER;

    p->name = is_function ? arena_printf(g->arena, "function-%s-%s", s->cloud, s->region)
                          : arena_printf(g->arena, "worker-%04zu", worker);
    p->on = app_geo_run_on(g, site, is_function);
    p->place = arena_printf(g->arena, "%s/%s", s->cloud, s->region);
    p->instance_type = p->note = "";
    p->nodes = 1;
    g->parties[g->n_parties++] = (struct app_geo_party){p->name, worker, site};
}

static void list_parties(struct app_geo_run *g, struct run *out)
{
    for (size_t i = 0; i < g->n_aggregators; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen = seen || g->aggregators[k].site == g->aggregators[i].site;
        if (!seen)
            add_party(g, out, GEO_EVENT_NO_WORKER, g->aggregators[i].site);
    }
    for (size_t i = 0; i < g->geo.problem->n_workers; i++)
        add_party(g, out, i, g->geo.problem->workers[i].site);
}

int app_geo_run_list(struct app_geo_run *g, struct app *app, struct err *e)
{
    size_t most = g->n_aggregators + g->geo.problem->n_workers;

    g->run.stages = arena_alloc(g->arena, most, sizeof *g->run.stages);
    g->parties = arena_alloc(g->arena, most, sizeof *g->parties);
    if (!g->run.stages || !g->parties)
        return err_set(e, ERR_USAGE, "%s: too large a training to run", g->geo.spec->file);
    list_parties(g, &g->run);
    return compose_sizes(g, &g->run, e) < 0 ? -1 : app_geo_run_offers(g, app, e);
}

int app_geo_run_compose(struct app_geo_run *g, struct app *app, struct err *e)
{
    struct lake *l = app_lake(app, e);
    struct run *out = &g->run;
    AUTO_CLEAR(code) struct code code = {0};
    const char *program = NULL;

    if (!l || store_workdir(g, l, &code, e) < 0 || store_program(g, app, &program, e) < 0)
        return -1;
    for (size_t i = 0; i < g->n_parties; i++) {
        struct run_stage_plan *p = &out->stages[i].plan;
        if (g->parties[i].worker == GEO_EVENT_NO_WORKER) {
            compose_function(g, g->parties[i].site, p);
            p->code = program;
        } else {
            compose_worker(g, g->parties[i].worker, &code, p);
        }
        if (!p->n_command)
            return err_set(e, ERR_USAGE, "%s: too large a training to run", g->geo.spec->file);
    }
    if (compose_secrets(g, app, e) < 0)
        return -1;
    out->name = g->geo.spec->name;
    out->file = g->geo.spec->file;
    out->on = g->on;
    out->no_cache = true;
    out->planned_s = g->total.time_s;
    out->planned_microusd = g->total.total_microusd;
    return 0;
}
