/* offers: the machines of clouds that the workers of a training are launched on: each in the region
 * of its site, of the type that the file names for it. */
#include "app/geo/internal.h"
#include "app/plan/plan.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Of a worker whose type the file does not say, as the planner has it. */
#define CPUS 2
#define MEMORY_GB 8

static int find_offer(struct app_geo_run *g,
                      const struct app_plan *plan,
                      const struct app_geo_party *party,
                      struct run_stage_plan *p,
                      struct err *e)
{
    const struct geo_site *site = &g->geo.problem->sites[party->site];
    size_t index;
    const struct spec_geo_worker *entry = app_geo_run_entry(g->geo.spec, party->worker, &index);
    const struct app_plan_node wanted = {.cloud = site->cloud,
                                         .region = site->region,
                                         .instance_type = entry->instance_type,
                                         .cpus = CPUS,
                                         .memory_gb = MEMORY_GB,
                                         .count = 1};

    if (app_plan_nodes(plan, &wanted, 1, &p->offer, e) < 0)
        return err_wrap(e, "%s: %s at %s/%s", g->geo.spec->file, p->name, site->cloud,
                        site->region);
    p->instance_type = arena_dup(g->arena, p->offer.instance_type);
    p->cpus = p->offer.cpus > 0 ? p->offer.cpus : CPUS;
    p->memory_mb =
        (uint64_t)floor((p->offer.memory_gb > 0 ? p->offer.memory_gb : MEMORY_GB) * 1024);
    if (p->offer.accelerators > 0) {
        p->gpus = (unsigned)fmax(ceil(p->offer.accelerators), 1);
        p->gpu_type = arena_dup(g->arena, p->offer.accelerator);
    }
    return p->instance_type
               ? 0
               : err_set(e, ERR_USAGE, "%s: too large a training to run", g->geo.spec->file);
}

int app_geo_run_offers(struct app_geo_run *g, struct app *app, struct err *e)
{
    AUTO(app_plan) struct app_plan *plan = mem_zero(1, sizeof *plan);
    AUTO_MEM char *request = app_plan_nodes_request(true);

    if (!g->is_cloud)
        return 0;
    if (app_plan_open_nodes(app, plan, g->on, e) < 0)
        return -1;
    for (size_t i = 0; i < g->n_parties; i++) {
        struct run_stage_plan *p = &g->run.stages[i].plan;
        if (p->on == g->on && find_offer(g, plan, &g->parties[i], p, e) < 0)
            return -1;
    }
    g->run.request = arena_dup(g->arena, request);
    return 0;
}
