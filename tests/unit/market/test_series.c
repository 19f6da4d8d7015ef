/* Prices, costs and changes over time; all expected values by hand. */
#include "market/series.h"

#include "fixture.h"
#include "tap.h"

#include <math.h>

/* 2020-01-01T00:00:00Z */
#define T0 1577836800.0
#define H 3600.0

/* $1 for two hours, withdrawn for three, $2 for one and $2 again for two, then $0.5 until hour 10.
 */
static const struct fixture_file history[] = {
    {"a.csv", "cloud,region,zone,instance_type,time,price_usd_per_hour\n"
              "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T00:00:00Z,1\n"
              "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T02:00:00Z,\n"
              "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T05:00:00Z,2\n"
              "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T06:00:00Z,2\n"
              "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T08:00:00Z,0.5\n"
              "aws,us-east-1,us-east-1b,p3.2xlarge,2020-01-01T10:00:00Z,3\n"}};

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void test_price(const struct market_offer *o)
{
    static const struct {
        double hour, usd; /* NaN = none */
    } cases[] = {{-1, (double)NAN},   {0, 1},           {1.99, 1}, {2, (double)NAN},
                 {4.99, (double)NAN}, {5, 2},           {6.5, 2},  {8, 0.5},
                 {9.99, 0.5},         {10, (double)NAN}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = market_price(o, T0 + cases[i].hour * H);
        CHECK(isnan(cases[i].usd) ? isnan(got) : near(got, cases[i].usd), "price at hour %g: %g",
              cases[i].hour, got);
    }
}

static void test_cost(const struct market_offer *o)
{
    static const struct {
        double from, to, usd, sold_h;
    } cases[] = {
        {0, 10, 9, 7},    /* 2 + 3 x 2 + 2 x 0.5 */
        {-5, 99, 9, 7},   /* as far as it is covered */
        {1, 6, 3, 2},     /* 1 + 2 */
        {0.5, 1.5, 1, 1}, /* within a step */
        {2, 5, 0, 0},     /* withdrawn */
        {5.5, 8.5, 5.25, 3}, {10, 20, 0, 0}, {3, 3, 0, 0}, {7, 6, 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double sold_s;
        double usd = market_cost_usd(o, T0 + cases[i].from * H, T0 + cases[i].to * H, &sold_s);
        CHECK(near(usd, cases[i].usd) && near(sold_s, cases[i].sold_h * H),
              "hours %g to %g: %g USD for %g h", cases[i].from, cases[i].to, usd, sold_s / H);
    }
}

static void test_changes(const struct market_offer *o)
{
    static const double hours[][2] = {{-3, 0}, {0, 2}, {1, 2}, {2, 5}, {5, 8}, {6, 8}, {8, 10}};

    for (size_t i = 0; i < sizeof hours / sizeof *hours; i++)
        CHECK(near(market_next_change(o, T0 + hours[i][0] * H), T0 + hours[i][1] * H),
              "the price after hour %g changes at hour %g", hours[i][0], hours[i][1]);
    CHECK(isinf(market_next_change(o, T0 + 10 * H)), "nothing follows the end");
}

static void test_on_demand(void)
{
    static const struct fixture_file daily[] = {
        {"d.csv", "instance_type,az_id,date,ondemand_usd_h,spot_usd_h\n"
                  "p3.2xlarge,use1-az1,2020-01-01,3.06,1\n"
                  "p3.2xlarge,use1-az1,2020-01-02,3.06,\n"
                  "p3.2xlarge,use1-az1,2020-01-04,2.5,1.5\n"}};
    AUTO(market) struct market *m = fixture_market(daily, 1);
    const struct market_offer *o =
        m ? fixture_offer(m, "aws", "us-east-1", "p3.2xlarge", "use1-az1") : NULL;

    CHECK(o != NULL, "the region of use1-az1 is us-east-1");
    if (!o)
        return;
    CHECK(o->n_on_demand == 2, "a price list that repeats is one entry");
    CHECK(near(market_on_demand_price(o, T0), 3.06), "on demand at first");
    CHECK(near(market_on_demand_price(o, T0 - 9 * H), 3.06), "before the first figure, that one");
    CHECK(near(market_on_demand_price(o, T0 + 80 * H), 2.5), "on demand later");
    CHECK(near(o->end_s, T0 + 4 * 24 * H), "the last day is covered to its end");
    CHECK(near(market_cost_usd(o, o->begin_s, o->end_s, NULL), 24 + 36), "two days for sale");
    CHECK(strcmp(o->gpu, "V100") == 0 && near(o->gpus, 1), "its accelerator is known");
}

int main(void)
{
    AUTO(market) struct market *m = fixture_market(history, 1);

    CHECK(m && m->n_offers == 2, "two zones");
    const struct market_offer *o =
        m ? fixture_offer(m, "aws", "us-east-1", "p3.2xlarge", "us-east-1a") : NULL;
    CHECK(o && near(o->begin_s, T0) && near(o->end_s, T0 + 10 * H),
          "covered from its first record to the last one of its region");
    if (o) {
        test_price(o);
        test_cost(o);
        test_changes(o);
        CHECK(isnan(market_on_demand_price(o, T0)), "no on-demand price is known");
    }
    test_on_demand();
    return TAP_DONE();
}
