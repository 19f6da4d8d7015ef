/* settings: a request's goal and limits as the solver takes them, for open.c and others.c. */
#include "app/plan/internal.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"

#include <string.h>

const char *const app_plan_market_choices[4] = {
    [PLAN_ON_DEMAND + 1] = "on-demand", [PLAN_SPOT + 1] = "spot", [PLAN_ANY_MARKET + 1] = "any"};
const char *const app_plan_risk_choices[3] = {NULL, "none", "p95"};
const char *const app_plan_solver_choices[4] = {
    [PLAN_EXACT + 1] = "exact", [PLAN_GREEDY + 1] = "greedy", [PLAN_EXHAUSTIVE + 1] = "exhaustive"};

int app_plan_settings_read(const struct plan_request *q,
                           const struct spec_goal *goal,
                           const char *objective,
                           struct app_plan_settings *out,
                           struct err *e)
{
    *out = (struct app_plan_settings){
        .goal = *goal,
        .market = (enum plan_market)(q->market - 1),
        .cloud = q->cloud,
        .region = q->region,
        .max_hourly_usd = isnan(q->max_hourly_usd) ? HUGE_VAL : q->max_hourly_usd,
        .risk_p95 = q->risk == 2,
        .solver = (enum plan_solver)(q->solver - 1),
        .pinned_stage = SIZE_MAX,
        .pinned_place = SIZE_MAX,
    };
    if (q->simplify && (!number_percent(q->simplify, &out->simplify) || out->simplify < 0 ||
                        out->simplify > CONFIG_SIMPLIFY_MAX))
        return err_set(e, ERR_USAGE, "simplify \"%s\": must be from 0%% to %g%%, as in 1%%",
                       q->simplify, CONFIG_SIMPLIFY_MAX * 100);
    if (out->simplify > 0 && out->solver == PLAN_GREEDY)
        return err_set(e, ERR_USAGE, "simplify: a greedy plan has no margin above the optimum");
    if (!isnan(q->budget_usd))
        out->goal.budget_usd = q->budget_usd;
    if (!isnan(q->deadline_s))
        out->goal.deadline_s = q->deadline_s;
    if (q->objective && spec_objective_parse(q->objective, &out->goal, e) < 0)
        return err_wrap(e, "%s", objective);
    return 0;
}

/* ---- one change ---- */

static const struct field goal_fields[] = {PLAN_GOAL_FIELDS(struct plan_request, )};
/* All but the limit of the search and the margin of simpler plans. */
#define N_GOAL (sizeof goal_fields / sizeof *goal_fields - 2)

static int unknown_key(const char *key, const char *const *keys, struct err *e)
{
    const char *close = nearest(key, keys, N_GOAL);

    if (close)
        return err_set(e, ERR_USAGE, "no setting \"%s\"; did you mean \"%s\"?", key, close);
    return err_set(e, ERR_USAGE,
                   "no setting \"%s\"; there are objective, budget, deadline, market, cloud, "
                   "region, max-hourly, risk, solver and STAGE.location",
                   key);
}

int app_plan_change(
    struct plan_request *q, const char *key, const char *value, struct arena *arena, struct err *e)
{
    char options[N_GOAL][64];
    const char *keys[N_GOAL];

    for (size_t i = 0; i < N_GOAL; i++) {
        struct field named = goal_fields[i], *f = &named;
        keys[i] = field_option(f, options[i]) + strlen("--");
        if (strcmp(keys[i], key) != 0)
            continue;
        named.name = key; /* as errors spell it */
        const char *kept = arena_dup(arena, value);
        AUTO_JSON json_t *json = kept ? field_json_from_text(f, kept) : NULL;
        if (!json)
            return err_set(e, ERR_USAGE, "%s: the value is too long, or not UTF-8", key);
        if (field_read(f, json, FIELD_AS_NAME, q, arena, e) < 0)
            return -1;
        if (f->type == FIELD_TEXT)
            *(const char **)((char *)q + f->offset) = kept;
        return 0;
    }
    return unknown_key(key, keys, e);
}

/* ---- settings as text ---- */

const char *app_plan_objective_text(const struct spec_goal *goal, char out[static 40])
{
    static const char *const fixed[] = {
        [SPEC_COST] = "cost", [SPEC_TIME] = "time", [SPEC_VALUE] = "value"};

    if (goal->objective != SPEC_WEIGHTED)
        return fixed[goal->objective];
    snprintf(out, 40, "weighted:%.15g", goal->weight);
    return out;
}

double app_plan_objective(const struct spec_goal *goal, int64_t cost_microusd, double time_s)
{
    double usd = (double)cost_microusd / 1e6, hours = time_s / 3600;

    switch (goal->objective) {
    case SPEC_COST:
        return usd;
    case SPEC_TIME:
        return time_s;
    case SPEC_VALUE:
        return usd * hours;
    case SPEC_WEIGHTED:
        break;
    }
    return goal->weight * hours + (1 - goal->weight) * usd;
}

const char *const app_plan_status_texts[4] = {[PLAN_OPTIMAL] = "optimal",
                                              [PLAN_FEASIBLE] = "feasible",
                                              [PLAN_INFEASIBLE] = "infeasible",
                                              [PLAN_LIMIT] = "limit"};

char *app_plan_location_text(const char *cloud, const char *region, const char *zone)
{
    if (!*zone)
        return mem_printf("%s/%s", cloud, region);
    if (!strncmp(zone, region, strlen(region)))
        return mem_printf("%s/%s", cloud, zone);
    return mem_printf("%s/%s/%s", cloud, region, zone);
}

char *app_plan_place_text(const struct catalog *c, size_t place, const struct catalog_offer *offer)
{
    const struct catalog_place *p = &c->places[place];

    return app_plan_location_text(catalog_text(c, p->cloud), catalog_text(c, p->region),
                                  offer ? catalog_text(c, offer->zone) : "");
}
