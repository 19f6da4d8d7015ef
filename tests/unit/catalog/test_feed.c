/* Price lists of clouds as they come: whole, in pieces, damaged and hostile. */
#include "base/mem.h"
#include "catalog/feed/internal.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static const char *const regions[] = {"r1", "r2", "r3"};

/* The price that a list has, NaN when it has none. */
static double price(const struct feed_list *list, bool spot, const char *region, const char *type)
{
    const struct catalog_offer_row key = {
        .cloud = catalog_rows_intern(list->on_demand, feed_cloud_texts[list->cloud]),
        .region = catalog_rows_intern(list->on_demand, region),
        .instance_type = catalog_rows_intern(list->on_demand, type),
    };
    const struct catalog_offer_row *row =
        catalog_rows_find(spot ? list->spot : list->on_demand, &key);

    return row ? row->price_usd : (double)NAN;
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : fabs(a - b) < 1e-12;
}

/* ---- Azure ---- */

#define ITEM(price, product, sku, meter, arm)                                                      \
    "{\"type\": \"Consumption\", \"unitOfMeasure\": \"1 Hour\", \"armRegionName\": \"r1\", "       \
    "\"retailPrice\": " price ", \"productName\": \"" product "\", \"skuName\": \"" sku            \
    "\", \"meterName\": \"" meter "\", \"armSkuName\": \"" arm "\"}"

static void check_azure_items(void)
{
    static const struct {
        const char *item;
        double on_demand, spot;
        int dropped; /* -1 = none */
    } cases[] = {
        {ITEM("0.5", "P Linux", "T", "T", "T"), 0.5, (double)NAN, -1},
        {ITEM("0.5", "P", "T Spot", "T", "T"), (double)NAN, 0.5, -1},
        {ITEM("0.5", "P", "T", "T Spot", "T"), (double)NAN, 0.5, -1},
        {ITEM("0.5", "P", "T Low Priority", "T", "T"), (double)NAN, (double)NAN, FEED_DROP_OTHER},
        {ITEM("0.5", "P Windows", "T", "T", "T"), (double)NAN, (double)NAN, FEED_DROP_OTHER},
        {ITEM("0.5", "NCads H100 Win", "T", "T", "T"), (double)NAN, (double)NAN, FEED_DROP_OTHER},
        {ITEM("0", "P", "T", "T", "T"), (double)NAN, (double)NAN, FEED_DROP_PRICE},
        {ITEM("-1", "P", "T", "T", "T"), (double)NAN, (double)NAN, FEED_DROP_PRICE},
        {ITEM("1e7", "P", "T", "T", "T"), (double)NAN, (double)NAN, FEED_DROP_PRICE},
        {ITEM("\"0.5\"", "P", "T", "T", "T"), (double)NAN, (double)NAN, FEED_DROP_MALFORMED},
        {ITEM("null", "P", "T", "T", "T"), (double)NAN, (double)NAN, FEED_DROP_MALFORMED},
        {ITEM("0.5", "P", "T", "T", "a\\u0007"), (double)NAN, (double)NAN, FEED_DROP_MALFORMED},
        {ITEM("0.5", "P", "T", "T", ""), (double)NAN, (double)NAN, FEED_DROP_MALFORMED},
        {"{}", (double)NAN, (double)NAN, FEED_DROP_MALFORMED},
        {"[]", (double)NAN, (double)NAN, FEED_DROP_MALFORMED},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(feed_list) struct feed_list list = {0};
        AUTO_MEM char *text =
            mem_printf("{\"Items\": [%s], \"NextPageLink\": null}", cases[i].item);
        AUTO_JSON json_t *page = json_loads(text, 0, NULL);
        struct err e = {0};
        char *next = NULL;
        feed_list_init(&list, FEED_AZURE, regions, 1);
        CHECK(page && feed_azure_page(page, &list, 0, &next, &e) == 0 && !next, "%s", e.text);
        CHECK(same(price(&list, false, "r1", "T"), cases[i].on_demand) &&
                  same(price(&list, true, "r1", "T"), cases[i].spot) && list.items == 1,
              "item %zu: its price", i);
        for (int d = 0; d < FEED_N_DROPS; d++)
            if (list.dropped[d] != (d == cases[i].dropped))
                CHECK(false, "item %zu: %s", i, feed_drop_texts[d]);
    }
}

/* Of two prices the lower one counts. */
static void check_azure_pages(void)
{
    static const struct {
        const char *link, *next;
        const char *error;
    } cases[] = {
        {"null", NULL, NULL},
        {"\"\"", NULL, NULL},
        {"\"https://prices.azure.com:443/api?$filter=x&$skip=100\"", "/api?$filter=x&$skip=100",
         NULL},
        {"\"http://evil.example/p\"", "/p", NULL},
        {"\"/p?a b\\u0001\"", "/p?a%20b%01", NULL},
        {"\"nowhere\"", NULL, "NextPageLink is no address"},
        {"\"https://host\"", NULL, "NextPageLink is no address"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(feed_list) struct feed_list list = {0};
        AUTO_MEM char *text = mem_printf("{\"Items\": [%s, %s], \"NextPageLink\": %s}",
                                         ITEM("0.7", "P", "T", "T", "T"),
                                         ITEM("0.6", "P", "T", "T", "T"), cases[i].link);
        AUTO_JSON json_t *page = json_loads(text, 0, NULL);
        AUTO_MEM char *next = NULL;
        struct err e = {0};
        feed_list_init(&list, FEED_AZURE, regions, 1);
        int result = feed_azure_page(page, &list, 0, &next, &e);
        CHECK(result == (cases[i].error ? -1 : 0) &&
                  (!cases[i].error || strstr(e.text, cases[i].error)) &&
                  strcmp(next ? next : "", cases[i].next ? cases[i].next : "") == 0,
              "link %s: %s %s", cases[i].link, next ? next : "none", e.text);
        CHECK(same(price(&list, false, "r1", "T"), 0.6), "the lower price");
    }
}

/* ---- AWS ---- */

#define AWS_HEADER                                                                                 \
    "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"a \"\"b\"\"\nc\"\n"                              \
    "SKU,TermType,Unit,PricePerUnit,Currency,Product Family,Instance Type,vCPU,Memory,Tenancy,"    \
    "Operating System,CapacityStatus,GPU,Pre Installed S/W,Region Code,MarketOption\n"
#define AWS_ROW(type, price, gib)                                                                  \
    "S,OnDemand,Hrs," price ",USD,Compute Instance," type ",8," gib                                \
    ",Shared,Linux,Used,,NA,r1,OnDemand\n"

static int feed_pieces(struct feed_list *list, const char *text, size_t piece, struct err *e)
{
    struct feed_offers o;
    size_t n = strlen(text);
    int result = 0;

    feed_offers_init(&o, "the file", list, 0);
    for (size_t i = 0; i < n && result == 0; i += piece)
        result = feed_offers_add(&o, text + i, n - i < piece ? n - i : piece, e);
    if (result == 0)
        result = feed_offers_end(&o, e);
    feed_offers_clear(&o);
    return result;
}

static void check_aws_pieces(void)
{
    static const char text[] = AWS_HEADER AWS_ROW("a.large", "0.25", "\"1,032 GiB\"")
        AWS_ROW("\"b\nlarge\"", "1", "8 GiB") AWS_ROW("c.large", "0", "8 GiB") AWS_ROW(
            "d.large", "0.5", "soon") "S,OnDemand\n"
                                      "S,Reserved,Hrs,9,USD,Compute Instance,a.large,8,8 GiB,"
                                      "Shared,Linux,Used,,NA,r1,\n"
                                      "S,OnDemand,Hrs,0.75,USD,Compute Instance,e.large,8,8 GiB,"
                                      "Shared,Linux,Used,,NA,r1,";

    for (size_t piece = 1; piece <= sizeof text; piece = piece * 2 + 1) {
        AUTO_CLEAR(feed_list) struct feed_list list = {0};
        struct err e = {0};
        feed_list_init(&list, FEED_AWS, regions, 1);
        CHECK(feed_pieces(&list, text, piece, &e) == 0, "pieces of %zu: %s", piece, e.text);
        CHECK(same(price(&list, false, "r1", "a.large"), 0.25) &&
                  same(price(&list, false, "r1", "d.large"), 0.5) &&
                  same(price(&list, false, "r1", "e.large"), 0.75) && list.items == 7 &&
                  list.dropped[FEED_DROP_MALFORMED] == 2 && list.dropped[FEED_DROP_PRICE] == 1 &&
                  list.dropped[FEED_DROP_OTHER] == 1 && list.regions[0].n_prices == 3,
              "pieces of %zu: the rows", piece);
        CHECK(list.on_demand->offers[0].memory_gib == 1032 &&
                  list.on_demand->offers[0].vcpus == 8 &&
                  isnan(list.on_demand->offers[1].memory_gib),
              "pieces of %zu: the shapes", piece);
    }
}

static void check_aws_faults(void)
{
    AUTO_MEM char *long_row = mem_printf(AWS_HEADER "%02000000d", 0);
    const struct {
        const char *text, *part;
    } cases[] = {
        {"", "there is no header"},
        {"<html>", "there is no header"},
        {AWS_HEADER "\"open", "ends within quotes"},
        {"SKU,a,b,c,d,e,f,g,h,i,j,k,l,m,n\n", "there is no column \"TermType\""},
        {long_row, "a row has more than"},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n22\n",
         "there is no header"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(feed_list) struct feed_list list = {0};
        struct err e = {0};
        feed_list_init(&list, FEED_AWS, regions, 1);
        CHECK(feed_pieces(&list, cases[i].text, 65536, &e) < 0 && e.kind == ERR_IO &&
                  strstr(e.text, cases[i].part),
              "fault %zu: %s", i, e.text);
    }
}

/* ---- Google ---- */

#define SKU(text, usage, unit, units, nanos)                                                       \
    "{\"description\": \"" text "\", \"serviceRegions\": [\"r1\", \"r9\", \"r3\"], \"category\": " \
    "{\"resourceFamily\": \"Compute\", \"usageType\": \"" usage "\"}, \"pricingInfo\": "           \
    "[{\"pricingExpression\": {\"usageUnit\": \"" unit "\", \"tieredRates\": [{\"unitPrice\": "    \
    "{\"units\": \"0\", \"nanos\": 0}}, {\"unitPrice\": {\"units\": " units ", \"nanos\": " nanos  \
    "}}]}}]}"

static void check_gcp_skus(void)
{
    static const struct {
        const char *sku, *part;
        double usd;
        bool spot;
    } cases[] = {
        {SKU("N1 Predefined Instance Core running in Americas", "OnDemand", "h", "\"0\"",
             "31611000"),
         "N1 Predefined Instance core", 0.031611, false},
        {SKU("E2 Instance Ram running in Zurich", "OnDemand", "GiBy.h", "\"0\"", "2923530"),
         "E2 Instance memory", 0.00292353, false},
        {SKU("Spot Preemptible N2 Instance Core running in Americas", "Preemptible", "h", "0",
             "7650000"),
         "N2 Instance core", 0.00765, true},
        {SKU("Compute optimized Instance Core running in Americas", "OnDemand", "h", "\"0\"",
             "33982000"),
         "Compute optimized core", 0.033982, false},
        {SKU("Nvidia Tesla A100 80GB GPU running in Iowa", "OnDemand", "h", "\"3\"", "928080000"),
         "A100-80GB accelerator", 3.92808, false},
        {SKU("Nvidia H100 80GB Plus GPU running in Iowa", "OnDemand", "h", "\"9\"", "0"),
         "H100-MEGA accelerator", 9, false},
        {SKU("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Iowa", "Preemptible",
             "h", "\"0\"", "110000000"),
         "T4 accelerator", 0.11, true},
        /* What is no price of them. */
        {SKU("N2 Custom Instance Core running in Iowa", "OnDemand", "h", "\"1\"", "0"),
         "N2 Instance core", (double)NAN, false},
        {SKU("N2 Instance Core running in Iowa", "Commit1Yr", "h", "\"1\"", "0"),
         "N2 Instance core", (double)NAN, false},
        {SKU("N2 Instance Core running in Iowa", "OnDemand", "mo", "\"1\"", "0"),
         "N2 Instance core", (double)NAN, false},
        {SKU("N2 Instance Core running in Iowa", "OnDemand", "h", "\"-1\"", "0"),
         "N2 Instance core", (double)NAN, false},
        {SKU("N2 Instance Core running in Iowa", "OnDemand", "h", "\"many\"", "0"),
         "N2 Instance core", (double)NAN, false},
        {SKU("N2 Instance Core running in Iowa", "OnDemand", "h", "\"9999999999\"", "0"),
         "N2 Instance core", (double)NAN, false},
        {SKU("Sole Tenancy Premium for N2 Instance Core running in Iowa", "OnDemand", "h", "\"1\"",
             "0"),
         "N2 Instance core", (double)NAN, false},
        {"{\"description\": 7}", "N2 Instance core", (double)NAN, false},
        {"[]", "N2 Instance core", (double)NAN, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(feed_list) struct feed_list list = {0};
        AUTO_MEM char *text =
            mem_printf("{\"skus\": [%s], \"nextPageToken\": \"t\"}", cases[i].sku);
        AUTO_JSON json_t *page = json_loads(text, 0, NULL);
        const char *next = NULL;
        struct err e = {0};
        feed_list_init(&list, FEED_GCP, regions, 3);
        CHECK(page && feed_gcp_page(page, &list, &next, &e) == 0 && next && strcmp(next, "t") == 0,
              "%s", e.text);
        size_t dropped = 0;
        for (size_t d = 0; d < FEED_N_DROPS; d++)
            dropped += list.dropped[d];
        CHECK(dropped == (isnan(cases[i].usd) ? 1 : 0), "SKU %zu: dropped %zu times", i, dropped);
        CHECK(same(price(&list, cases[i].spot, "r1", cases[i].part), cases[i].usd) &&
                  isnan(price(&list, !cases[i].spot, "r1", cases[i].part)) &&
                  isnan(price(&list, cases[i].spot, "r2", cases[i].part)),
              "SKU %zu: %g", i, price(&list, cases[i].spot, "r1", cases[i].part));
    }
}

/* ---- spot prices ---- */

static int count(void *context, const struct feed_spot_price *p, struct err *e)
{
    buf_printf(context, "%s %s %s %s %s;", p->zone, p->instance_type, p->product, p->usd_per_hour,
               p->time);
    return *p->zone == '!' ? err_set(e, ERR_USAGE, "enough") : 0;
}

static void check_spot_pages(void)
{
#define SPOT(inside)                                                                               \
    "<DescribeSpotPriceHistoryResponse>" inside "</DescribeSpotPriceHistoryResponse>"
#define SPOT_ITEM(zone)                                                                            \
    "<item><instanceType>t</instanceType><spotPrice>0.1</spotPrice><availabilityZone>" zone        \
    "</availabilityZone><productDescription>Linux/UNIX</productDescription>"                       \
    "<timestamp>2026-11-01T00:00:00.000Z</timestamp></item>"
    static const struct {
        const char *xml, *seen, *token, *error;
    } cases[] = {
        {SPOT("<spotPriceHistorySet>" SPOT_ITEM("z1") "<item/></spotPriceHistorySet>"
                                                      "<nextToken>a&amp;b</nextToken>"),
         "z1 t Linux/UNIX 0.1 2026-11-01T00:00:00.000Z;    ;", "a&b", NULL},
        {SPOT("<spotPriceHistorySet/><nextToken>t</nextToken>"), "", "t", NULL},
        {SPOT("<spotPriceHistorySet/><nextToken/>"), "", "", NULL},
        {SPOT("<nextToken>t</nextToken>"), "", "", "no spot price history"},
        {SPOT("<spotPriceHistorySet>" SPOT_ITEM("!") "</spotPriceHistorySet>"),
         "! t Linux/UNIX 0.1 2026-11-01T00:00:00.000Z;", "", "enough"},
        {"<html>", "", "", "not XML"},
        {"", "", "", "not XML"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(buf) struct buf seen = {0};
        AUTO_MEM char *token = NULL;
        struct err e = {0};
        buf_init(&seen, 10000);
        int result = feed_spot_page(cases[i].xml, strlen(cases[i].xml), count, &seen, &token, &e);
        CHECK(result == (cases[i].error ? -1 : 0) &&
                  (!cases[i].error || strstr(e.text, cases[i].error)) &&
                  strcmp(buf_str(&seen), cases[i].seen) == 0 &&
                  strcmp(token ? token : "", cases[i].token) == 0,
              "page %zu: %s %s %s", i, buf_str(&seen), token ? token : "none", e.text);
    }
}

/* The answer that an emulator of EC2 gave. */
static void check_recorded_spot(void)
{
    static const char path[] =
        "../shared/data/cloud-replay/ec2/emulated/describe_spot_price_history.http200.xml";
    AUTO_CLEAR(buf) struct buf seen = {0};
    AUTO_MEM char *token = NULL, *text = NULL;
    size_t len;
    struct err e = {0};

    text = gzip_read(path, 1 << 20, &len, &e);
    if (!text)
        return; /* no recordings beside the checkout */
    buf_init(&seen, 10000);
    CHECK(feed_spot_page(text, len, count, &seen, &token, &e) == 0 && !token &&
              strncmp(buf_str(&seen),
                      "us-east-1a g4dn.xlarge Linux/UNIX (Amazon VPC) 0.00001 "
                      "2006-01-02T15:04:05.000Z;us-east-1b ",
                      75) == 0,
          "the recorded answer: %s %s", buf_str(&seen), e.text);
}

static void check_pages(void)
{
    AUTO_CLEAR(feed_pages) struct feed_pages pages = {0};
    struct err e = {0};

    CHECK(feed_pages_add(&pages, "l", "", &e) == 0 && feed_pages_add(&pages, "l", "a", &e) == 0 &&
              feed_pages_add(&pages, "l", "b", &e) == 0,
          "pages: %s", e.text);
    CHECK(feed_pages_add(&pages, "l", "a", &e) < 0 && strstr(e.text, "earlier page"),
          "a page that came before: %s", e.text);
}

int main(void)
{
    check_azure_items();
    check_azure_pages();
    check_aws_pieces();
    check_aws_faults();
    check_gcp_skus();
    check_spot_pages();
    check_recorded_spot();
    check_pages();
    return TAP_DONE();
}
