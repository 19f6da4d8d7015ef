#include "app/run/failover.h"

#include "app/core/app.h"
#include "app/plan/plan.h"
#include "app/run/simulate.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/details.h"
#include "broker/core/runs.h"
#include "broker/machine/cap.h"
#include "broker/machine/refusals.h"
#include "lake/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)64 << 20)

struct failover {
    struct app *app;
    struct arena *arena;
    const struct broker_replan *question;
    struct simulate_block *blocks; /* the refusals */
    struct app_plan *plan;
};

static const char *variable(const char *name)
{
    return getenv(name);
}

/* A quota is for a family of instances: of one accelerator, or none. */
static struct simulate_block block_of(const struct machine_refusal *r)
{
    bool is_quota = r->failure == CLOUD_QUOTA;

    return (struct simulate_block){.failure = r->failure,
                                   .scope = r->scope,
                                   .provider = r->offer.provider,
                                   .region = r->offer.region,
                                   .zone = r->offer.zone,
                                   .instance_type = is_quota ? "" : r->offer.instance_type,
                                   .accelerator = r->offer.accelerator,
                                   .spot = r->offer.spot,
                                   .until_ms = r->at_ms + REFUSAL_LASTS_MS};
}

static bool allows(void *context, const struct job_offer *o)
{
    const struct failover *f = context;
    const struct simulate_stage where = {.provider = o->provider,
                                         .region = o->region,
                                         .zone = o->zone,
                                         .instance_type = o->instance_type,
                                         .accelerator = o->accelerator,
                                         .spot = o->spot};

    for (size_t i = 0; i < f->question->n; i++)
        if (simulate_block_meets(&f->blocks[i], &where))
            return false;
    return true;
}

/* ---- a job of its own ---- */

static int replan_job(struct failover *f, struct job_offer *offer, struct err *e)
{
    AUTO_CLEAR(job_details) struct job_details details = {0};
    struct lake *l = app_lake(f->app, e);
    struct lake_job job;

    if (!l || lake_job_load(l, f->question->job, f->arena, &job, e) < 0 ||
        job_details_parse(job.asked.details, &details, e) < 0)
        return -1;
    if (!details.request[0])
        return err_set(e, ERR_NOFIT, "the job was planned for this offer alone");
    if (app_plan_open_recorded(f->app, f->plan, details.request, f->arena, e) < 0)
        return -1;
    f->plan->allows = allows;
    f->plan->allows_context = f;
    if (app_plan_ask(f->plan, false, e) < 0)
        return err_set(e, ERR_NOFIT, "every other offer was refused, too");
    if (!plan_found(&f->plan->answer))
        return err_set(e, ERR_NOFIT, "%s", f->plan->answer.reason);
    app_plan_offer(f->plan, 0, offer);
    return 0;
}

/* ---- a stage, and those that wait ---- */

static struct simulate_stage stage_of(const struct run_stage_plan *p)
{
    const struct job_offer *o = &p->offer;

    return (struct simulate_stage){.provider = o->provider,
                                   .region = o->region,
                                   .zone = o->zone,
                                   .instance_type = o->instance_type,
                                   .accelerator = o->accelerator,
                                   .spot = o->spot,
                                   .nodes = p->nodes,
                                   .price_usd_per_hour = o->price_usd_per_hour};
}

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))

static void take_offer(const struct simulate_stage *s, struct job_offer *out)
{
    *out = (struct job_offer){.spot = s->spot,
                              .price_usd_per_hour = s->price_usd_per_hour,
                              .cpus = s->cpus > 0 ? s->cpus : 0,
                              .memory_gb = s->memory_gb > 0 ? s->memory_gb : 0,
                              .accelerators = s->accelerators > 0 ? s->accelerators : 0};
    COPY(out->provider, s->provider);
    COPY(out->region, s->region);
    COPY(out->zone, s->zone);
    COPY(out->instance_type, s->instance_type);
    COPY(out->accelerator, s->accelerator);
}

static int record_stage(struct failover *f,
                        const struct run *run,
                        size_t i,
                        const struct simulate_stage *s,
                        struct err *e)
{
    struct run_stage_plan p = run->stages[i].plan;
    struct job_offer offer;

    take_offer(s, &offer);
    if (job_offer_same(&offer, &p.offer))
        return 0;
    AUTO_MEM char *place = app_plan_location_text(s->provider, s->region, s->zone);
    COPY(offer.image, p.offer.image);
    offer.disk_gb = p.offer.disk_gb;
    offer.keep_warm_s = p.offer.keep_warm_s;
    p.offer = offer;
    p.place = place;
    p.instance_type = offer.instance_type;
    p.spot = offer.spot;
    p.price_usd_per_hour = offer.price_usd_per_hour * (p.nodes ? p.nodes : 1);
    p.cpus = offer.cpus > 0 ? offer.cpus : p.cpus;
    p.memory_mb = offer.memory_gb > 0 ? (uint64_t)(offer.memory_gb * 1024) : p.memory_mb;
    p.gpus = (unsigned)offer.accelerators;
    p.gpu_type = offer.accelerator;
    p.planned_s = s->setup_s + s->work_s;
    struct runs *runs = app_runs(f->app, e);
    return runs ? runs_set_plan(runs, run->id, i, &p, e) : -1;
}

/* The stage that was refused and those that wait are planned anew; the others stay. */
static int replan_stages(
    struct failover *f, const struct run *run, size_t asked, struct job_offer *offer, struct err *e)
{
    size_t n = run->n_stages;
    struct simulate_stage *stages = arena_alloc(f->arena, n + 1, sizeof *stages);
    double *left = arena_alloc(f->arena, n + 1, sizeof *left);
    struct simulate_question q = {
        .blocks = f->blocks,
        .n_blocks = f->question->n,
        .left = left,
        .elapsed_s = (double)(time_epoch_ms() - run->created_ms) / 1000,
    };
    struct lake *l = app_lake(f->app, e);

    if (!stages || !left || !l)
        return stages && left ? -1 : err_set(e, ERR_NOFIT, "the run has too many stages");
    if (cap_run_spent(f->plan->config, NULL, l, run->id, time_epoch_ms(), &q.spent_microusd, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        stages[i] = stage_of(&run->stages[i].plan);
        left[i] = i == asked || run->stages[i].state == STAGE_WAITING;
    }
    if (app_simulation_replan(f->plan, &q, stages, e) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (left[i] > 0 && record_stage(f, run, i, &stages[i], e) < 0)
            return -1;
    const struct job_offer before = *offer;
    take_offer(&stages[asked], offer);
    COPY(offer->image, before.image);
    offer->disk_gb = before.disk_gb;
    offer->keep_warm_s = before.keep_warm_s;
    return 0;
}

/* ---- what no pipeline planned ---- */

static struct app_plan_node node_of(const struct job_offer *o, unsigned count)
{
    return (struct app_plan_node){
        .cloud = o->provider, .instance_type = o->instance_type, .spot = o->spot, .count = count};
}

static int record_nodes(struct failover *f,
                        const struct run *run,
                        size_t i,
                        const struct job_offer offers[2],
                        struct err *e)
{
    struct run_stage_plan p = run->stages[i].plan;
    unsigned nodes = p.nodes ? p.nodes : 1;
    struct runs *runs = app_runs(f->app, e);

    p.offer = offers[0];
    AUTO_MEM char *place = app_plan_location_text(p.offer.provider, p.offer.region, p.offer.zone);
    p.place = place;
    p.instance_type = p.offer.instance_type;
    p.price_usd_per_hour = p.offer.price_usd_per_hour * (nodes - p.servers);
    if (p.servers) {
        p.server_offer = offers[1];
        p.server_usd_per_hour = p.server_offer.price_usd_per_hour * p.servers;
        p.price_usd_per_hour += p.server_usd_per_hour;
    }
    return runs ? runs_set_plan(runs, run->id, i, &p, e) : -1;
}

/* A training cluster keeps its types and takes another region, unless the user chose that. A worker
 * of a geo run stays in the region of its data and takes another type. */
static int replan_nodes(struct failover *f,
                        const struct run *run,
                        size_t i,
                        struct job_offer *offer,
                        struct job_offer *server,
                        struct err *e)
{
    const struct run_stage_plan *p = &run->stages[i].plan;
    unsigned nodes = p->nodes ? p->nodes : 1;
    struct app_plan_node wanted[2] = {node_of(&p->offer, nodes - p->servers),
                                      node_of(&p->server_offer, p->servers)};
    struct job_offer found[2];

    if (app_plan_request_keeps_region(run->request))
        wanted[0].region = wanted[1].region = p->offer.region;
    if (!p->servers) {
        wanted[0].instance_type = NULL;
        wanted[0].cpus = p->offer.cpus;
        wanted[0].memory_gb = p->offer.memory_gb;
    }
    if (app_plan_open_nodes(f->app, f->plan, p->offer.provider, e) < 0)
        return -1;
    f->plan->allows = allows;
    f->plan->allows_context = f;
    if (app_plan_nodes(f->plan, wanted, p->servers ? 2 : 1, found, e) < 0)
        return -1;
    for (size_t k = 0; k < (p->servers ? 2 : 1); k++) {
        const struct job_offer *before = k ? &p->server_offer : &p->offer;
        COPY(found[k].image, before->image);
        found[k].disk_gb = before->disk_gb;
    }
    *offer = found[0];
    if (p->servers)
        *server = found[1];
    return record_nodes(f, run, i, found, e);
}

static int replan_run(struct failover *f,
                      struct job_offer *offer,
                      struct job_offer *server,
                      struct err *e)
{
    AUTO_CLEAR(run) struct run run = {0};
    struct runs *runs = app_runs(f->app, e);
    size_t i = 0;

    if (!runs || runs_get(runs, f->question->run, &run, e) < 0)
        return -1;
    while (i < run.n_stages && strcmp(run.stages[i].plan.name, f->question->stage) != 0)
        i++;
    if (i < run.n_stages && app_plan_request_is_of_nodes(run.request))
        return replan_nodes(f, &run, i, offer, server, e);
    if (i == run.n_stages || !run.request[0])
        return err_set(e, ERR_NOFIT, "the stage was planned for this offer alone");
    if (app_plan_open_recorded(f->app, f->plan, run.request, f->arena, e) < 0)
        return -1;
    if (f->plan->spec->n_stages != run.n_stages)
        return err_set(e, ERR_NOFIT, "the run has other stages than its pipeline");
    return replan_stages(f, &run, i, offer, e);
}

int app_run_failover(const struct broker_options *o,
                     const struct broker_replan *question,
                     struct job_offer *offer,
                     struct job_offer *server,
                     struct err *e)
{
    const struct app_options options = {.home = o->home, .role = APP_ADMIN, .variable = variable};
    AUTO(app) struct app *app = app_new(&options);
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    AUTO(app_plan) struct app_plan *plan = mem_zero(1, sizeof *plan);
    struct failover f = {.app = app, .arena = arena, .question = question, .plan = plan};

    f.blocks = arena_alloc(arena, question->n + 1, sizeof *f.blocks);
    if (!f.blocks)
        return err_set(e, ERR_NOFIT, "too many refusals");
    for (size_t i = 0; i < question->n; i++)
        f.blocks[i] = block_of(&question->refusals[i]);
    *server = (struct job_offer){0};
    return question->run ? replan_run(&f, offer, server, e) : replan_job(&f, offer, e);
}
