#include "fixture.h"
#include "tap.h"

#include <math.h>

/* What is wrong with a file, and what is said about it. */
static const struct {
    enum catalog_table table;
    const char *text, *message;
} errors[] = {
    {CATALOG_TABLE_OFFERS, "", "offers.csv: empty, not even a header"},
    {CATALOG_TABLE_OFFERS, "# only remarks\n", "offers.csv: empty, not even a header"},
    {CATALOG_TABLE_STORAGE, "cloud,regoin\n",
     "storage.csv:1: unknown column \"regoin\"; did you mean \"region\"?"},
    {CATALOG_TABLE_STORAGE, "cloud,weight\n",
     "storage.csv:1: unknown column \"weight\"; storage.csv has no such column"},
    {CATALOG_TABLE_STORAGE, "cloud,cloud\n", "storage.csv:1: there are two columns \"cloud\""},
    {CATALOG_TABLE_STORAGE, "# x\ncloud,class\n", "storage.csv:2: there is no column \"region\""},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,r,,t,1,1,,,,1,\n",
     "offers.csv:2: 11 fields, the header has 12"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "\n# x\na,r,,t,1,1,,,,one,,\n",
     "offers.csv:4: price_usd_per_hour \"one\" is not a number"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,r,,t,1,1,,,,-1,,\n",
     "offers.csv:2: price_usd_per_hour \"-1\" is negative"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,r,,t,1,1,,,,1e9,,\n",
     "offers.csv:2: price_usd_per_hour \"1e9\" is too large to be true"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,r,,t,nan,1,,,,1,,\n",
     "offers.csv:2: vcpus \"nan\" is not a number"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,r,,t,1,1e999,,,,1,,\n",
     "offers.csv:2: memory_gib \"1e999\" is not a number"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS ",r,,t,1,1,,,,1,,\n",
     "offers.csv:2: cloud \"\" is empty"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,r,,,1,1,,,,1,,\n",
     "offers.csv:2: instance_type \"\" is empty"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,\xFF,,t,1,1,,,,1,,\n",
     "offers.csv:2: region \"\" is not a name (UTF-8 without control characters, at most 255 "
     "bytes)"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,r,\x1B[2J,t,1,1,,,,1,,\n",
     "offers.csv:2: zone \"\" is not a name (UTF-8 without control characters, at most 255 bytes)"},
    {CATALOG_TABLE_OFFERS, FIXTURE_OFFERS "a,r,,t,x,y,,,,z,,\n",
     "offers.csv:2: vcpus \"x\" is not a number"},
    {CATALOG_TABLE_TRANSFERS, FIXTURE_TRANSFERS "a,*,b,*,,0,,\n",
     "transfers.csv:2: usd_per_gb \"\" is missing"},
    {CATALOG_TABLE_TRANSFERS, FIXTURE_TRANSFERS "a,*,b,*,1,-5,,\n",
     "transfers.csv:2: tier_from_gb \"-5\" is negative"},
    {CATALOG_TABLE_TRANSFERS, FIXTURE_TRANSFERS "a,*,b,*,1,0,0,\n",
     "transfers.csv:2: gbit_per_s \"0\" is too small to be true"},
    {CATALOG_TABLE_TRANSFERS, FIXTURE_TRANSFERS "a,us-*-1,b,*,1,0,,\n",
     "transfers.csv:2: src_region \"us-*-1\" has a * before its end: write a name, a prefix with * "
     "or *"},
    {CATALOG_TABLE_TRANSFERS, FIXTURE_TRANSFERS "a,*,b*,*,1,0,,\n",
     "transfers.csv:2: dst_cloud \"b*\" is a prefix, which only regions may be: write a name or *"},
    {CATALOG_TABLE_TRANSFERS, FIXTURE_TRANSFERS "=,*,b,*,1,0,,\n",
     "transfers.csv:2: src_cloud \"=\" means \"same as the source\": only a destination can be "
     "that"},
    {CATALOG_TABLE_STORAGE, FIXTURE_STORAGE "a,*r,standard,1,,,\n",
     "storage.csv:2: region \"*r\" has a * before its end: write a name, a prefix with * or *"},
    {CATALOG_TABLE_STORAGE, FIXTURE_STORAGE "a,*,standard,,,,\n",
     "storage.csv:2: usd_per_gb_month \"\" is missing"},
    {CATALOG_TABLE_STORAGE, FIXTURE_STORAGE "a,*,\"standard,1,,,\n",
     "storage.csv:2: unclosed quote"},
};

static void check_errors(void)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct catalog_rows *rows = catalog_rows_new();
        struct catalog_file_report report = {0};
        struct err e = {0};
        int read = fixture_read(rows, errors[i].table, "", errors[i].text, &report, &e);
        CHECK(read < 0 && e.kind == ERR_USAGE && strcmp(e.text, errors[i].message) == 0, "%s",
              e.text);
        catalog_rows_free(rows);
    }
}

static void check_offers(void)
{
    static const char text[] = "# date: 2026-08-22 (most of them)\n# a remark, with a comma\n"
                               "spot_usd_per_hour,cloud,region,zone,instance_type,vcpus,memory_gib,"
                               "accelerator,accelerator_count,network_gbps,price_usd_per_hour,"
                               "preemptions_per_hour\r\n"
                               "0.3,a,r,z,\"t,1\",4,16.5,RTX-A6000,0.5,25,1.5,0.02\r\n"
                               "#,a,r,z,t,,,,,,1,\n"
                               ",a,r,,t2,,,,,,0,\n"
                               "2,a,r,,t3,,,,,,1,\n"
                               ",a,r,,t3,,,,,,1,\n";
    struct catalog_rows *rows = catalog_rows_new();
    struct catalog_file_report report = {0};
    struct err e = {0};
    uint32_t date = 0;
    struct csv *csv = csv_from_memory("offers.csv", text, strlen(text));

    CHECK(catalog_read_tradewind(csv, CATALOG_TABLE_OFFERS, rows, &report, &date, &e) == 0,
          "columns in any order are read %s", e.text);
    CHECK(strcmp(catalog_rows_text(rows, date), "2026-08-22") == 0, "the date of the file");
    CHECK(report.rows_read == 4 && report.rows_kept == 2 && report.offers == 2,
          "four rows, two offers");
    CHECK(report.dropped[CATALOG_DROP_UNPRICED] == 1, "a zero is no price");
    CHECK(report.dropped[CATALOG_DROP_DUPLICATE] == 1, "one duplicate");
    CHECK(report.spot_above_on_demand == 1, "one spot price above on demand");
    if (rows->n_offers) {
        const struct catalog_offer_row *o = &rows->offers[0];
        CHECK(strcmp(catalog_rows_text(rows, o->instance_type), "t,1") == 0 &&
                  strcmp(catalog_rows_text(rows, o->accelerator), "RTXA6000") == 0,
              "texts");
        CHECK(o->vcpus == 4 && o->memory_gib == 16.5 && o->accelerator_count == 0.5 &&
                  o->network_gbps == 25 && o->price_usd == 1.5 && o->spot_usd == 0.3 &&
                  o->preemptions == 0.02,
              "numbers");
    }
    csv_free(csv);
    catalog_rows_free(rows);
}

int main(void)
{
    check_errors();
    check_offers();
    return TAP_DONE();
}
