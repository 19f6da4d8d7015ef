#include "spec/config.h"

#include "load.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[] = "/tmp/tradewind-config-XXXXXX";

static void write_config(const char *text)
{
    char path[200];

    snprintf(path, sizeof path, "%s/config.yaml", home);
    FILE *f = fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

static struct config *load_text(const char *text)
{
    struct err e = {0};

    write_config(text);
    struct config *c = config_load(home, &e);
    if (!c)
        printf("# %s\n", e.text);
    return c;
}

static bool setting(const struct config *c,
                    const char *key,
                    const char *value,
                    enum config_origin origin,
                    size_t line)
{
    const struct config_setting *s = config_find(c, key);

    return s && same(s->value, value) && s->origin == origin && s->line == line;
}

static void defaults(void)
{
    struct err e = {0};
    AUTO(config) struct config *c = config_load(home, &e);

    CHECK(c != NULL, "no file: the defaults");
    if (!c)
        return;
    CHECK(c->boot_s == 60 && c->local_gbit == 10 && c->uplink_gbit == 0.1 &&
              c->preemptions_other == 0.03,
          "boot, local and uplink rate, preemptions elsewhere");
    CHECK(config_preemptions(c, "aws") == 0.02 && config_preemptions(c, "gcp") == 0.06 &&
              config_preemptions(c, "azure") == 0.05 && config_preemptions(c, "lambda") == 0.03,
          "preemptions by cloud");
    CHECK(config_boot_s(c, "aws") == 60 && !c->throughputs && c->n_catalog_urls == 0 &&
              c->n_regions == 0,
          "nothing else");
    CHECK(setting(c, "plan.boot_s", "60", CONFIG_DEFAULT, 0) &&
              setting(c, "home", home, CONFIG_FLAG, 0) && !config_find(c, "plan"),
          "settings know where they come from");
    CHECK(same(c->home, home) && strstr(c->file, "/config.yaml"), "where it is");
}

static void everything(void)
{
    AUTO(config)
    struct config *c = load_text(
        "store: s3://bucket/prefix\n"
        "endpoint: https://minio:9000\n"
        "region: us-east-1\n"
        "catalog: {update: [https://example.org/aws.csv.gz, https://example.org/gcp.csv]}\n"
        "plan:\n"
        "  boot_s: {aws: 30, other: 90}\n"
        "  local_gbit: 25\n"
        "  uplink_gbit: 1\n"
        "  preemptions_per_hour: {aws: 0.5, lambda: 0, other: 0.07}\n"
        "limits: {jobs_per_user: 4, max_usd_per_month: 500}\n"
        "prices: {vcpu_hour: 0.031611, gb_hour: 0.004237}\n"
        "hosts:\n"
        "  lab: [{host: gpu1.lab, cpus: 32, memory: 256, accelerators: A100:4, price: 1.2}]\n"
        "clouds: {aws: {regions: [us-east-1, eu-west-2]}, gcp: {regions: us-central1}}\n"
        "throughputs: table.csv\n"
        "path_style: no\n");

    CHECK(c != NULL, "every key");
    if (!c)
        return;
    CHECK(config_boot_s(c, "aws") == 30 && config_boot_s(c, "gcp") == 90, "boot by cloud");
    CHECK(c->local_gbit == 25 && c->uplink_gbit == 1, "rates");
    CHECK(same(c->endpoint, "https://minio:9000") && same(c->region, "us-east-1") &&
              c->path_style == 0,
          "where the store is reached");
    CHECK(config_preemptions(c, "aws") == 0.5 && config_preemptions(c, "gcp") == 0.06 &&
              config_preemptions(c, "lambda") == 0 && config_preemptions(c, "other") == 0.07,
          "preemptions over the defaults");
    CHECK(c->n_catalog_urls == 2 && same(c->catalog_urls[1], "https://example.org/gcp.csv"),
          "URLs");
    CHECK(c->n_regions == 2 && same(c->regions[0].cloud, "aws") && c->regions[0].n == 2 &&
              same(c->regions[0].regions[1], "eu-west-2") && c->regions[1].n == 1,
          "regions, and one alone");
    CHECK(c->throughputs && strncmp(c->throughputs, home, strlen(home)) == 0 &&
              strstr(c->throughputs, "/table.csv"),
          "the table lies beside the file");
    CHECK(setting(c, "plan.preemptions_per_hour.aws", "0.5", CONFIG_FILE, 9) &&
              setting(c, "plan.preemptions_per_hour.gcp", "0.06", CONFIG_DEFAULT, 0) &&
              setting(c, "catalog.update.1", "https://example.org/gcp.csv", CONFIG_FILE, 4) &&
              setting(c, "hosts.lab.0.accelerators", "A100:4", CONFIG_FILE, 13) &&
              setting(c, "store", "s3://bucket/prefix", CONFIG_FILE, 1),
          "settings with their lines");
    bool sorted = true;
    for (size_t i = 1; i < c->n_settings; i++)
        sorted &= strcmp(c->settings[i - 1].key, c->settings[i].key) < 0;
    CHECK(sorted, "sorted, each once");
}

static bool host_is(const struct config_host *h, const struct config_host *expected)
{
    return same(h->pool, expected->pool) && same(h->host, expected->host) &&
           h->cpus == expected->cpus && h->memory_gb == expected->memory_gb &&
           (h->accelerator ? expected->accelerator && same(h->accelerator, expected->accelerator)
                           : !expected->accelerator) &&
           h->accelerators == expected->accelerators &&
           h->price_usd_per_hour == expected->price_usd_per_hour;
}

static void machines(void)
{
    static const struct config_host hosts[] = {
        {"lab", "gpu1.lab", 32, 256, "A100", 4, 1.2},
        {"desks", "me@a", 0, 0, NULL, 0, 0},
        {"desks", "b", 0.5, 0.5, "T4", 1, 0},
    };
    AUTO(config)
    struct config *c = load_text(
        "limits: {jobs_per_user: 7, max_usd_per_month: 500}\n"
        "prices: {vcpu_hour: 0.05, gb_hour: $0.01}\n"
        "hosts:\n"
        "  lab: [{host: gpu1.lab, cpus: 32, memory: 256, accelerators: A100:4, price: 1.2}]\n"
        "  empty: []\n"
        "  desks: [{host: me@a}, {host: b, cpus: 0.5, memory: 500MB, accelerators: T4}]\n");

    CHECK(c && c->n_hosts == COUNT(hosts), "hosts of all pools");
    for (size_t i = 0; c && i < c->n_hosts && i < COUNT(hosts); i++)
        CHECK(host_is(&c->hosts[i], &hosts[i]), "host %s", hosts[i].host);
    CHECK(c && c->limits.jobs_per_user == 7 && c->limits.max_usd_per_month == 500, "limits");
    CHECK(c && c->prices.vcpu_hour_usd == 0.05 && c->prices.gb_hour_usd == 0.01, "prices");

    AUTO(config) struct config *none = load_text("limits: {max_usd_per_month: 1}\n");
    CHECK(none && none->n_hosts == 0 && none->limits.jobs_per_user == 4 &&
              none->prices.vcpu_hour_usd == 0.031611 && none->prices.gb_hour_usd == 0.004237,
          "defaults: no hosts, four jobs a user, base prices");
    CHECK(none && setting(none, "limits.jobs_per_user", "4", CONFIG_DEFAULT, 0) &&
              setting(none, "prices.gb_hour", "0.004237", CONFIG_DEFAULT, 0) &&
              !config_find(none, "hosts"),
          "settings show the defaults");
    AUTO(config) struct config *free_of_limits = load_text("");
    CHECK(free_of_limits && isinf(free_of_limits->limits.max_usd_per_month) &&
              !config_find(free_of_limits, "limits.max_usd_per_month"),
          "no spending cap unless one is given");
}

static void nothing_said(void)
{
    static const char *const texts[] = {"", "# nothing\n", "---\n", "{}\n", "plan:\ncatalog: ~\n"};

    for (size_t i = 0; i < COUNT(texts); i++) {
        AUTO(config) struct config *c = load_text(texts[i]);
        CHECK(c && c->boot_s == 60, "a file that says nothing (%zu)", i);
    }
}

static void wrong(void)
{
    static const struct refused cases[] = {
        {"plan:\n  boot_z: 60\n", 2, "\"plan.boot_z\": did you mean boot_s?"},
        {"paln: {}\n", 1, "did you mean plan?"},
        {"plan: {boot_s: -1}\n", 1, "cannot be negative"},
        {"plan: {boot_s: long}\n", 1, "\"long\" is not a duration"},
        {"plan: {boot_s: {aws: x}}\n", 1, "plan.boot_s.aws: \"x\" is not a number"},
        {"plan: {local_gbit: 0}\n", 1, "must be above 0"},
        {"plan: {uplink_gbit: fast}\n", 1, "\"fast\" is not a number"},
        {"plan: {preemptions_per_hour: 3}\n", 1, "must be a map, not text"},
        {"plan: {preemptions_per_hour: {aws: -1}}\n", 1, "out of range"},
        {"plan: []\n", 1, "plan: must be a map, not a list"},
        {"catalog: {update: [ftp://x]}\n", 1, "\"ftp://x\" is not an https://"},
        {"catalog: {update: {a: b}}\n", 1, "must be a list, not a map"},
        {"limits: {jobs_per_user: 0}\n", 1, "out of range"},
        {"limits: {jobs_per_user: 1.5}\n", 1, "not a whole number"},
        {"limits: {max_usd_per_month: -1}\n", 1, "not an amount"},
        {"prices: {vcpu_hours: 1}\n", 1, "did you mean vcpu_hour?"},
        {"hosts: {lab: {host: x}}\n", 1, "must be a list of hosts"},
        {"hosts:\n  lab:\n    - {cpus: 3}\n", 3, "needs host"},
        {"hosts: {lab: [{host: -oProxyCommand=x}]}\n", 1, "is not the name of a host"},
        {"hosts: {lab: [{host: \"a b\"}]}\n", 1, "is not the name of a host"},
        {"hosts: {lab: [{host: x, accelerators: \"A100:\"}]}\n", 1, "is not a number above 0"},
        {"hosts: {lab: [{host: x, price: 2e9}]}\n", 1, "at most 1000000000 USD"},
        {"hosts: {lab: [{host: x, gpus: 3}]}\n", 1, "unknown field \"hosts.lab[0].gpus\""},
        {"clouds: {aws: {zones: [a]}}\n", 1, "unknown field \"clouds.aws.zones\""},
        {"clouds: {aws: {regions: [[a]]}}\n", 1, "must be text"},
        {"store: /data\n", 1, "is not a store: write dir:PATH"},
        {"endpoint: minio:9000\n", 1, "not an https:// or http:// address"},
        {"path_style: maybe\n", 1, "path_style"},
        {"throughputs: [a]\n", 1, "must be text"},
        {"store: dir:a\nstore: dir:b\n", 2, "is given twice: first on line 1"},
        {"plan: {}\n---\nplan: {}\n", 3, "a second document"},
        {"- plan\n", 1, "is a map of fields, not a list"},
        {"plan: {\n", 2, "not YAML"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err e = {0};
        char place[300];
        write_config(cases[i].text);
        struct config *c = config_load(home, &e);
        snprintf(place, sizeof place, "%s/config.yaml:%zu: ", home, cases[i].line);
        CHECK(!c && e.kind == ERR_USAGE && strncmp(e.text, place, strlen(place)) == 0 &&
                  strstr(e.text, cases[i].part),
              "line %zu: %s", cases[i].line, cases[i].part);
        if (!c && !strstr(e.text, cases[i].part))
            printf("# %s\n", e.text);
        config_free(c);
    }
}

static void keys(void)
{
    static const struct {
        const char *key, *problem; /* NULL: known */
    } cases[] = {
        {"plan.boot_s", NULL},
        {"plan.boot_s.aws", NULL},
        {"plan", NULL},
        {"hosts.lab", NULL},
        {"clouds.aws.regions", NULL},
        {"store", NULL},
        {"plan.boot", "did you mean plan.boot_s?"},
        {"pln.boot_s", "did you mean plan.boot_s?"},
        {"stroe", "did you mean store?"},
        {"kitchen", "config show lists them"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err e = {0};
        int result = config_check_key(cases[i].key, &e);
        CHECK(cases[i].problem ? result < 0 && strstr(e.text, cases[i].problem) : result == 0,
              "key %s", cases[i].key);
    }
}

static void where(void)
{
    struct err e = {0};

    write_config("");
    setenv("TRADEWIND_HOME", home, 1);
    AUTO(config) struct config *c = config_load(NULL, &e);
    CHECK(c && same(c->home, home) && setting(c, "home", home, CONFIG_ENVIRONMENT, 0),
          "TRADEWIND_HOME says where");
    setenv("TRADEWIND_HOME", "", 1);
    setenv("HOME", "/nowhere", 1);
    AUTO(config) struct config *d = config_load(NULL, &e);
    CHECK(d && same(d->home, "/nowhere/.tradewind") &&
              setting(d, "home", "/nowhere/.tradewind", CONFIG_DEFAULT, 0),
          "otherwise it is in the user's home");
}

int main(void)
{
    char path[200];

    if (!mkdtemp(home))
        return TAP_SKIP_ALL("no scratch directory");
    defaults();
    everything();
    machines();
    nothing_said();
    wrong();
    keys();
    where();
    snprintf(path, sizeof path, "%s/config.yaml", home);
    unlink(path);
    rmdir(home);
    return TAP_DONE();
}
