#include "cli/plan/plan_parts.h"

#include "base/json.h"

static const char *text_at(const struct app_plan *p, uint32_t offset)
{
    return catalog_text(p->catalog, offset);
}

/* What a stage runs on, the part that plans and explanations share. */
static void put_machine(json_t *out, const struct app_plan *p, const struct plan_stage *s)
{
    const struct catalog_place *place = &catalog_places(p->catalog)[s->place];

    json_object_set_new(out, "name", json_text(p->spec->stages[s->stage].name));
    json_object_set_new(out, "cloud", json_text(text_at(p, place->cloud)));
    json_object_set_new(out, "region", json_text(text_at(p, place->region)));
    json_object_set_new(out, "zone", json_text(text_at(p, s->offer->zone)));
    json_object_set_new(out, "instance_type", json_text(text_at(p, s->kind->instance_type)));
    json_object_set_new(out, "market", json_string(app_plan_market_text(s->spot)));
    json_object_set_new(out, "nodes", json_integer(s->nodes));
    json_object_set_new(out, "price_usd_per_hour", json_number(s->price_usd_per_hour));
}

static json_t *stage_json(const struct app_plan *p, const struct plan_stage *s)
{
    json_t *out = json_object();

    put_machine(out, p, s);
    json_object_set_new(out, "start_s", json_number(s->start_s));
    json_object_set_new(out, "finish_s", json_number(s->finish_s));
    json_object_set_new(out, "boot_s", json_number(s->boot_s));
    json_object_set_new(out, "setup_s", json_number(s->setup_s));
    json_object_set_new(out, "input_s", json_number(s->input_s));
    json_object_set_new(out, "run_s", json_number(s->run_s));
    json_object_set_new(out, "compute_usd", json_usd(s->compute_microusd));
    json_object_set_new(out, "transfer_usd", json_usd(s->transfer_microusd));
    json_object_set_new(out, "storage_usd", json_usd(s->storage_microusd));
    return out;
}

static json_t *stages_json(const struct app_plan *p, const struct plan *plan)
{
    json_t *out = json_array();

    for (size_t i = 0; i < plan->n_stages; i++)
        json_array_append_new(out, stage_json(p, &plan->stages[i]));
    return out;
}

static void put_point(json_t *out, const struct plan_point *point)
{
    json_object_set_new(out, "cost_usd", json_usd(point->cost_microusd));
    json_object_set_new(out, "time_s", json_number(point->time_s));
}

static json_t *point_json(const struct plan_point *point)
{
    json_t *out = json_object();

    put_point(out, point);
    return out;
}

static json_t *guesses_json(const struct guess_list *guesses)
{
    json_t *out = json_array();

    for (size_t i = 0; i < guesses->n; i++) {
        const struct guess *g = &guesses->items[i];
        json_array_append_new(out, json_pack("{s:o, s:o, s:o}", "what", json_text(g->what), "value",
                                             json_text(g->value), "why", json_text(g->why)));
    }
    return out;
}

static json_t *singles_json(const struct app_plan *p)
{
    json_t *out = json_array();

    for (size_t i = 0; i < p->n_singles; i++) {
        json_t *single = json_object();
        json_object_set_new(single, "cloud", json_text(p->singles[i].cloud));
        put_point(single, &p->singles[i].point);
        json_array_append_new(out, single);
    }
    return out;
}

static json_t *pareto_json(const struct app_plan *p)
{
    json_t *out = json_array();

    for (size_t i = 0; i < p->answer.n_pareto; i++) {
        const struct plan *plan = &p->answer.pareto[i];
        json_t *item = point_json(&(struct plan_point){plan->cost_microusd, plan->time_s});
        json_object_set_new(item, "stages", stages_json(p, plan));
        json_array_append_new(out, item);
    }
    return out;
}

static json_t *other_json(const struct app_plan *p, const struct app_plan_other *other)
{
    json_t *out = json_object();
    bool exists = other->status != PLAN_INFEASIBLE;

    if (other->change)
        json_object_set_new(out, "change", json_text(other->change));
    else if (exists)
        put_machine(out, p, &other->choice);
    else {
        const struct catalog_place *place = &catalog_places(p->catalog)[other->place];
        json_object_set_new(out, "cloud", json_text(text_at(p, place->cloud)));
        json_object_set_new(out, "region", json_text(text_at(p, place->region)));
    }
    json_object_set_new(out, "status", json_string(app_plan_status_text(other->status)));
    if (exists) {
        put_point(out, &other->point);
        json_object_set_new(out, "delta_usd", json_usd(other->delta_microusd));
        json_object_set_new(out, "delta_s", json_number(other->delta_s));
        return out;
    }
    static const char *const unknown[] = {"cost_usd", "time_s", "delta_usd", "delta_s"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        json_object_set_new(out, unknown[i], json_null());
    json_object_set_new(out, "reason", json_text(other->reason));
    return out;
}

static json_t *others_json(const struct app_plan *p, const struct app_plan_others *others)
{
    json_t *out = json_array();

    for (size_t i = 0; i < others->n; i++)
        json_array_append_new(out, other_json(p, &others->items[i]));
    return out;
}

static void put_infeasible(json_t *out, const struct plan_answer *a)
{
    json_object_set_new(out, "reason", json_text(a->reason));
    json_object_set_new(out, "cheapest", a->has_points ? point_json(&a->cheapest) : json_null());
    json_object_set_new(out, "fastest", a->has_points ? point_json(&a->fastest) : json_null());
}

static void put_totals(json_t *out, const struct plan_answer *a)
{
    const struct plan *plan = &a->plan;

    put_point(out, &(struct plan_point){plan->cost_microusd, plan->time_s});
    json_object_set_new(out, "cost_low_usd", json_usd(plan->cost_low_microusd));
    json_object_set_new(out, "cost_high_usd",
                        plan->cost_high_microusd == INT64_MAX ? json_null()
                                                              : json_usd(plan->cost_high_microusd));
    json_object_set_new(out, "time_low_s", json_number(plan->time_low_s));
    json_object_set_new(out, "time_high_s", json_number(plan->time_high_s));
    json_object_set_new(out, "bound", json_number(a->bound));
    json_object_set_new(out, "gap", json_number(a->gap));
}

static void put_extras(json_t *out, const struct app_plan *p, const struct cli_plan_extras *extras)
{
    if (extras->pareto) {
        json_object_set_new(out, "pareto", pareto_json(p));
        json_object_set_new(out, "pareto_complete", json_boolean(p->answer.pareto_complete));
        json_object_set_new(out, "pareto_thinned", json_boolean(p->answer.pareto_thinned));
    }
    if (extras->explain)
        json_object_set_new(out, "explain", others_json(p, extras->explain));
    if (extras->what_if)
        json_object_set_new(out, "what_if", others_json(p, extras->what_if));
}

int cli_plan_json(const struct app_plan *p,
                  const struct cli_plan_extras *extras,
                  FILE *out,
                  struct err *e)
{
    AUTO_JSON json_t *root = json_object();
    const struct plan_answer *a = &p->answer;
    bool exists = a->status != PLAN_INFEASIBLE;
    char objective[40];

    json_object_set_new(root, "status", json_string(app_plan_status_text(a->status)));
    json_object_set_new(root, "pipeline", json_text(p->spec->name));
    json_object_set_new(root, "objective",
                        json_string(app_plan_objective_text(&p->settings.goal, objective)));
    json_object_set_new(root, "solver", json_string(app_plan_solver_text(p->settings.solver)));
    if (exists)
        put_totals(root, a);
    else
        put_infeasible(root, a);
    json_object_set_new(root, "elapsed_ms", json_number(a->elapsed_s * 1e3));
    json_object_set_new(root, "offers_considered", json_integer((json_int_t)a->offers_considered));
    json_object_set_new(root, "guessed", guesses_json(&p->guesses));
    if (exists) {
        json_object_set_new(root, "stages", stages_json(p, &a->plan));
        json_object_set_new(root, "single_cloud", singles_json(p));
        put_extras(root, p, extras);
    }
    return json_write(out, root, e);
}
