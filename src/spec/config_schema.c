#include "spec/config_schema.h"

#include "base/nearest.h"
#include "spec/config.h"
#include "spec/reader.h"
#include "spec/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_GBIT 1e6
#define MAX_PREEMPTIONS_PER_HOUR 1e4
#define MAX_BOOT_S (7 * 86400.0)
#define MAX_USD 1e9
#define MAX_CACHE_GB 1e6
#define MAX_KEYS 32
#define CONFIG_HOST_BYTES 255

static bool above_zero(const struct reader_value *v, double max, double *out)
{
    double value;

    if (!reader_number(v, 0, max, &value))
        return false;
    if (value <= 0) {
        reader_value_error(v, "must be above 0");
        return false;
    }
    *out = value;
    return true;
}

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

static void read_local_gbit(const struct reader_value *v, void *into)
{
    above_zero(v, MAX_GBIT, &((struct config *)into)->local_gbit);
}

static void read_uplink_gbit(const struct reader_value *v, void *into)
{
    above_zero(v, MAX_GBIT, &((struct config *)into)->uplink_gbit);
}

static void read_preemptions(const struct reader_value *v, void *into)
{
    struct config *c = into;

    read_rates(v, MAX_PREEMPTIONS_PER_HOUR, &c->preemptions_per_hour, &c->n_preemptions_per_hour,
               &c->preemptions_other);
}

static const struct reader_field plan_fields[] = {
    {"boot_s", READER_READ, read_boot},
    {"local_gbit", READER_READ, read_local_gbit},
    {"uplink_gbit", READER_READ, read_uplink_gbit},
    {"preemptions_per_hour", READER_READ, read_preemptions},
    {0},
};

/* A list of texts; one text alone is a list of one. */
static void read_texts(const struct reader_value *v, const char ***out, size_t *n_out)
{
    size_t n = v->node->kind == YAML_LIST ? v->node->n : 1;
    const char **texts = reader_alloc(v->r, n, sizeof *texts);

    if (v->node->kind == YAML_MAP) {
        reader_value_error(v, "must be a list, not a map");
        return;
    }
    for (size_t i = 0; texts && i < n; i++) {
        struct reader_value item = v->node->kind == YAML_LIST ? reader_item(v, i) : *v;
        reader_text(&item, &texts[i]);
    }
    *out = texts;
    *n_out = n;
}

static void read_update(const struct reader_value *v, void *into)
{
    struct config *c = into;
    static const char *const schemes[] = {"https://", "http://", "file://"};

    read_texts(v, &c->catalog_urls, &c->n_catalog_urls);
    for (size_t i = 0; c->catalog_urls && i < c->n_catalog_urls; i++) {
        bool known = false;
        for (size_t k = 0; c->catalog_urls[i] && k < sizeof schemes / sizeof *schemes; k++)
            known |= strncmp(c->catalog_urls[i], schemes[k], strlen(schemes[k])) == 0;
        if (!known)
            reader_value_error(v, "%s is not an https://, http:// or file:// address",
                               c->catalog_urls[i] ? reader_quote(v->r, c->catalog_urls[i])
                                                  : "nothing");
    }
}

static const struct reader_field catalog_fields[] = {
    {"update", READER_READ, read_update},
    {0},
};

static void read_jobs(const struct reader_value *v, void *into)
{
    double jobs;

    if (!reader_number(v, 1, 1e6, &jobs))
        return;
    if (jobs != floor(jobs))
        reader_value_error(v, "%s is not a whole number", reader_shown(v));
    else
        ((struct config *)into)->limits.jobs_per_user = (unsigned)jobs;
}

static void read_usd(const struct reader_value *v, double *out)
{
    double usd;

    if (!reader_usd(v, &usd))
        return;
    if (usd > MAX_USD)
        reader_value_error(v, "%s is more than %.0f", reader_shown(v), MAX_USD);
    else
        *out = usd;
}

static void read_usd_per_month(const struct reader_value *v, void *into)
{
    read_usd(v, &((struct config *)into)->limits.max_usd_per_month);
}

static void read_cache_gb(const struct reader_value *v, void *into)
{
    reader_number(v, 0, MAX_CACHE_GB, &((struct config *)into)->limits.cache_gb);
}

static void read_host_lost(const struct reader_value *v, void *into)
{
    reader_number(v, 1, 1e9, &((struct config *)into)->limits.host_lost_s);
}

static const struct reader_field limits_fields[] = {
    {"cache_gb", READER_READ, read_cache_gb},
    {"host_lost_s", READER_READ, read_host_lost},
    {"jobs_per_user", READER_READ, read_jobs},
    {"max_usd_per_month", READER_READ, read_usd_per_month},
    {0},
};

static void read_vcpu_hour(const struct reader_value *v, void *into)
{
    read_usd(v, &((struct config *)into)->prices.vcpu_hour_usd);
}

static void read_gb_hour(const struct reader_value *v, void *into)
{
    read_usd(v, &((struct config *)into)->prices.gb_hour_usd);
}

static const struct reader_field prices_fields[] = {
    {"vcpu_hour", READER_READ, read_vcpu_hour},
    {"gb_hour", READER_READ, read_gb_hour},
    {0},
};

/* The OpenSSH client gets it as an operand, so it must not look like an option. */
static void read_host_name(const struct reader_value *v, void *into)
{
    struct config_host *h = into;

    if (!reader_name(v, &h->host))
        return;
    if (h->host[0] == '-' || strpbrk(h->host, " \t") || strlen(h->host) > CONFIG_HOST_BYTES)
        reader_value_error(v, "%s is no name of a host, such as gpu1.lab or me@gpu1.lab",
                           reader_shown(v));
}

static void read_host_cpus(const struct reader_value *v, void *into)
{
    above_zero(v, VALUE_MAX_CPUS, &((struct config_host *)into)->cpus);
}

static void read_host_memory(const struct reader_value *v, void *into)
{
    reader_size(v, &((struct config_host *)into)->memory_gb);
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

static void read_host_price(const struct reader_value *v, void *into)
{
    read_usd(v, &((struct config_host *)into)->price_usd_per_hour);
}

static const struct reader_field host_fields[] = {
    {"host", READER_READ, read_host_name},
    {"cpus", READER_READ, read_host_cpus},
    {"memory", READER_READ, read_host_memory},
    {"accelerators", READER_READ, read_host_accelerators},
    {"price", READER_READ, read_host_price},
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

    read_texts(v, &regions->regions, &regions->n);
}

static void read_clouds(const struct reader_value *v, void *into)
{
    static const struct reader_field fields[] = {{"regions", READER_READ, read_regions}, {0}};
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

static void read_store(const struct reader_value *v, void *into)
{
    struct config *c = into;

    if (!reader_name(v, &c->store))
        return;
    if (strncmp(c->store, "dir:", 4) != 0 && strncmp(c->store, "s3://", 5) != 0)
        reader_value_error(v, "%s is neither dir:PATH nor s3://BUCKET/PREFIX", reader_shown(v));
}

static void read_endpoint(const struct reader_value *v, void *into)
{
    struct config *c = into;

    if (!reader_name(v, &c->endpoint))
        return;
    if (strncmp(c->endpoint, "https://", 8) != 0 && strncmp(c->endpoint, "http://", 7) != 0)
        reader_value_error(v, "%s is not an https:// or http:// address", reader_shown(v));
}

static void read_region(const struct reader_value *v, void *into)
{
    reader_name(v, &((struct config *)into)->region);
}

static void read_path_style(const struct reader_value *v, void *into)
{
    bool yes;

    if (reader_bool(v, &yes))
        ((struct config *)into)->path_style = yes;
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

#define SECTION(name)                                                                              \
    static void read_##name(const struct reader_value *v, void *into)                              \
    {                                                                                              \
        reader_fields(v, name##_fields, NULL, into);                                               \
    }
SECTION(plan)
SECTION(catalog)
SECTION(limits)
SECTION(prices)

static const struct section {
    struct reader_field field;
    const struct reader_field *inner; /* NULL: no fixed names below it */
    bool is_open;                     /* any name may stand below it */
} sections[] = {
    {{"store", READER_READ, read_store}, NULL, false},
    {{"endpoint", READER_READ, read_endpoint}, NULL, false},
    {{"region", READER_READ, read_region}, NULL, false},
    {{"path_style", READER_READ, read_path_style}, NULL, false},
    {{"catalog", READER_READ, read_catalog}, catalog_fields, false},
    {{"plan", READER_READ, read_plan}, plan_fields, false},
    {{"limits", READER_READ, read_limits}, limits_fields, false},
    {{"prices", READER_READ, read_prices}, prices_fields, false},
    {{"hosts", READER_READ, read_hosts}, NULL, true},
    {{"clouds", READER_READ, read_clouds}, NULL, true},
    {{"throughputs", READER_READ, read_throughputs}, NULL, false},
};

#define N_SECTIONS (sizeof sections / sizeof *sections)

static void read_root(struct reader *r, const struct yaml_node *root, struct config *c)
{
    struct reader_field fields[N_SECTIONS + 1] = {0};
    struct reader_value v = {r, "", root->line, root};
    struct yaml_node said = *root;

    for (size_t i = 0; i < N_SECTIONS; i++)
        fields[i] = sections[i].field;
    /* `plan:` with everything below it commented out says nothing. */
    said.n = 0;
    said.entries = reader_alloc(r, root->n, sizeof *said.entries);
    for (size_t i = 0; root->kind == YAML_MAP && said.entries && i < root->n; i++)
        if (!yaml_is_null(root->entries[i].value))
            said.entries[said.n++] = root->entries[i];
    v.node = &said;
    reader_fields(&v, fields, NULL, c);
}

int config_schema_read(struct config *c,
                       const char *text,
                       size_t len,
                       const struct yaml_node **root_out,
                       struct err *e)
{
    struct spec_finding findings[SPEC_MAX_FINDINGS];
    struct reader r = {.arena = c->arena, .findings = findings};
    struct yaml_file file;

    *root_out = NULL;
    yaml_parse(text, len, c->arena, &file);
    for (size_t i = 0; i < file.n_problems; i++)
        reader_error(&r, file.problems[i].line, "%s", file.problems[i].text);
    if (file.n_documents > 1)
        reader_error(&r, file.documents[1]->line, "a second document: a configuration has one");
    if (r.n_errors == 0 && file.n_documents == 1 && !yaml_is_null(file.documents[0])) {
        *root_out = file.documents[0];
        read_root(&r, *root_out, c);
    }
    if (r.is_full || r.n_errors > 0)
        return reader_first_error(&r, c->file, e);
    return 0;
}

static const struct section *find_section(const char *name, size_t len)
{
    for (size_t i = 0; i < N_SECTIONS; i++)
        if (strlen(sections[i].field.name) == len &&
            strncmp(sections[i].field.name, name, len) == 0)
            return &sections[i];
    return NULL;
}

static const struct reader_field *find_inner(const struct reader_field *fields,
                                             const char *name,
                                             size_t len)
{
    for (; fields && fields->name; fields++)
        if (strlen(fields->name) == len && strncmp(fields->name, name, len) == 0)
            return fields;
    return NULL;
}

static int unknown_key(const char *key, struct err *e)
{
    const char *names[MAX_KEYS];
    char whole[MAX_KEYS][64];
    size_t n = 0;

    for (size_t i = 0; i < N_SECTIONS; i++) {
        const struct section *s = &sections[i];
        for (const struct reader_field *f = s->inner; f && f->name && n < MAX_KEYS; f++, n++)
            snprintf(whole[n], sizeof whole[n], "%s.%s", s->field.name, f->name);
        if (!s->inner && n < MAX_KEYS)
            snprintf(whole[n++], sizeof whole[0], "%s", s->field.name);
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
    size_t len = strcspn(key, ".");
    const struct section *section = find_section(key, len);

    if (!section)
        return unknown_key(key, e);
    if (!key[len] || section->is_open)
        return 0;
    const char *name = key + len + 1;
    if (!find_inner(section->inner, name, strcspn(name, ".")))
        return unknown_key(key, e);
    return 0;
}
