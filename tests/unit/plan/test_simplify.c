/* The simplest plan within a margin against trying everything, on random small cases: every
 * objective, with and without a deadline. TRADEWIND_CASES sets how many, TRADEWIND_SEED the first.
 */
#include "base/file.h"
#include "base/mem.h"
#include "plan/internal.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLANS_MAX 100000.0

static double stopped_clock(void)
{
    return 0;
}

/* Later by a second whenever it is read. */
static double late_clock(void)
{
    static double now_s;

    return now_s += 1;
}

struct tried {
    const struct plan_problem *p;
    struct goal goal;
    double limit; /* of goal_value */
    struct pick *picks;
    bool close; /* a plan lies on the limit, as far as doubles tell */
    size_t clouds, regions;
    struct totals best;
};

/* Marks places; of a cloud, its first. */
static size_t count_different(const struct tried *t, bool clouds)
{
    const struct catalog *c = t->p->world.catalog;
    bool seen[1000] = {false};
    size_t n = 0;

    for (size_t s = 0; s < t->p->n_stages; s++) {
        size_t place = t->picks[s].site->place;
        while (clouds && place && c->places[place - 1].cloud == c->places[place].cloud)
            place--;
        n += !seen[place];
        seen[place] = true;
    }
    return n;
}

static void look_at(struct tried *t)
{
    struct totals totals;

    if (!costmodel_totals(t->p, t->picks, &totals) || !goal_allows(&t->goal, &totals))
        return;
    double value = goal_value(&t->goal, (double)totals.microusd, (double)totals.ns[LAYER_MID]);
    t->close = t->close || fabs(value - t->limit) <= 1e-9 * t->limit;
    if (value > t->limit)
        return;
    size_t clouds = count_different(t, true), regions = count_different(t, false);
    bool simpler =
        !t->clouds || clouds < t->clouds || (clouds == t->clouds && regions < t->regions);
    bool as_simple = clouds == t->clouds && regions == t->regions;
    if (!simpler && !(as_simple && goal_compare(&t->goal, &totals, &t->best) < 0))
        return;
    t->clouds = clouds;
    t->regions = regions;
    t->best = totals;
}

static void try_all(struct tried *t, size_t stage)
{
    const struct pstage *s = &t->p->stages[stage];

    if (stage == t->p->n_stages) {
        look_at(t);
        return;
    }
    for (size_t i = 0; i < s->n_sites; i++)
        for (size_t k = 0; k < s->sites[i].n_choices; k++) {
            t->picks[stage] = (struct pick){&s->sites[i], &s->sites[i].choices[k]};
            try_all(t, stage + 1);
        }
}

static double count_plans(const struct plan_problem *p)
{
    double n = 1;

    for (size_t s = 0; s < p->n_stages; s++) {
        double choices = 0;
        for (size_t i = 0; i < p->stages[s].n_sites; i++)
            choices += (double)p->stages[s].sites[i].n_choices;
        n *= choices;
    }
    return n;
}

/* Whether the answer is that of trying everything. */
static bool agrees(const struct plan_problem *p,
                   const struct plan_query *q,
                   const struct plan *optimum,
                   double margin,
                   size_t *n_simpler)
{
    AUTO_MEM struct pick *picks = mem_zero(p->n_stages, sizeof *picks);
    struct tried t = {.p = p, .goal = goal_from_query(q), .picks = picks};
    struct plan simple;

    t.limit = goal_value(&t.goal, (double)optimum->cost_microusd, optimum->time_s * NS_PER_S) *
              (1 + margin);
    try_all(&t, 0);
    bool complete = plan_simplify(p, q, optimum, margin, &simple);
    const struct plan *got = simple.stages ? &simple : optimum;
    struct plan_simplicity found = plan_simplicity(p, got);
    bool same = found.clouds == t.clouds && found.regions == t.regions &&
                got->cost_microusd == t.best.microusd &&
                fabs(got->time_s * NS_PER_S - (double)t.best.ns[LAYER_MID]) < 1;
    *n_simpler += simple.stages != NULL;
    if (complete && !same && !t.close)
        printf("# objective %d, margin %g: %zu clouds, %zu regions, %lld; wanted %zu, %zu, %lld\n",
               (int)q->goal.objective, margin, found.clouds, found.regions,
               (long long)got->cost_microusd, t.clouds, t.regions, (long long)t.best.microusd);
    free(simple.stages);
    return complete && (same || t.close);
}

/* The time is over before the first set is tried: nothing is found, and that is said. */
static bool gives_up(const struct plan_problem *p, struct plan_query q, const struct plan *optimum)
{
    struct plan simple;

    q.now_s = late_clock;
    q.solve_limit_s = 0.5;
    bool complete = plan_simplify(p, &q, optimum, 10, &simple);
    return !simple.stages && complete == (plan_simplicity(p, optimum).regions == 1);
}

static size_t check_problem(const struct plan_problem *p,
                            uint64_t *state,
                            size_t *asked,
                            size_t *n_simpler)
{
    static const double margins[] = {0.01, 0.1, 0.6};
    struct plan_query q = plan_query_default(stopped_clock);
    size_t bad = 0;

    q.goal.weight = random_below(state, 11) / 10.0;
    for (int i = 0; i < 8; i++) {
        AUTO_CLEAR(plan_answer) struct plan_answer a = {0};
        q.goal.objective = (enum spec_objective)(i % 4);
        q.totals_only = i % 2;
        q.method = i < 4 ? PLAN_BY_SHAPE : PLAN_DUAL;
        if (plan_solve(p, &q, &a, NULL) < 0 || a.status != PLAN_OPTIMAL)
            continue;
        /* The second round has a deadline that excludes some plans. */
        if (i == 0)
            q.goal.deadline_s = (double)INFINITY;
        for (size_t k = 0; k < 3; k++, ++*asked)
            bad += !agrees(p, &q, &a.plan, margins[k], n_simpler);
        bad += !gives_up(p, q, &a.plan);
        if (i == 3)
            q.goal.deadline_s = a.plan.time_s * 1.3;
    }
    return bad;
}

int main(void)
{
    const char *cases = getenv("TRADEWIND_CASES"), *first = getenv("TRADEWIND_SEED");
    uint64_t n = cases ? strtoull(cases, NULL, 10) : getenv("TRADEWIND_SLOW") ? 20 : 120;
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1;
    char dir[] = "/tmp/tradewind-simplify-XXXXXX";
    size_t asked = 0, simpler = 0, bad = 0;

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    for (uint64_t i = 0; i < n && bad < 5; i++, seed++) {
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
            size_t wrong =
                p && count_plans(p) <= PLANS_MAX ? check_problem(p, &c.state, &asked, &simpler) : 0;
            if (wrong)
                printf("# seed %llu\n", (unsigned long long)seed);
            bad += wrong;
        }
        random_case_clear(&c);
    }
    CHECK(bad == 0, "the simplest plan is that of trying everything, on %zu questions", asked);
    CHECK(asked > n && simpler > n / 10, "%zu answers are simpler than the optimum", simpler);
    file_remove_tree(dir);
    return TAP_DONE();
}
