/* A market of eleven days; every cost by hand. */
#include "market/paper.h"

#include "fixture.h"
#include "tap.h"

#include <math.h>

#define H "cloud,region,zone,instance_type,time,price_usd_per_hour\n"
#define V "aws,us-east-1,us-east-1a,p3.2xlarge,2020-01-"
#define K "aws,us-east-1,us-east-1a,p2.8xlarge,2020-01-"
#define A "azure,us_east,,NC6,2020-01-"

/* V100: $2.4, on the 2nd first $1.2 and in the end $2.4 again, nothing on the 4th, from the 5th
 * $3.6. Eight K80: $3.2 on the 1st, $6.4 from the 3rd. Azure's K80: $0.3, from the 3rd $0.15. */
static const struct fixture_file files[] = {
    {"h.csv", H V "01,2.4\n" V "02T01:00:00Z,1.2\n" V "02T13:00:00Z,2.4\n" V "03,2.4\n" V
                  "05,3.6\n" V "06,3.6\n" V "07,3.6\n" V "08,3.6\n" V "09,3.6\n" V "10,3.6\n" V
                  "11,3.6\n" K "01,3.2\n" K "03,6.4\n" A "02,0.3\n" A "03,0.15\n"}};

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* A V100 does four times what a K80 does. */
static struct market_paper_model *model(const struct market_paper *p)
{
    double per_s[8];

    for (size_t i = 0; i < p->n_gpus; i++)
        per_s[i] = strcmp(p->gpus[i], "V100") == 0  ? 4
                   : strcmp(p->gpus[i], "K80") == 0 ? 1
                                                    : (double)NAN;
    return market_paper_model_new(p, per_s, NULL);
}

struct run_case {
    const char *name;
    enum market_strategy strategy;
    double days;
    size_t start;
    double usd, hours;
    size_t switches;
};

static const struct run_case run_cases[] = {
    {"a quarter of a day", MARKET_SINGLE, 0.25, 0, 6 * 2.4, 6, 0},
    {"the first day pays its lowest, the next its last", MARKET_SINGLE, 2, 1, 24 * 1.2 + 24 * 2.4,
     48, 0},
    {"a day without a record keeps its price", MARKET_SINGLE, 3, 2, 24 * 2.4 + 24 * 2.4 + 24 * 3.6,
     72, 0},
    {"half of the third day", MARKET_SINGLE, 2.5, 0, 24 * 2.4 + 24 * 2.4 + 12 * 2.4, 60, 0},
    /* On the 1st a K80 of eight costs 0.4 for a quarter of the speed, 1.6 a V100's worth. On the
     * 2nd it has no record: the price stays. */
    {"many GPUs, paid by the GPU", MARKET_MULTI_GPU, 0.5, 0, 24 * 0.4 * 2, 48, 0},
    {"single GPUs alone", MARKET_GPU_TYPE, 0.5, 0, 12 * 2.4, 12, 0},
    /* On the 2nd Azure's K80 at 0.3 is worth 1 / 0.3 > 4 / 1.2 = 3.33...: equal, AWS first. */
    {"among equals AWS", MARKET_MULTI_CLOUD, 0.5, 1, 12 * 1.2, 12, 0},
    {"chosen once", MARKET_MULTI_CLOUD, 0.5, 2, 24 * 0.15 * 2, 48, 0},
    /* 1st: K80 of eight for a day (a quarter done); 2nd: V100 at its lowest for a quarter day. */
    {"chosen every day", MARKET_DYNAMIC, 0.5, 0, 24 * 0.4 + 6 * 1.2, 30, 1},
    /* Ten days from the 6th: five on the 6th to the 10th, the rest at the 11th's price. */
    {"what is left at the horizon is paid at once", MARKET_SINGLE, 10, 4, 240 * 3.6, 240, 0},
};

static void test_runs(const struct market_paper *p)
{
    AUTO(market_paper_model) struct market_paper_model *m = model(p);

    for (size_t i = 0; i < sizeof run_cases / sizeof *run_cases; i++) {
        const struct run_case *c = &run_cases[i];
        struct market_paper_run run = market_paper_replay(m, c->strategy, c->days, c->start);
        CHECK(near(run.cost_usd, c->usd) && near(run.hours, c->hours) &&
                  run.switches == c->switches,
              "%s: $%g, %g h, %zu switches", c->name, run.cost_usd, run.hours, run.switches);
    }
    struct market_paper_mean mean = market_paper_mean(m, MARKET_SINGLE, 0.25);
    CHECK(near(mean.cost_usd, 6 * (2.4 + 1.2 + 2.4 + 3.6 + 3.6) / 5) && near(mean.hours, 6),
          "the mean of five starts: $%g", mean.cost_usd);
}

static void test_starts(const struct market *m)
{
    struct market_starts three = {.last = 3}, range = {.from_s = 1577923200, .until_s = 1578182400};
    AUTO(market_paper) struct market_paper *p = market_paper_new(m, "us-east-1", &three, NULL);
    AUTO(market_paper) struct market_paper *q = market_paper_new(m, "us-east-1", &range, NULL);
    struct err e = {0};

    CHECK(p && p->n_starts == 3 && near(market_paper_start_s(p, 0), 1578009600),
          "three starts: the 3rd, 5th and 6th");
    CHECK(q && q->n_starts == 3, "from the 2nd to the 5th: three days have records");
    CHECK(!market_paper_new(m, "eu-west-1", &three, &e) && e.kind == ERR_NOFIT, "%s", e.text);
}

int main(void)
{
    AUTO(market) struct market *m = fixture_market(files, 1);
    AUTO(market_paper)
    struct market_paper *p =
        m ? market_paper_new(m, "us-east-1", &(struct market_starts){0}, NULL) : NULL;

    CHECK(p && p->n_starts == 5, "of ten days with records, the final five are no starts");
    if (!p)
        return TAP_DONE();
    CHECK(!market_paper_covered(p, 0) && market_paper_covered(p, 1) && !market_paper_covered(p, 3),
          "Azure has prices on the 2nd and 3rd alone");
    test_runs(p);
    test_starts(m);
    return TAP_DONE();
}
