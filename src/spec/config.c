#include "spec/config.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "spec/config_schema.h"
#include "spec/yaml.h"

#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARENA_MAX_BYTES ((size_t)32 << 20)
#define MAX_SETTINGS 10000

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
    struct arena *arena;
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
    s->items = mem_room(s->items, s->n, &s->cap, sizeof *s->items);
    s->items[s->n++] = (struct config_setting){key_copy, value_copy, origin, line};
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
        .cache_gb = 10,
        .host_lost_s = 300,
    };
    /* N1 in us-east1 of Google Cloud. */
    c->prices = (struct config_prices){.vcpu_hour_usd = 0.031611, .gb_hour_usd = 0.004237};
    c->store = "dir:objects";
    c->path_style = -1;
    put(s, "store", c->store, CONFIG_DEFAULT, 0);
    put_number(s, "limits.cache_gb", c->limits.cache_gb);
    put_number(s, "limits.jobs_per_user", c->limits.jobs_per_user);
    put_number(s, "limits.host_lost_s", c->limits.host_lost_s);
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
}

static int read_file(struct config *c, struct settings *s, struct err *e)
{
    AUTO_CLEAR(buf) struct buf text;

    buf_init(&text, YAML_MAX_BYTES);
    if (access(c->file, F_OK) < 0)
        return 0;
    if (yaml_read(c->file, &text, e) < 0)
        return -1;
    const struct yaml_node *root;
    if (config_schema_read(c, buf_str(&text), text.len, &root, e) < 0)
        return -1;
    if (root)
        put_tree(s, "", root, root->line);
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

struct config *config_load(const char *home, struct err *e)
{
    AUTO(config) struct config *c = mem_zero(1, sizeof *c);

    c->arena = arena_new(ARENA_MAX_BYTES);
    enum config_origin origin = find_home(c, home);
    c->file = c->home ? arena_printf(c->arena, "%s/config.yaml", c->home) : NULL;
    if (!c->file) {
        err_set(e, ERR_USAGE, "the path of the configuration is too long");
        return NULL;
    }
    struct settings s = {.arena = c->arena};
    set_defaults(c, &s);
    put(&s, "home", c->home, origin, 0);
    int result = read_file(c, &s, e);
    if (s.n && !s.is_full) {
        qsort(s.items, s.n, sizeof *s.items, by_key);
        c->settings = arena_alloc(c->arena, s.n, sizeof *s.items);
    }
    if (c->settings) {
        memcpy(c->settings, s.items, s.n * sizeof *s.items);
        c->n_settings = s.n;
    } else if (result == 0) {
        result = err_set(e, ERR_USAGE, "%s: more than %d settings", c->file, MAX_SETTINGS);
    }
    free(s.items);
    return result < 0 ? NULL : TAKE(c);
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
