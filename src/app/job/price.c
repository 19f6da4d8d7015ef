/* price: the operation job.price, what an hour of a job costs. web/mcp calls it before it starts
 * work. */
#include "app/job/cloud.h"
#include "app/job/job.h"
#include "base/mem.h"
#include "broker/daemon/host.h"
#include "estimate/provision.h"
#include "spec/config.h"

#include <math.h>
#include <string.h>

struct price_request {
    double cpus;
    const char *memory, *gpus;
    int64_t nodes;
    double time_limit_s;
    const char *on, *region;
    bool spot;
    double max_hourly_usd;
};

/* clang-format off */
#define PRICE(TYPE, member) FIELD(TYPE, struct price_request, member)
static const struct field price_fields[] = {
    {"cpus", PRICE(REAL, cpus), .preset = "1", .help = "CPUs, in halves (default 1)."},
    {"memory", PRICE(TEXT, memory), .preset = "1GB",
     .help = "Memory in steps of 256 MB, as in 512 or 2GB (default 1GB)."},
    {"gpus", PRICE(TEXT, gpus), .help = "GPUs, as in 1 or A100:2; machines of clouds alone."},
    {"nodes", PRICE(INT, nodes), .preset = "1", .least = 1, .most = 1e6,
     .help = "Jobs that run at once (default 1)."},
    {"time_limit_s", PRICE(DURATION, time_limit_s), .unit = "s",
     .help = "Longest run time, as in 90s or 2h (default: no limit)."},
    {"on", PRICE(TEXT, on), .preset = "local",
     .help = "This machine (local, the default), any host of the configuration (ssh), a group of "
             "hosts, or machines of clouds (cloud, or the name of one)."},
    APP_JOB_MARKET_FIELDS(struct price_request, ),
};

#define ANSWER(TYPE, member) FIELD(TYPE, struct app_job_price, member)
static const struct field price_answer_fields[] = {
    {"low_usd_per_hour", ANSWER(REAL, low_usd_per_hour), .unit = "USD/h",
     .help = "Price of all nodes, on the cheapest hosts."},
    {"high_usd_per_hour", ANSWER(REAL, high_usd_per_hour), .unit = "USD/h",
     .help = "Price of all nodes, on the most expensive hosts."},
    {"most_usd", ANSWER(REAL, most_usd), .unit = "USD",
     .help = "Cost at the time limit; null without one."},
    {"basis", ANSWER(TEXT, basis), .help = "Where the price comes from."},
    {"offer", ANSWER(RECORD, offer), .record = &app_offer_record, .omit_none = true,
     .help = "Machine of a cloud that would be launched for each node."},
};
/* clang-format on */
const struct record app_job_price_record =
    RECORD("job_price", struct app_job_price, price_answer_fields);

static int price_here(const struct price_request *q,
                      const struct config *c,
                      const struct answer *out,
                      struct app_job_price *a,
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
                       struct app_job_price *a,
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

static void for_nodes(struct app_job_price *a, double nodes, double time_limit_s)
{
    a->low_usd_per_hour *= nodes;
    a->high_usd_per_hour *= nodes;
    a->most_usd = a->high_usd_per_hour * time_limit_s / 3600; /* NAN without a limit */
}

int app_job_price_planned(const struct app_job_planned *p,
                          unsigned nodes,
                          double time_limit_s,
                          struct arena *arena,
                          struct app_job_price *out,
                          struct err *e)
{
    char offer[256];

    job_offer_text(&p->offer, offer);
    AUTO_MEM char *basis = mem_printf("%s%s%s", offer, p->price_date ? ", by prices of " : "",
                                      p->price_date ? p->price_date : "");
    *out = (struct app_job_price){.low_usd_per_hour = p->offer.price_usd_per_hour,
                                  .high_usd_per_hour = p->offer.price_usd_per_hour,
                                  .basis = arena_dup(arena, basis)};
    for_nodes(out, nodes ? nodes : 1, time_limit_s > 0 ? time_limit_s : (double)NAN);
    return app_offer_show(&p->offer, arena, &out->offer, e);
}

static int price_cloud(struct app *app,
                       const struct price_request *q,
                       struct answer *out,
                       struct app_job_price *a,
                       struct err *e)
{
    struct app_job_wish wish = {.on = q->on,
                                .gpus = q->gpus,
                                .nodes = (unsigned)q->nodes,
                                .time_limit_s = q->time_limit_s,
                                .spot = q->spot,
                                .region = q->region,
                                .max_hourly_usd = q->max_hourly_usd};
    AUTO_CLEAR(app_job_planned) struct app_job_planned planned = {0};
    struct lake_job_request r = {0};

    if (app_job_read_size(q->cpus, q->memory, out, &r, e) < 0)
        return -1;
    wish.cpus = r.cpus;
    wish.memory_mb = r.memory_mb;
    return app_job_plan_cloud(app, &wish, out, &planned, e) < 0
               ? -1
               : app_job_price_planned(&planned, wish.nodes, q->time_limit_s, out->arena, a, e);
}

static int run_price(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct price_request *q = request;
    const struct config *c = app_config(app, e);
    struct app_job_price a = {0};

    if (!c)
        return -1;
    if (app_job_is_cloud(c, q->on))
        return price_cloud(app, q, out, &a, e) < 0 ? -1 : answer_head(out, &a, e);
    if ((strcmp(q->on, "local") == 0 ? price_here(q, c, out, &a, e)
                                     : price_hosts(q->on, c, &a, e)) < 0)
        return -1;
    for_nodes(&a, (double)q->nodes, q->time_limit_s);
    return answer_head(out, &a, e);
}

const struct operation job_price_operation = {
    .name = "job.price",
    .summary = "Tell what an hour of a job costs, by its size and where it runs.",
    .role = APP_VIEWER,
    .effect = OPERATION_READS,
    REQUEST(struct price_request, price_fields),
    .answer = &app_job_price_record,
    .run = run_price,
};
