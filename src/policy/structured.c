/* Programs of one window and many columns, translated for the interior-point method of ipm.c. The
 * least cost and the least shortfalls are one such program; the least scale (makespan, stretch) is
 * a search over several. model.c calls it. */
#include "base/mem.h"
#include "policy/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CLP solves smaller programs in no noticeable time, and answers with a vertex. */
#define COLUMNS_LEAST 20000
/* Gaps that are aimed at, well below POLICY_GAP; the search for a scale needs more digits, since
 * the scale may change much where dollars hardly do. */
#define GAP_AIM 2e-7
#define SEARCH_GAP_AIM 1e-10
/* The search ends this part above its bound, at a point that is within the budget. */
#define SCALE_AIM 4e-7
#define STEPS_MAX 30
#define BUDGET_ROUNDING 1e-8
/* The penalty of a shortfall, at first in costs of the most expensive job, and its increase. */
#define PENALTY_FIRST 10
#define PENALTY_FACTOR 1000
/* Of sums of shortfalls, in jobs: gaps are parts of one job when less than that is missing, and so
 * much is rounding. */
#define SHORTFALL_SIZE 1
#define SHORTFALL_ROUNDING 1e-7
/* Prices that differ by this part are the same. */
#define PRICE_ROUNDING 1e-12
/* Rows besides the quotas; the method's time grows with their square. */
#define EXTRA_ROWS_MAX 64

/* Whether a slot costs its instances times a price of the type alone; price_out, if wanted, gets
 * the prices. Where they change with time, later deadlines have other means. */
static bool has_one_price(const struct grid *g, double *price_out)
{
    const struct policy_problem *p = g->scope->p;
    double *price = mem_zero(p->n_types + 1, sizeof *price);
    bool one = true;

    for (size_t j = 0; j < p->n_types; j++)
        price[j] = -1; /* not seen yet */
    for (const struct grid_slot *s = g->slots; s < g->slots + g->n_slots; s++)
        for (size_t q = s->first; q < s[1].first; q++) {
            double now = g->usd[q] / (p->jobs[s->job].gang * s->hours);
            double *known = &price[g->type[q]];
            if (*known >= 0 && fabs(now - *known) > PRICE_ROUNDING * *known)
                one = false;
            *known = now;
        }
    if (price_out)
        memcpy(price_out, price, p->n_types * sizeof *price_out);
    free(price);
    return one;
}

/* What is asked: the fewest dollars, the least shortfalls (within a budget), the least scale within
 * a budget, or the least scale at all. */
static bool is_known(const struct model_ask *ask)
{
    bool budget = isfinite(ask->budget_usd);

    if (ask->first_scaled == 0)
        return budget ? ask->budget_usd > 0 : !ask->cost && !isfinite(ask->shortfall_cost);
    if (!isfinite(ask->shortfall_cost))
        return false;
    return !budget || (!ask->cost && ask->budget_usd > 0 && has_one_price(ask->grid, NULL));
}

bool structured_fits(const struct model_ask *ask, const struct cuts *cuts)
{
    const struct grid *g = ask->grid;
    const struct policy_problem *p = g->scope->p;

    if (g->n_columns < COLUMNS_LEAST || g->n_windows != 1 || !isfinite(g->edge[1]) ||
        g->n_slots != p->n_jobs || p->n_groups + cuts->n + 1 > EXTRA_ROWS_MAX || !is_known(ask))
        return false;
    for (size_t m = 0; m < p->n_jobs; m++)
        if (!model_must_finish(ask, m) || g->slots[m].first == g->slots[m + 1].first)
            return false;
    for (size_t q = 0; ask->cost && q < g->n_columns; q++)
        if (ask->cost[q] < 0)
            return false;
    return true;
}

/* The grid with all types of all jobs, whole lanes of them. */
struct table {
    struct ipm_problem problem;
    double *work, *cost;
    double *gang; /* per job: instances of the window */
    struct ipm_row *rows;
    struct arena *arena; /* of the arrays, and of units and weights of rows */
    double cost_unit;    /* costs are divided by it */
};

/* ---- rows ---- */

static double *own(struct table *t, size_t n)
{
    return arena_zero(t->arena, n, sizeof(double));
}

static void add_row(struct table *t, const double *unit, const double *weight, double most)
{
    /* No job can use a type with a quota of 0. */
    t->rows[t->problem.n_rows++] =
        (struct ipm_row){.unit = unit, .weight = weight, .most = most > 0 ? most : 1};
}

static void add_cut(struct table *t, const struct grid *g, const struct cut *cut)
{
    const struct policy_problem *p = g->scope->p;
    double *unit = own(t, t->problem.n_types), *weight = own(t, p->n_jobs);

    unit[cut->type] = 1;
    for (size_t m = 0; m < p->n_jobs; m++)
        weight[m] = p->jobs[m].gang >= cut->size ? g->slots[m].room : 0;
    add_row(t, unit, weight, cut->most);
}

/* What all slots cost together, as part of the budget. */
static void add_budget(struct table *t, const struct model_ask *ask)
{
    const struct grid *g = ask->grid;
    const struct policy_problem *p = g->scope->p;
    double *unit = own(t, t->problem.n_types), *weight = own(t, p->n_jobs);

    has_one_price(g, unit);
    for (size_t j = 0; j < p->n_types; j++)
        unit[j] = unit[j] > 0 ? unit[j] / ask->budget_usd : 0;
    for (size_t m = 0; m < p->n_jobs; m++)
        weight[m] = p->jobs[m].gang * g->slots[m].hours;
    add_row(t, unit, weight, 1);
}

static void fill_rows(struct table *t, const struct model_ask *ask, const struct cuts *cuts)
{
    const struct policy_problem *p = ask->grid->scope->p;

    for (size_t j = 0; j < t->problem.n_types; j++)
        add_row(t, NULL, t->gang, j < p->n_types ? p->types[j].quota : 1);
    for (size_t i = 0; i < p->n_groups; i++) {
        double *unit = own(t, t->problem.n_types);
        memcpy(unit, p->groups[i].units, p->n_types * sizeof *unit);
        add_row(t, unit, t->gang, p->groups[i].quota);
    }
    for (size_t i = 0; i < cuts->n; i++)
        add_cut(t, ask->grid, &cuts->list[i]);
    if (ask->first_scaled != 0 && isfinite(ask->budget_usd))
        add_budget(t, ask);
    while (t->problem.n_rows % IPM_LANES != 0)
        add_row(t, own(t, t->problem.n_types), t->gang, 1);
}

/* ---- columns ---- */

/* Types that the job cannot use do no work and cost as much as its most expensive type. */
static void fill_job(struct table *t, const struct grid *g, const double *costs, size_t m)
{
    const struct grid_slot *s = &g->slots[m];
    size_t n = t->problem.n_types;
    double *work = t->work + m * IPM_WIDTH(n), *cost = t->cost + m * IPM_WIDTH(n);
    double most_expensive = 0;

    t->gang[m] = g->scope->p->jobs[s->job].gang * s->room;
    for (size_t q = s->first; q < s[1].first; q++) {
        work[g->type[q]] = g->work[q];
        most_expensive = costs ? fmax(most_expensive, costs[q] / t->cost_unit) : 0;
    }
    for (size_t j = 0; j < n; j++)
        cost[j] = most_expensive > 0 ? most_expensive : costs ? 1 : 0;
    for (size_t q = s->first; q < s[1].first; q++)
        cost[g->type[q]] = costs ? costs[q] / t->cost_unit : 0;
}

static double mean_of(const double *costs, size_t n)
{
    double sum = 0;

    for (size_t q = 0; costs && q < n; q++)
        sum += costs[q];
    return sum > 0 ? sum / (double)n : 1;
}

/* Costs are per column of the grid; NULL = nothing costs anything. */
static void table_init(struct table *t,
                       const struct model_ask *ask,
                       const double *costs,
                       const struct cuts *cuts)
{
    const struct policy_problem *p = ask->grid->scope->p;
    size_t n = (p->n_types + IPM_LANES - 1) / IPM_LANES * IPM_LANES;

    *t = (struct table){
        .problem = {.n_jobs = p->n_jobs, .n_types = n, .gap = GAP_AIM},
        .arena = arena_new(SIZE_MAX),
        .cost_unit = mean_of(costs, ask->grid->n_columns),
    };
    t->work = own(t, p->n_jobs * IPM_WIDTH(n));
    t->cost = own(t, p->n_jobs * IPM_WIDTH(n));
    t->gang = own(t, p->n_jobs);
    t->rows = arena_zero(t->arena, n + p->n_groups + cuts->n + 1 + IPM_LANES, sizeof *t->rows);
    for (size_t m = 0; m < p->n_jobs; m++)
        fill_job(t, ask->grid, costs, m);
    fill_rows(t, ask, cuts);
    t->problem.work = t->work;
    t->problem.cost = t->cost;
    t->problem.rows = t->rows;
}

/* ---- answers ---- */

static void take(const struct table *t,
                 const struct grid *g,
                 const struct ipm_answer *found,
                 struct model_answer *out)
{
    const struct policy_problem *p = g->scope->p;

    *out = (struct model_answer){
        .objective = found->objective * t->cost_unit,
        .bound = found->bound * t->cost_unit,
        .scale = 1,
        .x = mem_zero(g->n_columns + 1, sizeof(double)),
        .shortfall = mem_zero(p->n_jobs + 1, sizeof(double)),
        .shadow_price = mem_zero(p->n_types + 1, sizeof(double)),
    };
    for (size_t m = 0; m < p->n_jobs; m++) {
        const double *x = found->x + m * IPM_WIDTH(t->problem.n_types);
        for (size_t q = g->slots[m].first; q < g->slots[m + 1].first; q++)
            out->x[q] = x[g->type[q]];
        out->shortfall[m] = found->shortfall[m];
        out->total_shortfall += found->shortfall[m];
    }
    for (size_t j = 0; j < p->n_types; j++)
        out->shadow_price[j] = found->price[j] * t->cost_unit;
}

/* Shortfalls alone are counted. Each of them is looked at afterwards, and they should have digits.
 */
static void count_shortfalls(struct table *t)
{
    t->problem.gap = SEARCH_GAP_AIM;
    t->problem.size = SHORTFALL_SIZE;
}

static bool solve_cost(const struct model_ask *ask,
                       const struct cuts *cuts,
                       struct model_answer *out)
{
    struct table t;
    struct ipm_answer found;

    table_init(&t, ask, ask->cost, cuts);
    t.problem.shortfall_cost = ask->shortfall_cost / t.cost_unit;
    if (!ask->cost)
        count_shortfalls(&t);
    bool solved = ipm_solve(&t.problem, &found);
    if (solved)
        take(&t, ask->grid, &found, out);
    ipm_answer_clear(&found);
    arena_free(t.arena);
    return solved;
}

/* ---- the least scale within a budget ---- */

/* f(Z), the fewest dollars at scale Z, is convex and falls. A tangent, which multipliers at any Z
 * give, lies below it everywhere: where the tangent meets the budget is no more than the least
 * scale. So Newton's method goes up to it from below, and every step is a bound. The same goes for
 * the least sum of shortfalls, which has to become 0 when there is no budget. */
struct search {
    struct table t;
    double *work, *cost; /* at scale 1 */
    bool stretches;      /* shortfalls instead of dollars */
    double budget;       /* in units of cost; 0 = no shortfalls */
    double scale;
    double low;  /* the scale is no less */
    double high; /* a scale that is large enough; INFINITY = none is known */
};

/* Shares of a time Z times longer do Z times the work and cost Z times the money. */
static void set_scale(struct search *s, double scale)
{
    size_t n = s->t.problem.n_jobs * IPM_WIDTH(s->t.problem.n_types);

    s->scale = scale;
    for (size_t i = 0; i < n; i++) {
        s->t.work[i] = s->work[i] * scale;
        s->t.cost[i] = s->cost[i] * scale;
    }
}

/* How fast the tangent falls: with the shares, time and rows are worth Z times as much as hours
 * are, and work is worth the same at every Z. */
static double fall(const struct search *s, const struct ipm_answer *found)
{
    double work = 0;

    for (size_t m = 0; m < s->t.problem.n_jobs; m++)
        work += found->work_price[m];
    return (work - found->bound) / s->scale;
}

static void take_scaled(const struct search *s,
                        const struct grid *g,
                        const struct ipm_answer *found,
                        struct model_answer *out)
{
    double falls = fall(s, found);

    take(&s->t, g, found, out);
    out->scale = out->objective = s->scale;
    out->bound = s->low;
    for (size_t q = 0; q < g->n_columns; q++)
        out->x[q] *= s->scale;
    for (size_t j = 0; j < g->scope->p->n_types; j++)
        out->shadow_price[j] = found->price[j] / falls;
}

/* Far below the least scale nearly all work is missing, and the method may not get there: half of
 * the way back, then, to a scale that is large enough. */
static int step_back(struct search *s)
{
    set_scale(s, isfinite(s->high) ? sqrt(s->scale * s->high) : 2 * s->scale);
    return 0;
}

/* Whether what was found at this scale is within the budget. */
static bool is_enough(const struct search *s, const struct ipm_answer *found)
{
    if (s->stretches)
        return found->objective <= SHORTFALL_ROUNDING;
    return found->objective <= s->budget * (1 + BUDGET_ROUNDING);
}

/* One step: 1 when this is the answer, 0 to go on, -1 when there is no way. */
static int step(struct search *s, struct ipm_answer *found)
{
    double missing = 0;

    if (!ipm_solve(&s->t.problem, found))
        return step_back(s);
    for (size_t m = 0; m < s->t.problem.n_jobs; m++)
        missing += found->shortfall[m];
    bool affordable = is_enough(s, found);
    if (!s->stretches && affordable && missing > SHORTFALL_LEAST) {
        /* Leaving work undone was cheaper than doing it. */
        s->t.problem.shortfall_cost *= PENALTY_FACTOR;
        return 0;
    }
    if (affordable && s->scale <= s->low * (1 + POLICY_GAP))
        return 1;
    if (affordable)
        s->high = fmin(s->high, s->scale);
    if (affordable && s->stretches) {
        set_scale(s, sqrt(s->low * s->high)); /* where nothing is missing there is no tangent */
        return 0;
    }
    double next = s->scale + (found->bound - s->budget) / fall(s, found);
    if (!isfinite(next) || (!affordable && next <= s->low))
        return -1;
    s->low = fmax(s->low, next);
    set_scale(s, s->low * (1 + SCALE_AIM));
    return 0;
}

/* The largest cost of a job's work on its most expensive type, over all jobs. */
static double most_expensive(const struct search *s)
{
    double most = 0;

    for (size_t i = 0; i < s->t.problem.n_jobs * IPM_WIDTH(s->t.problem.n_types); i++)
        if (s->work[i] > 0)
            most = fmax(most, s->cost[i] / s->work[i]);
    return most;
}

/* A scale that should be large enough: all work at mean speed takes half of it. */
static double guess(const struct search *s)
{
    const struct ipm_problem *p = &s->t.problem;
    double needed = 0, there = 0;

    for (size_t m = 0; m < p->n_jobs; m++) {
        double sum = 0;
        for (size_t j = 0; j < p->n_types; j++)
            sum += s->work[m * IPM_WIDTH(p->n_types) + j];
        needed += s->t.gang[m] * (double)p->n_types / sum;
    }
    for (size_t j = 0; j < p->n_types; j++)
        there += p->rows[j].most;
    return fmax(s->low, 2 * needed / there);
}

/* Both go up from below; dollars begin where the method does well. */
static void set_goal(struct search *s, const struct model_ask *ask)
{
    if (s->stretches) {
        count_shortfalls(&s->t);
        s->t.problem.shortfall_cost = 1;
        set_scale(s, s->low * (1 + SCALE_AIM));
        return;
    }
    s->budget = ask->budget_usd / s->t.cost_unit;
    s->t.problem.shortfall_cost = PENALTY_FIRST * most_expensive(s);
    s->t.problem.gap = SEARCH_GAP_AIM;
    set_scale(s, guess(s) * (1 + SCALE_AIM));
}

static void search_init(struct search *s, const struct model_ask *ask, const struct cuts *cuts)
{
    size_t n;

    *s = (struct search){
        .low = 1, /* the unit of time is what one job needs alone, or was not enough */
        .high = (double)INFINITY,
        .stretches = !isfinite(ask->budget_usd),
    };
    table_init(&s->t, ask, s->stretches ? NULL : ask->grid->usd, cuts);
    n = s->t.problem.n_jobs * IPM_WIDTH(s->t.problem.n_types);
    s->work = own(&s->t, n);
    s->cost = own(&s->t, n);
    memcpy(s->work, s->t.work, n * sizeof(double));
    memcpy(s->cost, s->t.cost, n * sizeof(double));
    set_goal(s, ask);
}

static bool solve_scale(const struct model_ask *ask,
                        const struct cuts *cuts,
                        struct model_answer *out)
{
    struct search s;
    int found_it = 0;

    search_init(&s, ask, cuts);
    for (int i = 0; i < STEPS_MAX && found_it == 0; i++) {
        struct ipm_answer found;
        found_it = step(&s, &found);
        if (found_it == 1)
            take_scaled(&s, ask->grid, &found, out);
        ipm_answer_clear(&found);
    }
    arena_free(s.t.arena);
    return found_it == 1;
}

bool structured_solve(const struct model_ask *ask,
                      const struct cuts *cuts,
                      struct model_answer *out)
{
    return ask->first_scaled == 0 ? solve_scale(ask, cuts, out) : solve_cost(ask, cuts, out);
}
