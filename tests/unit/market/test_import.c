/* Histories of every format, good and bad; what is kept, dropped and noted. */
#include "market/import.h"

#include "fixture.h"
#include "market/internal.h"
#include "tap.h"

#include <math.h>

#define CSV "cloud,region,zone,instance_type,time,price_usd_per_hour\n"
#define AWS(zone, price, time)                                                                     \
    "{\"AvailabilityZone\": \"" zone "\", \"InstanceType\": \"p3.2xlarge\",\n"                     \
    "\"ProductDescription\": \"Linux/UNIX\", \"SpotPrice\": \"" price "\", \"Timestamp\": \"" time \
    "\"}"

struct odd_case {
    const char *name;
    struct fixture_file file;
    size_t rows, kept;
    enum market_drop drop; /* of rows - kept */
    enum market_note note;
    size_t notes;
    size_t bad_line;
};

static const struct odd_case odd_cases[] = {
    {"clean",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,1\naws,r,z,t,2020-01-02,2\n"},
     2,
     2,
     MARKET_DROP_DUPLICATE,
     MARKET_NOTE_ORDER,
     0,
     0},
    {"a duplicate",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,1\naws,r,z,t,2020-01-01,1\n"},
     2,
     1,
     MARKET_DROP_DUPLICATE,
     MARKET_NOTE_ORDER,
     0,
     0},
    {"two prices at once",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,2\naws,r,z,t,2020-01-01,1\n"},
     2,
     1,
     MARKET_DROP_CONFLICT,
     MARKET_NOTE_ORDER,
     0,
     0},
    {"out of order",
     {"a.csv", CSV "aws,r,z,t,2020-01-02,1\naws,r,z,t,2020-01-01,2\n"},
     2,
     2,
     MARKET_DROP_DUPLICATE,
     MARKET_NOTE_ORDER,
     1,
     0},
    {"a negative price",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,1\naws,r,z,t,2020-01-02,-2\n"},
     2,
     1,
     MARKET_DROP_PRICE,
     MARKET_NOTE_ORDER,
     0,
     3},
    {"a zero",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,0\naws,r,z,t,2020-01-02,1\n"},
     2,
     1,
     MARKET_DROP_PRICE,
     MARKET_NOTE_ORDER,
     0,
     2},
    {"not a number",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,nan\naws,r,z,t,2020-01-02,1\n"},
     2,
     1,
     MARKET_DROP_PRICE,
     MARKET_NOTE_ORDER,
     0,
     2},
    {"no such day",
     {"a.csv", CSV "aws,r,z,t,2020-02-30,1\naws,r,z,t,2020-02-29,1\n"},
     2,
     1,
     MARKET_DROP_TIME,
     MARKET_NOTE_ORDER,
     0,
     2},
    {"another time zone",
     {"a.csv", CSV "aws,r,z,t,2020-01-01T02:00:00+02:00,1\n"},
     1,
     1,
     MARKET_DROP_TIME,
     MARKET_NOTE_ZONE,
     1,
     0},
    {"no time zone",
     {"a.csv", CSV "aws,r,z,t,2020-01-01 02:00:00,1\n"},
     1,
     1,
     MARKET_DROP_TIME,
     MARKET_NOTE_NO_ZONE,
     1,
     0},
    {"withdrawn",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,1\naws,r,z,t,2020-01-02,\n"},
     2,
     2,
     MARKET_DROP_TIME,
     MARKET_NOTE_WITHDRAWN,
     1,
     0},
    {"too few fields",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,1\naws,r\n"},
     2,
     1,
     MARKET_DROP_MALFORMED,
     MARKET_NOTE_ORDER,
     0,
     3},
    {"an open quote",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,1\n\"aws,r\n"},
     2,
     1,
     MARKET_DROP_MALFORMED,
     MARKET_NOTE_ORDER,
     0,
     3},
    {"no cloud",
     {"a.csv", CSV "aws,r,z,t,2020-01-01,1\n,r,z,t,2020-01-01,1\n"},
     2,
     1,
     MARKET_DROP_MALFORMED,
     MARKET_NOTE_ORDER,
     0,
     3},
    {"AWS, newest first",
     {"a.json",
      "{\"SpotPriceHistory\": [" AWS("us-east-1a", "1.5", "2020-01-02T00:00:00.000Z") "," AWS(
          "us-east-1a", "1.0", "2020-01-01T00:00:00.000Z") "]}"},
     2,
     2,
     MARKET_DROP_TIME,
     MARKET_NOTE_ORDER,
     0,
     0},
    {"AWS, oldest first",
     {"a.json",
      "{\"SpotPriceHistory\": [" AWS("us-east-1a", "1.5", "2020-01-01T00:00:00.000Z") "," AWS(
          "us-east-1a", "1.0", "2020-01-02T00:00:00.000Z") "]}"},
     2,
     2,
     MARKET_DROP_TIME,
     MARKET_NOTE_ORDER,
     1,
     0},
    {"AWS, four days without a record",
     {"a.json",
      "{\"SpotPriceHistory\": [" AWS("us-east-1a", "1.5", "2020-01-05T00:00:00.000Z") "," AWS(
          "us-east-1a", "1.0", "2020-01-01T00:00:00.000Z") "]}"},
     2,
     2,
     MARKET_DROP_TIME,
     MARKET_NOTE_GAP,
     1,
     0},
    {"AWS, a bad price on the fourth line",
     {"a.json",
      "{\"SpotPriceHistory\": [\n" AWS("us-east-1a", "1.5", "2020-01-02T00:00:00Z") ",\n" AWS(
          "us-east-1a", "-1", "2020-01-01T00:00:00Z") "]}"},
     2,
     1,
     MARKET_DROP_PRICE,
     MARKET_NOTE_ORDER,
     0,
     4},
    {"Azure, with a slip of the pen",
     {"us_east.csv", "Date,NC6,NC6s v3\r\n2/1/2020,$0.1,\r\n2/2/2020,$0.9,\r\n2/3/2020,$0.1,$1"},
     4,
     4,
     MARKET_DROP_PRICE,
     MARKET_NOTE_SPIKE,
     1,
     0},
    {"Azure, a date that is none",
     {"us_east.csv", "Date,NC6\n2/1/2020,$0.1\n13/1/2020,$0.1\n"},
     2,
     1,
     MARKET_DROP_TIME,
     MARKET_NOTE_ORDER,
     0,
     3},
    {"launch probes",
     {"2020-03-02T07-54-34.out",
      "Zone: us-west1-b, GPU type: nvidia-tesla-v100, Number of GPUs: 2, "
      "Price per hour: $1.702\nZone: here\n"},
     2,
     1,
     MARKET_DROP_MALFORMED,
     MARKET_NOTE_ORDER,
     0,
     2},
};

static void test_odd(const struct odd_case *c)
{
    AUTO(market_import) struct market_import *im = market_import_new(NULL);
    struct err e = {0};
    int added = fixture_add(im, &c->file, &e);
    AUTO(market) struct market *m = added == 0 ? fixture_finish(im) : NULL;
    size_t n;
    const struct market_file_report *r = market_import_reports(im, &n);

    CHECK(m && n == 1, "%s: imported %s", c->name, e.text);
    if (!m)
        return;
    CHECK(r->rows_read == c->rows && r->rows_kept == c->kept, "%s: %zu rows, %zu kept", c->name,
          r->rows_read, r->rows_kept);
    CHECK(r->dropped[c->drop] == c->rows - c->kept, "%s: dropped for the right reason", c->name);
    CHECK(r->notes[c->note] == c->notes, "%s: %zu odd", c->name, r->notes[c->note]);
    CHECK(r->bad_line == c->bad_line, "%s: line %zu", c->name, r->bad_line);
}

static void test_bad_files(void)
{
    static const struct {
        struct fixture_file file;
        const char *says;
    } cases[] = {
        {{"empty.csv", ""}, "empty.csv:1: the file is empty"},
        {{"x.txt", "hello\n"}, "x.txt:1: no price history"},
        {{"a.json", "{\"SpotPriceHistory\": [\n{\"a\": \n]}"}, "a.json:3: "},
        {{"a.json", "{\"a\": \"\\\"SpotPriceHistory\\\"\", \"SpotPriceHistory\": 7}"}, "no list"},
        {{"a.csv", CSV "aws,r,z,t,yesterday,1\n"}, "a.csv:2: \"yesterday\" is not a time"},
        {{"a.csv", "cloud,region,instance_type,time,price_usd_per_hour\n"}, "no column \"zone\""},
        {{"sweep.out", "Zone: us-west1-b, GPU type: v100, Number of GPUs: 1, Price per hour: $1\n"},
         "the name of their file"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(market_import) struct market_import *im = market_import_new(NULL);
        struct err e = {0};
        CHECK(fixture_add(im, &cases[i].file, &e) < 0 && e.kind == ERR_USAGE &&
                  strstr(e.text, cases[i].says),
              "%s: %s", cases[i].file.name, e.text);
    }
}

/* A file with a NUL byte is not read up to it. */
static void test_nul(void)
{
    char text[] = CSV "aws,r,z,t,2020-01-01,1\naws,r,z,t,2020-01-02,?\n";
    AUTO(market_import) struct market_import *im = market_import_new(NULL);
    struct err e = {0};

    *strchr(text, '?') = 0;
    const struct market_source from = {
        .name = "a.csv", .text = text, .len = sizeof text - 1, .feed = MARKET_N_FEEDS};
    CHECK(market_import_file(im, &from, &e) < 0 && strstr(e.text, "a.csv:3: a NUL byte"), "%s",
          e.text);
}

static void test_empty_list(void)
{
    static const struct fixture_file file = {"a.json", "{\"SpotPriceHistory\": []}"};
    AUTO(market) struct market *m = fixture_market(&file, 1);

    CHECK(m && m->n_offers == 0, "a list without records is no mistake");
}

/* The offer that a sweep did not bring could not be started until the next one brings it. */
static void test_probes(void)
{
#define PROBE(zone)                                                                                \
    "Zone: " zone ", GPU type: nvidia-tesla-v100, Number of GPUs: 1, Price per hour: $0.85\n"
    static const struct fixture_file files[] = {
        {"2020-03-01T00-00-00.out", PROBE("us-west1-a") PROBE("us-west1-b")},
        {"2020-03-01T05-00-00.out", PROBE("us-west1-b")},
        {"2020-03-01T10-00-00.out", PROBE("us-west1-a") PROBE("us-west1-b")}};
    AUTO(market) struct market *m = fixture_market(files, 3);
    const struct market_offer *o =
        m ? fixture_offer(m, "gcp", "us-west1", "1xV100", "us-west1-a") : NULL;
    double begin_s = 1583020800; /* 2020-03-01 */

    CHECK(o && o->n_points == 3 && strcmp(o->gpu, "V100") == 0, "three points of one offer");
    if (!o)
        return;
    CHECK(isnan(market_price(o, begin_s + 6 * 3600)), "absent from a sweep: not for sale");
    CHECK(fabs(market_cost_usd(o, begin_s, begin_s + 10 * 3600, NULL) - 5 * 0.85) < 1e-9,
          "five hours were for sale");
}

static void test_lives(void)
{
    static const struct fixture_file file = {
        "k.out", "[2020-03-15T10:00:00.000Z] Created instance i-1 with 8 GPU(s) of type v100 in "
                 "zone us-east-1b\n"
                 "[2020-03-15T10:10:00.000Z] Created instance i-2 with 8 GPU(s) of type v100 in "
                 "zone us-east-1b\n"
                 "[2020-03-15T11:00:00.000Z] Instance i-1 running in zone us-east-1b\n"
                 "[2020-03-15T12:00:00.000Z] Instance i-1 not running in zone us-east-1b\n"
                 "[2020-03-15T12:01:00.000Z] Successfully deleted instance i-1\n"
                 "[2020-03-15T12:02:00.000Z] Instance with 8 GPU(s) of type v100 creation failed\n"
                 "[2020-03-15T12:30:00.000Z] Instance i-2 running in zone us-east-1b\n"};
    AUTO(market) struct market *m = fixture_market(&file, 1);
    const struct market_offer *o =
        m ? fixture_offer(m, "aws", "us-east-1", "p3.16xlarge", "us-east-1b") : NULL;

    CHECK(o && o->n_spells == 2 && o->n_points == 0, "two lives, no price");
    if (!o)
        return;
    CHECK(fabs(o->spells[0].end_s - o->spells[0].begin_s - 7200) < 1 && o->spells[0].ended > 0,
          "the first was preempted after two hours");
    CHECK(fabs(o->spells[1].end_s - o->spells[1].begin_s - 140 * 60) < 1 && o->spells[1].ended < 1,
          "the second outlived the log");
}

static void *bytes_of(const struct fixture_file *first,
                      const struct fixture_file *second,
                      size_t *len)
{
    AUTO(market_import) struct market_import *im = market_import_new(NULL);

    fixture_add(im, first, NULL);
    fixture_add(im, second, NULL);
    return market_import_finish(im, len, NULL);
}

/* In one go in either order, or one after the other: the same bytes. */
static void test_same_bytes(void)
{
    static const struct fixture_file a = {"a.csv",
                                          CSV "aws,r,z,t,2020-01-03,3\naws,r,z,t,2020-01-01,1\n"};
    static const struct fixture_file b = {"b.csv",
                                          CSV "aws,r,z,t,2020-01-02,2\ngcp,q,z,t,2020-01-01,1\n"};
    size_t one_len, two_len, three_len;
    AUTO_MEM void *one = bytes_of(&a, &b, &one_len), *two = bytes_of(&b, &a, &two_len);
    AUTO(market) struct market *m = fixture_market(&a, 1);
    AUTO(market_import) struct market_import *im = market_import_new(NULL);

    CHECK(one_len == two_len && memcmp(one, two, one_len) == 0, "whichever file comes first");
    market_import_market(im, m, NULL);
    fixture_add(im, &b, NULL);
    AUTO_MEM void *three = market_import_finish(im, &three_len, NULL);
    CHECK(one_len == three_len && memcmp(one, three, one_len) == 0, "one after the other");
    struct err e = {0};
    for (size_t i = 0; i < one_len; i += 7) {
        ((unsigned char *)one)[i] ^= 0x40;
        AUTO(market) struct market *damaged = market_open_bytes("x", one, one_len, NULL, &e);
        ((unsigned char *)one)[i] ^= 0x40;
        if (damaged) {
            CHECK(false, "a changed byte %zu is noticed", i);
            return;
        }
    }
    CHECK(true, "a changed byte is noticed, wherever it is");
}

static void test_regions(void)
{
    static const struct {
        const char *cloud, *zone, *region; /* NULL = none */
    } cases[] = {
        {"aws", "us-east-1d", "us-east-1"},
        {"aws", "us-west-2-lax-1a", "us-west-2"},
        {"aws", "use1-az4", "us-east-1"},
        {"aws", "apne2-az1", "ap-northeast-2"},
        {"aws", "usw2-lax1-az1", "us-west-2"},
        {"aws", "use1-atl2-az1", "us-east-1"},
        {"aws", "usgw1-az1", "us-gov-west-1"},
        {"aws", "euc1-az2", "eu-central-1"},
        {"aws", "apse3-az1", "ap-southeast-3"},
        {"aws", "us-gov-west-1a", "us-gov-west-1"},
        {"gcp", "us-west1-b", "us-west1"},
        {"gcp", "northamerica-northeast1-a", "northamerica-northeast1"},
        {"aws", "nowhere", NULL},
        {"aws", "us-east-1", NULL},
        {"gcp", "us-east-1d", NULL},
        {"gcp", "", NULL},
        {"aws", "", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char region[64] = "";
        bool got = import_region_of_zone(cases[i].cloud, cases[i].zone, region);
        CHECK(got == (cases[i].region != NULL) && (!got || strcmp(region, cases[i].region) == 0),
              "%s %s: %s", cases[i].cloud, cases[i].zone, region);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof odd_cases / sizeof *odd_cases; i++)
        test_odd(&odd_cases[i]);
    test_bad_files();
    test_nul();
    test_empty_list();
    test_probes();
    test_lives();
    test_same_bytes();
    test_regions();
    return TAP_DONE();
}
