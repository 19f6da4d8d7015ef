/* price: the operation job.price, what an hour of a job costs. web/mcp calls it before it starts
 * work. */
#include "app/job/job.h"
#include "broker/daemon/host.h"
#include "estimate/provision.h"
#include "spec/config.h"

#include <math.h>
#include <string.h>

struct price_request {
    double cpus;
    const char *memory;
    int64_t nodes;
    double time_limit_s;
    const char *on;
};

struct price_answer {
    double low_usd_per_hour, high_usd_per_hour;
    double most_usd;
    const char *basis;
};

/* clang-format off */
#define PRICE(TYPE, member) FIELD(TYPE, struct price_request, member)
static const struct field price_fields[] = {
    {"cpus", PRICE(REAL, cpus), .preset = "1", .help = "CPUs, in halves (default 1)."},
    {"memory", PRICE(TEXT, memory), .preset = "1GB",
     .help = "Memory in steps of 256 MB, as in 512 or 2GB (default 1GB)."},
    {"nodes", PRICE(INT, nodes), .preset = "1", .least = 1, .most = 1e6,
     .help = "Jobs that run at once (default 1)."},
    {"time_limit_s", PRICE(DURATION, time_limit_s), .unit = "s",
     .help = "Longest run time, as in 90s or 2h (default: no limit)."},
    {"on", PRICE(TEXT, on), .preset = "local",
     .help = "This machine (local, the default), any host of the configuration (ssh), or a group "
             "of hosts."},
};

static const struct field price_answer_fields[] = {
    {"low_usd_per_hour", FIELD(REAL, struct price_answer, low_usd_per_hour), .unit = "USD/h",
     .help = "Price of all nodes, on the cheapest hosts."},
    {"high_usd_per_hour", FIELD(REAL, struct price_answer, high_usd_per_hour), .unit = "USD/h",
     .help = "Price of all nodes, on the most expensive hosts."},
    {"most_usd", FIELD(REAL, struct price_answer, most_usd), .unit = "USD",
     .help = "Cost at the time limit; null without one."},
    {"basis", FIELD(TEXT, struct price_answer, basis), .help = "Where the price comes from."},
};
/* clang-format on */

static int price_here(const struct price_request *q,
                      const struct config *c,
                      const struct answer *out,
                      struct price_answer *a,
                      struct err *e)
{
    const struct provision_prices prices = {c->prices.vcpu_hour_usd, c->prices.gb_hour_usd};
    struct lake_job_request r = {0};

    if (app_job_read_size(q->cpus, q->memory, out, &r, e) < 0)
        return -1;
    int64_t microusd = provision_cost_microusd(&prices, r.cpus, (double)r.memory_mb, 3600);
    a->low_usd_per_hour = a->high_usd_per_hour = (double)microusd / 1e6;
    a->basis = "prices.vcpu_hour and prices.gb_hour of the configuration";
    return 0;
}

static int price_hosts(const char *on,
                       const struct config *c,
                       struct price_answer *a,
                       struct err *e)
{
    if (host_count(c, on) == 0)
        return err_set(e, ERR_USAGE, "on: %.60s is no group of hosts in %s", on, c->file);
    a->low_usd_per_hour = (double)INFINITY;
    for (size_t i = 0; i < c->n_hosts; i++) {
        const struct config_host *h = &c->hosts[i];
        if (strcmp(on, HOST_ANY) != 0 && strcmp(h->pool, on) != 0)
            continue;
        a->low_usd_per_hour = fmin(a->low_usd_per_hour, h->price_usd_per_hour);
        a->high_usd_per_hour = fmax(a->high_usd_per_hour, h->price_usd_per_hour);
    }
    a->basis = "hosts of the configuration";
    return 0;
}

static int run_price(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct price_request *q = request;
    const struct config *c = app_config(app, e);
    struct price_answer a = {0};

    if (!c || (strcmp(q->on, "local") == 0 ? price_here(q, c, out, &a, e)
                                           : price_hosts(q->on, c, &a, e)) < 0)
        return -1;
    a.low_usd_per_hour *= (double)q->nodes;
    a.high_usd_per_hour *= (double)q->nodes;
    a.most_usd = a.high_usd_per_hour * q->time_limit_s / 3600; /* NAN without a limit */
    return answer_head(out, &a, e);
}

const struct operation job_price_operation = {
    .name = "job.price",
    .summary = "Tell what an hour of a job costs, by its size and where it runs.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct price_request, price_fields),
    .answer = RECORD_AT("job_price", struct price_answer, price_answer_fields),
    .run = run_price,
};
