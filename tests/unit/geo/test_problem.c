/* Prices and ways of the built-in catalog and facts, as the readings of docs/geo.md want them. */
#include "geo/problem.h"

#include "base/err.h"
#include "catalog/catalog.h"
#include "geo/facts.h"
#include "geo/plan.h"
#include "spec/config.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define TWELVE                                                                                     \
    "aws:ap-south-1,aws:eu-west-2,aws:us-west-2,aws:ap-southeast-2,gcp:asia-south1,"               \
    "gcp:europe-west2,gcp:us-west1,gcp:australia-southeast1,azure:centralindia,azure:uksouth,"     \
    "azure:westus2,azure:australiaeast"

static struct catalog *catalog;
static struct geo_facts *facts;
static struct config *config;

static bool near(double got, double wanted)
{
    return fabs(got - wanted) <= 1e-12 * fmax(fabs(wanted), 1e-9);
}

static struct spec_geo *training(const char *workers, struct err *e)
{
    struct spec_geo *s = spec_geo_new("test");

    if (spec_geo_set(s, "model.size", "17MB", e) < 0 ||
        spec_geo_set(s, "train.seconds", "9", e) < 0 || spec_geo_set_workers(s, workers, e) < 0)
        fprintf(stderr, "# %s\n", e->text);
    return s;
}

static const struct geo_site *find(const struct geo_problem *p,
                                   const char *cloud,
                                   const char *region)
{
    for (size_t i = 0; i < p->n_sites; i++)
        if (strcmp(p->sites[i].cloud, cloud) == 0 && strcmp(p->sites[i].region, region) == 0)
            return &p->sites[i];
    return NULL;
}

static double usd(const struct geo_problem *p, const char *from[2], const char *to[2])
{
    const struct geo_site *x = find(p, from[0], from[1]), *y = find(p, to[0], to[1]);

    return geo_link(p, (size_t)(x - p->sites), (size_t)(y - p->sites))->usd_per_gb;
}
#define USD(p, a, b, c, d) usd(p, (const char *[]){a, b}, (const char *[]){c, d})

static void tariffs(void)
{
    struct err e = {0};
    AUTO(spec_geo) struct spec_geo *s = training(TWELVE, &e);
    AUTO(geo_problem) struct geo_problem *p = geo_problem_new(s, catalog, facts, config, &e);

    CHECK(p && p->n_workers == 12 && p->n_sites == 12, "B1: twelve workers of three clouds");
    if (!p)
        return;
    CHECK(near(p->poll_s, 0.1), "A5: workers look every 0.1 s unless told");
    const struct geo_site *london = find(p, "aws", "eu-west-2");
    CHECK(near(london->store.usd_per_read, 4.2e-7) && near(london->store.usd_per_write, 5.3e-6) &&
              near(london->store.usd_per_list, 5.3e-6),
          "A3: rates per 1,000 requests become rates per request");
    CHECK(near(find(p, "azure", "uksouth")->store.usd_per_write, 5.9e-6), "Azure's too");
    CHECK(near(find(p, "aws", "us-west-2")->function.usd_per_s, 1.66667e-5), "A4: memory of 1 GB");
    CHECK(near(find(p, "gcp", "us-west1")->function.usd_per_s, 2.5e-6 + 1.4 * 1e-5),
          "A4: memory and 1.4 GHz of CPU at GCP");
    CHECK(near(find(p, "gcp", "us-west1")->function.step_s, 0.1), "A4: by 100 ms at GCP");
    CHECK(near(USD(p, "gcp", "us-west1", "aws", "eu-west-2"), 0.12) &&
              near(USD(p, "gcp", "us-west1", "aws", "ap-southeast-2"), 0.19),
          "A9: GCP's internet rate depends on the destination, too");
    CHECK(near(USD(p, "aws", "eu-west-2", "gcp", "europe-west2"), 0.09) &&
              near(USD(p, "aws", "eu-west-2", "azure", "uksouth"), 0.09),
          "A9: between clouds the internet rate of the source, also in one city");
    CHECK(near(USD(p, "aws", "ap-south-1", "gcp", "asia-south1"), 0.1093),
          "A14: the free first GB of an account is no training's");
    CHECK(USD(p, "aws", "us-west-2", "aws", "us-west-2") == 0, "A8: free within a region");
    CHECK(near(p->workers[0].usd_per_hour, 0.101) && near(p->workers[4].usd_per_hour, 0.08048),
          "machines of the catalog: m5.large in Mumbai, e2-standard-2 in Mumbai");
    CHECK(near(p->workers[9].usd_per_hour, 0.111), "and of the facts where it has none");

    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
    const struct geo_question all = {.topology = SPEC_GEO_ANY};
    CHECK(geo_plan(p, &all, &plan, &e) == 0 && plan.n == 3 * 12 * 12,
          "B1, B12: 12 functions x 12 stores x 3 topologies are costed");
    bool positive = true;
    for (size_t i = 0; i < plan.n; i++)
        positive &= plan.placements[i].round_s > 9 && geo_bill_usd(&plan.placements[i].bill) > 0;
    CHECK(positive, "each with a time and a cost");
}

/* Equations 3 to 9 with the list prices of 2026, all in Oregon but the workers: per round to the
 * micro-dollar where only prices count. */
static void niser_by_hand(void)
{
    struct err e = {0};
    AUTO(spec_geo)
    struct spec_geo *s =
        training("aws:ap-south-1,aws:eu-west-2,aws:us-west-2,aws:ap-southeast-2", &e);
    AUTO(geo_problem) struct geo_problem *p = geo_problem_new(s, catalog, facts, config, &e);
    struct geo_placement round;
    size_t oregon = (size_t)(find(p, "aws", "us-west-2") - p->sites);

    CHECK(geo_evaluate(p, SPEC_GEO_CENTRAL, oregon, oregon, &round), "four workers, all at AWS");
    /* 17e6 / 2^30 = 0.01583248...; up 0.086 + 0.02 + 0.098, down 3 x 0.02: 4,179.78 micro-dollars.
     */
    CHECK(llround(round.bill.transfer_usd * 1e6) == 4180, "transfer: 17 MB x 0.264 per GB");
    CHECK(near(round.bill.vm_usd, (0.101 + 0.111 + 0.096 + 0.12) * round.round_s / 3600),
          "machines: the sum of four prices for the whole round");
    /* A1: a month per round, as the paper writes it, would be 17e6 / 2^30 x 0.023 = 364
     * micro-dollars. */
    double literal = 17e6 / 1073741824 * 0.023 / geo_bill_usd(&round.bill);
    CHECK(literal > 0.05 && literal < 0.07, "A1: literally storage would add 5 to 7 %%");
    CHECK(round.bill.storage_usd / geo_bill_usd(&round.bill) < 4e-6, "prorated it adds nothing");
    CHECK(round.phases.wait_s > 0 && round.counts.writes == 5 && round.counts.lists == 4,
          "counts of equation 5");
}

static void faults(void)
{
    static const struct {
        const char *workers;
        enum err_kind kind;
        const char *message;
    } cases[] = {
        {"aws:eu-west-9", ERR_USAGE,
         "workers: location: nothing is known about aws/eu-west-9: did you mean"},
        {"mars:olympus", ERR_USAGE, "tradewind catalog list shows the locations"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        AUTO(spec_geo) struct spec_geo *s = training(cases[i].workers, &e);
        AUTO(geo_problem) struct geo_problem *p = geo_problem_new(s, catalog, facts, config, &e);
        CHECK(!p && e.kind == cases[i].kind && strstr(e.text, cases[i].message), "%s: %s",
              cases[i].workers, e.text);
    }
}

int main(void)
{
    struct err e = {0};

    config = config_load("/nonexistent", &e);
    catalog = catalog_open("/nonexistent", &e);
    facts = geo_facts_builtin(&e);
    CHECK(config && catalog && facts, "the built-in facts");
    tariffs();
    niser_by_hand();
    faults();
    config_free(config);
    catalog_free(catalog);
    geo_facts_free(facts);
    return TAP_DONE();
}
