/* functions: the aggregators of a training as functions of clouds: names, stores, variables and
 * sizes, within the limits of each platform. */
#include "app/geo/deploy.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "geo/facts.h"
#include "spec/config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define VARIABLES_MAX 20
#define MB 1048576.0
/* Lambda takes no larger program in a request. */
#define ZIP_MAX ((size_t)50 << 20)
/* A forecast may be off, and a cold start comes on top. */
#define SPARE_TIMES 3
#define SPARE_S 60
/* Beside the mean. */
#define SPARE_DISK_MB 64
#define LEAST_DISK_MB 512
/* Below the home, for its owner alone. */
#define SECRET_FILE "deploy.key"

void app_geo_deployment(const char *training, char out[static APP_GEO_DEPLOYMENT_BYTES])
{
    size_t n = 0, kept = APP_GEO_DEPLOYMENT_BYTES - 6;
    bool is_same = strlen(training) <= kept;

    for (const char *p = training; *p && n < kept; p++) {
        bool is_plain = islower((unsigned char)*p) || isdigit((unsigned char)*p);
        is_same = is_same && (is_plain || *p == '-');
        out[n++] = is_plain                     ? *p
                   : isupper((unsigned char)*p) ? (char)tolower((unsigned char)*p)
                                                : '-';
    }
    out[n] = '\0';
    /* Other names that become the same text are other deployments. */
    if (!is_same)
        snprintf(out + n, 6, "-%04x", (unsigned)(hash_text(training) & 0xffff));
}

/* ---- stores ---- */

static const char *scheme_of(const char *cloud)
{
    return strcmp(cloud, "aws") == 0 ? "s3://" : strcmp(cloud, "gcp") == 0 ? "gs://" : "az://";
}

/* The parts of a prefix's URL; prefixes of keys end in '/'. */
static int read_store(struct app_geo_run *g,
                      const struct app_geo_prefix *at,
                      const char *cloud,
                      struct deploy_store *out,
                      struct err *e)
{
    const char *scheme = scheme_of(cloud), *rest = at->url + strlen(scheme);
    bool has_account = strcmp(cloud, "azure") == 0;

    if (strncmp(at->url, scheme, strlen(scheme)) != 0)
        return err_set(e, ERR_USAGE,
                       "%s: a function at %s starts for objects of %s alone, and its store is %s",
                       g->geo.spec->file, cloud, scheme, at->url);
    *out = (struct deploy_store){.account = ""};
    if (has_account) {
        size_t n = strcspn(rest, "/");
        out->account = arena_dup_n(g->arena, rest, n);
        rest += n + (rest[n] == '/');
    }
    size_t n = strcspn(rest, "/");
    out->bucket = arena_dup_n(g->arena, rest, n);
    rest += n + (rest[n] == '/');
    size_t left = strlen(rest);
    out->prefix = arena_printf(g->arena, "%s%s", rest, left && rest[left - 1] != '/' ? "/" : "");
    return out->account && out->bucket && out->prefix
               ? 0
               : err_set(e, ERR_NOFIT, "%s: too large a training", g->geo.spec->file);
}

/* ---- variables ---- */

struct filling {
    struct app_geo_run *g;
    struct deploy_variable *items;
    size_t n;
};

static void add_variable(void *context, const char *name, const char *value)
{
    struct filling *f = context;

    if (f->n < VARIABLES_MAX)
        f->items[f->n++] = (struct deploy_variable){name, arena_dup(f->g->arena, value)};
}

static int by_name(const void *a, const void *b)
{
    const struct deploy_variable *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* ---- sizes ---- */

static unsigned clamp(double value, double least, double most)
{
    return (unsigned)fmax(least, fmin(value, most));
}

static void set_sizes(const struct app_geo_run *g,
                      const struct geo_function_fact *fact,
                      struct deploy_function *f)
{
    double step = fact->memory_step_mb, memory_mb = g->geo.spec->memory_gb * 1024;
    double mean_mb = geo_merged_bytes(g->geo.problem, g->geo.problem->n_workers) / MB;

    f->memory_mb = (unsigned)(ceil(memory_mb / step - 1e-9) * step);
    f->timeout_s =
        clamp(ceil(SPARE_TIMES * g->at.phases.aggregate_s) + SPARE_S, SPARE_S, fact->max_s);
    f->disk_mb = fact->max_disk_mb > 0
                     ? clamp(ceil(mean_mb) + SPARE_DISK_MB, LEAST_DISK_MB, fact->max_disk_mb)
                     : 0;
}

static int64_t whole(double v)
{
    return v > 0 ? (int64_t)v : FIELD_NONE;
}

static struct app_geo_function shown_of(const struct app_geo_run *g,
                                        const struct app_geo_aggregator *a,
                                        const struct deploy_function *f,
                                        const struct geo_function_fact *fact)
{
    const struct geo_site *site = &g->geo.problem->sites[a->site];
    char text[128];

    return (struct app_geo_function){
        .name = f->name,
        .location = arena_dup(g->arena, app_geo_site_text(site, text)),
        .product = fact->product,
        .store = a->in.url,
        .workers = a->workers,
        .memory_mb = f->memory_mb,
        .timeout_s = f->timeout_s,
        .disk_mb = whole(f->disk_mb),
        .max_memory_mb = whole(fact->max_memory_mb),
        .max_timeout_s = whole(fact->max_s),
        .max_disk_mb = whole(fact->max_disk_mb),
        .second_usd = site->function.usd_per_s,
        .request_usd = site->function.usd_per_request,
    };
}

/* ---- the token of events ---- */

/* Each function has a token of its own, made from a secret of the home: a second deploy finds the
 * same, and nothing but the secret has to be kept. */
static int read_home_secret(const struct app_geo_functions *f, char *out, size_t n, struct err *e)
{
    AUTO_MEM char *path = mem_printf("%s/" SECRET_FILE, f->home);
    unsigned char drawn[SHA256_BYTES];
    char hex[SHA256_HEX];
    size_t length;
    struct err why = {0};
    char *bytes = file_map(path, &length, &why);

    if (!bytes) {
        if (why.kind != ERR_NOTFOUND)
            return err_set(e, why.kind, "%s", why.text);
        if (getrandom(drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
            return err_set(e, ERR_IO, "draw a secret for functions: %s", strerror(errno));
        struct sha256_digest digest;
        memcpy(digest.bytes, drawn, sizeof drawn);
        sha256_text(&digest, hex);
        if (file_replace(path, hex, strlen(hex), 0600, e) < 0)
            return -1;
        snprintf(out, n, "%s", hex);
        return 0;
    }
    snprintf(out, n, "%.*s", (int)length, bytes);
    munmap(bytes, length);
    return strlen(out) == SHA256_HEX - 1
               ? 0
               : err_set(e, ERR_IO, "%s holds no secret: remove it and deploy again", path);
}

static int set_token(struct app_geo_run *g,
                     const char *secret,
                     struct deploy_function *f,
                     struct err *e)
{
    AUTO_MEM char *text = mem_printf("%s %s", secret, f->name);
    const struct sha256_digest digest = sha256_of(text, strlen(text));
    char hex[SHA256_HEX];

    f->token.hidden = arena_dup(g->arena, sha256_text(&digest, hex));
    OPENSSL_cleanse(text, strlen(text));
    return f->token.hidden ? 0 : err_set(e, ERR_NOFIT, "too large a training");
}

/* ---- all of them ---- */

bool app_geo_can_deploy(const struct app_geo_run *g, const struct geo_placement *at)
{
    const struct geo_problem *p = g->geo.problem;
    const char *cloud = p->sites[at->function].cloud;

    if (at->function != at->store)
        return false;
    for (size_t i = 0; at->topology != SPEC_GEO_CENTRAL && i < p->n_workers; i++)
        if (strcmp(p->sites[p->workers[i].site].cloud, cloud) != 0)
            return false;
    return true;
}

/* Stores that it writes to besides its own. */
static int add_others(struct app_geo_run *g,
                      const struct app_geo_aggregator *a,
                      const char *cloud,
                      struct deploy_function *f,
                      struct err *e)
{
    size_t n = a->n_fanout + (a->up ? 1 : 0);
    struct deploy_store *others = arena_alloc(g->arena, n + 1, sizeof *others);

    if (!others)
        return err_set(e, ERR_NOFIT, "%s: too large a training", g->geo.spec->file);
    f->others = others;
    f->n_others = n;
    if (a->up && read_store(g, &g->aggregators[*a->up].in, cloud, others++, e) < 0)
        return -1;
    for (size_t i = 0; i < a->n_fanout; i++)
        if (read_store(g, &a->fanout[i], cloud, &others[i], e) < 0)
            return -1;
    return 0;
}

static int add_function(struct app_geo_functions *out,
                        struct app_geo_run *g,
                        size_t i,
                        const char *deployment,
                        const char *owner,
                        struct err *e)
{
    const struct app_geo_aggregator *a = &g->aggregators[i];
    const struct geo_site *site = &g->geo.problem->sites[a->site];
    const struct geo_function_fact *fact =
        geo_facts_function(g->geo.facts, site->cloud, site->region);
    struct deploy_function *f = &out->items[out->n];
    bool is_last = i + 1 == g->n_aggregators;
    struct filling filling = {.g = g,
                              .items = arena_alloc(g->arena, VARIABLES_MAX, sizeof *filling.items)};

    f->deployment = deployment;
    f->name = is_last ? arena_printf(g->arena, "%s-%s-all", owner, deployment)
                      : arena_printf(g->arena, "%s-%s-%zu", owner, deployment, i);
    if (!f->name || !filling.items || !fact)
        return err_set(e, ERR_NOFIT, "%s: too large a training", g->geo.spec->file);
    if (read_store(g, &a->in, site->cloud, &f->in, e) < 0 ||
        add_others(g, a, site->cloud, f, e) < 0)
        return -1;
    app_geo_aggregator_settings(g, i, add_variable, &filling);
    qsort(filling.items, filling.n, sizeof *filling.items, by_name);
    f->variables = filling.items;
    f->n_variables = filling.n;
    set_sizes(g, fact, f);
    out->sites[out->n] = site;
    out->shown[out->n++] = shown_of(g, a, f, fact);
    return 0;
}

static int read_zip(struct app_geo_functions *f,
                    const struct app *app,
                    const char *path,
                    struct err *e)
{
    AUTO_MEM char *found =
        path ? mem_dup(path)
             : app_geo_find(app, "tradewind-aggregator.zip", "TRADEWIND_FUNCTION_ZIP",
                            "run `make function`, give --zip", e);

    if (!found)
        return -1;
    f->zip = file_map(found, &f->zip_bytes, e);
    if (!f->zip)
        return -1;
    if (f->zip_bytes < 4 || memcmp(f->zip, "PK\3\4", 4) != 0)
        return err_set(e, ERR_USAGE, "%s is no zip: packaging/mkfunction makes one", found);
    if (f->zip_bytes > ZIP_MAX)
        return err_set(e, ERR_USAGE, "%s: %zu bytes are more than the %zu that Lambda takes", found,
                       f->zip_bytes, ZIP_MAX);
    return 0;
}

int app_geo_functions_of(struct app_geo_functions *f,
                         struct app_geo_run *g,
                         struct app *app,
                         const char *deployment,
                         const char *zip,
                         const char *image,
                         const char *owner,
                         struct err *e)
{
    size_t n = g->n_aggregators;
    const char *cloud = g->geo.problem->sites[g->at.function].cloud;

    f->items = arena_alloc(g->arena, n, sizeof *f->items);
    f->shown = arena_alloc(g->arena, n, sizeof *f->shown);
    f->sites = arena_alloc(g->arena, n, sizeof *f->sites);
    if (!f->items || !f->shown || !f->sites)
        return err_set(e, ERR_NOFIT, "%s: too large a training", g->geo.spec->file);
    bool is_zip = strcmp(cloud, "aws") == 0;
    if (is_zip && read_zip(f, app, zip, e) < 0)
        return -1;
    if (!is_zip && (!image || !*image))
        return err_set(e, ERR_USAGE,
                       "a function at %s runs an image: give --image REGISTRY/NAME:TAG or set "
                       "TRADEWIND_FUNCTION_IMAGE; docs/geo-function.md tells how to build it",
                       cloud);
    char secret[SHA256_HEX] = "";
    bool has_token = strcmp(cloud, "azure") == 0;
    f->home = g->geo.config->home;
    if (has_token && read_home_secret(f, secret, sizeof secret, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (add_function(f, g, i, deployment, owner, e) < 0 ||
            (has_token && set_token(g, secret, &f->items[i], e) < 0))
            return -1;
        f->items[i].zip = f->zip;
        f->items[i].zip_bytes = f->zip_bytes;
        f->items[i].image = image;
    }
    return 0;
}

void app_geo_functions_clear(struct app_geo_functions *f)
{
    if (f->zip)
        munmap(f->zip, f->zip_bytes);
    f->zip = NULL;
}
