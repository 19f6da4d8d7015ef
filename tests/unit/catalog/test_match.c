#include "fixture.h"
#include "tap.h"

#include <math.h>

/* a and b sell in the same region us-east-1; every other region is one cloud's. */
static const char offers[] = "a,us-east-1,,m,1,1,,,,1,,\n"
                             "a,us-east-2,,m,1,1,,,,1,,\n"
                             "a,eu-west-1,,m,1,1,,,,1,,\n"
                             "b,us-east-1,,m,1,1,,,,1,,\n"
                             "b,eu-north,,m,1,1,,,,1,,\n"
                             "local,local,,m,1,1,,,,1,,\n";

#define NONE (-1.0)

struct move_case {
    const char *name, *rows;
    const char *src_cloud, *src_region, *dst_cloud, *dst_region;
    double usd; /* of the row that must win */
};

/* Each row of transfers has a price of its own that tells which one was taken. */
static const struct move_case cases[] = {
    {"no row, no move", "a,*,a,*,1,,,\n", "b", "us-east-1", "a", "us-east-1", NONE},
    {"`*` matches anything", "*,*,*,*,1,,,\n", "a", "us-east-1", "b", "eu-north", 1},
    {"nothing is `*`", ",,,,1,,,\n", "a", "us-east-1", "b", "eu-north", 1},
    {"a prefix matches what begins with it", "a,us-*,b,*,1,,,\n", "a", "us-east-2", "b", "eu-north",
     1},
    {"a prefix matches nothing else", "a,eu-*,b,*,1,,,\n", "a", "us-east-2", "b", "eu-north", NONE},
    {"a name is no prefix", "a,us-east,b,*,1,,,\n", "a", "us-east-2", "b", "eu-north", NONE},

    {"source region: exact over a longer-named prefix",
     "a,us-east-1,*,*,1,,,\na,us-east-*,*,*,2,,,\n", "a", "us-east-1", "b", "eu-north", 1},
    {"source region: longer prefix over shorter", "a,us-*,*,*,1,,,\na,us-east-*,*,*,2,,,\n", "a",
     "us-east-1", "b", "eu-north", 2},
    {"source region: prefix over `*`", "a,*,*,*,1,,,\na,u*,*,*,2,,,\n", "a", "us-east-1", "b",
     "eu-north", 2},
    {"destination cloud: exact over internet", "a,*,internet,*,1,,,\na,*,b,*,2,,,\n", "a",
     "us-east-1", "b", "eu-north", 2},
    {"destination cloud: exact over =", "a,*,=,*,1,,,\na,*,a,*,2,,,\n", "a", "us-east-1", "a",
     "us-east-2", 2},
    {"destination cloud: = over `*`", "a,*,*,*,1,,,\na,*,=,*,2,,,\n", "a", "us-east-1", "a",
     "us-east-2", 2},
    {"destination cloud: internet over `*`", "a,*,*,*,1,,,\na,*,internet,*,2,,,\n", "a",
     "us-east-1", "b", "eu-north", 2},
    {"internet is not for moves within the cloud", "a,*,*,*,1,,,\na,*,internet,*,2,,,\n", "a",
     "us-east-1", "a", "us-east-2", 1},
    {"= is not for another cloud", "a,*,=,*,1,,,\n", "a", "us-east-1", "b", "eu-north", NONE},
    {"destination region: exact over prefix", "a,*,b,eu-north,1,,,\na,*,b,eu-nort*,2,,,\n", "a",
     "us-east-1", "b", "eu-north", 1},
    {"destination region: longer prefix over shorter", "a,*,b,eu-n*,1,,,\na,*,b,eu-*,2,,,\n", "a",
     "us-east-1", "b", "eu-north", 1},
    {"destination region: prefix over =", "a,*,b,=,1,,,\na,*,b,u*,2,,,\n", "a", "us-east-1", "b",
     "us-east-1", 2},
    {"destination region: = over `*`", "a,*,b,*,1,,,\na,*,b,=,2,,,\n", "a", "us-east-1", "b",
     "us-east-1", 2},
    {"destination region: = is the source's region", "a,*,b,=,1,,,\n", "a", "us-east-1", "b",
     "eu-north", NONE},
    {"source cloud: exact over `*`", "*,*,*,*,1,,,\na,*,*,*,2,,,\n", "a", "us-east-1", "b",
     "eu-north", 2},

    {"source region beats destination cloud", "a,us-*,*,*,1,,,\na,*,b,*,2,,,\n", "a", "us-east-1",
     "b", "eu-north", 1},
    {"source region beats destination region", "a,us-*,*,*,1,,,\na,*,*,eu-north,2,,,\n", "a",
     "us-east-1", "b", "eu-north", 1},
    {"source region beats source cloud", "*,us-*,*,*,1,,,\na,*,*,*,2,,,\n", "a", "us-east-1", "b",
     "eu-north", 1},
    {"destination cloud beats destination region", "a,*,b,*,1,,,\na,*,*,eu-north,2,,,\n", "a",
     "us-east-1", "b", "eu-north", 1},
    {"destination cloud beats source cloud", "*,*,b,*,1,,,\na,*,*,*,2,,,\n", "a", "us-east-1", "b",
     "eu-north", 1},
    {"destination region beats source cloud", "*,*,*,eu-*,1,,,\na,*,*,*,2,,,\n", "a", "us-east-1",
     "b", "eu-north", 1},

    {"a region nobody sells in", "a,us-*,*,*,1,,,\n", "a", "us-south-9", "b", "eu-north", 1},
    {"a region nobody sells in, by its name", "a,*,*,*,1,,,\na,us-south-9,*,*,2,,,\n", "a",
     "us-south-9", "b", "eu-north", 2},
    {"a cloud nobody sells in", "*,*,internet,*,1,,,\n", "c", "x", "b", "eu-north", 1},
    {"an unknown region takes `*`", "a,*,*,*,1,,,\na,us-*,*,*,2,,,\n", "a", NULL, "b", "eu-north",
     1},
    {"an unknown region is no =", "a,*,*,=,1,,,\n", "a", NULL, "a", "us-east-1", NONE},
    {"local needs a row that names it", "*,*,*,*,1,,,\n", "local", "local", "b", "eu-north", NONE},
    {"local with a row", "*,*,*,*,1,,,\nlocal,*,*,*,2,,,\n", "local", "local", "b", "eu-north", 2},
};

static double price_of(const struct catalog *c, const struct catalog_move *m)
{
    return m ? c->tiers[m->first_tier].usd_per_gb : NONE;
}

static void check_case(const struct move_case *t)
{
    struct err e = {0};
    struct catalog *c = fixture(offers, t->rows, "", &e);
    size_t dst = c ? catalog_find_place(c, t->dst_cloud, t->dst_region) : SIZE_MAX;

    CHECK(c && dst != SIZE_MAX, "%s: builds %s", t->name, e.text);
    if (!c || dst == SIZE_MAX)
        return;
    double by_name = price_of(c, catalog_move_from(c, t->src_cloud, t->src_region, dst));
    CHECK(by_name == t->usd, "%s: by name, got %g", t->name, by_name);
    size_t src = t->src_region ? catalog_find_place(c, t->src_cloud, t->src_region) : SIZE_MAX;
    if (src != SIZE_MAX) {
        double by_place = price_of(c, catalog_move(c, src, dst));
        CHECK(by_place == t->usd, "%s: by place, got %g", t->name, by_place);
    }
    catalog_free(c);
}

static void check_region_rank(void)
{
    CHECK(match_region_rank("us-east-1", "us-east-1") > match_region_rank("us-east-*", "us-east-1"),
          "a name fits better than a prefix");
    CHECK(match_region_rank("us-*", "us-east-1") > match_region_rank("*", "us-east-1"),
          "a prefix fits better than `*`");
    CHECK(match_region_rank("eu-*", "us-east-1") == 0, "another prefix does not fit");
    CHECK(match_region_rank("us-east", "us-east-1") == 0, "half a name does not fit");
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(&cases[i]);
    check_region_rank();
    return TAP_DONE();
}
