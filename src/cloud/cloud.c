#include "base/mem.h"
#include "base/money.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cloud/driver.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX 10000
#define MAX_BOOT_S (7 * 86400.0)
#define MAX_PREEMPTIONS_PER_HOUR 1e4
#define MAX_SIZE 1e9
#define MAX_DISK_GB 16384.0 /* the largest that all clouds have */
#define TOKEN_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

static const struct cloud_driver *const drivers[] = {&cloud_pool, &cloud_sim, &cloud_aws,
                                                     &cloud_azure, &cloud_gcp};

const char *const cloud_providers[] = {"aws", "azure", "gcp", NULL};

bool cloud_is_provider(const char *name)
{
    for (size_t i = 0; cloud_providers[i]; i++)
        if (strcmp(name, cloud_providers[i]) == 0)
            return true;
    return false;
}

static const enum err_kind kinds[] = {
    [CLOUD_FINE] = ERR_NONE,         [CLOUD_AUTH] = ERR_DENIED,
    [CLOUD_PERMISSION] = ERR_DENIED, [CLOUD_QUOTA] = ERR_NOFIT,
    [CLOUD_CAPACITY] = ERR_NOFIT,    [CLOUD_UNSUPPORTED] = ERR_NOFIT,
    [CLOUD_THROTTLE] = ERR_RETRY,    [CLOUD_TRANSIENT] = ERR_RETRY,
    [CLOUD_CONFLICT] = ERR_USAGE,    [CLOUD_NOT_FOUND] = ERR_NOTFOUND,
    [CLOUD_INVALID] = ERR_USAGE,     [CLOUD_UNKNOWN] = ERR_RETRY,
};

enum err_kind cloud_failure_kind(enum cloud_failure failure)
{
    return kinds[failure];
}

int64_t cloud_now_ms(const struct cloud *c)
{
    int64_t now_ms = c->options.now_ms ? c->options.now_ms(c->options.context) : time_epoch_ms();

    assert(now_ms > 0);
    return now_ms;
}

int cloud_fail(
    struct cloud_error *e, enum cloud_failure failure, enum cloud_scope scope, const char *fmt, ...)
{
    char text[sizeof e->err.text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    e->failure = failure;
    e->scope = scope;
    return err_set(&e->err, cloud_failure_kind(failure), "%s", text);
}

int cloud_say(const struct cloud_findings *out,
              struct cloud_error *e,
              enum cloud_verdict verdict,
              const char *what,
              const char *fix,
              const char *fmt,
              ...)
{
    char found[1200];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(found, sizeof found, fmt, ap);
    va_end(ap);
    const struct cloud_finding f = {what, verdict, found, fix};
    *e = (struct cloud_error){0};
    return out->visit(out->context, &f, &e->err);
}

/* ---- opening ---- */

static const struct cloud_driver *find_driver(const char *name)
{
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (strcmp(drivers[i]->name, name) == 0)
            return drivers[i];
    return NULL;
}

const char *cloud_some_region(const char *provider)
{
    const struct cloud_driver *driver = find_driver(provider);

    return driver && driver->some_region ? driver->some_region : "";
}

static bool is_token(const char *text)
{
    size_t n = text ? strspn(text, TOKEN_CHARACTERS) : 0;

    return n > 0 && n <= 64 && !text[n];
}

/* What is wrong is shown as far as it can be. */
static const char *shown(const char *text)
{
    return text && cloud_is_line(text, 80) ? text : "";
}

static bool within(double value, double max)
{
    return value >= 0 && value <= max;
}

bool cloud_is_line(const char *text, size_t room)
{
    size_t n = strlen(text), line;

    return n < room && utf8_first_bad(text, n, &line) == n && !strpbrk(text, "\t\r\n");
}

static int check_options(const struct cloud_options *o, struct err *e)
{
    const struct cloud_machine *m = NULL;

    if (!o->home || !*o->home)
        return err_set(e, ERR_USAGE, "no home is given");
    if (!is_token(o->owner))
        return err_set(e, ERR_USAGE, "\"%s\" is not an owner; give 1 to 64 of a-z, 0-9 and -",
                       shown(o->owner));
    if (!within(o->boot_s, MAX_BOOT_S))
        return err_set(e, ERR_USAGE, "boot_s must be from 0 to %.0f", MAX_BOOT_S);
    if (!within(o->preemptions_per_hour, MAX_PREEMPTIONS_PER_HOUR))
        return err_set(e, ERR_USAGE, "preemptions_per_hour must be from 0 to %.0f",
                       MAX_PREEMPTIONS_PER_HOUR);
    if (o->root && (!*o->root || !cloud_is_line(o->root, sizeof m->root)))
        return err_set(e, ERR_USAGE, "the directory of jobs on hosts must have 1 to %zu bytes",
                       sizeof m->root - 1);
    if (o->n_hosts > HOSTS_MAX)
        return err_set(e, ERR_USAGE, "more than %d hosts", HOSTS_MAX);
    return 0;
}

static int check_host(const struct cloud_host *h, struct err *e)
{
    const struct cloud_machine *m = NULL;

    if (!h->address || !*h->address || !cloud_is_line(h->address, sizeof m->address))
        return err_set(e, ERR_USAGE, "host \"%s\": no name to reach it by", shown(h->address));
    if (!h->group || !cloud_is_line(h->group, sizeof m->region))
        return err_set(e, ERR_USAGE, "host %s: the name of its group is longer than %zu bytes",
                       h->address, sizeof m->region - 1);
    if (h->accelerator && !cloud_is_line(h->accelerator, sizeof m->accelerator))
        return err_set(e, ERR_USAGE, "host %s: the name of its accelerator is too long",
                       h->address);
    if (!within(h->cpus, MAX_SIZE) || !within(h->memory_gb, MAX_SIZE) ||
        !within(h->accelerators, MAX_SIZE) || !within(h->price_usd_per_hour, MONEY_MAX_USD))
        return err_set(e, ERR_USAGE, "host %s: sizes and price must be from 0 to 1e9", h->address);
    return 0;
}

static int keep_hosts(struct cloud *c, const struct cloud_options *o, struct err *e)
{
    c->options.root = c->root = o->root ? mem_dup(o->root) : NULL;
    c->options.hosts = c->hosts = mem_zero(o->n_hosts + 1, sizeof *c->hosts);
    for (size_t i = 0; i < o->n_hosts; i++) {
        if (check_host(&o->hosts[i], e) < 0)
            return -1;
        c->hosts[i] = o->hosts[i];
    }
    return 0;
}

struct cloud *cloud_open(const struct cloud_options *options, struct err *e)
{
    const struct cloud_driver *driver = find_driver(options->name ? options->name : "");

    if (!driver) {
        err_set(e, ERR_USAGE,
                "no cloud is named \"%s\"; the clouds are aws, azure, gcp, pool and sim",
                shown(options->name));
        return NULL;
    }
    AUTO(cloud) struct cloud *c = mem_zero(1, sizeof *c);
    c->driver = driver;
    c->options = *options;
    if (check_options(options, e) < 0 || keep_hosts(c, options, e) < 0 || driver->open(c, e) < 0) {
        err_wrap(e, "%s", driver->name);
        return NULL;
    }
    return TAKE(c);
}

void cloud_free(struct cloud *c)
{
    if (!c)
        return;
    c->driver->close(c);
    free(c->hosts);
    free(c->root);
    free(c);
}

void cloud_set_finds(struct cloud *c, struct cloud_finds *finds)
{
    c->finds = finds;
}

const char *cloud_name(const struct cloud *c)
{
    return c->driver->name;
}

bool cloud_sees_at_once(const struct cloud *c)
{
    return c->driver->sees_at_once;
}

/* ---- calls ---- */

/* What a failure that the driver did not class is, by its kind. */
static enum cloud_failure failure_of(enum err_kind kind)
{
    static const enum cloud_failure failures[] = {
        [ERR_NONE] = CLOUD_FINE,          [ERR_USAGE] = CLOUD_INVALID,
        [ERR_NOTFOUND] = CLOUD_NOT_FOUND, [ERR_DENIED] = CLOUD_PERMISSION,
        [ERR_NOFIT] = CLOUD_CAPACITY,     [ERR_RETRY] = CLOUD_TRANSIENT,
        [ERR_IO] = CLOUD_TRANSIENT,       [ERR_CHANGED] = CLOUD_TRANSIENT,
    };

    return failures[kind];
}

static int failed(const struct cloud *c, const char *call, const char *token, struct cloud_error *e)
{
    if (e->failure == CLOUD_FINE) {
        e->failure = failure_of(e->err.kind);
        e->scope = CLOUD_ACCOUNT;
    }
    return err_wrap(&e->err, "%s: %s%s%s", c->driver->name, call, *token ? " " : "", token);
}

static int check_token(const char *token, struct cloud_error *e)
{
    if (is_token(token))
        return 0;
    return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT,
                      "\"%s\" is not a token; give 1 to 64 of a-z, 0-9 and -", shown(token));
}

static int check_text(const char *what, const char **text, size_t room, struct cloud_error *e)
{
    if (!*text)
        *text = "";
    if (cloud_is_line(*text, room))
        return 0;
    return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT,
                      "the %s has more than %zu bytes or is not one line of UTF-8", what, room - 1);
}

static int check_request(struct cloud_request *r, struct cloud_error *e)
{
    const struct cloud_machine *m = NULL;
    const char *accelerator = r->accelerator, *image = r->image;

    if (check_token(r->token, e) < 0)
        return -1;
    if (!is_token(r->owner))
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT,
                          "\"%s\" is not an owner; give 1 to 64 of a-z, 0-9 and -",
                          shown(r->owner));
    if (check_text("provider", &r->provider, sizeof m->provider, e) < 0 ||
        check_text("region", &r->region, sizeof m->region, e) < 0 ||
        check_text("zone", &r->zone, sizeof m->zone, e) < 0 ||
        check_text("instance type", &r->instance_type, sizeof m->instance_type, e) < 0 ||
        check_text("accelerator", &accelerator, sizeof m->accelerator, e) < 0 ||
        check_text("image", &image, 200, e) < 0)
        return -1;
    if (!within(r->cpus, MAX_SIZE) || !within(r->memory_gb, MAX_SIZE) ||
        !within(r->accelerators, MAX_SIZE) || !within(r->bill_min_s, MAX_SIZE) ||
        !within(r->disk_gb, MAX_DISK_GB) || !within(r->price_usd_per_hour, MONEY_MAX_USD) ||
        !(r->max_price_usd_per_hour >= 0))
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT,
                          "cpus, memory, accelerators and prices must be from 0 to 1e9, and the "
                          "disk at most %.0f GB",
                          MAX_DISK_GB);
    return 0;
}

int cloud_launch(struct cloud *c,
                 const struct cloud_request *request,
                 struct cloud_machine *out,
                 struct cloud_error *e)
{
    struct cloud_request r = *request;

    *e = (struct cloud_error){0};
    if (!r.owner)
        r.owner = c->options.owner;
    if (check_request(&r, e) < 0 || c->driver->launch(c, &r, out, e) < 0)
        return failed(c, "launch", is_token(r.token) ? r.token : "", e);
    return 0;
}

int cloud_free_hosts(struct cloud *c,
                     const struct cloud_request *request,
                     const char **out,
                     size_t max,
                     size_t *n_out,
                     struct cloud_error *e)
{
    struct cloud_request r = *request;

    *e = (struct cloud_error){0};
    *n_out = 0;
    if (!r.owner)
        r.owner = c->options.owner;
    if (!c->driver->free_hosts)
        return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, "%s: has no named hosts",
                          c->driver->name);
    if (check_request(&r, e) < 0 || c->driver->free_hosts(c, &r, out, max, n_out, e) < 0)
        return failed(c, "launch", is_token(r.token) ? r.token : "", e);
    return 0;
}

int cloud_zones(struct cloud *c,
                const struct cloud_request *request,
                char (*out)[CLOUD_ZONE_BYTES],
                size_t max,
                size_t *n_out,
                struct cloud_error *e)
{
    struct cloud_request r = *request;

    *e = (struct cloud_error){0};
    *n_out = 0;
    if (!r.owner)
        r.owner = c->options.owner;
    if (!c->driver->zones)
        return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, "%s: has no zones", c->driver->name);
    if (check_request(&r, e) < 0 || c->driver->zones(c, &r, out, max, n_out, e) < 0)
        return failed(c, "list zones", "", e);
    return 0;
}

int cloud_look(struct cloud *c, const char *token, struct cloud_machine *out, struct cloud_error *e)
{
    *e = (struct cloud_error){0};
    if (check_token(token, e) < 0 || c->driver->look(c, token, out, e) < 0)
        return failed(c, "look at", is_token(token) ? token : "", e);
    return 0;
}

int cloud_terminate(struct cloud *c, const char *token, struct cloud_error *e)
{
    *e = (struct cloud_error){0};
    if (check_token(token, e) < 0 || c->driver->terminate(c, token, e) < 0)
        return failed(c, "terminate", is_token(token) ? token : "", e);
    return 0;
}

int cloud_list(struct cloud *c, cloud_visit *visit, void *context, struct cloud_error *e)
{
    *e = (struct cloud_error){0};
    if (c->driver->list(c, visit, context, e) < 0)
        return failed(c, "list", "", e);
    return 0;
}

int cloud_clean(struct cloud *c,
                bool dry_run,
                cloud_visit_leftover *visit,
                void *context,
                struct cloud_error *e)
{
    *e = (struct cloud_error){0};
    if (c->driver->clean && c->driver->clean(c, dry_run, visit, context, e) < 0)
        return failed(c, "clean up", "", e);
    return 0;
}

int cloud_check(struct cloud *c, cloud_visit_finding *visit, void *context, struct cloud_error *e)
{
    *e = (struct cloud_error){0};
    if (!c->driver->check)
        return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, "%s: has no account to check",
                          c->driver->name);
    if (c->driver->check(c, visit, context, e) < 0)
        return failed(c, "check", "", e);
    return 0;
}

int cloud_sign_in(struct cloud *c, struct cloud_error *e)
{
    *e = (struct cloud_error){0};
    if (!c->driver->sign_in)
        return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, "%s: has no account",
                          c->driver->name);
    return c->driver->sign_in(c, e) < 0 ? failed(c, "sign in", "", e) : 0;
}

int cloud_regions(struct cloud *c, cloud_visit_region *visit, void *context, struct cloud_error *e)
{
    *e = (struct cloud_error){0};
    if (!c->driver->regions)
        return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, "%s: has no regions",
                          c->driver->name);
    return c->driver->regions(c, visit, context, e) < 0 ? failed(c, "list regions", "", e) : 0;
}

int64_t cloud_next_ms(struct cloud *c)
{
    return c->driver->next_ms ? c->driver->next_ms(c) : INT64_MAX;
}

int64_t cloud_cost_microusd(const struct cloud_machine *m, int64_t now_ms)
{
    int64_t until_ms = m->ended_ms && m->ended_ms < now_ms ? m->ended_ms : now_ms;

    if (now_ms < m->launched_ms)
        return 0;
    double seconds = ceil((double)(until_ms - m->launched_ms) / 1000);
    double usd = m->price_usd_per_hour * fmax(seconds, m->bill_min_s) / 3600;
    if (m->metered_ms)
        usd = m->metered_usd +
              m->price_usd_per_hour * fmax((double)(until_ms - m->metered_ms), 0) / 3.6e6;
    return money_from_usd(fmin(usd, MONEY_MAX_USD));
}
