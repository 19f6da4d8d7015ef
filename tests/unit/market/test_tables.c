/* The published tables from their figures; egress by hand. */
#include "market/tables.h"

#include "base/csv.h"
#include "estimate/throughput.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void test_egress(const struct market_tables *t)
{
    /* AWS: the first GB is free, up to 10 TB 0.09, then 0.085. */
    CHECK(near(market_tables_egress_usd(t, "aws", "internet", 0.5), 0), "half a GB is free");
    CHECK(near(market_tables_egress_usd(t, "aws", "internet", 150), 149 * 0.09), "150 GB");
    CHECK(near(market_tables_egress_usd(t, "aws", "internet", 20000), 9999 * 0.09 + 850), "20 TB");
    CHECK(near(market_tables_egress_usd(t, "aws", "other_region", 10), 0.2), "to another region");
    CHECK(isnan(market_tables_egress_usd(t, "nobody", "internet", 10)), "a cloud nobody knows");
}

static void test_moves(const struct market_tables *t)
{
    static const struct fixture_file history = {
        "h.csv", "cloud,region,zone,instance_type,time,price_usd_per_hour\n"
                 "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01,1.5\n"
                 "aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-01,0.918\n"
                 "aws,us-east-1,us-east-1b,p3.8xlarge,2020-01-01,0.1\n"
                 "aws,us-west-2,us-west-2b,p3.2xlarge,2020-01-01,0.1\n"};
    AUTO(market) struct market *m = fixture_market(&history, 1);
    const struct market_size *sizes = t->sizes;
    struct market_move move = market_move_of(t, m, "aws", "us-east-1", "V100", &sizes[0]);

    CHECK(t->n_sizes == 2 && strcmp(sizes[0].model, "ResNet-50") == 0, "two models have sizes");
    CHECK(near(move.compute_usd, 146.88), "160 h at the lowest price there was");
    /* Published: 9.13 % and 0.006 %. */
    CHECK(fabs(move.dataset_usd / move.compute_usd - 0.0913) < 0.00005, "a dataset: 9.13 %%");
    CHECK(fabs(move.checkpoint_usd / move.compute_usd - 0.00006) < 0.000005, "a model: 0.006 %%");
    move = market_move_of(t, m, "aws", "us-east-1", "V100", &sizes[1]);
    CHECK(fabs(move.dataset_usd / move.compute_usd - 0.0098) < 0.00005, "a dataset: 0.98 %%");
    CHECK(fabs(move.checkpoint_usd / move.compute_usd - 0.00025) < 0.000005, "a model: 0.025 %%");
    CHECK(isnan(market_lowest_usd(m, "aws", "us-east-1", "K80")), "no K80 there");
}

static void test_speedups(const struct market_tables *t)
{
    AUTO(throughputs) struct throughputs *speeds = throughputs_load(NULL, NULL);
    struct market_speedups s;
    double faster[MARKET_GPUS_MAX], per_dollar[MARKET_GPUS_MAX];

    CHECK(market_speedups_of(t, "gcp", &s, NULL) == 0 && s.n == 3 &&
              strcmp(s.gpus[0], "K80") == 0 && strcmp(s.gpus[2], "V100") == 0,
          "three GPUs, the cheapest first");
    market_speedups_row(&s, speeds, "ResNet-50", faster, per_dollar);
    /* Published: 3.7, 9.6, 1.1, 1.8. */
    CHECK(fabs(faster[1] - 3.65) < 0.01 && fabs(faster[2] - 9.6) < 0.01, "ResNet-50: throughput");
    CHECK(fabs(per_dollar[1] - 1.13) < 0.01 && fabs(per_dollar[2] - 1.75) < 0.01,
          "ResNet-50: by the dollar");
}

static void test_user_tables(void)
{
    static const char rows[] = "cloud,region,instance_type,gpu,gpus,usd_per_hour\n"
                               "gcp,us-west1,1xK80,K80,1,1.04\n";
    AUTO(csv) struct csv *csv = csv_from_memory("mine.csv", rows, sizeof rows - 1);
    AUTO(market_tables)
    struct market_tables *t =
        market_tables_new(&(struct market_tables_from){.on_demand = csv}, NULL);
    struct market_speedups s;

    CHECK(t && market_speedups_of(t, "gcp", &s, NULL) == 0 && near(s.usd_per_hour[0], 1.04),
          "the user's price replaces the built-in one");
}

static void test_bad(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "mine.csv:1: there is no column"},
        {"cloud,destination,from_gb\n", "mine.csv:1: there is no column \"usd_per_gb\""},
        {"cloud,destination,from_gb,usd_per_gb\naws,internet,5,1\n",
         "mine.csv:2: tiers begin at 0"},
        {"cloud,destination,from_gb,usd_per_gb\naws,internet,0,-1\n", "mine.csv:2: from_gb"},
        {"cloud,destination,from_gb,usd_per_gb\naws,internet,0,1\naws,internet,0,1\n",
         "mine.csv:3: "},
        {"cloud,destination,from_gb,usd_per_gb\naws\n", "mine.csv:2: too few"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(csv)
        struct csv *csv = csv_from_memory("mine.csv", cases[i].text, strlen(cases[i].text));
        struct err e = {0};
        CHECK(!market_tables_new(&(struct market_tables_from){.egress = csv}, &e) &&
                  e.kind == ERR_USAGE && strstr(e.text, cases[i].says),
              "%s", e.text);
    }
}

int main(void)
{
    struct err e = {0};
    AUTO(market_tables) struct market_tables *t = market_tables_new(NULL, &e);

    CHECK(t != NULL, "the built-in figures are good %s", e.text);
    if (!t)
        return TAP_DONE();
    test_egress(t);
    test_moves(t);
    test_speedups(t);
    test_user_tables();
    test_bad();
    return TAP_DONE();
}
