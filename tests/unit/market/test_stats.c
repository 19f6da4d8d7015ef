/* What histories amount to, and the cheapest over time; by hand. */
#include "market/stats.h"

#include "fixture.h"
#include "tap.h"

#include <math.h>

#define H "cloud,region,zone,instance_type,time,price_usd_per_hour\n"

/* One GPU: $1 for 6 h, $3 for 6 h, withdrawn for 6 h, $2 (told twice) for 6 h. Four: $6 throughout.
 */
static const struct fixture_file files[] = {
    {"h.csv", H "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T00:00:00Z,1\n"
                "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T06:00:00Z,3\n"
                "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T12:00:00Z,\n"
                "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T18:00:00Z,2\n"
                "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-01T20:00:00Z,2\n"
                "aws,us-east-1,us-east-1a,p3.8xlarge,2020-01-01T00:00:00Z,6\n"
                "aws,us-east-1,us-east-1a,p3.8xlarge,2020-01-02T00:00:00Z,6\n"}};

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

int main(void)
{
    AUTO(market) struct market *m = fixture_market(files, 1);
    const struct market_offer *one =
        m ? fixture_offer(m, "aws", "us-east-1", "p3.2xlarge", "us-east-1a") : NULL;
    const struct market_offer *four =
        m ? fixture_offer(m, "aws", "us-east-1", "p3.8xlarge", "us-east-1a") : NULL;

    CHECK(one && four, "two offers");
    if (!one || !four)
        return TAP_DONE();
    struct market_stats s = market_stats_of(one, 3);
    CHECK(near(s.min_usd, 1) && near(s.max_usd, 3) && near(s.mean_usd, 2), "1, 2, 3 dollars");
    CHECK(s.changes == 3 && near(s.changes_per_day, 3), "three changes in a day");
    CHECK(near(s.sold_s, 18 * 3600) && near(s.covered_s, 24 * 3600), "for sale for 18 h of 24");
    CHECK(near(s.cap_share, 1.0 / 3) && near(s.reduction, 3), "a third of it as on demand");
    CHECK(isnan(market_stats_of(one, (double)NAN).cap_share), "no cap where none is known");

    const struct market_offer *both[] = {one, four};
    size_t n;
    AUTO_MEM struct market_cheapest *c = market_cheapest_of(both, 2, &n);
    /* 1 / 1 < 6 / 4 < 3, 2. */
    CHECK(n == 2 && c[0].offer == one && near(c[0].usd_per_gpu_hour, 1) && c[1].offer == four &&
              near(c[1].usd_per_gpu_hour, 1.5),
          "first the single, then the four by the GPU");
    CHECK(n == 2 && near(c[0].to_s - c[0].from_s, 6 * 3600) &&
              near(c[1].to_s - c[1].from_s, 18 * 3600),
          "six hours, then the rest of the day");
    AUTO_MEM struct market_cheapest *alone = market_cheapest_of(both, 1, &n);
    CHECK(n == 4 && !alone[2].offer, "alone, and withdrawn: nobody for six hours");
    AUTO_MEM struct market_cheapest *none = market_cheapest_of(both, 0, &n);
    CHECK(n == 0 && !none, "of none, none");
    return TAP_DONE();
}
