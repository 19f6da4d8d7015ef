/* Cheap bounds and dropped places against plans that are known to be best: a bound must never
 * exceed the best plan that uses the site, and dropping must never change the best totals. */
#include "plan/search.h"

#include "base/arena.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* A clock that stands still: no limit is ever over, however slow the machine is. */
static double stopped_clock(void)
{
    return 0;
}

struct tally {
    size_t cases, sites, above, tight, dropped, changed, classes, places, unlike;
};

static struct solution solve(const struct plan_problem *p,
                             const struct domain *d,
                             struct pick *picks)
{
    AUTO(arena) struct arena *arena = arena_new(1 << 24);
    const struct ask ask = {
        .p = p,
        .domain = *d,
        .goal = {.objective = SPEC_COST, .budget_microusd = INT64_MAX, .deadline_ns = INT64_MAX},
        .cutoff = {.now_s = stopped_clock, .end_s = 60},
        .arena = arena};
    struct solution s = {.picks = picks};
    struct err e = {0};

    exhaustive_solve(&ask, &s, &e);
    return s;
}

/* Every site pinned in turn, solved by trying everything. */
static void check_bounds(const struct plan_problem *p, struct tally *t, struct pick *picks)
{
    struct domain all = domain_all(p);
    AUTO(presolve) struct presolve *x = presolve_new(p, &all);
    double **rows = presolve_rows(x);

    presolve_bounds(x, 0, NULL, LAYER_MID, rows);
    for (size_t s = 0; s < p->n_stages; s++)
        for (size_t k = 0; k < all.n[s]; k++) {
            struct domain pinned = domain_copy(p, &all);
            pinned.n[s] = 1;
            pinned.sites[s][0] = all.sites[s][k];
            struct solution best = solve(p, &pinned, picks);
            double truth = best.found ? (double)best.totals.microusd : (double)INFINITY;
            t->sites++;
            t->above += rows[s][k] > truth;
            t->tight += !isinf(truth) && rows[s][k] > truth - 10;
            domain_clear(&pinned);
        }
    domain_clear(&all);
}

static void check_symmetry(const struct plan_problem *p, struct tally *t, struct pick *picks)
{
    struct domain all = domain_all(p), fewer = domain_all(p);

    symmetry_drop(p, &fewer);
    for (size_t s = 0; s < p->n_stages; s++)
        t->dropped += all.n[s] - fewer.n[s];
    struct solution a = solve(p, &all, picks), b = solve(p, &fewer, picks);
    t->changed +=
        a.found != b.found ||
        (a.found && (a.totals.microusd != b.totals.microusd || a.totals.ns[0] != b.totals.ns[0]));
    domain_clear(&all);
    domain_clear(&fewer);
}

/* The definition, pair by pair. */
static void check_classes(const struct catalog *c, struct tally *t)
{
    size_t n = c->n_places;
    bool *used = calloc(n, sizeof *used);

    for (size_t i = 0; i < n; i++)
        used[i] = true;
    struct classes *x = classes_new(c, used);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            const struct catalog_move *m = i == k ? NULL : catalog_move(c, i, k);
            uint32_t want = m ? (uint32_t)(m - c->moves) : CLASSES_NO_MOVE;
            t->unlike += i != k && x->move[x->of_place[i] * x->n + x->of_place[k]] != want;
        }
    t->classes += x->n;
    t->places += n;
    classes_free(x);
    free(used);
}

int main(void)
{
    char dir[] = "/tmp/tradewind-presolve-XXXXXX";
    uint64_t n = getenv("TRADEWIND_SLOW") ? 20 : 120;
    struct tally t = {0};

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    for (uint64_t seed = 1; seed <= n; seed++) {
        struct random_case c;
        struct err e = {0};
        AUTO(arena) struct arena *arena = arena_new(1 << 20);
        struct guess_list guesses = {.arena = arena};
        if (random_case_make(&c, seed, dir, &e) == 0) {
            struct plan_world w = {.spec = c.spec,
                                   .catalog = c.catalog,
                                   .config = c.config,
                                   .throughputs = c.throughputs,
                                   .market = c.market,
                                   .max_hourly_usd = (double)INFINITY};
            AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);
            struct pick *picks = calloc(c.spec->n_stages, sizeof *picks);
            if (p) {
                t.cases++;
                check_bounds(p, &t, picks);
                check_symmetry(p, &t, picks);
            }
            check_classes(c.catalog, &t);
            free(picks);
        }
        random_case_clear(&c);
    }
    CHECK(t.sites > 10 * t.cases / 2, "%zu sites of %zu cases looked at", t.sites, t.cases);
    CHECK(t.above == 0, "no bound is above the best plan with that site (%zu are)", t.above);
    CHECK(t.tight * 3 > t.sites, "and many are tight: %zu of %zu", t.tight, t.sites);
    CHECK(t.dropped > 0, "some places are covered by others (%zu sites)", t.dropped);
    CHECK(t.changed == 0, "leaving them out changes no best plan's totals");
    CHECK(t.unlike == 0, "places of a class have the same moves as their class");
    CHECK(t.classes < t.places, "classes are fewer than places: %zu, %zu", t.classes, t.places);
    return TAP_DONE();
}
