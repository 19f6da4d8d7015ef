/* Pareto frontiers against all combinations of choices, of random small cases: without limits, and
 * within a budget, a deadline, or a deadline at risk. TRADEWIND_CASES sets how many,
 * TRADEWIND_SEED the first. */
#include "base/arena.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/money.h"
#include "plan/internal.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define COMBINATIONS_MAX 60000.0

/* A clock that stands still: no limit is ever over, however slow the machine is. */
static double stopped_clock(void)
{
    return 0;
}

struct staircase {
    struct totals *items;
    size_t n, cap;
};

static bool beats(const struct totals *a, const struct totals *b)
{
    return a->microusd <= b->microusd && a->ns[LAYER_MID] <= b->ns[LAYER_MID];
}

static void add(struct staircase *s, const struct totals *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++)
        if (beats(&s->items[i], t))
            return;
    for (size_t i = 0; i < s->n; i++)
        if (!beats(t, &s->items[i]))
            s->items[kept++] = s->items[i];
    s->n = kept;
    s->items = mem_room(s->items, s->n, &s->cap, sizeof *s->items);
    s->items[s->n++] = *t;
}

static void enumerate(const struct plan_problem *p,
                      const struct goal *g,
                      struct pick *picks,
                      size_t stage,
                      struct staircase *out)
{
    struct totals t;

    if (stage == p->n_stages) {
        if (costmodel_totals(p, picks, &t) && goal_allows(g, &t))
            add(out, &t);
        return;
    }
    for (size_t k = 0; k < p->stages[stage].n_sites; k++)
        for (size_t i = 0; i < p->stages[stage].sites[k].n_choices; i++) {
            const struct site *site = &p->stages[stage].sites[k];
            picks[stage] = (struct pick){site, &site->choices[i]};
            enumerate(p, g, picks, stage + 1, out);
        }
}

static double combinations(const struct plan_problem *p)
{
    double product = 1;

    for (size_t s = 0; s < p->n_stages; s++) {
        double sum = 0;
        for (size_t k = 0; k < p->stages[s].n_sites; k++)
            sum += (double)p->stages[s].sites[k].n_choices;
        product *= sum;
    }
    return product;
}

struct tally {
    size_t questions, points;
    int bad;
};

static const struct {
    enum plan_method method;
    const char *name;
} methods[] = {{PLAN_BY_SHAPE, "by shape"}, {PLAN_DUAL, "dual"}, {PLAN_DUAL_PLAIN, "dual, plain"}};

static bool contains(const struct staircase *want, const struct plan *plan)
{
    for (size_t i = 0; i < want->n; i++)
        if (want->items[i].microusd == plan->cost_microusd &&
            fabs((double)want->items[i].ns[LAYER_MID] / NS_PER_S - plan->time_s) < 1e-6)
            return true;
    return false;
}

static void compare(const struct plan_problem *p, struct plan_query q, struct tally *t)
{
    AUTO_MEM struct pick *picks = mem_zero(p->n_stages, sizeof *picks);
    struct goal goal = goal_from_query(&q);
    struct staircase want = {0};
    struct err e;

    enumerate(p, &goal, picks, 0, &want);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        AUTO_CLEAR(plan_answer) struct plan_answer got = {0};
        q.method = methods[m].method;
        t->questions++;
        t->points += want.n;
        if (plan_solve(p, &q, &got, &e) < 0 || plan_found(&got) != (want.n > 0)) {
            t->bad++;
            continue;
        }
        size_t same = 0;
        for (size_t i = 0; i < got.n_pareto; i++)
            same += contains(&want, &got.pareto[i]);
        if (same == want.n && got.n_pareto == want.n && (!want.n || got.pareto_complete))
            continue;
        t->bad++;
        printf("# %s, budget %g, deadline %g, risk %d: %zu points, %zu of the %zu wanted\n",
               methods[m].name, q.goal.budget_usd, q.goal.deadline_s, q.risk_p95, got.n_pareto,
               same, want.n);
    }
    free(want.items);
}

static void check_case(const struct plan_problem *p, struct tally *t)
{
    struct plan_query q = plan_query_default(stopped_clock);
    AUTO_CLEAR(plan_answer) struct plan_answer cheap = {0};
    AUTO_CLEAR(plan_answer) struct plan_answer fast = {0};
    struct err e;

    q.pareto = true;
    compare(p, q, t);
    q.pareto = false;
    if (plan_solve(p, &q, &cheap, &e) < 0 || !plan_found(&cheap))
        return;
    q.goal.objective = SPEC_TIME;
    if (plan_solve(p, &q, &fast, &e) < 0)
        return;
    q.pareto = true;
    q.goal.deadline_s = (cheap.plan.time_s + 2 * fast.plan.time_s) / 3;
    compare(p, q, t);
    q.goal.deadline_s = (cheap.plan.time_high_s + fast.plan.time_high_s) / 2;
    q.risk_p95 = true;
    compare(p, q, t);
    q.goal.objective = SPEC_VALUE;
    q.goal.deadline_s = (double)INFINITY;
    q.risk_p95 = false;
    q.goal.budget_usd = money_to_usd((2 * cheap.plan.cost_microusd + fast.plan.cost_microusd) / 3);
    compare(p, q, t);
}

int main(void)
{
    const char *cases = getenv("TRADEWIND_CASES"), *first = getenv("TRADEWIND_SEED");
    uint64_t n = cases ? strtoull(cases, NULL, 10) : getenv("TRADEWIND_SLOW") ? 60 : 600;
    uint64_t seed = first ? strtoull(first, NULL, 10) : 90001;
    char dir[] = "/tmp/tradewind-frontier-XXXXXX";
    struct tally t = {0};

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    for (uint64_t i = 0; i < n && t.bad < 5; i++, seed++) {
        struct random_case c;
        struct err e = {0};
        AUTO(arena) struct arena *arena = arena_new(1 << 20);
        struct guess_list guesses = {.arena = arena};
        int bad = t.bad;
        if (random_case_make(&c, seed, dir, &e) == 0) {
            struct plan_world w = {.spec = c.spec,
                                   .catalog = c.catalog,
                                   .config = c.config,
                                   .throughputs = c.throughputs,
                                   .market = c.market,
                                   .max_hourly_usd = (double)INFINITY};
            AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);
            if (p && combinations(p) <= COMBINATIONS_MAX)
                check_case(p, &t);
            if (t.bad > bad)
                printf("# seed %llu\n", (unsigned long long)seed);
        }
        random_case_clear(&c);
    }
    CHECK(t.bad == 0, "%zu frontiers of %zu points have all plans and no other", t.questions,
          t.points);
    CHECK(2 * t.points > 3 * t.questions, "many have several points");
    file_remove_tree(dir);
    return TAP_DONE();
}
