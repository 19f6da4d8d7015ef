/* A placed training as a run of the broker: a stage for each worker and for the functions of each
 * place. */
#include "app/run/location.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/shell.h"
#include "broker/pipeline/advance.h"
#include "broker/pipeline/code.h"
#include "cli/geo/geo_run_parts.h"
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
#define SCRIPT_MAX ((size_t)1 << 20)
#define ENVS_MAX 32
/* What a worker or function gets where nobody says how large its host is. */
#define CPUS 1.0
#define MEMORY_MB 1024
/* Workers save their state in $TRADEWIND_CHECKPOINT; on hosts it is fetched this often. */
#define CHECKPOINT_S 30
/* Functions ($2 ...: HOST/PORT) are up first, or an event would be told to nobody: five minutes are
 * more than any host takes. A killed worker goes on with the round it was in; one that fails by
 * itself is not tried again. */
#define WORKER                                                                                     \
    "for door in \"${@:2}\"; do for ((i = 0; i < 1500; i++)); do (exec 3<>\"/dev/tcp/$door\") "    \
    "2>/dev/null && break; sleep 0.2; done; done; for try in 1 2 3; do bash -c \"$1\"; code=$?; "  \
    "[ $code -gt 128 ] || exit $code; echo \"worker: ended by signal $((code - 128)); it is "      \
    "started again\"; sleep 0.2; done; exit $code"

static const char *keep(struct geo_run *g, const char *s)
{
    return s ? arena_dup(g->arena, s) : NULL;
}

/* ---- programs and code ---- */

/* Beside this program, or where it is installed. New string; NULL: e. */
static char *find_aggregator(struct err *e)
{
    const char *told = getenv("TRADEWIND_AGGREGATOR");
    char self[PATH_MAX];

    if (told && *told)
        return mem_dup(told);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    const char *here = dirname(self);
    AUTO_MEM char *beside = mem_printf("%s/" AGGREGATOR, here);
    AUTO_MEM char *libexec = mem_printf("%s/../libexec/" AGGREGATOR, here);
    if (access(beside, X_OK) == 0)
        return TAKE(beside);
    if (access(libexec, X_OK) == 0)
        return TAKE(libexec);
    err_set(e, ERR_NOTFOUND,
            AGGREGATOR " is neither in %s nor in %s/../libexec: install it or set "
                       "TRADEWIND_AGGREGATOR to its path",
            here, here);
    return NULL;
}

static int copy_program(const char *from, const char *to, struct err *e)
{
    struct stat st;
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, result = -1;

    if (in >= 0 && fstat(in, &st) == 0)
        out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
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

/* The program goes where its function runs the way code does: as a set version. */
static int store_program(struct geo_run *g, struct lake *l, const char **ref_out, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    AUTO_MEM char *root = mem_printf("%s/tradewind-geo-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    AUTO_MEM char *program = find_aggregator(e);
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
        result = code_store(l, g->world->config->home, directory, &code, e);
    file_remove_tree(root);
    *ref_out = keep(g, code.ref);
    return result;
}

static int store_workdir(struct geo_run *g, struct lake *l, struct code *out, struct err *e)
{
    AUTO_MEM char *file = mem_dup(g->spec->file);
    const char *dir = g->spec->workdir;

    if (!dir)
        return 0;
    AUTO_MEM char *path = dir[0] == '/' ? mem_dup(dir) : mem_printf("%s/%s", dirname(file), dir);
    return code_store(l, g->world->config->home, path, out, e) < 0 ? err_wrap(e, "train.workdir")
                                                                   : 0;
}

/* ---- a function's stage ---- */

static void put_pair(struct buf *b, const char *name, const char *value)
{
    AUTO_MEM char *pair = mem_printf("%s=%s", name, value);

    if (*value)
        shell_put_word(b, pair);
}

static void put_number(struct buf *b, const char *name, double value)
{
    AUTO_MEM char *text = mem_printf("%.15g", value);

    put_pair(b, name, text);
}

static void put_fanout(struct buf *b, const struct geo_aggregator *a)
{
    AUTO_CLEAR(buf) struct buf list;

    buf_init(&list, SCRIPT_MAX);
    for (size_t i = 0; i < a->n_fanout; i++)
        buf_printf(&list, "%s%s|%s|%s", i ? "," : "", a->fanout[i].url, a->fanout[i].endpoint,
                   a->fanout[i].region);
    put_pair(b, "TRADEWIND_FANOUT", buf_str(&list));
}

/* Ended by anything but a mistake in its settings it is started again, as a platform would; its
 * lines begin with its number. */
static void put_aggregator(const struct geo_run *g, size_t i, bool is_local, struct buf *out)
{
    const struct geo_aggregator *a = &g->aggregators[i];
    const struct geo_aggregator *up = a->up ? &g->aggregators[*a->up] : NULL;
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, SCRIPT_MAX);
    buf_puts(&b, "env");
    put_pair(&b, "TRADEWIND_STORE", a->in.url);
    put_pair(&b, "TRADEWIND_STORE_ENDPOINT", a->in.endpoint);
    put_pair(&b, "TRADEWIND_STORE_REGION", a->in.region);
    put_number(&b, "TRADEWIND_WORKERS", a->workers);
    /* Regions count as many times as they have workers (or samples): their means are no workers. */
    bool is_of_means = !a->up && g->n_aggregators > 1;
    put_pair(&b, "TRADEWIND_WEIGHTED", g->spec->weighted || is_of_means ? "1" : "");
    /* Every region is needed, as the model has it. */
    if (g->spec->quorum < 1 && (a->up || g->n_aggregators == 1))
        put_number(&b, "TRADEWIND_QUORUM", g->spec->quorum);
    else if (g->spec->quorum < 1)
        put_pair(&b, "TRADEWIND_KEEP_MEANS", "1"); /* late workers read here, too */
    if (up) {
        put_pair(&b, "TRADEWIND_UP_STORE", up->in.url);
        put_pair(&b, "TRADEWIND_UP_ENDPOINT", up->in.endpoint);
        put_pair(&b, "TRADEWIND_UP_REGION", up->in.region);
        put_number(&b, "TRADEWIND_UP_WORKER", a->up_worker);
        put_pair(&b, "TRADEWIND_UP_EVENT_URL", up->event_url);
    }
    put_fanout(&b, a);
    put_number(&b, "PORT", a->port);
    put_pair(&b, "TRADEWIND_LISTEN", is_local ? "127.0.0.1" : "0.0.0.0");
    put_pair(&b, "TRADEWIND_EVENT_LOG", "/dev/stdout");
    buf_printf(out,
               "(while :; do %s ./" AGGREGATOR " 2>&1; [ $? = 2 ] && exit; sleep 0.2; done | "
               "sed -u 's/^/%zu /') &\n",
               buf_str(&b), i);
}

static const char **bash(struct geo_run *g, const char *script, size_t *n_out)
{
    const char **words = arena_alloc(g->arena, 7, sizeof *words);

    if (!words)
        return NULL;
    words[0] = "bash";
    words[1] = "-c";
    words[2] = keep(g, script);
    *n_out = 3;
    return words;
}

static void compose_function(struct geo_run *g, size_t site, struct run_stage_plan *out)
{
    AUTO_CLEAR(buf) struct buf script;
    bool is_local = strcmp(geo_run_on(g, site, true), "local") == 0;

    buf_init(&script, SCRIPT_MAX);
    for (size_t i = 0; i < g->n_aggregators; i++)
        if (g->aggregators[i].site == site)
            put_aggregator(g, i, is_local, &script);
    buf_puts(&script, "wait -n\nexit 1\n");
    out->command = bash(g, buf_str(&script), &out->n_command);
    out->serves = true;
}

/* ---- a worker's stage ---- */

struct env_list {
    struct geo_run *g;
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

/* The entry of the file that a worker comes from, and which of its workers it is. */
static const struct spec_geo_worker *entry_of(const struct spec_geo *s,
                                              size_t worker,
                                              size_t *index)
{
    size_t i = 0;

    while (worker >= s->workers[i].count)
        worker -= s->workers[i++].count;
    *index = worker;
    return &s->workers[i];
}

/* Its part of the training data, and how to reach the store of its own place. */
static void add_data(struct env_list *l, size_t worker)
{
    const struct geo_site *site = &l->g->problem->sites[l->g->problem->workers[worker].site];
    const struct spec_geo_site *said = spec_geo_site(l->g->spec, site->cloud, site->region);
    size_t index;
    const struct spec_geo_worker *entry = entry_of(l->g->spec, worker, &index);

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
    AUTO_MEM char *topk = mem_printf("topk:%.15g", l->g->spec->topk);

    switch (l->g->spec->compression) {
    case SPEC_GEO_PLAIN:
        return;
    case SPEC_GEO_INT8:
        add_env(l, "TRADEWIND_COMPRESSION", "int8");
        return;
    case SPEC_GEO_TOPK:
        add_env(l, "TRADEWIND_COMPRESSION", topk);
    }
}

static void compose_envs(struct geo_run *g, size_t worker, struct run_stage_plan *out)
{
    const struct geo_aggregator *a = &g->aggregators[g->gatherer_of[worker]];
    const struct geo_aggregator *last = &g->aggregators[g->n_aggregators - 1];
    const struct geo_site *site = &g->problem->sites[g->problem->workers[worker].site];
    AUTO_MEM char *place = mem_printf("%s/%s", site->cloud, site->region);
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
    add_env_number(&l, "TRADEWIND_WORKER", g->index_of[worker]);
    add_env_number(&l, "TRADEWIND_WORKERS", a->workers);
    add_env_number(&l, "TRADEWIND_RANK", (double)worker);
    add_env_number(&l, "TRADEWIND_RANKS", (double)g->problem->n_workers);
    add_env_number(&l, "TRADEWIND_ROUNDS", g->spec->rounds);
    add_env_number(&l, "TRADEWIND_POLL_S", g->spec->poll_s);
    add_env(&l, "TRADEWIND_PLACE", place);
    add_compression(&l);
    add_env_number(&l, "TRADEWIND_CONNECTIONS", g->spec->connections);
    add_env(&l, "TRADEWIND_EVENT_LOG", "/dev/stdout");
    add_data(&l, worker);
    out->envs = l.pairs;
    out->n_envs = l.n;
}

static void compose_command(struct geo_run *g, size_t worker, struct run_stage_plan *out)
{
    const struct geo_aggregator *a = &g->aggregators[g->gatherer_of[worker]];
    const struct geo_aggregator *last = &g->aggregators[g->n_aggregators - 1];
    const char **words = bash(g, WORKER, &out->n_command);

    out->command = words;
    if (!words)
        return;
    words[out->n_command++] = "worker";
    words[out->n_command++] = keep(g, g->spec->run);
    words[out->n_command++] = arena_printf(g->arena, "%s/%u", a->address, a->port);
    if (a != last)
        words[out->n_command++] = arena_printf(g->arena, "%s/%u", last->address, last->port);
}

static void compose_worker(struct geo_run *g,
                           size_t worker,
                           const struct code *code,
                           struct run_stage_plan *out)
{
    const struct geo_worker *w = &g->problem->workers[worker];
    size_t index;
    const char *data = entry_of(g->spec, worker, &index)->data;
    AUTO_MEM char *set = advance_set_name(g->spec->name, "model", "");

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
    /* All have the same model at last; the first one's is kept. */
    out->output = worker == 0 ? keep(g, set) : NULL;
    out->checkpoint_s = CHECKPOINT_S;
    out->price_usd_per_hour = w->usd_per_hour;
    out->planned_s = g->total.time_s;
}

/* ---- all ---- */

/* Stages share this machine evenly; a host belongs to its stage. */
static int compose_size(struct geo_run *g, struct run_stage_plan *p, size_t sharers, struct err *e)
{
    struct app_run_location place;
    struct app_run_room room;

    assert(sharers > 0); /* itself */
    if (app_run_location_find(g->world->config, p->on, &place, e) < 0)
        return err_wrap(e, "%s: stage %s", g->spec->file, p->name);
    if (place.n_hosts == 0) {
        p->cpus = floor(place.here.cpus / (double)sharers * 100) / 100;
        p->memory_mb = place.here.memory_mb / sharers;
        p->memory_mb = p->memory_mb < MEMORY_MB ? p->memory_mb : MEMORY_MB;
        return 0;
    }
    if (sharers > place.n_hosts)
        return err_set(e, ERR_NOFIT, "%s: group %s has %zu hosts, and %zu are needed at once",
                       g->spec->file, p->on, place.n_hosts, sharers);
    if (app_run_location_room(&place, (unsigned)sharers, &room, e) < 0)
        return -1;
    p->cpus = room.cpus > 0 ? room.cpus : CPUS;
    p->memory_mb = room.memory_mb > 0 ? room.memory_mb : MEMORY_MB;
    return 0;
}

static int compose_sizes(struct geo_run *g, struct run *out, struct err *e)
{
    if (out->n_stages > g->world->config->limits.jobs_per_user)
        return err_set(
            e, ERR_NOFIT,
            "%s: %zu workers and functions have to run at once, and limits.jobs_per_user "
            "is %u: tradewind config set limits.jobs_per_user %zu",
            g->spec->file, out->n_stages, g->world->config->limits.jobs_per_user, out->n_stages);
    for (size_t i = 0; i < out->n_stages; i++) {
        size_t sharers = 0;
        for (size_t k = 0; k < out->n_stages; k++)
            sharers += strcmp(out->stages[k].plan.on, out->stages[i].plan.on) == 0;
        if (compose_size(g, &out->stages[i].plan, sharers, e) < 0)
            return -1;
    }
    return 0;
}

static bool is_s3(const struct geo_run *g)
{
    for (size_t i = 0; i < g->n_aggregators; i++)
        if (strncmp(g->aggregators[i].in.url, "s3://", 5) == 0)
            return true;
    return false;
}

/* What workers show functions, so that nobody else's events count. */
static const char *make_token(struct geo_run *g)
{
    unsigned char bytes[16];
    char text[2 * sizeof bytes + 1];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return NULL;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return keep(g, text);
}

/* Keys for the stores, where this environment has them; else hosts find their own. */
static int compose_secrets(struct geo_run *g, struct run *out, struct err *e)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN"};
    const char *values[4] = {make_token(g)}, **used = arena_alloc(g->arena, 4, sizeof *used);
    struct run_secret *all = arena_alloc(g->arena, out->n_stages * 4, sizeof *all);
    size_t n = 1;

    if (!used || !all || !values[0])
        return err_set(e, ERR_IO, "no random bytes for the training's token");
    used[0] = "TRADEWIND_EVENT_TOKEN";
    for (size_t i = 0; is_s3(g) && i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) {
            used[n] = names[i];
            values[n++] = getenv(names[i]);
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

static void add_party(struct geo_run *g, struct run *out, size_t worker, size_t site)
{
    const struct geo_site *s = &g->problem->sites[site];
    struct run_stage_plan *p = &out->stages[out->n_stages++].plan;
    bool is_function = worker == GEO_EVENT_NO_WORKER;

    p->name = is_function ? arena_printf(g->arena, "function-%s-%s", s->cloud, s->region)
                          : arena_printf(g->arena, "worker-%04zu", worker);
    p->on = geo_run_on(g, site, is_function);
    p->place = arena_printf(g->arena, "%s/%s", s->cloud, s->region);
    p->instance_type = p->note = "";
    p->nodes = 1;
    g->parties[g->n_parties++] = (struct geo_party){p->name, worker, site};
}

static void list_parties(struct geo_run *g, struct run *out)
{
    for (size_t i = 0; i < g->n_aggregators; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen = seen || g->aggregators[k].site == g->aggregators[i].site;
        if (!seen)
            add_party(g, out, GEO_EVENT_NO_WORKER, g->aggregators[i].site);
    }
    for (size_t i = 0; i < g->problem->n_workers; i++)
        add_party(g, out, i, g->problem->workers[i].site);
}

int geo_run_compose(struct geo_run *g, struct lake *l, struct run *out, struct err *e)
{
    size_t most = g->n_aggregators + g->problem->n_workers;
    AUTO_CLEAR(code) struct code code = {0};
    const char *program = NULL;

    out->stages = arena_alloc(g->arena, most, sizeof *out->stages);
    g->parties = arena_alloc(g->arena, most, sizeof *g->parties);
    if (!out->stages || !g->parties)
        return err_set(e, ERR_USAGE, "%s: too large a training to run", g->spec->file);
    list_parties(g, out);
    if (compose_sizes(g, out, e) < 0 || store_workdir(g, l, &code, e) < 0 ||
        store_program(g, l, &program, e) < 0)
        return -1;
    for (size_t i = 0; i < g->n_parties; i++) {
        struct run_stage_plan *p = &out->stages[i].plan;
        if (g->parties[i].worker == GEO_EVENT_NO_WORKER) {
            compose_function(g, g->parties[i].site, p);
            p->code = program;
        } else {
            compose_worker(g, g->parties[i].worker, &code, p);
        }
    }
    if (compose_secrets(g, out, e) < 0)
        return -1;
    out->name = g->spec->name;
    out->file = g->spec->file;
    out->on = g->on;
    out->no_cache = true;
    out->planned_s = g->total.time_s;
    out->planned_microusd = g->total.total_microusd;
    return 0;
}
