#include "spec/config.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"
#include "spec/config_edit.h"
#include "spec/reader.h"
#include "spec/value.h"
#include "spec/yaml.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define ARENA_MAX_BYTES ((size_t)32 << 20)
#define MAX_SETTINGS 10000
#define MAX_GBIT 1e6
#define MAX_PREEMPTIONS_PER_HOUR 1e4
#define MAX_BOOT_S (7 * 86400.0)
#define MAX_USD 1e9
#define MAX_CACHE_GB 1e6
#define MAX_KEYS 32
#define CONFIG_HOST_BYTES 255

/* ---- the fields of the file ---- */

/* A map from cloud to figure; `other` is for the clouds not in it. */
static void read_rates(const struct reader_value *v,
                       double max,
                       struct config_rate **rates,
                       size_t *n_rates,
                       double *other)
{
    if (!reader_is_map(v))
        return;
    struct config_rate *all = reader_alloc(v->r, *n_rates + v->node->n, sizeof *all);
    if (!all)
        return;
    if (*n_rates)
        memcpy(all, *rates, *n_rates * sizeof *all);
    for (size_t i = 0; i < v->node->n; i++) {
        struct reader_value entry = reader_entry(v, i);
        const char *cloud = v->node->entries[i].key;
        double value;
        size_t at = 0;

        if (!reader_number(&entry, 0, max, &value))
            continue;
        if (strcmp(cloud, "other") == 0) {
            *other = value;
            continue;
        }
        while (at < *n_rates && strcmp(all[at].cloud, cloud) != 0)
            at++;
        *n_rates += at == *n_rates;
        all[at] = (struct config_rate){cloud, value};
    }
    *rates = all;
}

static void read_boot(const struct reader_value *v, void *into)
{
    struct config *c = into;

    if (v->node->kind == YAML_MAP)
        read_rates(v, MAX_BOOT_S, &c->boot_by_cloud, &c->n_boot_by_cloud, &c->boot_s);
    else
        reader_duration(v, 1, MAX_BOOT_S, &c->boot_s);
}

static void read_preemptions(const struct reader_value *v, void *into)
{
    struct config *c = into;

    read_rates(v, MAX_PREEMPTIONS_PER_HOUR, &c->preemptions_per_hour, &c->n_preemptions_per_hour,
               &c->preemptions_other);
}

static void read_simplify(const struct reader_value *v, void *into)
{
    struct config *c = into;
    double share;

    if (v->node->kind != YAML_SCALAR || !number_percent(v->node->text, &share) || share < 0 ||
        share > CONFIG_SIMPLIFY_MAX)
        reader_value_error(v, "%s: write 0%% to %g%%, such as 1%%", reader_shown(v),
                           CONFIG_SIMPLIFY_MAX * 100);
    else
        c->simplify = share;
}

#define INTO(use, member) READER_INTO(use, config, member)
static const struct reader_field plan_fields[] = {
    {"boot_s", .read = read_boot},
    {"local_gbit", INTO(ABOVE, local_gbit), 0, MAX_GBIT},
    {"uplink_gbit", INTO(ABOVE, uplink_gbit), 0, MAX_GBIT},
    {"preemptions_per_hour", .read = read_preemptions},
    {"simplify", .read = read_simplify},
    {0},
};

static void read_update(const struct reader_value *v, void *into)
{
    struct config *c = into;
    static const char *const schemes[] = {"https://", "http://", "file://"};

    reader_texts(v, reader_text, &c->catalog_urls, &c->n_catalog_urls);
    for (size_t i = 0; i < c->n_catalog_urls; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
            known |= strncmp(c->catalog_urls[i], schemes[k], strlen(schemes[k])) == 0;
        if (!known)
            reader_value_error(v, "%s is not an https://, http:// or file:// address",
                               reader_quote(v->r, c->catalog_urls[i]));
    }
}

static void read_address(const struct reader_value *v, const char **out)
{
    if (!reader_name(v, out))
        return;
    if (strncmp(*out, "https://", 8) != 0 && strncmp(*out, "http://", 7) != 0)
        reader_value_error(v, "%s is not an https:// or http:// address", reader_shown(v));
}

static void read_aws_pricing(const struct reader_value *v, void *into)
{
    read_address(v, &((struct config *)into)->catalog_endpoints.aws_pricing);
}

static void read_aws_ec2(const struct reader_value *v, void *into)
{
    read_address(v, &((struct config *)into)->catalog_endpoints.aws_ec2);
}

static void read_azure(const struct reader_value *v, void *into)
{
    read_address(v, &((struct config *)into)->catalog_endpoints.azure);
}

static void read_gcp(const struct reader_value *v, void *into)
{
    read_address(v, &((struct config *)into)->catalog_endpoints.gcp);
}

static const struct reader_field endpoint_fields[] = {
    {"aws_pricing", .read = read_aws_pricing},
    {"aws_ec2", .read = read_aws_ec2},
    {"azure", .read = read_azure},
    {"gcp", .read = read_gcp},
    {0},
};

static const struct reader_field catalog_fields[] = {
    {"update", .read = read_update},
    {"endpoints", .use = READER_MAP, .inner = endpoint_fields},
    {0},
};

static const struct reader_field limits_fields[] = {
    {"boot_s", INTO(NUMBER, limits.boot_s), 1, 1e6},
    {"cache_gb", INTO(NUMBER, limits.cache_gb), 0, MAX_CACHE_GB},
    {"host_lost_s", INTO(NUMBER, limits.host_lost_s), 1, 1e9},
    {"lease_s", INTO(NUMBER, limits.lease_s), 10, 86400 * 7.0},
    {"jobs_per_user", INTO(COUNT, limits.jobs_per_user), 1, 1e6},
    {"launches_per_s", INTO(NUMBER, limits.launches_per_s), 0.01, 1e4},
    {"log_mb", INTO(NUMBER, limits.log_mb), 0.01, 1e6},
    {"max_usd_per_hour", INTO(USD, limits.max_usd_per_hour), 0, MAX_USD},
    {"max_usd_per_month", INTO(USD, limits.max_usd_per_month), 0, MAX_USD},
    {0},
};
static const struct reader_field prices_fields[] = {
    {"vcpu_hour", INTO(USD, prices.vcpu_hour_usd), 0, MAX_USD},
    {"gb_hour", INTO(USD, prices.gb_hour_usd), 0, MAX_USD},
    {0},
};

/* The OpenSSH client gets it as an operand, so it must not look like an option. */
static void read_host_name(const struct reader_value *v, void *into)
{
    struct config_host *h = into;

    if (!reader_name(v, &h->host))
        return;
    if (h->host[0] == '-' || strpbrk(h->host, " \t") || strlen(h->host) > CONFIG_HOST_BYTES)
        reader_value_error(v, "%s is not the name of a host: write gpu1.lab or me@gpu1.lab",
                           reader_shown(v));
}

static void read_host_accelerators(const struct reader_value *v, void *into)
{
    struct config_host *h = into;
    struct spec_accelerator accelerator;
    const char *text;

    if (!reader_name(v, &text) || !resources_read_accelerator(v, text, NULL, &accelerator))
        return;
    h->accelerator = accelerator.name;
    h->accelerators = accelerator.count;
}

#define OF_HOST(use, member) READER_INTO(use, config_host, member)
static const struct reader_field host_fields[] = {
    {"host", .read = read_host_name},
    {"cpus", OF_HOST(ABOVE, cpus), 0, VALUE_MAX_CPUS},
    {"memory", OF_HOST(SIZE, memory_gb)},
    {"accelerators", .read = read_host_accelerators},
    {"price", OF_HOST(USD, price_usd_per_hour), 0, MAX_USD},
    {0},
};

static void read_pool(const struct reader_value *v, const char *name, struct config *c)
{
    if (v->node->kind != YAML_LIST) {
        reader_value_error(v, "must be a list of hosts, such as [{host: gpu1.lab, cpus: 32}]");
        return;
    }
    struct config_host *all = reader_alloc(v->r, c->n_hosts + v->node->n, sizeof *all);
    if (!all)
        return;
    if (c->n_hosts)
        memcpy(all, c->hosts, c->n_hosts * sizeof *all);
    c->hosts = all;
    for (size_t i = 0; i < v->node->n; i++) {
        struct reader_value host = reader_item(v, i);
        struct config_host *h = &all[c->n_hosts++];
        h->pool = name;
        if (reader_fields(&host, host_fields, NULL, h) && !yaml_get(host.node, "host"))
            reader_value_error(&host, "needs host: the name to reach it by");
    }
}

static void read_hosts(const struct reader_value *v, void *into)
{
    if (!reader_is_map(v))
        return;
    for (size_t i = 0; i < v->node->n; i++) {
        struct reader_value pool = reader_entry(v, i);
        read_pool(&pool, v->node->entries[i].key, into);
    }
}

static void read_regions(const struct reader_value *v, void *into)
{
    struct config_regions *regions = into;

    reader_texts(v, reader_text, &regions->regions, &regions->n);
}

static void read_clouds(const struct reader_value *v, void *into)
{
    static const struct reader_field fields[] = {{"regions", .read = read_regions}, {0}};
    struct config *c = into;

    if (!reader_is_map(v))
        return;
    c->regions = reader_alloc(v->r, v->node->n, sizeof *c->regions);
    for (size_t i = 0; c->regions && i < v->node->n; i++) {
        struct reader_value cloud = reader_entry(v, i);
        struct config_regions *regions = &c->regions[c->n_regions];
        regions->cloud = v->node->entries[i].key;
        reader_fields(&cloud, fields, NULL, regions);
        c->n_regions += regions->regions != NULL;
    }
}

bool config_is_bucket(const char *url)
{
    static const char *const schemes[] = {"s3://", "gs://", "az://"};

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

static void read_store(const struct reader_value *v, void *into)
{
    struct config *c = into;

    if (!reader_name(v, &c->store))
        return;
    if (strncmp(c->store, "dir:", 4) != 0 && !config_is_bucket(c->store))
        reader_value_error(v,
                           "%s is not a store: write dir:PATH, s3://BUCKET/PREFIX, "
                           "gs://BUCKET/PREFIX or az://ACCOUNT/CONTAINER/PREFIX",
                           reader_shown(v));
}

static void read_endpoint(const struct reader_value *v, void *into)
{
    read_address(v, &((struct config *)into)->endpoint);
}

static void read_path_style(const struct reader_value *v, void *into)
{
    bool yes;

    if (reader_bool(v, &yes))
        ((struct config *)into)->path_style = yes;
}

static void read_insecure(const struct reader_value *v, void *into)
{
    reader_bool(v, &((struct config *)into)->insecure);
}

/* "203.0.113.0/24": clouds check the rest. */
static void read_admit(const struct reader_value *v, void *into)
{
    const char *text;
    unsigned char address[16];
    char host[64];
    int bits, end = 0;

    if (!reader_text(v, &text))
        return;
    if (sscanf(text, "%63[0-9.]/%d%n", host, &bits, &end) == 2 && !text[end] && bits >= 0 &&
        bits <= 32 && inet_pton(AF_INET, host, address) == 1)
        ((struct config *)into)->admit = reader_printf(v->r, "%s", text);
    else
        reader_error(v->r, v->line, "%s: \"%.60s\" is not a network such as 203.0.113.0/24",
                     v->field, text);
}

/* Relative to the file that names it, so that it means the same wherever the program is started. */
static void read_throughputs(const struct reader_value *v, void *into)
{
    struct config *c = into;
    const char *text;

    if (!reader_text(v, &text))
        return;
    AUTO_MEM char *path = disk_path(text, c->home ? c->home : ".");
    c->throughputs = reader_printf(v->r, "%s", path);
}

static const struct reader_field fields[] = {
    {"admit", .read = read_admit},
    {"store", .read = read_store},
    {"endpoint", .read = read_endpoint},
    {"region", INTO(NAME, region)},
    {"path_style", .read = read_path_style},
    {"insecure", .read = read_insecure},
    {"catalog", .use = READER_MAP, .inner = catalog_fields},
    {"plan", .use = READER_MAP, .inner = plan_fields},
    {"limits", .use = READER_MAP, .inner = limits_fields},
    {"prices", .use = READER_MAP, .inner = prices_fields},
    {"hosts", .read = read_hosts, .is_open = true},
    {"clouds", .read = read_clouds, .is_open = true},
    {"throughputs", .read = read_throughputs},
    {0},
};

struct reading {
    struct config *config;
    const struct yaml_node **root_out;
};

/* `plan:` with everything below it commented out says nothing. */
static void read_root(struct reader *r, const struct yaml_node *root, void *into)
{
    const struct reading *reading = into;
    struct yaml_node said = *root;
    struct reader_value v = {r, "", root->line, &said};

    *reading->root_out = root;
    said.n = 0;
    said.entries = reader_alloc(r, root->n, sizeof *said.entries);
    for (size_t i = 0; said.entries && i < root->n; i++)
        if (!yaml_is_null(root->entries[i].value))
            said.entries[said.n++] = root->entries[i];
    reader_fields(&v, fields, NULL, reading->config);
}

/* Checks the text of c->file (NULL: of no file) and lays it over *c. *root_out is its map, NULL
 * when it is empty. */
static int read_text(struct config *c,
                     const char *text,
                     size_t len,
                     const struct yaml_node **root_out,
                     struct err *e)
{
    const struct reader_file file = {c->arena, c->file, "configuration", .then = read_root,
                                     .may_be_empty = true};
    struct reading reading = {c, root_out};

    *root_out = NULL;
    return reader_file(&file, text, len, &reading, e);
}

static const struct reader_field *find(const struct reader_field *among, const char *name)
{
    size_t len = strcspn(name, ".");

    for (; among && among->name; among++)
        if (strlen(among->name) == len && strncmp(among->name, name, len) == 0)
            return among;
    return NULL;
}

static int unknown_key(const char *key, struct err *e)
{
    const char *names[MAX_KEYS];
    char whole[MAX_KEYS][64];
    size_t n = 0;

    for (const struct reader_field *s = fields; s->name; s++) {
        for (const struct reader_field *f = s->inner; f && f->name && n < MAX_KEYS; f++, n++)
            snprintf(whole[n], sizeof whole[n], "%s.%s", s->name, f->name);
        if (!s->inner && n < MAX_KEYS)
            snprintf(whole[n++], sizeof whole[0], "%s", s->name);
    }
    for (size_t i = 0; i < n; i++)
        names[i] = whole[i];
    const char *close = nearest(key, names, n);
    if (close)
        return err_set(e, ERR_USAGE, "no setting is named \"%.100s\": did you mean %s?", key,
                       close);
    return err_set(e, ERR_USAGE, "no setting is named \"%.100s\": tradewind config show lists them",
                   key);
}

int config_check_key(const char *key, struct err *e)
{
    const char *dot = strchr(key, '.');
    const struct reader_field *section = find(fields, key);

    if (!section)
        return unknown_key(key, e);
    if (!dot || section->is_open || find(section->inner, dot + 1))
        return 0;
    return unknown_key(key, e);
}

/* ---- values and their origins ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct config_setting *)a)->key, ((const struct config_setting *)b)->key);
}

const struct config_setting *config_find(const struct config *c, const char *key)
{
    struct config_setting wanted = {.key = key};

    return c->n_settings ? bsearch(&wanted, c->settings, c->n_settings, sizeof wanted, by_key)
                         : NULL;
}

struct settings {
    struct config_setting *items;
    size_t n, cap;
    struct arena *arena; /* has the items, too */
    bool is_full;
};

static void put(
    struct settings *s, const char *key, const char *value, enum config_origin origin, size_t line)
{
    const char *key_copy = arena_dup(s->arena, key), *value_copy = arena_dup(s->arena, value);

    if (s->n == MAX_SETTINGS || !key_copy || !value_copy) {
        s->is_full = true;
        return;
    }
    for (size_t i = 0; origin != CONFIG_DEFAULT && i < s->n; i++)
        if (s->items[i].origin == CONFIG_DEFAULT && strcmp(s->items[i].key, key) == 0) {
            s->items[i] = (struct config_setting){key_copy, value_copy, origin, line};
            return;
        }
    struct config_setting *items = arena_room(s->arena, s->items, s->n, &s->cap, sizeof *items);
    if (items) {
        s->items = items;
        items[s->n++] = (struct config_setting){key_copy, value_copy, origin, line};
    }
    s->is_full |= !items;
}

static void put_number(struct settings *s, const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.15g", value);
    put(s, key, text, CONFIG_DEFAULT, 0);
}

/* Leaves of the file's tree, each under its dotted name. */
static void put_tree(struct settings *s, const char *key, const struct yaml_node *node, size_t line)
{
    for (size_t i = 0; i < node->n && !s->is_full; i++) {
        const char *name;
        size_t at = line;
        if (node->kind == YAML_MAP) {
            name = arena_printf(s->arena, "%s%s%s", key, *key ? "." : "", node->entries[i].key);
            at = node->entries[i].line;
        } else {
            name = arena_printf(s->arena, "%s.%zu", key, i);
        }
        if (!name)
            s->is_full = true;
        else
            put_tree(s, name, node->kind == YAML_MAP ? node->entries[i].value : node->items[i], at);
    }
    if (node->kind == YAML_SCALAR && !yaml_is_null(node))
        put(s, key, node->text, CONFIG_FILE, line);
}

static void set_defaults(struct config *c, struct settings *s)
{
    static struct config_rate preemptions[] = {{"aws", 0.02}, {"azure", 0.05}, {"gcp", 0.06}};

    c->boot_s = 60;
    c->local_gbit = 10;
    c->uplink_gbit = 0.1;
    c->preemptions_per_hour = preemptions;
    c->n_preemptions_per_hour = sizeof preemptions / sizeof *preemptions;
    c->preemptions_other = 0.03;
    c->limits = (struct config_limits){
        .jobs_per_user = 4,
        .max_usd_per_month = (double)INFINITY,
        .max_usd_per_hour = (double)INFINITY,
        .boot_s = 900,
        .launches_per_s = 2,
        .lease_s = 3600,
        .cache_gb = 10,
        .host_lost_s = 300,
        .log_mb = 1024,
    };
    /* N1 in us-east1 of Google Cloud. */
    c->prices = (struct config_prices){.vcpu_hour_usd = 0.031611, .gb_hour_usd = 0.004237};
    c->store = "dir:objects";
    c->path_style = -1;
    put(s, "store", c->store, CONFIG_DEFAULT, 0);
    put_number(s, "limits.boot_s", c->limits.boot_s);
    put_number(s, "limits.cache_gb", c->limits.cache_gb);
    put_number(s, "limits.jobs_per_user", c->limits.jobs_per_user);
    put_number(s, "limits.launches_per_s", c->limits.launches_per_s);
    put_number(s, "limits.lease_s", c->limits.lease_s);
    put_number(s, "limits.host_lost_s", c->limits.host_lost_s);
    put_number(s, "limits.log_mb", c->limits.log_mb);
    put_number(s, "prices.vcpu_hour", c->prices.vcpu_hour_usd);
    put_number(s, "prices.gb_hour", c->prices.gb_hour_usd);
    put_number(s, "plan.boot_s", c->boot_s);
    put_number(s, "plan.local_gbit", c->local_gbit);
    put_number(s, "plan.uplink_gbit", c->uplink_gbit);
    for (size_t i = 0; i < c->n_preemptions_per_hour; i++) {
        char key[64];
        snprintf(key, sizeof key, "plan.preemptions_per_hour.%s", preemptions[i].cloud);
        put_number(s, key, preemptions[i].value);
    }
    put_number(s, "plan.preemptions_per_hour.other", c->preemptions_other);
    put(s, "plan.simplify", "0%", CONFIG_DEFAULT, 0);
}

/* The text of c->file; nothing when there is none. */
static int read_file(const struct config *c, struct buf *text, struct err *e)
{
    buf_init(text, YAML_MAX_BYTES);
    return access(c->file, F_OK) < 0 ? 0 : yaml_read(c->file, text, e);
}

/* Lays the text of c->file over the defaults. */
static int take_text(
    struct config *c, struct settings *s, const char *text, size_t len, struct err *e)
{
    const struct yaml_node *root;

    if (read_text(c, text, len, &root, e) < 0)
        return -1;
    if (root)
        put_tree(s, "", root, root->line);
    if (s->is_full)
        return err_set(e, ERR_USAGE, "%s: more than %d settings", c->file, MAX_SETTINGS);
    qsort(s->items, s->n, sizeof *s->items, by_key);
    c->settings = s->items;
    c->n_settings = s->n;
    return 0;
}

/* A daemon or a container may run without HOME; the account still has one. */
static const char *user_home(void)
{
    const char *home = getenv("HOME");
    const struct passwd *account = home && *home ? NULL : getpwuid(getuid());

    if (home && *home)
        return home;
    return account && account->pw_dir && *account->pw_dir ? account->pw_dir : ".";
}

/* Where the home is and who says so. */
static enum config_origin find_home(struct config *c, const char *home)
{
    const char *from_environment = getenv("TRADEWIND_HOME");

    if (home) {
        c->home = arena_dup(c->arena, home);
        return CONFIG_FLAG;
    }
    if (from_environment && *from_environment) {
        c->home = arena_dup(c->arena, from_environment);
        return CONFIG_ENVIRONMENT;
    }
    c->home = arena_printf(c->arena, "%s/.tradewind", user_home());
    return CONFIG_DEFAULT;
}

/* The defaults, and where the file would be. */
static struct config *config_new(const char *home, struct settings *s, struct err *e)
{
    AUTO(config) struct config *c = mem_zero(1, sizeof *c);

    c->arena = arena_new(ARENA_MAX_BYTES);
    enum config_origin origin = find_home(c, home);
    c->file = c->home ? arena_printf(c->arena, "%s/config.yaml", c->home) : NULL;
    if (!c->file) {
        err_set(e, ERR_USAGE, "the path of the configuration is too long");
        return NULL;
    }
    s->arena = c->arena;
    set_defaults(c, s);
    put(s, "home", c->home, origin, 0);
    return TAKE(c);
}

struct config *config_load(const char *home, struct err *e)
{
    struct settings s = {0};
    AUTO(config) struct config *c = config_new(home, &s, e);
    AUTO_CLEAR(buf) struct buf text = {0};

    if (!c || read_file(c, &text, e) < 0 || take_text(c, &s, buf_str(&text), text.len, e) < 0)
        return NULL;
    return TAKE(c);
}

struct config *config_parse(const char *home, const char *text, size_t len, struct err *e)
{
    struct settings s = {0};
    AUTO(config) struct config *c = config_new(home, &s, e);

    return c && take_text(c, &s, text, len, e) == 0 ? TAKE(c) : NULL;
}

void config_free(struct config *c)
{
    if (!c)
        return;
    arena_free(c->arena);
    free(c);
}

static double rate_of(const struct config_rate *rates, size_t n, const char *cloud, double other)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rates[i].cloud, cloud) == 0)
            return rates[i].value;
    return other;
}

double config_boot_s(const struct config *c, const char *cloud)
{
    return rate_of(c->boot_by_cloud, c->n_boot_by_cloud, cloud, c->boot_s);
}

double config_preemptions(const struct config *c, const char *cloud)
{
    return rate_of(c->preemptions_per_hour, c->n_preemptions_per_hour, cloud, c->preemptions_other);
}

/* ---- one setting changed ---- */

/* Checks a text as if it were a configuration file; file NULL: no "FILE:LINE" in the message. */
static int check_text(const struct buf *text, const char *file, struct err *e)
{
    AUTO(arena) struct arena *a = arena_new(ARENA_MAX_BYTES);
    struct config scratch = {.arena = a, .file = file};
    const struct yaml_node *root;

    return read_text(&scratch, buf_str(text), text->len, &root, e);
}

static int edit_file(const struct config *c, const char *key, const char *value, struct err *e)
{
    AUTO_CLEAR(buf) struct buf before;
    AUTO_CLEAR(buf) struct buf after;

    buf_init(&before, YAML_MAX_BYTES);
    buf_init(&after, YAML_MAX_BYTES);
    if (access(c->file, F_OK) == 0 && yaml_read(c->file, &before, e) < 0)
        return -1;
    if (config_edit(buf_str(&before), before.len, key, value, &after, e) < 0)
        return err_wrap(e, "%s", c->file);
    if (check_text(&after, c->file, e) < 0)
        return -1;
    return file_replace(c->file, after.data, after.len, 0600, e);
}

int config_set(const struct config *c, const char *key, const char *value, struct err *e)
{
    AUTO_CLEAR(buf) struct buf alone;

    buf_init(&alone, YAML_MAX_BYTES);
    if (config_check_key(key, e) < 0 || config_edit("", 0, key, value, &alone, e) < 0 ||
        check_text(&alone, NULL, e) < 0 || file_make_own_dirs(c->home, e) < 0)
        return -1;
    /* Two of these at once must not lose one's change. */
    int lock = open(c->home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0)
        return file_error(e, "open", c->home);
    int result =
        flock(lock, LOCK_EX) < 0 ? file_error(e, "lock", c->home) : edit_file(c, key, value, e);
    if (result == 0 && fsync(lock) < 0)
        result = file_error(e, "sync", c->home);
    close(lock);
    return result;
}
