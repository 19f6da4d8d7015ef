/* geo_plan_json: placements for programs. */
#include "cli/geo/geo_parts.h"

static json_t *numbers(const char *const *names, const double *values, size_t n)
{
    json_t *o = json_object();

    for (size_t i = 0; i < n; i++)
        json_object_set_new(o, names[i], json_number(values[i]));
    return o;
}
#define NUMBERS(names, values) numbers(names, values, sizeof(values) / sizeof *(values))

static json_t *phases_json(const struct geo_phases *p)
{
    static const char *const names[] = {"train_s", "upload_s", "wait_s", "aggregate_s",
                                        "download_s"};
    const double values[] = {p->train_s, p->upload_s, p->wait_s, p->aggregate_s, p->download_s};

    return NUMBERS(names, values);
}

static json_t *bill_json(const struct geo_bill *b)
{
    static const char *const names[] = {"vm", "faas", "requests", "storage", "transfer"};
    const double values[] = {b->vm_usd, b->faas_usd, b->requests_usd, b->storage_usd,
                             b->transfer_usd};

    return NUMBERS(names, values);
}

static json_t *counts_json(const struct geo_counts *c)
{
    static const char *const names[] = {"reads", "failed_polls", "writes",
                                        "lists", "invocations",  "wan_bytes"};
    const double values[] = {c->reads, c->failed_polls, c->writes,
                             c->lists, c->invocations,  c->wan_bytes};

    return NUMBERS(names, values);
}

static json_t *placement_json(const struct geo_problem *problem, const struct geo_placement *p)
{
    char function[128], store[128];

    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "topology", spec_geo_topology_text(p->topology),
        "function", json_text(geo_site_text(&problem->sites[p->function], function)), "store",
        json_text(geo_site_text(&problem->sites[p->store], store)), "cost_usd_per_round",
        json_number(geo_bill_usd(&p->bill)), "time_s_per_round", json_number(p->round_s), "phases",
        phases_json(&p->phases), "cost", bill_json(&p->bill), "counts", counts_json(&p->counts));
}

static json_t *total_json(const struct geo_view *v)
{
    const struct geo_total *t = &v->total;

    return json_pack("{s:o, s:o, s:o, s:{s:o, s:o, s:o, s:o, s:o}}", "rounds",
                     json_number(v->spec->rounds), "time_s", json_number(t->time_s), "cost_usd",
                     json_usd(t->total_microusd), "cost", "vm", json_usd(t->vm_microusd), "faas",
                     json_usd(t->faas_microusd), "requests", json_usd(t->requests_microusd),
                     "storage", json_usd(t->storage_microusd), "transfer",
                     json_usd(t->transfer_microusd));
}

int geo_write_json(const struct geo_view *v, FILE *out, struct err *e)
{
    const struct geo_problem *problem = v->problem;
    const struct geo_plan *plan = v->plan;
    AUTO_JSON json_t *o = json_object();
    json_t *frontier = json_array(), *options = json_array(), *placements = json_array();

    json_object_set_new(o, "name", json_text(v->spec->name));
    json_object_set_new(o, "workers", json_integer((json_int_t)problem->n_workers));
    json_object_set_new(o, "considered", json_integer((json_int_t)plan->considered));
    json_object_set_new(o, "best", placement_json(problem, &plan->placements[0]));
    json_object_set_new(o, "cheapest", placement_json(problem, &plan->placements[plan->cheapest]));
    json_object_set_new(o, "fastest", placement_json(problem, &plan->placements[plan->fastest]));
    json_object_set_new(o, "total", total_json(v));
    for (size_t i = 0; i < v->n_options; i++)
        json_array_append_new(options,
                              json_pack("{s:s, s:s, s:o}", "setting", v->options[i].setting,
                                        "value", v->options[i].value, "best",
                                        placement_json(problem, &v->options[i].best)));
    json_object_set_new(o, "options", options);
    for (size_t i = 0; i < plan->n_frontier; i++)
        json_array_append_new(frontier,
                              placement_json(problem, &plan->placements[plan->frontier[i]]));
    json_object_set_new(o, "frontier", frontier);
    for (size_t i = 0; i < plan->n; i++)
        json_array_append_new(placements, placement_json(problem, &plan->placements[i]));
    json_object_set_new(o, "placements", placements);
    return json_write(out, o, e);
}
