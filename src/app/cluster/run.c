/* run: the operation cluster.start: a training cluster made into a run of one stage, whose server
 * and workers begin together. `tradewind cluster run` calls it; cluster.measure runs one worker the
 * same way. */
#include "app/cluster/cluster.h"
#include "app/job/cloud.h"
#include "app/job/job.h"
#include "base/mem.h"
#include "base/money.h"
#include "spec/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BYTES ((size_t)256 << 20)

void app_cluster_prepared_clear(struct app_cluster_prepared *p)
{
    app_cluster_clear(&p->cluster);
}

/* ---- number and types of nodes ---- */

/* Workers that fit beside the server at once. */
static double most_workers(const struct app_cluster_prepared *p)
{
    if (p->location.is_cloud)
        return (double)INFINITY;
    if (p->location.n_hosts)
        return (double)p->location.n_hosts - (p->server_location.on ? 0 : 1);
    return floor(p->location.here.cpus / APP_JOB_CPU_STEP) - 1;
}

static void take_types(struct app_cluster_prepared *p,
                       const struct cluster_type *server,
                       const struct cluster_type *worker)
{
    p->server_type = server->name;
    p->worker_type = worker->name;
    p->server_microusd = server->price_microusd;
    p->worker_microusd = worker->price_microusd;
}

/* A file that says too little for a recommendation may still name the types. */
static void take_only_types(struct app_cluster_prepared *p, const struct cluster_problem *problem)
{
    const struct cluster_place *at = problem->places;

    if (problem->n_places == 1 && at->n_servers == 1 && at->n_workers == 1)
        take_types(p, &at->servers[0], &at->workers[0]);
}

static void take_choice(struct app_cluster_prepared *p,
                        const struct cluster_problem *problem,
                        const struct cluster_choice *best)
{
    const struct cluster_place *at = &problem->places[best->place];
    const struct cluster_type *server = &at->servers[best->server];
    const struct cluster_type *worker = &at->workers[best->worker];

    take_types(p, server, worker);
    if (!p->workers)
        p->workers = best->workers;
    double per_s = cluster_throughput(problem, server, worker, p->workers);
    if (isfinite(problem->work) && per_s > 0)
        p->planned_s = problem->work / per_s;
}

/* A copy that outlives the problem; "" when there is no room for it. */
static const char *keep(const struct app_cluster_prepared *p, const char *text)
{
    const char *kept = arena_dup(p->cluster.spec->arena, text);

    return kept ? kept : "";
}

/* Where each is named alone, they need no recommendation. */
static void take_said_types(struct app_cluster_prepared *p)
{
    const struct spec_cluster *s = p->cluster.spec;

    if (s->n_servers == 1 && s->n_workers == 1) {
        p->server_type = s->servers[0];
        p->worker_type = s->workers[0];
    }
}

static int find_size(struct app_cluster_prepared *p, const struct answer *answer, struct err *e)
{
    char option[64];
    const struct app_cluster *c = &p->cluster;
    AUTO_CLEAR(cluster_answer) struct cluster_answer found = {0};
    struct err why = {0};

    if (isnan(c->spec->budget_usd) && isnan(c->spec->max_workers)) {
        if (!p->workers)
            return err_set(e, ERR_USAGE,
                           "%s: the number of workers is not known: give %s N, or write "
                           "budget: 2.0 (USD per hour) or workers: {max: 6}",
                           c->spec->file, answer_spell(answer, "workers", option));
        c->spec->max_workers = p->workers;
    }
    AUTO(cluster_problem)
    struct cluster_problem *problem = cluster_problem_new(c->spec, c->catalog, c->measured, &why);
    double most = most_workers(p);

    if (!problem && c->chooses && !p->location.n_hosts)
        return err_set(e, why.kind, "%s", why.text);
    if (problem && most >= 1 && problem->max_workers > most)
        problem->max_workers = (unsigned)most;
    if (problem && cluster_recommend(problem, CLUSTER_MODEL_OPT, CLUSTER_COST, &found, &why) == 0)
        take_choice(p, problem, &found.best);
    else if (problem)
        take_only_types(p, problem);
    if (p->location.is_cloud && !*p->worker_type)
        take_said_types(p);
    p->server_type = keep(p, p->server_type);
    p->worker_type = keep(p, p->worker_type);
    if (p->workers)
        return 0;
    return err_set(e, why.kind, "the number of workers is not known: %.280s; give %s N", why.text,
                   answer_spell(answer, "workers", option));
}

/* Rates are measured per type. Hosts of a group count as one type, unless the file names it. */
static const char *type_of_hosts(const struct app_cluster_prepared *p)
{
    const struct spec_cluster *s = p->cluster.spec;

    return s->n_workers == 1 ? s->workers[0] : p->location.on;
}

static int find_locations(struct app_cluster_prepared *p,
                          const struct answer *answer,
                          struct err *e)
{
    char option[64], other[64];
    const struct config *config = p->cluster.config;
    const char *server_on = p->request.server_on;

    if (app_run_location_find(config, p->request.on, answer_spell(answer, "on", option),
                              &p->location, e) < 0)
        return -1;
    if (!strcmp(p->location.on, "sim"))
        return err_set(e, ERR_USAGE,
                       "%s sim: a cluster runs for real; tradewind cluster recommend predicts "
                       "its time and cost",
                       answer_spell(answer, "on", option));
    if (!server_on)
        return 0;
    if (app_run_location_find(config, server_on, answer_spell(answer, "server_on", option),
                              &p->server_location, e) < 0)
        return -1;
    if (!p->location.n_hosts || !p->server_location.n_hosts)
        return err_set(e, ERR_USAGE, "%s %.60s: names a host group, beside the workers' (%s GROUP)",
                       answer_spell(answer, "server_on", option), server_on,
                       answer_spell(answer, "on", other));
    return 0;
}

/* ---- machines of a cloud ---- */

/* All of one region. */
static int find_offers(struct app *app,
                       struct app_cluster_prepared *p,
                       const struct answer *answer,
                       struct err *e)
{
    AUTO(app_plan) struct app_plan *plan = mem_zero(1, sizeof *plan);
    const struct spec_place *place = &p->cluster.spec->place;
    struct app_plan_node wanted[] = {
        {place->cloud, place->region, .instance_type = p->worker_type, .count = p->workers},
        {place->cloud, place->region, .instance_type = p->server_type, .count = 1}};
    struct job_offer found[2];
    char option[64], other[64];

    if (!*p->worker_type || !*p->server_type)
        return err_set(e, ERR_USAGE,
                       "%s: the instance types are not known: give %s TYPE and %s TYPE, or write "
                       "server: {type: ...} and workers: {type: ...}",
                       p->cluster.spec->file, answer_spell(answer, "server", option),
                       answer_spell(answer, "type", other));
    if (app_plan_open_nodes(app, plan, p->location.on, e) < 0)
        return -1;
    if (app_plan_nodes(plan, wanted, 2, found, e) < 0)
        return err_wrap(e, "%s", p->cluster.spec->file);
    p->worker_offer = found[0];
    p->server_offer = found[1];
    p->worker_microusd = money_from_usd(found[0].price_usd_per_hour);
    p->server_microusd = money_from_usd(found[1].price_usd_per_hour);
    return 0;
}

static double least_of(double a, double b)
{
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

/* All nodes get what the smaller machine has. */
static void offered_room(const struct app_cluster_prepared *p, struct app_run_room *out)
{
    const struct job_offer *w = &p->worker_offer, *s = &p->server_offer;
    double gb = least_of(w->memory_gb, s->memory_gb);

    *out = (struct app_run_room){.cpus = least_of(w->cpus, s->cpus),
                                 .memory_mb = (uint64_t)floor(gb * 1024),
                                 .gpus = w->accelerators};
}

/* ---- resources of a node ---- */

/* Where the configuration does not say: as `job submit` has them. */
#define CPUS_UNSAID 1
#define MEMORY_MB_UNSAID 1024

static int node_room(const struct app_cluster_prepared *p, struct app_run_room *out, struct err *e)
{
    struct app_run_room server = {0};
    bool is_apart = p->server_location.on;

    if (p->location.is_cloud)
        offered_room(p, out);
    else if (app_run_location_room(&p->location, p->workers + (is_apart ? 0 : 1), NULL, out, e) <
                 0 ||
             (is_apart && app_run_location_room(&p->server_location, 1, NULL, &server, e) < 0))
        return -1;
    if (is_apart) {
        out->cpus = server.cpus > 0 && server.cpus < out->cpus ? server.cpus : out->cpus;
        if (server.memory_mb && server.memory_mb < out->memory_mb)
            out->memory_mb = server.memory_mb;
    }
    out->cpus = out->cpus > 0 ? out->cpus : CPUS_UNSAID;
    out->memory_mb = out->memory_mb ? out->memory_mb : MEMORY_MB_UNSAID;
    return 0;
}

static int find_room(struct app_cluster_prepared *p, const struct answer *answer, struct err *e)
{
    char option[64];
    const struct app_cluster_run_request *q = &p->request;
    const struct app_job_room *here = &p->location.here;
    struct app_run_room *room = &p->room;
    unsigned nodes = p->workers + 1;

    if (node_room(p, room, e) < 0)
        return -1;
    if (!isnan(q->cpus))
        room->cpus = q->cpus;
    if (!isnan(q->cpus) && app_job_check_cpus(q->cpus, e) < 0)
        return err_wrap(e, "%s %g", answer_spell(answer, "cpus", option), q->cpus);
    if (q->memory && app_job_read_memory(q->memory, &room->memory_mb, e) < 0)
        return err_wrap(e, "%s", answer_spell(answer, "memory", option));
    bool fits = room->cpus * nodes <= here->cpus && room->memory_mb * nodes <= here->memory_mb;
    if (p->location.n_hosts || p->location.is_cloud || fits)
        return 0;
    return err_set(e, ERR_NOFIT,
                   "%u nodes with %g CPUs and %.1f GB each do not fit this machine at once: it has "
                   "%g CPUs and %.1f GB",
                   nodes, room->cpus, (double)room->memory_mb / 1024, here->cpus,
                   (double)here->memory_mb / 1024);
}

int app_cluster_prepare(struct app *app,
                        const struct app_cluster_run_request *q,
                        const struct answer *answer,
                        struct app_cluster_prepared *out,
                        struct err *e)
{
    char option[64];

    *out = (struct app_cluster_prepared){.request = *q, .server_type = "", .worker_type = ""};
    out->workers = q->workers == FIELD_NONE ? 0 : (unsigned)q->workers;
    /* Of the file alone. */
    struct app_cluster_request *cluster = &out->request.cluster;
    cluster->budget_usd = cluster->share = (double)NAN;
    cluster->max_workers = FIELD_NONE;
    if (q->max_microusd == 0)
        return err_set(e, ERR_USAGE, "%s 0: must be above 0 and at most %g",
                       answer_spell(answer, "max_cost_usd", option), MONEY_MAX_USD);
    if (app_cluster_open(&out->cluster, app, cluster, answer, e) < 0)
        return -1;
    if (!out->cluster.spec->run)
        return err_set(e, ERR_USAGE, "%s: names no command to run: add run: ./train ...",
                       out->cluster.spec->file);
    if (find_locations(out, answer, e) < 0 || find_size(out, answer, e) < 0 ||
        (out->location.is_cloud && find_offers(app, out, answer, e) < 0))
        return -1;
    if (out->location.n_hosts)
        out->worker_type = keep(out, type_of_hosts(out));
    return find_room(out, answer, e);
}

/* ---- the run ---- */

static void compose_price(const struct app_cluster_prepared *p, struct run_stage_plan *out)
{
    double server = (double)p->server_microusd / 1e6, worker = (double)p->worker_microusd / 1e6;
    struct app_run_room room;

    /* The broker prices hosts when jobs have them; this is the most they may cost. */
    if (p->location.n_hosts && app_run_location_room(&p->location, 1, NULL, &room, NULL) == 0)
        server = worker = room.price_usd_per_hour;
    if (p->server_location.on &&
        app_run_location_room(&p->server_location, 1, NULL, &room, NULL) == 0)
        server = room.price_usd_per_hour;
    out->server_usd_per_hour = server;
    out->price_usd_per_hour = server + worker * p->workers;
    out->planned_s = p->planned_s;
    double usd = out->price_usd_per_hour * p->planned_s / 3600;
    out->planned_microusd = usd <= MONEY_MAX_USD ? money_from_usd(usd) : 0;
}

static void compose_location(struct app_run_draft *c,
                             const struct app_cluster_prepared *p,
                             struct run_stage_plan *out)
{
    const struct job_offer *o = &p->worker_offer;
    AUTO_MEM char *place = p->location.is_cloud
                               ? app_plan_location_text(o->provider, o->region, o->zone)
                               : mem_dup(p->location.n_hosts ? p->location.on : "local");

    out->place = app_run_draft_keep(c, place);
    out->offer = *o;
    out->server_offer = p->server_offer;
    if (p->location.is_cloud && o->accelerators > 0) {
        out->gpus = (unsigned)fmax(ceil(o->accelerators), 1);
        out->gpu_type = app_run_draft_keep(c, o->accelerator);
    }
}

static int compose_stage(struct app_run_draft *c,
                         const struct app_cluster_prepared *p,
                         struct run_stage_plan *out,
                         struct err *e)
{
    const struct spec_cluster *spec = p->cluster.spec;
    const struct spec_stage *stage = &spec->pipeline->stages[0];

    out->nodes = 1 + p->workers;
    out->servers = 1;
    out->server_on = p->server_location.on;
    out->elastic = p->request.elastic;
    out->batch = spec->batch;
    out->time_limit_s = p->limit_s;
    compose_location(c, p, out);
    out->instance_type = app_run_draft_keep(c, p->worker_type);
    out->note = "";
    out->cpus = fmax(p->room.cpus, APP_JOB_CPU_STEP);
    out->memory_mb = p->room.memory_mb;
    out->gpus_per_node = p->room.gpus;
    if (app_run_draft_stage(c, stage, out, e) < 0)
        return -1;
    if (p->measures)
        out->output = NULL;
    compose_price(p, out);
    return app_run_draft_store(c, stage, out, e);
}

static int compose(struct app_run_draft *c, const struct app_cluster_prepared *p, struct err *e)
{
    struct run *run = c->run;

    run->name = app_run_draft_keep(c, p->cluster.spec->name);
    run->file = app_run_draft_keep(c, p->cluster.spec->file);
    run->on = p->location.on;
    if (p->location.is_cloud) {
        AUTO_MEM char *request = app_plan_nodes_request(p->cluster.spec->place.region != NULL);
        run->request = app_run_draft_keep(c, request);
    }
    run->stages = app_run_draft_alloc(c, 1, sizeof *run->stages);
    if (!run->stages)
        return 0; /* app_run_draft_end reports it */
    run->n_stages = 1;
    struct run_stage_plan *stage = &run->stages[0].plan;
    if (compose_stage(c, p, stage, e) < 0)
        return -1;
    run->planned_s = stage->planned_s;
    run->planned_microusd = stage->planned_microusd;
    return 0;
}

int app_cluster_start(struct app *app,
                      const struct app_cluster_prepared *p,
                      const struct answer *answer,
                      int64_t *id_out,
                      struct err *e)
{
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    const struct app_cluster_run_request *q = &p->request;
    struct run run = {.no_cache = q->no_cache || p->measures,
                      .max_microusd = q->max_microusd == FIELD_NONE ? 0 : q->max_microusd,
                      .user = app_run_user(app)};
    const struct app_plan plan = {
        .spec = p->cluster.spec->pipeline, .config = p->cluster.config, .request = {.env = q->env}};
    const struct app_run_order order = {
        .location = &p->location, .secrets = q->secrets, .answer = answer};
    struct app_run_draft c = {.app = app,
                              .plan = &plan,
                              .order = &order,
                              .lake = app_lake(app, e),
                              .arena = arena,
                              .run = &run};

    if (!c.lake || app_job_check_month(app, e) < 0 ||
        app_run_draft_end(&c, compose(&c, p, e), e) < 0 || app_run_begin(app, &run, e) < 0)
        return -1;
    *id_out = run.id;
    return 0;
}

/* ---- the operation ---- */

static bool has_run(const void *record)
{
    return ((const struct app_cluster_started *)record)->run != FIELD_NONE;
}

/* clang-format off */
#define RUN(TYPE, member) FIELD(TYPE, struct app_cluster_run_request, member)
static const struct field request_fields[] = {
    CLUSTER_FILE_FIELDS(struct app_cluster_run_request, cluster.),
    {"on", RUN(TEXT, on), .value = "local|ssh|GROUP|cloud|aws|azure|gcp",
     .help = "Where to run: all nodes on this machine (the default), on all hosts of the "
             "configuration, on those of a group, or on machines that are launched in one region of "
             "any cloud (cloud) or of one (aws)."},
    {"server_on", RUN(TEXT, server_on), .value = "GROUP",
     .help = "Run the server on a host of this group, and the workers on those of --on."},
    {"workers", RUN(INT, workers), .value = "N", .least = 1, .most = SPEC_CLUSTER_MAX_WORKERS,
     .help = "Number of workers; default: as `cluster recommend` says."},
    {"elastic", RUN(BOOL, elastic),
     .help = "Let the other nodes continue when a worker fails; default: stop all."},
    CLUSTER_TYPE_FIELDS(struct app_cluster_run_request, cluster.),
    CLUSTER_NODE_FIELDS,
    {"max_cost_usd", RUN(MONEY, max_microusd), .option = "--max-cost", .value = "USD",
     .unit = "USD", .most = MONEY_MAX_USD, .help = "Stop the run when it has cost more."},
    {"no_cache", RUN(BOOL, no_cache),
     .help = "Run even when nothing has changed since an earlier run."},
};

#define STARTED(TYPE, member) FIELD(TYPE, struct app_cluster_started, member), .omit_none = true
static const struct field started_fields[] = {
    {"event", STARTED(TEXT, event), .help = "One of started, planned (a dry run)."},
    {"run", STARTED(INT, run), .help = "Number of the run."},
    {"name", STARTED(TEXT, name), .help = "Name of the training."},
    {"server_type", STARTED(TEXT, server_type),
     .help = "Instance type of the server; empty = not known."},
    {"worker_type", STARTED(TEXT, worker_type),
     .help = "Instance type of the workers; empty = not known."},
    {"workers", STARTED(INT, workers), .help = "Number of workers."},
    {"cpus", STARTED(REAL, cpus), .help = "CPUs of each node."},
    {"memory_gb", STARTED(REAL, memory_gb), .unit = "GB", .help = "Memory of each node."},
    {"elastic", FIELD(BOOL, struct app_cluster_started, is_elastic), .is_absent = has_run,
     .help = "Whether the other nodes continue when a worker fails."},
    {"location", STARTED(RECORD, location), .record = &app_run_where_record,
     .help = "Where the nodes would run."},
    {"server_offer", STARTED(RECORD, server_offer), .record = &app_offer_record,
     .help = "Machine of a cloud that would be launched for the server."},
    {"worker_offer", STARTED(RECORD, worker_offer), .record = &app_offer_record,
     .help = "Machine of a cloud that would be launched for each worker."},
    {"price_usd_per_hour", STARTED(REAL, price_usd_per_hour), .unit = "USD/h",
     .help = "Price of these machines together."},
};
/* clang-format on */
static const struct record started_record =
    RECORD("cluster_started", struct app_cluster_started, started_fields);

static void release_prepared(void *prepared)
{
    app_cluster_prepared_clear(prepared);
    free(prepared);
}

static int answer_planned(const struct app_cluster_prepared *p, struct answer *out, struct err *e)
{
    const struct app_run_where where = app_run_location_where(&p->location);
    struct app_cluster_started planned = {.event = "planned",
                                          .run = FIELD_NONE,
                                          .name = p->cluster.spec->name,
                                          .server_type = p->server_type,
                                          .worker_type = p->worker_type,
                                          .workers = p->workers,
                                          .cpus = p->room.cpus,
                                          .memory_gb = (double)p->room.memory_mb / 1024,
                                          .is_elastic = p->request.elastic,
                                          .location = &where,
                                          .price_usd_per_hour = (double)NAN};

    if (p->location.is_cloud)
        planned.price_usd_per_hour =
            p->server_offer.price_usd_per_hour + p->worker_offer.price_usd_per_hour * p->workers;
    if (app_offer_show(&p->server_offer, out->arena, &planned.server_offer, e) < 0 ||
        app_offer_show(&p->worker_offer, out->arena, &planned.worker_offer, e) < 0)
        return -1;
    return answer_head(out, &planned, e);
}

static int run_start(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct app_cluster_run_request *q = request;
    struct app_cluster_prepared *p = answer_take(out, app, q);
    struct app_cluster_started started;
    int result = 0;

    if (!p) {
        p = mem_zero(1, sizeof *p);
        result = app_cluster_prepare(app, q, out, p, e);
    } else {
        p->request = *q; /* the texts of the earlier request are gone */
    }
    if (result == 0 && q->dry_run) {
        result = answer_planned(p, out, e);
    } else if (result == 0) {
        record_set_none(&started_record, &started);
        started.event = "started";
        result = app_cluster_start(app, p, out, &started.run, e);
        result = result < 0 ? -1 : answer_head(out, &started, e);
    }
    if (result == 0 && q->dry_run)
        answer_leave(out, app, q, p, release_prepared);
    else
        release_prepared(p);
    return result;
}

const struct operation cluster_start_operation = {
    .name = "cluster.start",
    .summary = "Start a training cluster: a parameter server and workers, as one run.",
    .role = APP_MEMBER,
    .effect = OPERATION_WRITES,
    REQUEST(struct app_cluster_run_request, request_fields),
    .answer = &started_record,
    .bills = true,
    .run = run_start,
};
