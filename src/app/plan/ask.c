/* ask: the question of a pipeline and its answer, and the best plans within single clouds. */
#include "app/plan/internal.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/learn/models.h"
#include "estimate/throughput.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SCRATCH_MAX_BYTES (16u << 20)
/* What the search for the plan leaves to others that are asked for. */
#define FURTHER_SHARE 0.5

void app_plan_free(struct app_plan *p)
{
    if (!p)
        return;
    plan_answer_clear(&p->answer);
    plan_problem_free(p->problem);
    throughputs_free(p->throughputs);
    broker_models_free(p->models);
    catalog_free(p->catalog);
    spec_free(p->spec);
    arena_free(p->arena);
    free(p->singles);
    free(p);
}

static struct plan_world world_of(const struct app_plan *p, const struct app_plan_settings *s)
{
    const union {
        const struct app_plan *from;
        void *to; /* which app_plan_allows only reads */
    } context = {p};

    return (struct plan_world){
        .spec = p->spec,
        .catalog = p->catalog,
        .config = p->config,
        .throughputs = p->throughputs,
        .models = broker_models_get(p->models),
        .market = s->market,
        .cloud = s->cloud,
        .region = s->region,
        .max_hourly_usd = s->max_hourly_usd,
        .allows = p->clouds[0] || p->allows ? app_plan_allows : NULL,
        .context = context.to,
    };
}

struct plan_problem *app_plan_problem(const struct app_plan *p,
                                      const struct app_plan_settings *s,
                                      struct err *e)
{
    AUTO(arena) struct arena *scratch = arena_new(SCRATCH_MAX_BYTES);
    struct guess_list guesses = {.arena = scratch};
    struct plan_world world = world_of(p, s);

    return plan_problem_new(&world, &guesses, e);
}

struct plan_query app_plan_query(const struct app_plan *p, const struct app_plan_settings *s)
{
    struct plan_query q = plan_query_default(p->now_s);

    q.goal = s->goal;
    q.risk_p95 = s->risk_p95;
    q.solver = s->solver;
    q.solve_limit_s = p->solve_limit_s;
    q.pinned_stage = s->pinned_stage;
    q.pinned_place = s->pinned_place;
    return q;
}

double app_plan_remaining_s(const struct app_plan *p)
{
    return p->begun_s + p->solve_limit_s - p->now_s();
}

/* A name that no place has is a slip of the pen, not a limit. */
static bool names_are_known(const struct app_plan *p)
{
    const struct catalog_place *places = p->catalog->places;
    const char *cloud = p->settings.cloud, *region = p->settings.region;
    bool cloud_known = !cloud, region_known = !region;

    for (size_t i = 0; i < p->catalog->n_places; i++) {
        cloud_known |= cloud && !strcasecmp(catalog_text(p->catalog, places[i].cloud), cloud);
        region_known |= region && !strcmp(catalog_text(p->catalog, places[i].region), region);
    }
    return cloud_known && region_known;
}

enum app_plan_known app_plan_ask_side(const struct app_plan *p,
                                      struct plan_query query,
                                      double end_s,
                                      struct plan_answer *out)
{
    *out = (struct plan_answer){0};
    query.is_side = query.totals_only = true;
    query.solve_limit_s = end_s - p->now_s();
    if (!(query.solve_limit_s > 0) || plan_solve(p->problem, &query, out, NULL) < 0)
        return APP_PLAN_NOT_KNOWN;
    if (plan_found(out))
        return APP_PLAN_FOUND;
    return out->status == PLAN_INFEASIBLE ? APP_PLAN_NONE : APP_PLAN_NOT_KNOWN;
}

double app_plan_side_end_s(struct app_plan *p)
{
    if (p->side_end_s == 0)
        p->side_end_s =
            fmin(p->now_s() + p->solve_limit_s * PLAN_SIDE_SHARE, p->begun_s + p->solve_limit_s);
    return p->side_end_s;
}

static bool best_point(const struct app_plan *p,
                       enum spec_objective objective,
                       double end_s,
                       struct plan_point *out)
{
    struct plan_query query = plan_query_default(p->now_s);
    AUTO_CLEAR(plan_answer) struct plan_answer answer = {0};

    query.goal.objective = objective;
    bool found = app_plan_ask_side(p, query, end_s, &answer) == APP_PLAN_FOUND;
    if (found)
        *out = (struct plan_point){answer.plan.cost_microusd, answer.plan.time_s};
    return found;
}

/* A stage has no offer, as e says. Where it would have some without the limits of the command line
 * the file is right, and the answer is that no plan keeps to them. */
static int ask_without_limits(struct app_plan *p, struct err *e)
{
    struct app_plan_settings unlimited = p->settings;
    struct plan_answer *a = &p->answer;

    unlimited.cloud = unlimited.region = NULL;
    unlimited.max_hourly_usd = HUGE_VAL;
    if (e->kind != ERR_USAGE || !names_are_known(p))
        return -1;
    p->problem = app_plan_problem(p, &unlimited, NULL);
    if (!p->problem && unlimited.market == PLAN_SPOT) {
        unlimited.market = PLAN_ANY_MARKET;
        p->problem = app_plan_problem(p, &unlimited, NULL);
    }
    if (!p->problem)
        return -1;
    double start_s = p->now_s(), end_s = p->begun_s + p->solve_limit_s;
    *a = (struct plan_answer){.status = PLAN_INFEASIBLE,
                              .smallest_budget_microusd = INT64_MAX,
                              .earliest_deadline_s = (double)INFINITY};
    a->has_cheapest = best_point(p, SPEC_COST, end_s, &a->cheapest);
    a->has_fastest = best_point(p, SPEC_TIME, end_s, &a->fastest);
    a->elapsed_s = p->now_s() - start_s;
    p->limits_leave_nothing = true;
    snprintf(a->reason, sizeof a->reason, "%s", e->text);
    *e = (struct err){0};
    return 0;
}

/* The question itself: it has this share of the limit, which runs since the pipeline was opened. */
static struct plan_query limited_query(const struct app_plan *p, double share)
{
    struct plan_query query = app_plan_query(p, &p->settings);

    query.begun_s = p->begun_s;
    query.share = share;
    return query;
}

/* A simpler plan within the margin takes the place of the optimum. */
static void simplify(struct app_plan *p)
{
    struct plan_query query = limited_query(p, 1 - PLAN_SIDE_SHARE);
    struct plan_answer *a = &p->answer;
    struct plan simple;

    p->simplify_complete =
        plan_simplify(p->problem, &query, &a->plan, p->settings.simplify, &simple);
    p->is_simplified = simple.stages != NULL;
    if (!p->is_simplified)
        return;
    p->optimum = (struct plan_point){a->plan.cost_microusd, a->plan.time_s};
    free(a->plan.stages);
    a->plan = simple;
    a->objective = app_plan_objective(&p->settings.goal, simple.cost_microusd, simple.time_s);
    a->gap = a->objective > a->bound ? (a->objective - a->bound) / a->objective : 0;
    a->status = a->gap > 0 ? PLAN_FEASIBLE : PLAN_OPTIMAL;
    a->tie_break_proven = a->tie_break_proven && p->simplify_complete;
}

int app_plan_ask(struct app_plan *p, bool pareto, struct err *e)
{
    p->guesses.arena = p->arena;
    for (size_t i = 0; i < p->spec->guesses.n; i++) {
        const struct guess *g = &p->spec->guesses.items[i];
        guess_add(&p->guesses, g->what, g->value, g->why);
    }
    struct plan_world world = world_of(p, &p->settings);
    p->problem = plan_problem_new(&world, &p->guesses, e);
    if (!p->problem)
        return ask_without_limits(p, e);
    double share = 1 - PLAN_SIDE_SHARE;
    if (p->asks_further || p->settings.simplify > 0)
        share *= FURTHER_SHARE;
    struct plan_query query = limited_query(p, share);
    query.pareto = pareto;
    if (plan_solve(p->problem, &query, &p->answer, e) < 0)
        return -1;
    if (plan_found(&p->answer) && p->settings.simplify > 0)
        simplify(p);
    if (plan_found(&p->answer))
        plan_note_guesses(p->problem, &p->answer.plan, &p->guesses);
    return 0;
}

static const char *cloud_of(const struct app_plan *p, size_t place)
{
    return catalog_text(p->catalog, p->catalog->places[place].cloud);
}

static bool stage_has_cloud(const struct app_plan *p, size_t stage, const char *cloud)
{
    size_t n;
    const size_t *places = plan_stage_places(p->problem, stage, &n);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(cloud_of(p, places[i]), cloud))
            return true;
    return false;
}

static bool every_stage_has_cloud(const struct app_plan *p, const char *cloud)
{
    for (size_t stage = 0; stage < p->spec->n_stages; stage++)
        if (!stage_has_cloud(p, stage, cloud))
            return false;
    return true;
}

static bool plan_stays_in(const struct app_plan *p, const struct plan *plan, const char *cloud)
{
    for (size_t i = 0; i < plan->n_stages; i++)
        if (strcmp(cloud_of(p, plan->stages[i].place), cloud) != 0)
            return false;
    return true;
}

static enum app_plan_known ask_single(const struct app_plan *p,
                                      const char *cloud,
                                      double end_s,
                                      struct plan_point *out)
{
    struct plan_query query = app_plan_query(p, &p->settings);
    AUTO_CLEAR(plan_answer) struct plan_answer answer = {0};

    /* A plan that is best among all plans is best among those of its one cloud; greedy's may not
     * be, and it is the best of a cloud that is compared with. */
    if (query.solver != PLAN_GREEDY && plan_stays_in(p, &p->answer.plan, cloud)) {
        *out = (struct plan_point){p->answer.plan.cost_microusd, p->answer.plan.time_s};
        return APP_PLAN_FOUND;
    }
    query.solver = query.solver == PLAN_GREEDY ? PLAN_EXACT : query.solver;
    query.only_cloud = cloud;
    enum app_plan_known found = app_plan_ask_side(p, query, end_s, &answer);
    if (found == APP_PLAN_FOUND)
        *out = (struct plan_point){answer.plan.cost_microusd, answer.plan.time_s};
    return found;
}

static int by_cost(const void *a, const void *b)
{
    const struct app_plan_single *x = a, *y = b;

    if (x->point.cost_microusd != y->point.cost_microusd)
        return x->point.cost_microusd < y->point.cost_microusd ? -1 : 1;
    return strcmp(x->cloud, y->cloud);
}

void app_plan_ask_singles(struct app_plan *p)
{
    size_t n, cap = 0;
    const size_t *places = plan_stage_places(p->problem, 0, &n);
    const char *last = "";
    double end_s = app_plan_side_end_s(p);

    p->n_singles = 0;
    p->singles_complete = true;

    /* Places are sorted by cloud, so each cloud of the first stage comes by once. */
    for (size_t i = 0; i < n; i++) {
        const char *cloud = cloud_of(p, places[i]);
        struct plan_point point;
        if (!strcmp(cloud, last))
            continue;
        last = cloud;
        if (!every_stage_has_cloud(p, cloud))
            continue;
        enum app_plan_known found = ask_single(p, cloud, end_s, &point);
        p->singles_complete &= found != APP_PLAN_NOT_KNOWN;
        if (found != APP_PLAN_FOUND)
            continue;
        p->singles = mem_room(p->singles, p->n_singles, &cap, sizeof *p->singles);
        p->singles[p->n_singles++] = (struct app_plan_single){cloud, point};
    }
    if (p->n_singles > 1)
        qsort(p->singles, p->n_singles, sizeof *p->singles, by_cost);
}

const char *app_plan_best_single(const struct app_plan *p)
{
    const char *best = NULL;
    double best_value = (double)INFINITY;

    for (size_t i = 0; i < p->n_singles; i++) {
        const struct plan_point *point = &p->singles[i].point;
        double value = app_plan_objective(&p->settings.goal, point->cost_microusd, point->time_s);
        if (value < best_value) {
            best = p->singles[i].cloud;
            best_value = value;
        }
    }
    return best;
}
