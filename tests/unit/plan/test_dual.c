/* The parts of the search over DAGs, each against all plans of small random cases: windows keep
 * every plan in time, weighings are lower bounds whatever the multipliers, marginals and whole
 * rounds drop no option of a better plan; and one weighing by hand. */
#include "plan/dual.h"

#include "base/mem.h"
#include "base/time.h"
#include "random_case.h"
#include "tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define PLANS_MAX 3000
#define ROUNDING 1e-9 /* of sums of doubles, relative */

static double stopped_clock(void)
{
    return 0;
}

/* Every plan of a case. */
struct plans {
    struct dual *d;
    size_t n;
    size_t *options; /* [plan][stage] */
    struct dual_score *scores;
    double (*duration)[16]; /* [plan][stage]: nanoseconds at its true input time */
};

struct tally {
    size_t cases, plans, scored_wrong, risky;
    size_t windows_kept, windows_dropped, windows_lost, least_wrong;
    size_t weighed, above, tight;
    size_t marginals_dropped, marginals_lost;
    size_t intervals, interval_lost;
    size_t bounded, ruled_out, bound_lost, bound_above;
    size_t cuts, cut, dishonest;
};

static unsigned below(struct random_case *c, unsigned n)
{
    return random_below(&c->state, n);
}

/* Input time of a stage in a plan, from the tables of what moves. */
static double level_of(const struct dual *d, const size_t *options, size_t s)
{
    const struct dual_stage *stage = &d->stages[s];
    uint32_t b = stage->options[options[s]].site;
    double level_s = stage->sites[b]->fixed_input_s;

    for (size_t k = 0; k < stage->n_inputs; k++) {
        const struct dual_input *in = &d->inputs[stage->inputs[k]];
        uint32_t a = d->stages[in->from].options[options[in->from]].site;
        level_s = fmax(level_s, in->seconds[a * stage->n_sites + b]);
    }
    return level_s;
}

static bool same_as_model(const struct dual *d, const size_t *options, bool possible)
{
    struct pick picks[16];
    struct totals totals;
    struct dual_score score;

    for (size_t s = 0; s < d->n; s++) {
        const struct dual_option *o = &d->stages[s].options[options[s]];
        picks[s] = (struct pick){d->stages[s].sites[o->site], o->choice};
    }
    if (costmodel_totals(d->p, picks, &totals) != possible)
        return false;
    return !possible || (dual_score(d, options, &score) && score.microusd == totals.microusd &&
                         score.ns[LAYER_MID] == totals.ns[LAYER_MID] &&
                         score.ns[LAYER_HIGH] == totals.ns[LAYER_HIGH]);
}

/* False when there are too many plans for trying all, or none. */
static bool list_plans(struct dual *d, struct plans *out, struct tally *t)
{
    size_t options[16] = {0}, count = 1;

    *out = (struct plans){.d = d};
    for (size_t s = 0; s < d->n; s++)
        count *= d->stages[s].n_options;
    if (count > PLANS_MAX)
        return false;
    out->options = mem_zero(count * d->n, sizeof *out->options);
    out->scores = mem_zero(count, sizeof *out->scores);
    out->duration = mem_zero(count, sizeof *out->duration);
    for (size_t i = 0; i < count; i++) {
        bool possible = dual_score(d, options, &out->scores[out->n]);
        t->scored_wrong += !same_as_model(d, options, possible);
        for (size_t s = 0; s < d->n && possible; s++) {
            struct dual_outcome outcome = {.level_s = (double)NAN};
            dual_outcome(d, s, options[s], level_of(d, options, s), &outcome);
            out->duration[out->n][s] = outcome.ns[LAYER_MID];
        }
        t->risky +=
            possible && out->scores[out->n].ns[LAYER_HIGH] > out->scores[out->n].ns[LAYER_MID];
        memcpy(out->options + out->n * d->n, options, d->n * sizeof *options);
        out->n += possible;
        for (size_t s = 0; s < d->n && ++options[s] == d->stages[s].n_options; s++)
            options[s] = 0;
    }
    return out->n > 0;
}

static void plans_clear(struct plans *plans)
{
    free(plans->options);
    free(plans->scores);
    free(plans->duration);
}

static bool holds(const struct plans *plans, const struct dual_node *node, size_t plan)
{
    for (size_t s = 0; s < plans->d->n; s++)
        if (!DUAL_HAS(node, &plans->d->stages[s], plans->options[plan * plans->d->n + s]))
            return false;
    return true;
}

static double cost_of(const struct plans *plans, size_t plan)
{
    return (double)plans->scores[plan].microusd;
}

static double time_of(const struct plans *plans, size_t plan)
{
    return (double)plans->scores[plan].ns[LAYER_MID];
}

static size_t count_options(const struct dual *d, const struct dual_node *node)
{
    size_t n = 0;

    for (size_t s = 0; s < d->n; s++)
        for (size_t o = 0; o < d->stages[s].n_options; o++)
            n += DUAL_HAS(node, &d->stages[s], o);
    return n;
}

static struct dual_aim no_limits(enum spec_objective objective)
{
    return (struct dual_aim){.objective = objective,
                             .budget_microusd = (double)INFINITY,
                             .limit_ns = {(double)INFINITY, (double)INFINITY},
                             .layer = LAYER_MID};
}

/* A node with some options left out, of no limits. */
static struct dual_node *random_node(struct random_case *c, const struct dual *d)
{
    struct dual_node *node = dual_node_new(d);

    node->most_ns = (double)INFINITY;
    for (size_t s = 0; s < d->n; s++)
        for (size_t o = 0; o < d->stages[s].n_options; o++)
            if (below(c, 4) == 0)
                dual_drop(node, &d->stages[s], o);
    return node;
}

/* ---- windows ---- */

static void check_windows(struct random_case *c, const struct plans *plans, struct tally *t)
{
    struct dual *d = plans->d;
    AUTO_MEM struct dual_node *node = dual_node_new(d);
    double deadline_ns = time_of(plans, below(c, (unsigned)plans->n));
    size_t before = count_options(d, node);
    double least_ns = (double)INFINITY;

    node->most_ns = (double)INFINITY;
    d->aim = no_limits(SPEC_COST);
    d->aim.limit_ns[LAYER_MID] = deadline_ns; /* inclusive: that plan stays */
    t->windows_lost += !dual_windows(d, node);
    for (size_t i = 0; i < plans->n; i++) {
        t->windows_lost += time_of(plans, i) <= deadline_ns && !holds(plans, node, i);
        least_ns = fmin(least_ns, time_of(plans, i));
    }
    t->least_wrong += d->least_ns > least_ns;
    t->windows_dropped += before - count_options(d, node);
    t->windows_kept += count_options(d, node);
}

/* ---- weighings ---- */

/* Multipliers on some random paths, as weights of stages; their sum. */
static double random_weights(struct random_case *c, const struct dual *d, double *time)
{
    double lambda = 0;

    memset(time, 0, d->n * sizeof *time);
    for (unsigned paths = below(c, 4); paths > 0; paths--) {
        double mu = below(c, 1000) * 1e-9; /* of $3.60 an hour */
        lambda += mu;
        for (size_t s = d->order[below(c, (unsigned)d->n)]; s != NONE;) {
            const struct spec_stage *spec = d->stages[s].stage->spec;
            time[s] += mu;
            s = spec->n_needs ? spec->needs[below(c, (unsigned)spec->n_needs)] : NONE;
        }
    }
    return lambda;
}

/* Mixtures and shares may be anything that is not negative. */
static void random_mixtures(struct random_case *c, struct dual *d)
{
    for (size_t i = 0; i < d->n_inputs; i++)
        for (size_t b = 0; b < d->stages[d->inputs[i].to].n_sites; b++)
            d->inputs[i].weight[b] = below(c, 10) + 1e-9;
    for (size_t i = 0; i < d->n_readings; i++)
        for (size_t b = 0; b < d->stages[d->readings[i].to].n_sites; b++)
            d->readings[i].share[b] = below(c, 10) + 1e-9;
}

static double weight_of(const struct plans *plans, size_t plan, double cost, const double *time)
{
    double sum = cost * cost_of(plans, plan);

    for (size_t s = 0; s < plans->d->n; s++)
        sum += time[s] * plans->duration[plan][s];
    return sum;
}

static void check_weighing(struct random_case *c, const struct plans *plans, struct tally *t)
{
    struct dual *d = plans->d;
    AUTO_MEM struct dual_node *node = random_node(c, d), *before = NULL;
    double time[16], cost = below(c, 5) ? 1 : 0, lambda = random_weights(c, d, time);
    double least = (double)INFINITY, most = 0;
    size_t options[16];

    d->aim = no_limits(SPEC_COST);
    random_mixtures(c, d);
    if (!dual_windows(d, node))
        return;
    AUTO(dual_weigher) struct dual_weigher *w = dual_weigher_new(d, below(c, 2) ? 1 : 100000);
    double phi = dual_weigh(w, node, cost, time, options);
    for (size_t i = 0; i < plans->n; i++) {
        if (!holds(plans, node, i))
            continue;
        double weight = weight_of(plans, i, cost, time);
        least = fmin(least, weight);
        most = fmax(most, weight);
        t->above += phi > weight * (1 + ROUNDING) ||
                    phi > (cost * cost_of(plans, i) + lambda * time_of(plans, i)) * (1 + ROUNDING);
    }
    t->weighed++;
    t->tight += phi >= least * (1 - 1e-6);
    if (isinf(phi))
        return;
    double wanted = least + (most - least) * below(c, 11) / 10;
    before = dual_node_copy(d, node);
    dual_weigh_drop(w, node, wanted);
    t->marginals_dropped += count_options(d, before) - count_options(d, node);
    for (size_t i = 0; i < plans->n; i++)
        t->marginals_lost += holds(plans, before, i) && !holds(plans, node, i) &&
                             weight_of(plans, i, cost, time) < wanted * (1 - ROUNDING);
}

/* ---- intervals of times ---- */

/* Better plans of the interval weigh less than what is wanted, for any lambda. */
static void check_interval(struct random_case *c, const struct plans *plans, struct tally *t)
{
    struct dual *d = plans->d;
    AUTO_MEM struct dual_node *node = dual_node_new(d);
    double a = time_of(plans, below(c, (unsigned)plans->n));
    double b = time_of(plans, below(c, (unsigned)plans->n));
    double lambda = below(c, 1000) * 1e-8;

    d->aim = no_limits(SPEC_VALUE);
    d->best = plans->scores[below(c, (unsigned)plans->n)];
    d->has_best = d->found = true;
    node->least_ns = fmin(a, b);
    node->most_ns = fmax(a, b);
    double wanted = dual_wanted(d, node, lambda);
    for (size_t i = 0; i < plans->n; i++) {
        double ns = time_of(plans, i);
        if (ns < node->least_ns || ns > node->most_ns || cost_of(plans, i) * ns >= dual_enough(d))
            continue;
        t->intervals++;
        t->interval_lost += cost_of(plans, i) + lambda * ns >= wanted * (1 + ROUNDING);
    }
}

/* ---- whole rounds ---- */

static struct dual_aim random_aim(struct random_case *c, const struct plans *plans)
{
    struct dual_aim aim = no_limits((enum spec_objective)below(c, 4));

    aim.rate = (1 + below(c, 1000)) * 1e-9;
    if (below(c, 2))
        aim.limit_ns[LAYER_MID] = time_of(plans, below(c, (unsigned)plans->n));
    if (below(c, 3) == 0)
        aim.budget_microusd = cost_of(plans, below(c, (unsigned)plans->n));
    if (below(c, 4) == 0)
        aim.limit_ns[LAYER_HIGH] =
            (double)plans->scores[below(c, (unsigned)plans->n)].ns[LAYER_HIGH];
    return aim;
}

static bool is_wanted(const struct plans *plans, size_t i, double enough)
{
    const struct dual *d = plans->d;

    return dual_allows(d, &plans->scores[i]) &&
           dual_value(d, cost_of(plans, i), time_of(plans, i)) < enough;
}

/* A better plan stays in the node, whose bound is not above it. */
static void check_bound(struct random_case *c, const struct plans *plans, struct tally *t)
{
    struct dual *d = plans->d;
    AUTO_MEM struct dual_node *node = random_node(c, d), *before = dual_node_copy(d, node);
    double *chosen[16];
    struct dual_tuning tuning = {.passes = 8, .is_root = below(c, 2), .chosen = chosen};

    d->aim = random_aim(c, plans);
    d->best = plans->scores[below(c, (unsigned)plans->n)];
    d->has_best = d->found = dual_allows(d, &d->best);
    d->plain = true;
    d->n_paths = 0;
    node->most_ns = d->aim.limit_ns[LAYER_MID];
    if (!dual_windows(d, node))
        return;
    node->least_ns = d->least_ns;
    dual_find_paths(d, node);
    node->n_paths = d->n_paths;
    for (size_t i = 0; i < d->n_paths; i++)
        node->multipliers[i] = (float)(below(c, 1000) * 1e-9);
    for (size_t s = 0; s < d->n; s++)
        chosen[s] = mem_zero(d->stages[s].n_options, sizeof **chosen);
    bool left = dual_bound(d, node, &tuning);
    double enough = dual_enough(d); /* it may have found a better plan on the way */
    t->bounded++;
    t->ruled_out += !left;
    for (size_t i = 0; i < plans->n; i++) {
        if (!holds(plans, before, i) || !is_wanted(plans, i, enough))
            continue;
        double value = dual_value(d, cost_of(plans, i), time_of(plans, i));
        t->bound_lost += !left || !holds(plans, node, i);
        t->bound_above += node->bound > value * (1 + ROUNDING);
    }
    for (size_t s = 0; s < d->n; s++)
        free(chosen[s]);
}

static void check_case(struct random_case *c, const struct plan_problem *p, struct tally *t)
{
    const struct cutoff cutoff = {.now_s = stopped_clock, .end_s = 60};
    struct domain all = domain_all(p);
    AUTO(dual) struct dual *d = dual_new(p, &all, &cutoff);
    struct plans plans = {0};

    if (d && list_plans(d, &plans, t)) {
        t->cases++;
        t->plans += plans.n;
        for (int i = 0; i < 10; i++) {
            check_windows(c, &plans, t);
            check_weighing(c, &plans, t);
            check_interval(c, &plans, t);
            check_bound(c, &plans, t);
        }
    }
    plans_clear(&plans);
    domain_clear(&all);
}

/* ---- searches that are cut ---- */

/* A clock that jumps a second whenever it is read: a limit of n seconds ends at the n-th look. */
static double hasty_clock(void)
{
    static double now_s;

    return now_s += 1;
}

#define LOOKS_MAX 400

static void ask(const struct plan_problem *p, const struct plan_query *q, struct plan_answer *a)
{
    struct err e = {0};

    if (plan_solve(p, q, a, &e) < 0)
        *a = (struct plan_answer){.status = PLAN_INFEASIBLE};
}

/* Wherever the search ends, what it says holds for the whole answer. */
static void check_cuts(const struct plan_problem *p, struct plan_query q, struct tally *t)
{
    struct plan_answer whole, cut;
    bool settled = false;

    q.now_s = stopped_clock;
    ask(p, &q, &whole);
    q.now_s = hasty_clock;
    for (int n = 0; n < LOOKS_MAX && !settled; n++) {
        q.solve_limit_s = n + 0.5;
        ask(p, &q, &cut);
        t->cuts++;
        t->cut += cut.status == PLAN_LIMIT || cut.status == PLAN_FEASIBLE;
        if (!plan_found(&whole))
            t->dishonest += plan_found(&cut);
        else
            t->dishonest +=
                cut.status == PLAN_INFEASIBLE ||
                (plan_found(&cut) && (cut.bound > whole.objective * (1 + ROUNDING) ||
                                      cut.objective < whole.objective * (1 - ROUNDING))) ||
                (cut.status == PLAN_OPTIMAL && cut.objective > whole.objective * (1 + ROUNDING));
        settled = cut.status == whole.status;
        plan_answer_clear(&cut);
    }
    plan_answer_clear(&whole);
}

/* Every objective, within the limits that a greedy plan just meets: it stands in for a plan where
 * the search has found none. */
static void cut_case(struct random_case *c, const struct plan_problem *p, struct tally *t)
{
    struct plan_query q = plan_query_default(stopped_clock);
    struct plan_answer greedy;

    q.totals_only = q.is_side = true;
    for (int i = 0; i < 8; i++) {
        q.goal = (struct spec_goal){.objective = (enum spec_objective)(i % 4),
                                    .weight = 0.5,
                                    .budget_usd = (double)INFINITY,
                                    .deadline_s = (double)INFINITY};
        q.solver = PLAN_GREEDY;
        ask(p, &q, &greedy);
        if (plan_found(&greedy)) {
            q.solver = PLAN_EXACT;
            q.method = below(c, 3) ? PLAN_DUAL_PLAIN : PLAN_DUAL;
            q.goal.deadline_s = greedy.plan.time_s;
            if (i >= 4)
                q.goal.budget_usd = (double)greedy.plan.cost_microusd / 1e6;
            check_cuts(p, q, t);
        }
        plan_answer_clear(&greedy);
    }
}

/* ---- by hand ---- */

/* docs/solver.md: a and b, then c; each 2 h for $2 or 1 h for $5, and nothing else. */
static void check_by_hand(const char *dir)
{
    static const char pipeline[] =
        "name: hand\ndefaults: {estimate: {hours: {slow: 2, fast: 1}}}\n"
        "---\nname: a\nneeds: []\n---\nname: b\nneeds: []\n---\nname: c\nneeds: [a, b]\n";
    static const char offers[] =
        "cloud,region,zone,instance_type,vcpus,memory_gib,accelerator,accelerator_count,"
        "network_gbps,price_usd_per_hour,spot_usd_per_hour,preemptions_per_hour\n"
        "aws,east,,slow,4,16,,,,1,,\naws,east,,fast,8,32,,,,5,,\n";
    struct err e = {0};
    AUTO(arena) struct arena *arena = arena_new(1 << 20);
    struct guess_list guesses = {.arena = arena};
    struct random_case c = {0};

    if (random_case_load(&c, dir, pipeline, offers, "plan: {boot_s: 0}\n", &e) < 0) {
        CHECK(false, "the case by hand loads: %s", e.text);
        return;
    }
    struct plan_world w = {.spec = c.spec,
                           .catalog = c.catalog,
                           .config = c.config,
                           .throughputs = c.throughputs,
                           .max_hourly_usd = (double)INFINITY};
    AUTO(plan_problem) struct plan_problem *p = plan_problem_new(&w, &guesses, &e);
    const struct cutoff cutoff = {.now_s = stopped_clock, .end_s = 60};
    struct domain all = domain_all(p);
    AUTO(dual) struct dual *d = dual_new(p, &all, &cutoff);
    AUTO_MEM struct dual_node *node = dual_node_new(d);
    size_t options[3];

    d->aim = no_limits(SPEC_COST);
    node->most_ns = (double)INFINITY;
    dual_windows(d, node);
    AUTO(dual_weigher) struct dual_weigher *weigher = dual_weigher_new(d, 1000);
    const double hour_ns = 3600 * NS_PER_S, m[] = {1e6 / hour_ns, 1.5e6 / hour_ns};
    const double phi[] = {14e6, 18e6};
    for (int i = 0; i < 2; i++) {
        const double time[] = {m[i], m[i], 2 * m[i]};
        double found = dual_weigh(weigher, node, 1, time, options);
        CHECK(fabs(found - phi[i]) < 1, "by hand: phi is %g dollars (%g)", phi[i] / 1e6,
              found / 1e6);
    }
    d->aim.limit_ns[LAYER_MID] = 3 * hour_ns;
    d->best = (struct dual_score){.microusd = 12000000};
    d->has_best = true;
    node->most_ns = 3 * hour_ns;
    CHECK(fabs(dual_wanted(d, node, 3e6 / hour_ns) - 21e6) < 1,
          "by hand: a plan of $12 is ruled out at $12 + $3 an hour x 3 h");
    domain_clear(&all);
    random_case_clear(&c);
}

int main(void)
{
    char dir[] = "/tmp/tradewind-dual-XXXXXX";
    uint64_t n = getenv("TRADEWIND_SLOW") ? 60 : 400;
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
            if (p)
                check_case(&c, p, &t);
            if (p)
                cut_case(&c, p, &t);
        }
        random_case_clear(&c);
    }
    CHECK(t.cases * 3 > n, "%zu plans of %zu random cases", t.plans, t.cases);
    CHECK(t.scored_wrong == 0, "each comes to what the model says");
    CHECK(t.risky * 10 > t.plans, "and %zu may take longer at the high end", t.risky);
    CHECK(t.windows_lost == 0, "windows keep every plan within the deadline");
    CHECK(t.windows_dropped * 10 > t.windows_kept, "and drop %zu options, of %zu kept",
          t.windows_dropped, t.windows_kept);
    CHECK(t.least_wrong == 0, "no plan is faster than the least time");
    CHECK(t.above == 0, "no weighing is above a plan (%zu of %zu)", t.above, t.weighed);
    CHECK(t.tight * 2 > t.weighed, "and most reach the best one: %zu of %zu", t.tight, t.weighed);
    CHECK(t.marginals_lost == 0, "marginals drop no option of a plan that weighs less");
    CHECK(t.marginals_dropped > t.weighed, "but %zu others", t.marginals_dropped);
    CHECK(t.interval_lost == 0, "better plans of an interval are wanted (%zu)", t.intervals);
    CHECK(t.intervals > t.cases, "and there are such plans");
    CHECK(t.bound_lost == 0, "rounds drop no option of a better plan (%zu of %zu)", t.bound_lost,
          t.bounded);
    CHECK(t.bound_above == 0, "and their bounds are not above it (%zu)", t.bound_above);
    CHECK(t.ruled_out * 10 > t.bounded, "%zu nodes of %zu are ruled out", t.ruled_out, t.bounded);
    CHECK(t.dishonest == 0,
          "answers are honest wherever the clock ends the search (%zu, %zu of %zu)", t.dishonest,
          t.cut, t.cuts);
    CHECK(t.cut * 2 > t.cuts, "and mostly it does end it");
    check_by_hand(dir);
    return TAP_DONE();
}
