#include "base/buf.h"
#include "catalog/intern.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static const char offers[] = "b,r1,z,m.large,2,8,,,,0.2,0.05,0.1\n"
                             "a,r2,,m.small,1,2,,,,0.03,,\n"
                             "a,r1,,m.small,1,2,,,,0.02,,\n"
                             "a,r1,,gpu,8,61,V100,1,10,3.06,0.9,\n"
                             "a,r1,z2,m.small,1,2,,,,,0.01,\n"
                             "a,r1,,gpu.fast,8,61,H100-SXM,2,,9,,\n";

static const char transfers[] = "a,*,internet,*,0.09,1,5,40\n"
                                "a,*,internet,*,0.05,10240,,\n"
                                "a,*,internet,*,0.07,1024,9,9\n"
                                "a,*,=,*,0.02,,,\n";

static const char storage[] = "a,r1,cold,0.01,,,\n"
                              "a,r1,standard,0.023,0.0004,0.005,0.005\n"
                              "a,*,cold,0.004,,,\n"
                              "a,*,warm,0.002,,,\n";

static const char *text(const struct catalog *c, uint32_t offset)
{
    return catalog_text(c, offset);
}

static void check_places(const struct catalog *c)
{
    static const char *const wanted[][2] = {{"a", "r1"}, {"a", "r2"}, {"b", "r1"}};

    CHECK(c->n_places == 3, "three places");
    for (size_t i = 0; i < 3 && i < c->n_places; i++) {
        const struct catalog_place *p = &c->places[i];
        CHECK(strcmp(text(c, p->cloud), wanted[i][0]) == 0 &&
                  strcmp(text(c, p->region), wanted[i][1]) == 0,
              "place %zu is %s/%s", i, wanted[i][0], wanted[i][1]);
        CHECK(catalog_find_place(c, wanted[i][0], wanted[i][1]) == i, "place %zu is found", i);
    }
    CHECK(catalog_find_place(c, "b", "r2") == SIZE_MAX, "a region without offers is no place");
}

static void check_kinds(const struct catalog *c)
{
    static const struct {
        const char *cloud, *type;
        uint32_t first, n;
    } wanted[] = {{"a", "gpu", 0, 1},
                  {"a", "gpu.fast", 1, 1},
                  {"a", "m.small", 2, 3},
                  {"b", "m.large", 5, 1}};

    CHECK(c->n_kinds == 4 && c->n_offers == 6, "four kinds, six offers");
    for (size_t i = 0; i < 4 && i < c->n_kinds; i++) {
        const struct catalog_kind *k = &c->kinds[i];
        CHECK(strcmp(text(c, k->cloud), wanted[i].cloud) == 0 &&
                  strcmp(text(c, k->instance_type), wanted[i].type) == 0,
              "kind %zu is %s %s", i, wanted[i].cloud, wanted[i].type);
        CHECK(k->first_offer == wanted[i].first && k->n_offers == wanted[i].n,
              "kind %zu has its offers", i);
    }
    const struct catalog_kind *fast = &c->kinds[1];
    CHECK(strcmp(text(c, fast->accelerator), "H100") == 0, "H100-SXM is an H100");
    CHECK(fast->accelerator_count == 2 && isnan(fast->network_gbps), "figures of gpu.fast");
    CHECK(c->kinds[0].network_gbps == 10 && c->kinds[0].memory_gib == 61, "figures of gpu");
}

static void check_offers(const struct catalog *c)
{
    const struct catalog_offer *o = c->offers + 2; /* of a m.small */

    CHECK(o[0].place == 0 && strcmp(text(c, o[0].zone), "") == 0 && o[0].price_usd == 0.02,
          "r1 first");
    CHECK(o[1].place == 0 && strcmp(text(c, o[1].zone), "z2") == 0, "then r1 z2");
    CHECK(isnan(o[1].price_usd) && o[1].spot_usd == 0.01, "which is sold on spot only");
    CHECK(o[2].place == 1 && o[2].price_usd == 0.03 && isnan(o[2].spot_usd), "then r2");
    CHECK(o[3].preemptions == 0.1 && isnan(o[2].preemptions), "preemptions where said");
}

static void check_moves(const struct catalog *c)
{
    const struct catalog_move *out = catalog_move(c, 0, 2), *within = catalog_move(c, 0, 1);

    CHECK(c->n_moves == 2 && c->n_tiers == 4, "two prices, four rows");
    CHECK(out && out->n_tiers == 3, "three tiers to the internet");
    if (!out || !within)
        return;
    const struct catalog_tier *t = c->tiers + out->first_tier;
    CHECK(t[0].from_gb == 0 && t[0].usd_per_gb == 0.09, "the lowest tier reaches down to 0");
    CHECK(t[1].from_gb == 1024 && t[1].usd_per_gb == 0.07, "the second tier");
    CHECK(t[2].from_gb == 10240 && t[2].usd_per_gb == 0.05, "the third tier");
    CHECK(out->gbit_per_s == 5 && out->rtt_ms == 40, "speed and rtt are the lowest tier's");
    CHECK(isnan(within->gbit_per_s) && within->rtt_ms == 0, "unknown speed, no rtt");
    CHECK(!catalog_move(c, 2, 0), "b has no rows");
}

static void check_storage(const struct catalog *c)
{
    CHECK(catalog_storage_usd(c, 0) == 0.023, "class standard, though cold is cheaper");
    CHECK(catalog_storage_usd(c, 1) == 0.002, "else the cheapest class of the best pattern");
    CHECK(isnan(catalog_storage_usd(c, 2)), "no row, no price");
    CHECK(c->n_storage == 4, "four rows");
}

static void check_contents(void)
{
    struct err e = {0};
    struct catalog *c = fixture(offers, transfers, storage, &e);

    CHECK(c, "builds: %s", e.text);
    if (!c)
        return;
    check_places(c);
    check_kinds(c);
    check_offers(c);
    check_moves(c);
    check_storage(c);
    CHECK(strcmp(c->origin, "test") == 0, "origin");
    catalog_free(c);
}

/* The same rows in another order are the same bytes. */
static void check_order(void)
{
    static const char shuffled[] = "a,r1,,gpu.fast,8,61,H100-SXM,2,,9,,\n"
                                   "a,r1,z2,m.small,1,2,,,,,0.01,\n"
                                   "a,r1,,gpu,8,61,V100,1,10,3.06,0.9,\n"
                                   "a,r1,,m.small,1,2,,,,0.02,,\n"
                                   "b,r1,z,m.large,2,8,,,,0.2,0.05,0.1\n"
                                   "a,r2,,m.small,1,2,,,,0.03,,\n";
    struct err e = {0};
    size_t n1, n2;
    void *one = fixture_bytes(offers, transfers, storage, &n1, &e);
    void *two = fixture_bytes(shuffled, transfers, storage, &n2, &e);

    CHECK(one && two && n1 == n2 && memcmp(one, two, n1) == 0, "order of rows does not matter");
    free(one);
    free(two);
}

static void check_duplicates(void)
{
    static const struct {
        const char *name, *rows;
        double price, spot;
    } cases[] = {
        {"the cheaper stays", "a,r,z,t,1,1,,,,2,,\na,r,z,t,1,1,,,,1,,\n", 1, (double)NAN},
        {"whichever comes first", "a,r,z,t,1,1,,,,1,,\na,r,z,t,1,1,,,,2,,\n", 1, (double)NAN},
        {"a price beats none", "a,r,z,t,1,1,,,,,0.1,\na,r,z,t,1,1,,,,2,,\n", 2, (double)NAN},
        {"equal on demand: the cheaper on spot", "a,r,z,t,1,1,,,,2,0.5,\na,r,z,t,1,1,,,,2,0.4,\n",
         2, 0.4},
        {"a spot price beats none", "a,r,z,t,1,1,,,,2,,\na,r,z,t,1,1,,,,2,0.4,\n", 2, 0.4},
        {"even as another machine", "a,r,z,t,1,1,,,,2,,\na,r,z,t,4,4,,,,1,,\n", 1, (double)NAN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        struct catalog *c = fixture(cases[i].rows, "", "", &e);
        const struct catalog_offer *o = c ? c->offers : NULL;
        CHECK(c && c->n_offers == 1 && o->price_usd == cases[i].price &&
                  (o->spot_usd == cases[i].spot || (isnan(o->spot_usd) && isnan(cases[i].spot))),
              "duplicates: %s", cases[i].name);
        catalog_free(c);
    }
}

static void check_kind_fields(void)
{
    struct err e = {0};
    struct catalog *c = fixture("a,r1,,t,1,1,,,,1,,\na,r2,,t,1,1,,,,1,,\na,r3,,t,1,2,,,,1,,\n"
                                "a,r4,,t,1,1,T4,1,,1,,\na,r5,,t,1,1,,,5,1,,\na,r6,,t,1,1,,,,1,,\n",
                                "", "", &e);

    CHECK(c && c->n_kinds == 4, "a type that differs by row is several kinds");
    uint32_t most = 0;
    for (size_t i = 0; c && i < c->n_kinds; i++)
        most = c->kinds[i].n_offers > most ? c->kinds[i].n_offers : most;
    CHECK(most == 3, "rows that agree share one");
    catalog_free(c);
}

static void check_refusals(void)
{
    static const struct {
        const char *offers, *transfers, *message;
    } cases[] = {
        {"", "", "test: no offer has a price"},
        {"a,r,z,t,1,1,,,,,,\na,r,z,u,1,1,,,,0,0,\n", "", "test: no offer has a price"},
        {"a,r,z,t,1,1,,,,1,,\n", "a,*,b,*,1,5,,\na,*,b,,2,5,,\n",
         "transfers.csv:3: a second price from a/* to b/* at tier_from_gb 5"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        struct catalog *c = fixture(cases[i].offers, cases[i].transfers, "", &e);
        CHECK(!c && e.kind == ERR_USAGE && strcmp(e.text, cases[i].message) == 0, "refused: %s",
              e.text);
        catalog_free(c);
    }
}

static void check_limits(void)
{
    static const struct catalog_transfer_row transfer = {.usd_per_gb = 1};
    static const struct catalog_storage_row storage_row = {.usd_per_gb_month = 1};
    AUTO(catalog_rows) struct catalog_rows *rows = catalog_rows_new();
    struct err e = {0};
    size_t n = 0;

    while (catalog_rows_put_transfer(rows, &transfer, &e) == 0)
        n++;
    CHECK(n == 500000 && e.kind == ERR_USAGE, "%s", e.text);
    for (n = 0; catalog_rows_put_storage(rows, &storage_row, &e) == 0;)
        n++;
    CHECK(n == 100000 && e.kind == ERR_USAGE, "%s", e.text);
}

/* A transfer price for every pair of places is kept, so their number has a limit. */
static void check_places_limit(void)
{
    for (unsigned n = 2048; n <= 2049; n++) {
        AUTO_CLEAR(buf) struct buf rows;
        struct err e = {0};
        buf_init(&rows, 1 << 20);
        for (unsigned i = 0; i < n; i++)
            buf_printf(&rows, "a,r%u,,t,1,1,,,,1,,\n", i);
        AUTO(catalog) struct catalog *c = fixture(buf_str(&rows), "", "", &e);
        if (n == 2048)
            CHECK(c && c->n_places == n, "2048 regions %s", e.text);
        else
            CHECK(!c && e.kind == ERR_USAGE && strstr(e.text, "2049 regions, more than 2048"), "%s",
                  e.text);
    }
}

/* Names from outside may fill the table of texts anywhere; the catalog is then refused. */
static void check_full(void)
{
    static const char vms[] = "InstanceType,Region,Price,AcceleratorName,AcceleratorCount\n"
                              "t1,r,1,accelerator-1,1\nt2,r,1,accelerator-2,1\n";
    size_t refused_on_reading = 0, refused_on_building = 0, built = 0;

    for (size_t max_bytes = 16; max_bytes <= 512; max_bytes += 16) {
        struct err e = {0};
        struct catalog_file_report report = {0};
        AUTO(catalog_rows) struct catalog_rows *rows = catalog_rows_new();
        AUTO(csv) struct csv *csv = csv_from_memory("x-vms.csv", vms, sizeof vms - 1);
        void *bytes = NULL;
        size_t len;
        catalog_intern_free(rows->texts);
        rows->texts = catalog_intern_new(max_bytes);
        if (catalog_read_skypilot(csv, "x", rows, &report, &e) < 0)
            refused_on_reading += e.kind == ERR_USAGE && strstr(e.text, "names take more than");
        else if (catalog_build(rows, "test", &bytes, &len, &e) < 0)
            refused_on_building += e.kind == ERR_USAGE && strstr(e.text, "names take more than");
        else
            built++;
        free(bytes);
    }
    CHECK(refused_on_reading > 0 && refused_on_building > 0 && built > 0 &&
              refused_on_reading + refused_on_building + built == 32,
          "too many names are refused wherever they come up");
}

int main(void)
{
    check_contents();
    check_order();
    check_duplicates();
    check_kind_fields();
    check_refusals();
    check_full();
    check_limits();
    check_places_limit();
    return TAP_DONE();
}
