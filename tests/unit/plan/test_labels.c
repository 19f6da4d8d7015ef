/* Labels without any help from bounds or known plans: all of a case's undominated (cost, time)
 * pairs, against the pairs of every combination of choices. */
#include "plan/search.h"

#include "base/arena.h"
#include "base/mem.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A clock that stands still: no limit is ever over, however slow the machine is. */
static double stopped_clock(void)
{
    return 0;
}

#define COMBINATIONS_MAX 60000

struct set {
    struct totals *items;
    size_t n, cap;
};

static void set_add(struct set *s, const struct totals *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].microusd <= t->microusd && s->items[i].ns[0] <= t->ns[0])
            return;
    for (size_t i = 0; i < s->n; i++)
        if (!(t->microusd <= s->items[i].microusd && t->ns[0] <= s->items[i].ns[0]))
            s->items[kept++] = s->items[i];
    s->n = kept;
    s->items = mem_room(s->items, s->n, &s->cap, sizeof *s->items);
    s->items[s->n++] = *t;
}

static void enumerate(const struct plan_problem *p,
                      struct pick *picks,
                      size_t stage,
                      struct set *out)
{
    struct totals t;

    if (stage == p->n_stages) {
        if (costmodel_totals(p, picks, &t))
            set_add(out, &t);
        return;
    }
    for (size_t k = 0; k < p->stages[stage].n_sites; k++)
        for (size_t i = 0; i < p->stages[stage].sites[k].n_choices; i++) {
            const struct site *site = &p->stages[stage].sites[k];
            picks[stage] = (struct pick){site, &site->choices[i]};
            enumerate(p, picks, stage + 1, out);
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

static bool contains(const struct set *s, const struct totals *t)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->items[i].microusd == t->microusd && s->items[i].ns[0] == t->ns[0])
            return true;
    return false;
}

struct tally {
    size_t cases, joins, labels, missing, extra, untrue;
};

static void compare(const struct plan_problem *p,
                    const struct label_run *run,
                    const struct set *want,
                    struct tally *t)
{
    AUTO_MEM struct pick *picks = mem_zero(p->n_stages, sizeof *picks);
    struct set got = {0};

    for (size_t i = 0; i < labels_n(run); i++) {
        struct totals label = labels_totals(run, i), plan;
        labels_picks(run, i, picks);
        t->untrue += !costmodel_totals(p, picks, &plan) || plan.microusd != label.microusd ||
                     plan.ns[0] != label.ns[0];
        t->extra += !contains(want, &label);
        set_add(&got, &label);
    }
    for (size_t i = 0; i < want->n; i++)
        t->missing += !contains(&got, &want->items[i]);
    t->labels += labels_n(run);
    free(got.items);
}

static void check_case(const struct plan_problem *p, struct tally *t)
{
    struct goal goal = {.budget_microusd = INT64_MAX, .deadline_ns = INT64_MAX};
    struct incumbent incumbent = {.goal = &goal};
    struct cutoff cutoff = {.now_s = stopped_clock, .end_s = 60};
    struct domain all = domain_all(p);
    struct view v;
    struct pass pass = {0};

    if (combinations(p) <= COMBINATIONS_MAX &&
        view_open(&v, p, &all, (struct frame_kind){0}, VIEW_WORK_LARGE)) {
        /* With shared datasets labels cost less than their plans: only bounds. */
        if (v.schedule->exact && !v.frame->shared && view_pass(&v, 0, &pass, NULL) == PASS_FOUND &&
            view_keep(&v, &pass) == 0) {
            AUTO(label_run) struct label_run *run = labels_new(&v, &incumbent, &cutoff);
            AUTO_MEM struct pick *picks = mem_zero(p->n_stages, sizeof *picks);
            struct set want = {0};
            enumerate(p, picks, 0, &want);
            compare(p, run, &want, t);
            t->cases++;
            for (size_t i = 0; i < v.frame->n_vars; i++)
                t->joins += v.frame->vars[i].by_level;
            free(want.items);
        }
        view_clear(&v);
    }
    domain_clear(&all);
}

int main(void)
{
    char dir[] = "/tmp/tradewind-labels-XXXXXX";
    uint64_t n = getenv("TRADEWIND_SLOW") ? 60 : 800;
    struct tally t = {0};

    if (!mkdtemp(dir))
        return EXIT_FAILURE;
    for (uint64_t seed = 70001; seed <= 70000 + n; seed++) {
        struct random_case c;
        struct err e = {0};
        AUTO(arena) struct arena *arena = arena_new(1 << 20);
        struct guess_list guesses = {.arena = arena};
        if (random_case_make(&c, seed, dir, &e) == 0) {
            struct plan_world w = {.spec = c.spec,
                                   .catalog = c.catalog,
                                   .config = c.config,
                                   .throughputs = c.throughputs,
                                   .market = PLAN_ANY_MARKET,
                                   .max_hourly_usd = (double)INFINITY};
            AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);
            if (p)
                check_case(p, &t);
        }
        random_case_clear(&c);
    }
    CHECK(t.cases > n / 20, "%zu cases, %zu labels", t.cases, t.labels);
    CHECK(t.joins > 0, "%zu stages carried the level of their inputs", t.joins);
    CHECK(t.missing == 0, "no undominated plan is missing (%zu are)", t.missing);
    CHECK(t.extra == 0, "every label is undominated (%zu are not)", t.extra);
    CHECK(t.untrue == 0, "every label has its plan's cost and time (%zu do not)", t.untrue);
    return TAP_DONE();
}
