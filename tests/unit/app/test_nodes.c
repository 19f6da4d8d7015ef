/* Machines that must be in one region, chosen from a catalog: by the price of all of them, without
 * what is refused. */
#include "app/calling.h"
#include "app/plan/plan.h"
#include "base/mem.h"
#include "catalog/catalog.h"

#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Workers are cheapest in r1, servers in r2; r3 has workers alone, and cheap ones. */
static const char offers[] =
    "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,network_gbps,"
    "price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
    "aws,r1,r1-a,worker,4,16,,,,1.10,0.50,\n"
    "aws,r1,r1-b,worker,4,16,,,,1.00,,\n"
    "aws,r1,,server,2,8,,,,5.00,,\n"
    "aws,r2,,worker,4,16,,,,1.20,0.30,\n"
    "aws,r2,,server,2,8,,,,1.00,,\n"
    "aws,r3,,worker,4,16,,,,0.10,,\n"
    "gcp,g1,,large,8,32,T4,2,,0.90,,\n";

static const char *refused_region;

static bool allows(void *context, const struct job_offer *o)
{
    (void)context;
    return strcmp(o->region, refused_region) != 0;
}

struct expected {
    const char *title;
    struct app_plan_node nodes[2];
    size_t n;
    const char *refused; /* region */
    const char *region;  /* of the answer; NULL = there is none */
    double usd[2];
};

static const struct expected cases[] = {
    {"the cheapest region of one type",
     {{.instance_type = "worker", .count = 3}},
     1,
     "",
     "r3",
     {0.10}},
    {"without a region that refused",
     {{.instance_type = "worker", .count = 3}},
     1,
     "r3",
     "r1",
     {1.00}},
    /* r1: 1.00 + 5.00; r2: 1.20 + 1.00. */
    {"one of each: where both are sold, and cost least together",
     {{.instance_type = "worker", .count = 1}, {.instance_type = "server", .count = 1}},
     2,
     "",
     "r2",
     {1.20, 1.00}},
    /* r1: 30 x 1.00 + 5.00 = 35; r2: 30 x 1.20 + 1.00 = 37. */
    {"many workers weigh more",
     {{.instance_type = "worker", .count = 30}, {.instance_type = "server", .count = 1}},
     2,
     "",
     "r1",
     {1.00, 5.00}},
    {"all move",
     {{.instance_type = "worker", .count = 30}, {.instance_type = "server", .count = 1}},
     2,
     "r1",
     "r2",
     {1.20, 1.00}},
    {"a region that is named",
     {{.region = "r1", .instance_type = "worker", .count = 1},
      {.region = "r1", .instance_type = "server", .count = 1}},
     2,
     "",
     "r1",
     {1.00, 5.00}},
    {"spot instances alone",
     {{.instance_type = "worker", .spot = true, .count = 1}},
     1,
     "",
     "r2",
     {0.30}},
    {"any type of a size", {{.cpus = 4, .memory_gb = 16, .count = 1}}, 1, "r3", "g1", {0.90}},
    {"of one cloud",
     {{.cloud = "aws", .cpus = 4, .memory_gb = 16, .count = 1}},
     1,
     "r3",
     "r1",
     {1.00}},
    {"no machine is as large", {{.cpus = 64, .count = 1}}, 1, "", NULL, {0}},
    {"no region has both",
     {{.region = "r3", .instance_type = "worker", .count = 1},
      {.region = "r3", .instance_type = "server", .count = 1}},
     2,
     "",
     NULL,
     {0}},
};

static void check_case(struct app_plan *p, const struct expected *x)
{
    struct job_offer found[2] = {0};
    struct err e = {0};

    refused_region = x->refused;
    int result = app_plan_nodes(p, x->nodes, x->n, found, &e);
    bool good = x->region ? result == 0 : result < 0 && e.kind == ERR_NOFIT;
    for (size_t i = 0; x->region && i < x->n; i++)
        good = good && !strcmp(found[i].region, x->region) &&
               fabs(found[i].price_usd_per_hour - x->usd[i]) < 1e-9;
    CHECK(good, "%s: %s, %s", x->title, found[0].region, e.text);
}

static void check_offer(struct app_plan *p)
{
    const struct app_plan_node wanted = {.instance_type = "large", .count = 1};
    struct job_offer o;
    struct err e = {0};

    refused_region = "";
    CHECK(app_plan_nodes(p, &wanted, 1, &o, &e) == 0 && !strcmp(o.provider, "gcp") &&
              !strcmp(o.zone, "") && !strcmp(o.accelerator, "T4") &&
              fabs(o.accelerators - 2) < 1e-9 && fabs(o.cpus - 8) < 1e-9 &&
              fabs(o.memory_gb - 32) < 1e-9 && !o.spot,
          "an offer has all that is known of it: %s", e.text);
    p->clouds[0] = "aws";
    CHECK(app_plan_nodes(p, &wanted, 1, &o, &e) < 0 && e.kind == ERR_NOFIT,
          "a cloud that may not be used has none");
    p->clouds[0] = NULL;
}

static void check_requests(void)
{
    AUTO_MEM char *kept = app_plan_nodes_request(true);
    AUTO_MEM char *free_ = app_plan_nodes_request(false);

    CHECK(app_plan_request_is_of_nodes(kept) && app_plan_request_keeps_region(kept) &&
              app_plan_request_is_of_nodes(free_) && !app_plan_request_keeps_region(free_),
          "a record says whether the region stays");
    CHECK(!app_plan_request_is_of_nodes("") && !app_plan_request_is_of_nodes("{\"plan\": {}}") &&
              !app_plan_request_keeps_region("damaged"),
          "other records are none of these");
}

int main(void)
{
    static struct calling c;
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);

    calling_open(&c);
    calling_put(&c, "prices/offers.csv", offers);
    AUTO_MEM char *directory = mem_printf("%s/prices", c.home);
    p->catalog = catalog_open_dir(directory, &c.err);
    CHECK(p->catalog, "the catalog: %s", c.err.text);
    p->allows = allows;
    for (size_t i = 0; p->catalog && i < sizeof cases / sizeof *cases; i++)
        check_case(p, &cases[i]);
    if (p->catalog)
        check_offer(p);
    check_requests();
    calling_close(&c);
    return TAP_DONE();
}
