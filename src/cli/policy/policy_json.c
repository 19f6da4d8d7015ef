#include "base/json.h"
#include "cli/policy/policy_parts.h"

#include <math.h>

static const char *const statuses[] = {
    [POLICY_OPTIMAL] = "optimal",
    [POLICY_FEASIBLE] = "feasible",
    [POLICY_INFEASIBLE] = "infeasible",
};

/* object[job][type] = value; both are there or made. */
static void set_use(json_t *object,
                    const struct policy_report *r,
                    const struct policy_use *u,
                    double value)
{
    const char *job = r->problem->jobs[u->job].name;
    json_t *types = json_object_get(object, job);

    if (!types) {
        types = json_object();
        json_object_set_new(object, job, types);
    }
    json_object_set_new(types, r->problem->types[u->type].name, json_number(value));
}

static json_t *shares_json(const struct policy_report *r)
{
    json_t *shares = json_object();

    for (size_t i = 0; i < r->answer->n_uses; i++)
        set_use(shares, r, &r->answer->uses[i], r->answer->uses[i].share);
    return shares;
}

static json_t *hours_json(const struct policy_report *r)
{
    const struct policy_answer *a = r->answer;
    json_t *list = json_array();
    size_t i = 0;

    for (size_t k = 0; k < a->n_windows; k++) {
        json_t *jobs = json_object();
        for (; i < a->n_uses && a->uses[i].window == k; i++)
            set_use(jobs, r, &a->uses[i], a->uses[i].hours);
        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "from_h",
                                              json_number(a->windows[k].from_h), "to_h",
                                              json_number(a->windows[k].to_h), "jobs", jobs));
    }
    return list;
}

static json_t *shortfall_json(const struct policy_report *r)
{
    json_t *o = json_object();

    for (size_t m = 0; m < r->answer->n_jobs; m++)
        if (r->answer->shortfall[m] > 0)
            json_object_set_new(o, r->problem->jobs[m].name, json_number(r->answer->shortfall[m]));
    return o;
}

static json_t *idle_json(const struct policy_report *r)
{
    static const char *const whys[] = {
        [POLICY_NOWHERE] = "nowhere",
        [POLICY_OUTBID] = "outbid",
    };
    json_t *o = json_object();

    for (size_t m = 0; r->answer->idle && m < r->answer->n_jobs; m++)
        if (r->answer->idle[m] != POLICY_HAS_SHARE)
            json_object_set_new(o, r->problem->jobs[m].name, json_string(whys[r->answer->idle[m]]));
    return o;
}

static json_t *shadow_json(const struct policy_report *r)
{
    json_t *o = json_object();

    for (size_t j = 0; j < r->answer->n_types; j++)
        json_object_set_new(o, r->problem->types[j].name, json_number(r->answer->shadow_price[j]));
    return o;
}

int policy_print_json(const struct policy_report *r, struct err *e)
{
    const struct policy_answer *a = r->answer;
    AUTO_JSON json_t *root = json_object();

    json_object_set_new(root, "policy", json_string(policy_kind_name(r->kind)));
    json_object_set_new(root, "status", json_string(statuses[a->status]));
    json_object_set_new(root, "objective", json_number(a->objective));
    json_object_set_new(root, "unit", json_string(policy_unit(r->kind)));
    json_object_set_new(root, "bound", json_number(a->bound));
    json_object_set_new(root, "shares", a->has_shares ? shares_json(r) : json_null());
    json_object_set_new(root, "hours", a->has_hours ? hours_json(r) : json_null());
    json_object_set_new(root, "windows_exact", json_integer((json_int_t)a->windows_exact));
    json_object_set_new(root, "shortfall", shortfall_json(r));
    json_object_set_new(root, "without_share", idle_json(r));
    json_object_set_new(root, "shadow_prices", shadow_json(r));
    json_object_set_new(root, "shadow_prices_at_most", json_boolean(a->shadow_at_most));
    if (a->status == POLICY_INFEASIBLE) {
        json_object_set_new(root, "reason", json_text(a->reason));
        json_object_set_new(root, "stretch", json_number(a->stretch));
        json_object_set_new(root, "budget_needed_usd", json_number(a->budget_needed_usd));
    }
    json_object_set_new(root, "elapsed_ms", json_number(r->elapsed_ms));
    return json_write(stdout, root, e);
}
