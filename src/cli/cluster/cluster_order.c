/* cluster_order: a training cluster made into a run: a server and workers, which begin together. */
#include "app/run/compose.h"
#include "base/mem.h"
#include "base/money.h"
#include "broker/pipeline/advance.h"
#include "cli/cluster/cluster_parts.h"
#include "cli/core/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- how many of which ---- */

/* What there is room for at once, the server aside. */
static double most_workers(const struct cluster_order *o)
{
    if (o->place.n_hosts)
        return (double)o->place.n_hosts - (o->server_place.on ? 0 : 1);
    return floor(o->place.here.cpus / APP_JOB_CPU_STEP) - 1;
}

static void take_types(struct cluster_order *o,
                       const struct cluster_type *server,
                       const struct cluster_type *worker)
{
    o->server_type = server->name;
    o->worker_type = worker->name;
    o->server_microusd = server->price_microusd;
    o->worker_microusd = worker->price_microusd;
}

/* The file may not say enough for a recommendation, and still name the types. */
static void take_only_types(struct cluster_order *o, const struct cluster_problem *p)
{
    const struct cluster_place *at = p->places;

    if (p->n_places == 1 && at->n_servers == 1 && at->n_workers == 1)
        take_types(o, &at->servers[0], &at->workers[0]);
}

static void take_choice(struct cluster_order *o,
                        const struct cluster_problem *p,
                        const struct cluster_choice *best)
{
    const struct cluster_place *at = &p->places[best->place];
    const struct cluster_type *server = &at->servers[best->server];
    const struct cluster_type *worker = &at->workers[best->worker];

    take_types(o, server, worker);
    if (!o->workers)
        o->workers = best->workers;
    double per_s = cluster_throughput(p, server, worker, o->workers);
    if (isfinite(p->work) && per_s > 0)
        o->planned_s = p->work / per_s;
}

/* Texts of the problem go with it. */
static const char *keep(const struct cluster_desk *d, const char *text)
{
    const char *kept = arena_dup(d->spec->arena, text);

    return kept ? kept : "";
}

static int find_size(const struct cluster_desk *d, struct cluster_order *o, struct err *e)
{
    AUTO_CLEAR(cluster_answer) struct cluster_answer answer = {0};
    struct err why = {0};

    if (isnan(d->spec->budget_usd) && isnan(d->spec->max_workers)) {
        if (!o->workers)
            return err_set(e, ERR_USAGE,
                           "%s: how many workers there should be is not known: give --workers N, "
                           "or write budget: 2.0 (USD per hour) or workers: {max: 6}",
                           d->spec->file);
        d->spec->max_workers = o->workers;
    }
    AUTO(cluster_problem)
    struct cluster_problem *p = cluster_problem_new(d->spec, d->catalog, d->measured, &why);
    double most = most_workers(o);

    if (!p && d->chooses && !o->place.n_hosts)
        return err_set(e, why.kind, "%s", why.text);
    if (p && most >= 1 && p->max_workers > most)
        p->max_workers = (unsigned)most;
    if (p && cluster_recommend(p, CLUSTER_MODEL_OPT, CLUSTER_COST, &answer, &why) == 0)
        take_choice(o, p, &answer.best);
    else if (p)
        take_only_types(o, p);
    o->server_type = keep(d, o->server_type);
    o->worker_type = keep(d, o->worker_type);
    if (o->workers)
        return 0;
    return err_set(e, why.kind,
                   "how many workers there should be is not known: %.280s; --workers N says it",
                   why.text);
}

/* By what is measured on them, hosts of a group are alike, unless the file says what they are. */
static const char *type_of_hosts(const struct cluster_desk *d, const struct cluster_order *o)
{
    return d->spec->n_workers == 1 ? d->spec->workers[0] : o->place.on;
}

static int find_places(const struct cluster_desk *d,
                       const struct command_args *args,
                       struct cluster_order *o,
                       struct err *e)
{
    const char *server_on = command_value(args, "--server-on");

    if (app_run_location_find(d->config, command_value(args, "--on"), &o->place, e) < 0)
        return -1;
    if (!strcmp(o->place.on, "sim"))
        return err_set(e, ERR_USAGE,
                       "--on sim: a cluster runs for real; tradewind cluster recommend tells what "
                       "it would do on paper");
    if (!server_on)
        return 0;
    if (app_run_location_find(d->config, server_on, &o->server_place, e) < 0)
        return err_wrap(e, "--server-on");
    if (!o->place.n_hosts || !o->server_place.n_hosts)
        return err_set(e, ERR_USAGE,
                       "--server-on %.60s: names a host group, beside the workers' (--on GROUP)",
                       server_on);
    return 0;
}

/* ---- how large ---- */

/* Sizes that nobody knows: as `job submit` has them. */
#define CPUS_UNSAID 1
#define MEMORY_MB_UNSAID 1024

static int node_room(const struct cluster_order *o, struct app_run_room *out, struct err *e)
{
    struct app_run_room server = {0};
    unsigned nodes = o->workers + (o->server_place.on ? 0 : 1);

    if (app_run_location_room(&o->place, nodes, out, e) < 0 ||
        (o->server_place.on && app_run_location_room(&o->server_place, 1, &server, e) < 0))
        return -1;
    if (o->server_place.on) {
        out->cpus = server.cpus > 0 && server.cpus < out->cpus ? server.cpus : out->cpus;
        if (server.memory_mb && server.memory_mb < out->memory_mb)
            out->memory_mb = server.memory_mb;
    }
    out->cpus = out->cpus > 0 ? out->cpus : CPUS_UNSAID;
    out->memory_mb = out->memory_mb ? out->memory_mb : MEMORY_MB_UNSAID;
    return 0;
}

static int find_room(const struct command_args *args, struct cluster_order *o, struct err *e)
{
    const struct app_job_room *here = &o->place.here;
    struct app_run_room *room = &o->room;
    unsigned nodes = o->workers + 1;

    if (node_room(o, room, e) < 0)
        return -1;
    if (command_number(args, "--cpus", &room->cpus, e) < 0)
        return -1;
    if (command_has(args, "--cpus") && app_job_check_cpus(room->cpus, e) < 0)
        return err_wrap(e, "--cpus %s", command_value(args, "--cpus"));
    const char *memory = command_value(args, "--memory");
    if (memory && app_job_read_memory(memory, &room->memory_mb, e) < 0)
        return err_wrap(e, "--memory");
    bool fits = room->cpus * nodes <= here->cpus && room->memory_mb * nodes <= here->memory_mb;
    if (o->place.n_hosts || fits)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "%u nodes with %g CPUs and %.1f GB each do not fit this machine at once: it has "
                   "%g CPUs and %.1f GB",
                   nodes, room->cpus, (double)room->memory_mb / 1024, here->cpus,
                   (double)here->memory_mb / 1024);
}

int cluster_order_find(const struct cluster_desk *d,
                       const struct command_args *args,
                       unsigned workers,
                       struct cluster_order *out,
                       struct err *e)
{
    *out = (struct cluster_order){.workers = workers, .server_type = "", .worker_type = ""};
    if (!d->spec->run)
        return err_set(e, ERR_USAGE, "%s: names no command to run: add run: ./train ...",
                       d->spec->file);
    if (find_places(d, args, out, e) < 0 || find_size(d, out, e) < 0)
        return -1;
    if (out->place.n_hosts)
        out->worker_type = keep(d, type_of_hosts(d, out));
    return find_room(args, out, e);
}

/* ---- as a run ---- */

static void compose_price(const struct cluster_order *o, struct run_stage_plan *out)
{
    double server = (double)o->server_microusd / 1e6, worker = (double)o->worker_microusd / 1e6;
    struct app_run_room room;

    /* The broker prices hosts when it has them; this is what they may cost. */
    if (o->place.n_hosts && app_run_location_room(&o->place, 1, &room, NULL) == 0)
        server = worker = room.price_usd_per_hour;
    if (o->server_place.on && app_run_location_room(&o->server_place, 1, &room, NULL) == 0)
        server = room.price_usd_per_hour;
    out->server_usd_per_hour = server;
    out->price_usd_per_hour = server + worker * o->workers;
    out->planned_s = o->planned_s;
    double usd = out->price_usd_per_hour * o->planned_s / 3600;
    out->planned_microusd = usd <= MONEY_MAX_USD ? money_from_usd(usd) : 0;
}

static int compose(struct app_run_draft *c,
                   const struct cluster_desk *d,
                   const struct cluster_order *o,
                   struct err *e)
{
    const struct spec_stage *stage = &d->spec->pipeline->stages[0];
    struct run *run = c->run;

    run->name = app_run_draft_keep(c, d->spec->name);
    run->file = app_run_draft_keep(c, d->spec->file);
    run->on = o->place.on;
    run->stages = app_run_draft_alloc(c, 1, sizeof *run->stages);
    if (!run->stages)
        return 0; /* told at the end */
    struct run_stage_plan *p = &run->stages[0].plan;
    run->n_stages = 1;
    p->nodes = 1 + o->workers;
    p->servers = 1;
    p->server_on = o->server_place.on;
    p->elastic = o->elastic;
    p->batch = d->spec->batch;
    p->time_limit_s = o->limit_s;
    p->place = app_run_draft_keep(c, o->place.n_hosts ? o->place.on : "local");
    p->instance_type = app_run_draft_keep(c, o->worker_type);
    p->note = "";
    p->cpus = fmax(o->room.cpus, APP_JOB_CPU_STEP);
    p->memory_mb = o->room.memory_mb;
    p->gpus_per_node = o->room.gpus;
    if (app_run_draft_stage(c, stage, p, e) < 0)
        return -1;
    if (o->measures)
        p->output = NULL;
    compose_price(o, p);
    run->planned_s = p->planned_s;
    run->planned_microusd = p->planned_microusd;
    return app_run_draft_store(c, stage, p, e);
}

int cluster_order_compose(const struct cluster_desk *d,
                          const struct command_args *args,
                          const struct cluster_order *order,
                          struct app *app,
                          struct arena *arena,
                          struct run *out,
                          struct err *e)
{
    struct app_plan plan = {.spec = d->spec->pipeline,
                            .config = d->config,
                            .request = {.env = cli_run_given(args, "--env", arena)}};
    struct app_run_order run_order = {.location = &order->place,
                                      .secrets = cli_run_given(args, "--secret", arena)};
    struct app_run_draft c = {.app = app,
                              .plan = &plan,
                              .order = &run_order,
                              .lake = app_lake(app, e),
                              .arena = arena,
                              .run = out};

    return c.lake ? app_run_draft_end(&c, compose(&c, d, order, e), e) : -1;
}
