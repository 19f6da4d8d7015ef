/* config: $TRADEWIND_HOME/config.yaml. Every key has a default; every value knows its origin. */
#ifndef SPEC_CONFIG_H
#define SPEC_CONFIG_H

#include "base/auto.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;

struct config_rate {
    const char *cloud;
    double value;
};

struct config_regions {
    const char *cloud;
    const char **regions; /* the only regions of this cloud to plan with */
    size_t n;
};

/* One of the user's own machines. What is not said is 0, and no accelerator. */
struct config_host {
    const char *pool; /* the name it stands under */
    const char *host; /* as the OpenSSH client takes it */
    double cpus, memory_gb;
    const char *accelerator; /* NULL = none */
    double accelerators;
    double price_usd_per_hour;
};

struct config_limits {
    unsigned jobs_per_user;   /* launching or running at once */
    double max_usd_per_month; /* INFINITY = not said */
    double max_usd_per_hour;  /* of machines of clouds, all together; INFINITY = not said */
    double launches_per_s;    /* requests to one region of a cloud, after the first few */
    double boot_s;      /* a machine of a cloud that does not answer for so long is given up */
    double cache_gb;    /* of what was read from a far store, in home; 0 = none */
    double lease_s;     /* a machine of a cloud powers itself off when its broker is away */
    double host_lost_s; /* a host that does not answer for so long is given up */
    double log_mb;      /* kept of the log of a job */
};

/* Addresses in place of the clouds' own; NULL = their own. */
struct config_endpoints {
    const char *aws_pricing, *aws_ec2, *azure, *gcp;
};

/* What an hour on the user's own machines is worth. */
struct config_prices {
    double vcpu_hour_usd, gb_hour_usd;
};

enum config_origin { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_ENVIRONMENT, CONFIG_FLAG };

/* One value by its dotted name ("plan.preemptions_per_hour.aws"). Items of a list are numbered from
 * 0 ("catalog.update.0"). */
/* The largest plan.simplify: ten times the optimum above it. */
#define CONFIG_SIMPLIFY_MAX 10.0

struct config_setting {
    const char *key, *value;
    enum config_origin origin;
    size_t line; /* CONFIG_FILE: where in the file */
};

struct config {
    struct arena *arena;
    const char *home; /* $TRADEWIND_HOME or ~/.tradewind; may not exist yet */
    const char *file; /* home/config.yaml */
    double boot_s;
    struct config_rate *boot_by_cloud; /* plan.boot_s given as a map */
    size_t n_boot_by_cloud;
    double local_gbit;
    double uplink_gbit;
    struct config_rate *preemptions_per_hour; /* by cloud; defaults merged in */
    size_t n_preemptions_per_hour;
    double preemptions_other; /* clouds not in the list */
    double simplify;          /* margin above the optimum, 0.01 = 1 %; 0 = none */
    struct config_regions *regions;
    size_t n_regions;
    const char **catalog_urls;
    size_t n_catalog_urls;
    struct config_endpoints catalog_endpoints; /* of `catalog update --from` */
    struct config_host *hosts;                 /* in the order of the file */
    size_t n_hosts;
    struct config_limits limits;
    struct config_prices prices;
    const char *throughputs;       /* path of the user's throughput table, from home; NULL = none */
    const char *store;             /* "dir:objects": objects below home; or a bucket's URL */
    const char *endpoint, *region; /* of a bucket; NULL = not said */
    /* The network that may reach port 22 of launched machines, "203.0.113.0/24"; NULL = the address
     * that this machine has on the internet. */
    const char *admit;
    int path_style;                  /* of a bucket: 1, 0, -1 = not said */
    bool insecure;                   /* http:// may lead to other machines */
    struct config_setting *settings; /* all of them, sorted by key */
    size_t n_settings;
};

/* home NULL: from the environment. A missing file is the defaults; a bad one is ERR_USAGE with
 * file and line. */
struct config *config_load(const char *home, struct err *e);
/* The same with this text in place of the file's. */
struct config *config_parse(const char *home, const char *text, size_t len, struct err *e);
void config_free(struct config *c);
AUTO_DEFINE(config)

/* The setting of that name, or NULL. */
const struct config_setting *config_find(const struct config *c, const char *key);
/* ERR_USAGE with the nearest known one when no configuration file may hold that key. */
int config_check_key(const char *key, struct err *e);
/* Gives key a value in c->file: a scalar, or a list or map as YAML writes them on one line
 * ("[a, b]"). Checked as a whole before anything is written; the rest of the file keeps its layout
 * and comments. Creates the home. */
int config_set(const struct config *c, const char *key, const char *value, struct err *e);

double config_boot_s(const struct config *c, const char *cloud);
double config_preemptions(const struct config *c, const char *cloud);

/* "s3://", "gs://" or "az://": a store in a bucket. */
bool config_is_bucket(const char *url);

#endif
