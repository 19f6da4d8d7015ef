/* All placements: none better is left out, and the frontier is one. */
#include "geo/plan.h"

#include "small_world.h"
#include "tap.h"

#include <stdbool.h>
#include <string.h>

static void all(void)
{
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
    struct geo_question q = {.topology = SPEC_GEO_ANY};
    struct small_world w;
    struct err e;

    small_world_init(&w);
    CHECK(geo_plan(&w.problem, &q, &plan, &e) == 0 && plan.n == 12 && plan.considered == 12,
          "three topologies, two functions, two stores");
    bool sorted = true, dominated = false;
    for (size_t i = 1; i < plan.n; i++)
        sorted &=
            geo_bill_usd(&plan.placements[i - 1].bill) <= geo_bill_usd(&plan.placements[i].bill);
    CHECK(sorted && plan.cheapest == 0, "the cheapest first");
    for (size_t i = 0; i < plan.n; i++)
        for (size_t k = 0; k < plan.n_frontier; k++) {
            const struct geo_placement *a = &plan.placements[i],
                                       *b = &plan.placements[plan.frontier[k]];
            dominated |= a->round_s < b->round_s && geo_bill_usd(&a->bill) < geo_bill_usd(&b->bill);
        }
    CHECK(plan.n_frontier >= 1 && !dominated, "nothing is better than what is on the frontier");
    bool faster = false;
    for (size_t i = 0; i < plan.n; i++)
        faster |= plan.placements[i].round_s < plan.placements[plan.fastest].round_s;
    CHECK(!faster, "nothing is faster than the fastest");
}

static void asked(void)
{
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
    struct geo_question q = {SPEC_GEO_FANOUT, {"gcp", NULL}, {"aws", "x"}, GEO_TIME};
    struct small_world w;
    struct err e;

    small_world_init(&w);
    CHECK(geo_plan(&w.problem, &q, &plan, &e) == 0 && plan.n == 1, "what is pinned stays");
    CHECK(plan.n && plan.placements[0].function == Y && plan.placements[0].store == X, "there");
}

static void none(void)
{
    static const struct {
        struct geo_question q;
        const char *part;
    } cases[] = {
        {{SPEC_GEO_ANY, {"aws", "y"}, {NULL, NULL}, GEO_COST},
         "no tariff of a function is known at aws/y"},
        {{SPEC_GEO_ANY, {NULL, NULL}, {"azure", NULL}, GEO_COST},
         "no tariff of a store is known at azure"},
        {{SPEC_GEO_REGIONAL, {NULL, NULL}, {NULL, NULL}, GEO_COST}, "use topology: central"},
        {{SPEC_GEO_CENTRAL, {NULL, NULL}, {NULL, NULL}, GEO_COST}, "no transfer is priced"},
    };
    struct small_world w;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
        struct err e = {0};
        small_world_init(&w);
        w.sites[Y].has_function = cases[i].q.topology != SPEC_GEO_REGIONAL;
        w.links[1].exists = w.links[2].exists = cases[i].q.topology != SPEC_GEO_CENTRAL;
        CHECK(geo_plan(&w.problem, &cases[i].q, &plan, &e) < 0 && e.kind == ERR_NOFIT &&
                  strstr(e.text, cases[i].part),
              "nothing fits: %s", cases[i].part);
    }
}

/* One place, central: a list of 0.1 s, four reads of 0.1 s and 20 MB at 100 MB/s, 80 MB averaged at
 * 250 MB/s, and a write of 0.1 s and 20 MB at 100 MB/s are 1.92 s. */
static void limits(void)
{
    static const struct {
        double max_s, disk_bytes;
        bool is_too_large, fits;
    } cases[] = {
        {0, 0, false, true},    {1.93, 0, false, true},  {1.91, 0, false, false},
        {0, 20e6, false, true}, {0, 19e6, false, false}, {0, 0, true, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
        struct geo_question q = {SPEC_GEO_CENTRAL, {"aws", "x"}, {"aws", "x"}, GEO_COST};
        struct small_world w;
        struct err e = {0};
        small_world_init(&w);
        w.sites[X].function.max_s = cases[i].max_s;
        w.sites[X].function.disk_bytes = cases[i].disk_bytes;
        w.sites[X].function.is_too_large = cases[i].is_too_large;
        int result = geo_plan(&w.problem, &q, &plan, &e);
        CHECK(cases[i].fits ? result == 0 && plan.n == 1
                            : result < 0 && e.kind == ERR_NOFIT &&
                                  strstr(e.text, "past the limits of functions"),
              "at most %g s and %g bytes%s: %s", cases[i].max_s, cases[i].disk_bytes,
              cases[i].is_too_large ? ", too little memory" : "", cases[i].fits ? "fits" : e.text);
    }
}

int main(void)
{
    limits();
    all();
    asked();
    none();
    return TAP_DONE();
}
