/* The exact solver against the exhaustive one on random small cases: every objective, limits that
 * are met, just met and not met, ties. TRADEWIND_CASES sets how many, TRADEWIND_SEED the first. */
#include "base/arena.h"
#include "base/file.h"
#include "base/money.h"
#include "base/time.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static const char *const objective_names[] = {"cost", "time", "value", "weighted"};

static bool same_plan(const struct plan *a, const struct plan *b)
{
    for (size_t s = 0; s < a->n_stages; s++)
        if (a->stages[s].offer != b->stages[s].offer || a->stages[s].spot != b->stages[s].spot)
            return false;
    return a->cost_microusd == b->cost_microusd && a->time_s == b->time_s;
}

static void show(const struct random_case *c, const char *solver, const struct plan_answer *a)
{
    printf("# %s: status %d, %lld micro-dollars, %.9f s, bound %g, gap %g\n", solver, a->status,
           (long long)a->plan.cost_microusd, a->plan.time_s, a->bound, a->gap);
    for (size_t s = 0; s < a->plan.n_stages; s++) {
        const struct plan_stage *st = &a->plan.stages[s];
        const struct catalog_place *p = &c->catalog->places[st->place];
        printf("#   %s/%s %s %s zone '%s' start %g finish %g compute %lld transfer %lld\n",
               catalog_text(c->catalog, p->cloud), catalog_text(c->catalog, p->region),
               catalog_text(c->catalog, st->kind->instance_type), st->spot ? "spot" : "on-demand",
               catalog_text(c->catalog, st->offer->zone), st->start_s, st->finish_s,
               (long long)st->compute_microusd, (long long)st->transfer_microusd);
    }
}

/* The exact solver as it is used, and its search for DAGs on every pipeline: with and without plans
 * besides those that its bounds come with. */
static const struct {
    enum plan_method method;
    const char *name;
} methods[] = {{PLAN_DUAL, "dual"}, {PLAN_DUAL_PLAIN, "dual, plain"}, {PLAN_BY_SHAPE, "exact"}};

/* 0 when all methods of the exact solver agree with the exhaustive one; *exact is the last one's.
 */
static int compare_one(const struct random_case *c,
                       const struct plan_problem *p,
                       struct plan_query q,
                       uint64_t seed,
                       struct plan_answer *exact)
{
    AUTO_CLEAR(plan_answer) struct plan_answer wanted = {0};
    struct err e = {0};
    int bad = 0;

    /* Trying everything takes as long as it takes. */
    q.solve_limit_s = (double)INFINITY;
    q.solver = PLAN_EXHAUSTIVE;
    if (plan_solve(p, &q, &wanted, &e) < 0)
        printf("# seed %llu: exhaustive: %s\n", (unsigned long long)seed, e.text);
    q.solver = PLAN_EXACT;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (i > 0)
            plan_answer_clear(exact);
        q.method = methods[i].method;
        if (plan_solve(p, &q, exact, &e) < 0)
            printf("# seed %llu: %s: %s\n", (unsigned long long)seed, methods[i].name, e.text);
        if (!e.text[0] && exact->status == wanted.status &&
            (exact->status != PLAN_OPTIMAL ||
             (same_plan(&exact->plan, &wanted.plan) && exact->gap == 0 && exact->tie_break_proven)))
            continue;
        bad = 1;
        printf("# seed %llu, objective %s, budget %g, deadline %.9f, risk %d: they differ\n",
               (unsigned long long)seed, objective_names[q.goal.objective], q.goal.budget_usd,
               q.goal.deadline_s, q.risk_p95);
        show(c, methods[i].name, exact);
        show(c, "exhaustive", &wanted);
    }
    return bad;
}

static void pin_stage(struct random_case *c, const struct plan_problem *p, struct plan_query *q)
{
    size_t n;

    q->pinned_stage = random_below(&c->state, (unsigned)c->spec->n_stages);
    const size_t *places = plan_stage_places(p, q->pinned_stage, &n);
    q->pinned_place = places[random_below(&c->state, (unsigned)n)];
}

/* Every objective without limits, then with limits between and at the extremes, and with one stage
 * pinned to a location. */
static int compare_all(struct random_case *c,
                       const struct plan_problem *p,
                       uint64_t seed,
                       size_t *asked)
{
    struct plan_query q = plan_query_default(time_monotonic_s);
    struct plan_answer a;
    double cost[2] = {0, 0}, time_s[2] = {0, 0};
    int bad = 0;

    q.goal.weight = random_below(&c->state, 11) / 10.0;
    for (int o = 0; o < 4; o++) {
        q.goal.objective = (enum spec_objective)o;
        bad += compare_one(c, p, q, seed, &a);
        if (o < 2 && a.status != PLAN_INFEASIBLE) {
            cost[o] = money_to_usd(a.plan.cost_microusd);
            time_s[o] = a.plan.time_s;
        }
        plan_answer_clear(&a);
        ++*asked;
    }
    if (time_s[0] == 0)
        return bad;
    for (int k = 0; k < 7 && !bad; k++) {
        static const double share[] = {0, 0.3, 0.6, 1, -0.05, 0.5, 0.8};
        q.goal.objective = (enum spec_objective)(k == 5 ? 2 : random_below(&c->state, 4));
        q.goal.deadline_s =
            k == 1 ? (double)INFINITY : time_s[1] + share[k] * (time_s[0] - time_s[1]);
        q.goal.budget_usd =
            k != 1 && k < 4 ? (double)INFINITY : cost[0] + 0.4 * (cost[1] - cost[0]);
        q.risk_p95 = k == 2;
        if (k == 6)
            pin_stage(c, p, &q);
        bad += compare_one(c, p, q, seed, &a);
        plan_answer_clear(&a);
        ++*asked;
    }
    return bad;
}

int main(void)
{
    const char *cases = getenv("TRADEWIND_CASES"), *first = getenv("TRADEWIND_SEED");
    /* Sanitizers slow it down tenfold: then a sample has to do. */
    uint64_t n = cases ? strtoull(cases, NULL, 10) : getenv("TRADEWIND_SLOW") ? 150 : 2000;
    uint64_t seed = first ? strtoull(first, NULL, 10) : 1;
    char dir[] = "/tmp/tradewind-exact-XXXXXX";
    size_t asked = 0, usable = 0;
    int bad = 0;

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    for (uint64_t i = 0; i < n && bad < 5; i++, seed++) {
        struct random_case c;
        struct err e = {0};
        AUTO(arena) struct arena *arena = arena_new(1 << 20);
        struct guess_list guesses = {.arena = arena};
        if (random_case_make(&c, seed, dir, &e) < 0) {
            printf("# seed %llu does not load: %s\n", (unsigned long long)seed, e.text);
            bad++;
        } else {
            struct plan_world w = {.spec = c.spec,
                                   .catalog = c.catalog,
                                   .config = c.config,
                                   .throughputs = c.throughputs,
                                   .market = c.market,
                                   .max_hourly_usd = (double)INFINITY};
            AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);
            if (p) {
                int wrong = compare_all(&c, p, seed, &asked);
                if (wrong)
                    printf("# pipeline of seed %llu:\n%s\n# offers:\n%s\n# transfers:\n%s\n",
                           (unsigned long long)seed, buf_str(&c.pipeline), buf_str(&c.offers),
                           buf_str(&c.transfers));
                bad += wrong;
                usable++;
            }
        }
        random_case_clear(&c);
    }
    CHECK(bad == 0, "exact equals exhaustive on %zu questions over %zu random cases", asked,
          usable);
    CHECK(usable * 2 > n, "most random cases have eligible offers");
    file_remove_tree(dir);
    return TAP_DONE();
}
