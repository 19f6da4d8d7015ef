#include "cli/plan/plan_parts.h"

#include "base/nearest.h"
#include "base/number.h"
#include "base/time.h"

#include <math.h>
#include <string.h>

struct choice {
    const char *text;
    int value;
};

static const struct choice markets[] = {
    {"on-demand", PLAN_ON_DEMAND}, {"spot", PLAN_SPOT}, {"any", PLAN_ANY_MARKET}, {0}};
static const struct choice solvers[] = {
    {"exact", PLAN_EXACT}, {"greedy", PLAN_GREEDY}, {"exhaustive", PLAN_EXHAUSTIVE}, {0}};
static const struct choice risks[] = {{"p95", true}, {"none", false}, {0}};

/* NULL when value is none of them. */
static const struct choice *pick(const struct choice *choices, const char *value, struct err *e)
{
    char list[80] = "";

    for (const struct choice *c = choices; c->text; c++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", c->text);
        if (!strcmp(c->text, value))
            return c;
    }
    err_set(e, ERR_USAGE, "\"%s\" is none of: %s", value, list);
    return NULL;
}

static int set_objective(struct cli_plan_settings *s, const char *value, struct err *e)
{
    struct spec_goal goal = s->goal;

    if (spec_objective_parse(value, &goal, e) < 0)
        return -1;
    s->goal.objective = goal.objective;
    s->goal.weight = goal.weight;
    return 0;
}

static int dollars(const char *value, double *out, struct err *e)
{
    double usd;

    if (!number_parse(value, &usd) || usd < 0)
        return err_set(e, ERR_USAGE, "\"%s\" is no amount of dollars: write 5 or 0.25", value);
    *out = usd;
    return 0;
}

static int set_budget(struct cli_plan_settings *s, const char *value, struct err *e)
{
    return dollars(value, &s->goal.budget_usd, e);
}

static int set_deadline(struct cli_plan_settings *s, const char *value, struct err *e)
{
    return time_parse_duration(value, 1, &s->goal.deadline_s, e);
}

static int set_market(struct cli_plan_settings *s, const char *value, struct err *e)
{
    const struct choice *c = pick(markets, value, e);

    if (!c)
        return -1;
    s->market = (enum plan_market)c->value;
    return 0;
}

static int set_cloud(struct cli_plan_settings *s, const char *value, struct err *e)
{
    if (!*value)
        return err_set(e, ERR_USAGE, "a cloud's name is missing");
    s->cloud = value;
    return 0;
}

static int set_region(struct cli_plan_settings *s, const char *value, struct err *e)
{
    if (!*value)
        return err_set(e, ERR_USAGE, "a region's name is missing");
    s->region = value;
    return 0;
}

static int set_max_hourly(struct cli_plan_settings *s, const char *value, struct err *e)
{
    return dollars(value, &s->max_hourly_usd, e);
}

static int set_risk(struct cli_plan_settings *s, const char *value, struct err *e)
{
    const struct choice *c = pick(risks, value, e);

    if (!c)
        return -1;
    s->risk_p95 = c->value;
    return 0;
}

static int set_solver(struct cli_plan_settings *s, const char *value, struct err *e)
{
    const struct choice *c = pick(solvers, value, e);

    if (!c)
        return -1;
    s->solver = (enum plan_solver)c->value;
    return 0;
}

static const struct {
    const char *key;
    int (*set)(struct cli_plan_settings *s, const char *value, struct err *e);
} settings[] = {
    {"objective", set_objective},   {"budget", set_budget}, {"deadline", set_deadline},
    {"market", set_market},         {"cloud", set_cloud},   {"region", set_region},
    {"max-hourly", set_max_hourly}, {"risk", set_risk},     {"solver", set_solver},
};
#define N_SETTINGS (sizeof settings / sizeof settings[0])

int cli_plan_set(struct cli_plan_settings *s, const char *key, const char *value, struct err *e)
{
    const char *keys[N_SETTINGS];

    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (!strcmp(settings[i].key, key))
            return settings[i].set(s, value, e);
        keys[i] = settings[i].key;
    }
    const char *close = nearest(key, keys, N_SETTINGS);
    if (close)
        return err_set(e, ERR_USAGE, "nothing is called \"%s\"; did you mean \"%s\"?", key, close);
    return err_set(
        e, ERR_USAGE,
        "nothing is called \"%s\"; there are objective, budget, deadline, market, cloud, "
        "region, max-hourly, risk, solver and STAGE.place",
        key);
}

const char *cli_plan_objective_text(const struct spec_goal *goal, char out[static 40])
{
    switch (goal->objective) {
    case SPEC_COST:
        return "cost";
    case SPEC_TIME:
        return "time";
    case SPEC_VALUE:
        return "value";
    case SPEC_WEIGHTED:
        break;
    }
    snprintf(out, 40, "weighted:%.15g", goal->weight);
    return out;
}

double cli_plan_objective(const struct spec_goal *goal, int64_t cost_microusd, double time_s)
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

const char *cli_plan_solver_text(enum plan_solver solver)
{
    const struct choice *c = solvers;

    while (c->value != (int)solver)
        c++;
    return c->text;
}

const char *cli_plan_status_text(enum plan_status status)
{
    switch (status) {
    case PLAN_OPTIMAL:
        return "optimal";
    case PLAN_FEASIBLE:
        return "feasible";
    case PLAN_INFEASIBLE:
        break;
    }
    return "infeasible";
}

const char *cli_plan_market_text(bool spot)
{
    return spot ? "spot" : "on-demand";
}
