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

/* The single-cloud plans stand beside the answer, and must not delay it by more. */
#define SINGLES_LIMIT_S 2.0

#define SCRATCH_MAX_BYTES (16u << 20)
#define LEAST_SHARE_S 0.1

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
    struct plan_query q = plan_query_default(time_monotonic_s);

    q.goal = s->goal;
    q.risk_p95 = s->risk_p95;
    q.solver = s->solver;
    q.solve_limit_s = p->solve_limit_s;
    q.pinned_stage = s->pinned_stage;
    q.pinned_place = s->pinned_place;
    return q;
}

double app_plan_remaining_s(double end_s)
{
    double left_s = end_s - time_monotonic_s();

    return left_s > LEAST_SHARE_S ? left_s : LEAST_SHARE_S;
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

static int best_point(const struct app_plan *p,
                      enum spec_objective objective,
                      struct plan_point *out,
                      struct err *e)
{
    struct plan_query query = plan_query_default(time_monotonic_s);
    struct plan_answer answer = {0};

    query.goal.objective = objective;
    query.solve_limit_s = p->solve_limit_s;
    query.totals_only = true;
    int result = plan_solve(p->problem, &query, &answer, e);
    bool found = result == 0 && answer.status != PLAN_INFEASIBLE;
    if (found)
        *out = (struct plan_point){answer.plan.cost_microusd, answer.plan.time_s};
    plan_answer_clear(&answer);
    return result < 0 ? -1 : found;
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
    double start_s = time_monotonic_s();
    int cheapest = best_point(p, SPEC_COST, &a->cheapest, e);
    int fastest = best_point(p, SPEC_TIME, &a->fastest, e);
    if (cheapest < 0 || fastest < 0)
        return -1;
    a->status = PLAN_INFEASIBLE;
    a->has_points = cheapest && fastest;
    a->elapsed_s = time_monotonic_s() - start_s;
    p->limits_leave_nothing = true;
    snprintf(a->reason, sizeof a->reason, "%s", e->text);
    *e = (struct err){0};
    return 0;
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
    struct plan_query query = app_plan_query(p, &p->settings);
    query.pareto = pareto;
    if (plan_solve(p->problem, &query, &p->answer, e) < 0)
        return -1;
    if (p->answer.status != PLAN_INFEASIBLE)
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

/* 1 and the point, 0 when that cloud alone has no plan. */
static int ask_single(const struct app_plan *p,
                      const char *cloud,
                      double limit_s,
                      struct plan_point *out,
                      struct err *e)
{
    struct plan_query query = app_plan_query(p, &p->settings);
    AUTO_CLEAR(plan_answer) struct plan_answer answer = {0};

    /* A plan that is best among all plans is best among those of its one cloud; greedy's may not
     * be, and it is the best of a cloud that is compared with. */
    if (query.solver != PLAN_GREEDY && plan_stays_in(p, &p->answer.plan, cloud)) {
        *out = (struct plan_point){p->answer.plan.cost_microusd, p->answer.plan.time_s};
        return 1;
    }
    query.solver = query.solver == PLAN_GREEDY ? PLAN_EXACT : query.solver;
    query.only_cloud = cloud;
    query.totals_only = true;
    query.solve_limit_s = limit_s;
    if (plan_solve(p->problem, &query, &answer, e) < 0)
        return -1;
    *out = (struct plan_point){answer.plan.cost_microusd, answer.plan.time_s};
    return answer.status != PLAN_INFEASIBLE;
}

static int by_cost(const void *a, const void *b)
{
    const struct app_plan_single *x = a, *y = b;

    if (x->point.cost_microusd != y->point.cost_microusd)
        return x->point.cost_microusd < y->point.cost_microusd ? -1 : 1;
    return strcmp(x->cloud, y->cloud);
}

int app_plan_ask_singles(struct app_plan *p, struct err *e)
{
    size_t n, cap = 0;
    const size_t *places = plan_stage_places(p->problem, 0, &n);
    const char *last = "";
    double end_s = time_monotonic_s() + fmin(p->solve_limit_s, SINGLES_LIMIT_S);

    p->n_singles = 0;

    /* Places are sorted by cloud, so each cloud of the first stage comes by once. */
    for (size_t i = 0; i < n; i++) {
        const char *cloud = cloud_of(p, places[i]);
        struct plan_point point;
        if (!strcmp(cloud, last))
            continue;
        last = cloud;
        if (!every_stage_has_cloud(p, cloud))
            continue;
        int found = ask_single(p, cloud, app_plan_remaining_s(end_s), &point, e);
        if (found < 0)
            return -1;
        if (!found)
            continue;
        p->singles = mem_room(p->singles, p->n_singles, &cap, sizeof *p->singles);
        p->singles[p->n_singles++] = (struct app_plan_single){cloud, point};
    }
    if (p->n_singles > 1)
        qsort(p->singles, p->n_singles, sizeof *p->singles, by_cost);
    return 0;
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
