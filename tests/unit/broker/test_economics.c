/* What goes and what stays, and at which price: every figure below was worked out by hand. */
#include "broker/pipeline/lineage.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define GB ((uint64_t)1000000000)

/* Data that was put -> A ($2, 100 s) -> B ($3, 200 s) -> C ($1, 50 s). */
enum { DATA, A, B, C, N };
static const size_t from_data[] = {DATA}, from_a[] = {A}, from_b[] = {B};

static const struct lineage_node chain[N] = {
    [DATA] = {.version = 10, .set = "data", .number = 1, .there = true},
    [A] = {.version = 11,
           .set = "a",
           .number = 1,
           .job = 1,
           .there = true,
           .priced = true,
           .cost_microusd = 2000000,
           .runtime_s = 100,
           .from = from_data,
           .n_from = 1},
    [B] = {.version = 12,
           .set = "b",
           .number = 1,
           .job = 2,
           .there = true,
           .priced = true,
           .cost_microusd = 3000000,
           .runtime_s = 200,
           .from = from_a,
           .n_from = 1},
    [C] = {.version = 13,
           .set = "c",
           .number = 1,
           .job = 3,
           .there = true,
           .priced = true,
           .cost_microusd = 1000000,
           .runtime_s = 50,
           .from = from_b,
           .n_from = 1},
};

struct world {
    struct lineage_node nodes[N];
    uint32_t marks[N];
    struct lineage lineage;
};

static void world_init(struct world *w)
{
    *w = (struct world){0};
    memcpy(w->nodes, chain, sizeof chain);
    w->lineage = (struct lineage){.nodes = w->nodes, .n = N, .marks = w->marks};
}

/* $0.02 a GB-month for a year: $0.24 a GB. */
static const struct economics_terms year = {.gb_month_usd = 0.02, .months = 12};

static void the_cheaper_way(void)
{
    struct world w;
    struct economics_set sets[] = {{.node = A, .only_bytes = 10 * GB},
                                   {.node = B, .only_bytes = 10 * GB},
                                   {.node = C, .only_bytes = 10 * GB}};

    world_init(&w);
    economics_weigh(&w.lineage, &year, sets, 3);
    CHECK(sets[0].keep_microusd == 2400000 && sets[0].keep_usd_per_month == 0.2,
          "10 GB cost $0.20 a month and $2.40 a year");
    CHECK(sets[0].goes && sets[0].replay_microusd == 2000000 && sets[0].replay_s == 100 &&
              sets[0].replay_jobs == 1,
          "A is made again for $2, and goes");
    CHECK(!sets[1].goes && sets[1].replay_microusd == 5000000 && sets[1].replay_s == 300 &&
              sets[1].replay_jobs == 2,
          "B would take A's job with it, $5, and stays");
    CHECK(sets[2].goes && sets[2].replay_microusd == 1000000 && sets[2].replay_jobs == 1,
          "C is made of B, which is there, for $1");
    CHECK(!w.nodes[A].there && w.nodes[B].there && !w.nodes[C].there, "the lineage knows");
}

static void all_go(void)
{
    struct world w;
    struct economics_set sets[] = {{.node = A, .only_bytes = 10 * GB},
                                   {.node = B, .only_bytes = 30 * GB},
                                   {.node = C, .only_bytes = 10 * GB}};

    world_init(&w);
    economics_weigh(&w.lineage, &year, sets, 3);
    CHECK(sets[1].goes && sets[1].keep_microusd == 7200000, "30 GB for a year are $7.20: B goes");
    CHECK(!sets[2].goes && sets[2].replay_microusd == 6000000 && sets[2].replay_s == 350 &&
              sets[2].replay_jobs == 3,
          "then C would take all three jobs, $6, and stays");
}

static void edges(void)
{
    static const struct economics_terms terms = {.gb_month_usd = 0.02, .months = 5};
    struct world w;
    struct economics_set sets[] = {{.node = A, .only_bytes = 20 * GB}};

    world_init(&w);
    economics_weigh(&w.lineage, &terms, sets, 1);
    CHECK(!sets[0].goes && sets[0].keep_microusd == 2000000 && !sets[0].why[0],
          "what costs the same either way stays");
    sets[0].only_bytes = 0;
    economics_weigh(&w.lineage, &year, sets, 1);
    CHECK(!sets[0].goes && strcmp(sets[0].why, "nothing is its alone") == 0, "nothing to gain: %s",
          sets[0].why);
    sets[0].only_bytes = 20 * GB;
    w.nodes[A].priced = false;
    economics_weigh(&w.lineage, &year, sets, 1);
    CHECK(!sets[0].goes && strstr(sets[0].why, "is unknown"), "no price: %s", sets[0].why);
    w.nodes[A].priced = true;
    w.nodes[A].secrets = true;
    economics_weigh(&w.lineage, &year, sets, 1);
    CHECK(!sets[0].goes && strstr(sets[0].why, "secrets"), "secrets: %s", sets[0].why);
    w.nodes[A].secrets = false;
    w.nodes[DATA].there = false;
    economics_weigh(&w.lineage, &year, sets, 1);
    CHECK(!sets[0].goes && strstr(sets[0].why, "@data:1 has lost content"), "lost data: %s",
          sets[0].why);
    sets[0].only_bytes = UINT64_MAX;
    w.nodes[DATA].there = true;
    economics_weigh(&w.lineage, &(struct economics_terms){1e9, 1200}, sets, 1);
    CHECK(sets[0].goes && sets[0].keep_microusd == 1000000000000000,
          "a price beyond all measure is cut at a billion dollars");
}

static void needed(void)
{
    struct world w;
    struct lineage_need need;
    struct err e = {0};

    world_init(&w);
    w.nodes[A].there = false;
    CHECK(lineage_need(&w.lineage, C, &need, &e) == 0 && need.n == 1 && need.nodes[0] == C,
          "C's job alone: what it works on is there");
    lineage_need_clear(&need);
    w.nodes[B].there = false;
    CHECK(lineage_need(&w.lineage, C, &need, &e) == 0 && need.n == 3 && need.nodes[0] == A &&
              need.nodes[1] == B && need.nodes[2] == C,
          "without B all three, in order");
    lineage_need_clear(&need);
    CHECK(lineage_need(&w.lineage, DATA, &need, &e) < 0 && e.kind == ERR_USAGE,
          "what was put has no job: %s", e.text);
    CHECK(lineage_find(&w.lineage, 12) == B && lineage_find(&w.lineage, 99) == SIZE_MAX,
          "found by its id");
}

int main(void)
{
    the_cheaper_way();
    all_go();
    edges();
    needed();
    return TAP_DONE();
}
