/* deploy: the operations geo.deploy and geo.destroy, which put the aggregators of a training into a
 * cloud as functions and take them away again. */
#include "app/geo/deploy.h"

#include "base/file.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)64 << 20)
#define LOCK "deploy.lock"

/* ---- records ---- */

/* clang-format off */
static const struct field function_fields[] = {
    {"name", FIELD(TEXT, struct app_geo_function, name), .help = "Its name in the cloud."},
    {"location", FIELD(TEXT, struct app_geo_function, location), .help = "Where it runs."},
    {"product", FIELD(TEXT, struct app_geo_function, product),
     .help = "What the tariff is of."},
    {"store", FIELD(TEXT, struct app_geo_function, store),
     .help = "Whose new objects start it."},
    {"workers", FIELD(COUNT, struct app_geo_function, workers),
     .help = "Workers, or regions, that write there."},
    {"memory_mb", FIELD(INT, struct app_geo_function, memory_mb), .unit = "MB",
     .help = "Its memory."},
    {"timeout_s", FIELD(INT, struct app_geo_function, timeout_s), .unit = "s",
     .help = "Time limit of one invocation."},
    {"disk_mb", FIELD(INT, struct app_geo_function, disk_mb), .unit = "MB",
     .help = "Space for temporary files; none where they are in memory."},
    {"max_memory_mb", FIELD(INT, struct app_geo_function, max_memory_mb), .unit = "MB",
     .help = "The most memory that the platform has."},
    {"max_timeout_s", FIELD(INT, struct app_geo_function, max_timeout_s), .unit = "s",
     .help = "The longest invocation there."},
    {"max_disk_mb", FIELD(INT, struct app_geo_function, max_disk_mb), .unit = "MB",
     .help = "The most space for temporary files."},
    {"usd_per_s", FIELD(REAL, struct app_geo_function, second_usd), .unit = "USD",
     .help = "Price of a second of an invocation, with this memory."},
    {"usd_per_request", FIELD(REAL, struct app_geo_function, request_usd), .unit = "USD",
     .help = "Price of an invocation besides."},
};
static const struct record function_record =
    RECORD("geo_function", struct app_geo_function, function_fields);
static const struct field deployed_fields[] = {
    {"name", FIELD(TEXT, struct app_geo_deployed, name), .help = "Name of the training."},
    {"deployment", FIELD(TEXT, struct app_geo_deployed, deployment),
     .help = "The same as tags have it."},
    {"dry_run", FIELD(BOOL, struct app_geo_deployed, dry_run),
     .help = "Whether nothing was changed."},
    {"topology", FIELD(TEXT, struct app_geo_deployed, topology), .omit_none = true,
     .help = "How gradients are aggregated."},
    {"functions", FIELD(RECORDS, struct app_geo_deployed, functions), .record = &function_record,
     .omit_none = true, .help = "The functions with sizes, limits and prices."},
};
static const struct field item_fields[] = {
    {"location", FIELD(TEXT, struct app_geo_deployed_item, location), .omit_none = true,
     .help = "Where the resource is."},
    {"kind", FIELD(TEXT, struct app_geo_deployed_item, kind), .omit_none = true,
     .help = "Kind of the resource, such as function or role."},
    {"name", FIELD(TEXT, struct app_geo_deployed_item, name), .omit_none = true,
     .help = "Name of the resource."},
    {"done", FIELD(TEXT, struct app_geo_deployed_item, done), .omit_none = true,
     .help = "One of created, updated, unchanged, deleted, absent."},
    {"call", FIELD(TEXT, struct app_geo_deployed_item, call), .omit_none = true,
     .help = "Of a dry run: a call that would be made, without secrets."},
};
/* clang-format on */
const struct record app_geo_deployed_record =
    RECORD("geo_deployed", struct app_geo_deployed, deployed_fields);
const struct record app_geo_deployed_item_record =
    RECORD("geo_resource", struct app_geo_deployed_item, item_fields);

/* ---- the way to clouds ---- */

static const char *variable(void *context, const char *name)
{
    return app_variable(context, name);
}

static int tell(void *context, const struct deploy_resource *r, const char *done, struct err *e)
{
    struct app_geo_deploying *d = context;
    struct app_geo_deployed_item item;

    record_set_none(&app_geo_deployed_item_record, &item);
    item.location = answer_text(d->out, e, "%s/%s", r->cloud, r->region);
    item.kind = r->kind;
    item.name = r->name;
    item.done = done;
    return item.location ? answer_item(d->out, &item, e) : -1;
}

static int tell_call(void *context, const char *line, struct err *e)
{
    struct app_geo_deploying *d = context;
    struct app_geo_deployed_item item;

    record_set_none(&app_geo_deployed_item_record, &item);
    item.call = line;
    return answer_item(d->out, &item, e);
}

static void say(void *context, const char *verb, const struct deploy_resource *r)
{
    const struct app_geo_deploying *d = context;

    app_status(d->app, "%s %s %s at %s/%s", verb, r->kind, r->name, r->cloud, r->region);
}

static bool cancelled(void *context)
{
    return app_cancelled(((const struct app_geo_deploying *)context)->app);
}

int app_geo_deploying_open(
    struct app_geo_deploying *d, struct app *app, struct answer *out, bool dry_run, struct err *e)
{
    const char *home = app_home(app, e);

    *d = (struct app_geo_deploying){.app = app, .out = out, .lock = -1};
    d->party = (struct resource_party){
        .records = home ? app_machines(app, e) : NULL,
        .options = {.home = home, .outside = {.variable = variable, .context = app}},
        .watch = {.tell = tell, .status = say, .cancelled = cancelled, .context = d},
    };
    if (!d->party.records)
        return -1;
    if (dry_run) {
        d->party.watch.call = tell_call;
        return 0;
    }
    AUTO_MEM char *path = mem_printf("%s/" LOCK, home);
    app_status(app, "waiting for another deployment");
    d->lock = file_lock(path, e);
    return d->lock < 0 ? -1 : 0;
}

void app_geo_deploying_clear(struct app_geo_deploying *d)
{
    resource_party_clear(&d->party);
    if (d->lock >= 0)
        close(d->lock);
    d->lock = -1;
}

/* ---- geo.deploy ---- */

struct deploy_request {
    struct app_geo_request training;
    const char *zip, *image;
    bool insecure, dry_run;
};
/* clang-format off */
static const struct field deploy_fields[] = {
    GEO_FILE_FIELDS(struct deploy_request, training.),
    GEO_PLACEMENT_FIELDS(struct deploy_request, training.),
    {"zip", FIELD(TEXT, struct deploy_request, zip), .value = "FILE", .is_local = true,
     .help = "AWS: the aggregator as `make function` packs it; default: the one beside this "
             "program."},
    {"image", FIELD(TEXT, struct deploy_request, image), .value = "IMAGE",
     .help = "Google, Azure: the container image with the aggregator."},
    {"insecure", FIELD(BOOL, struct deploy_request, insecure), .help = APP_INSECURE_HELP},
    {"dry_run", FIELD(BOOL, struct deploy_request, dry_run),
     .help = "Only print the calls that would be made, without secrets."},
};
/* clang-format on */

/* The best placement that can be deployed, and has its stores. */
static int choose(struct app_geo_run *g, const struct app_geo_request *q, struct err *e)
{
    const struct geo_question question = app_geo_question(&g->geo, q);
    AUTO_CLEAR(geo_plan) struct geo_plan plan = {0};
    const struct geo_placement *first = NULL;

    if (geo_plan(g->geo.problem, &question, &plan, e) < 0)
        return -1;
    for (size_t i = 0; i < plan.n; i++) {
        const struct geo_placement *at = &plan.placements[i];
        const struct geo_site *site = &g->geo.problem->sites[at->store];
        const struct spec_geo_site *said = spec_geo_site(g->geo.spec, site->cloud, site->region);
        if (!app_geo_can_deploy(g, at))
            continue;
        if (!first)
            first = at;
        if (!said || !said->store)
            continue;
        g->at = *at;
        return 0;
    }
    if (!first)
        return err_set(e, ERR_NOFIT,
                       "%s: objects of a store start functions of their own region alone: choose "
                       "one location for --function and --store, and topology central where "
                       "workers are in several clouds",
                       g->geo.spec->file);
    g->at = *first;
    return 0;
}

static int lay_out(struct app_geo_run *g,
                   struct app *app,
                   const struct deploy_request *q,
                   const char *deployment,
                   const struct answer *out,
                   struct err *e)
{
    if (q->insecure)
        app_allow_insecure(app);
    g->is_insecure = app_is_insecure(app);
    g->is_deployed = true;
    g->on = "local";
    snprintf(g->token, sizeof g->token, "%s", deployment);
    (void)out;
    return choose(g, &q->training, e) < 0 ? -1 : app_geo_run_layout(g, e);
}

/* What the training needed when it was deployed before goes after what it needs now was made. */
static int deploy_all(struct app_geo_deploying *d,
                      const struct app_geo_functions *f,
                      const char *deployment,
                      struct err *e)
{
    for (size_t i = 0; i < f->n; i++)
        if (deployed_deploy(&d->party, f->sites[i]->cloud, f->sites[i]->region, &f->items[i], e) <
            0)
            return -1;
    return deployed_prune(&d->party, deployment, e);
}

static int answer_deployed(const struct app_geo_run *g,
                           const struct app_geo_functions *f,
                           const char *deployment,
                           bool dry_run,
                           struct answer *out,
                           struct err *e)
{
    const struct app_geo_deployed head = {
        .name = g->geo.spec->name,
        .deployment = deployment,
        .dry_run = dry_run,
        .topology = spec_geo_topology_text(g->at.topology),
        .functions = {f->shown, f->n},
    };

    return answer_head(out, &head, e);
}

static int run_deploy(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct deploy_request *q = request;
    AUTO(arena) struct arena *arena = arena_new(ARENA_BYTES);
    struct app_geo_run g = {.arena = arena};
    AUTO_CLEAR(app_geo_functions) struct app_geo_functions f = {0};
    AUTO_CLEAR(app_geo_deploying) struct app_geo_deploying d = {.lock = -1};
    struct app_geo_request training = q->training;
    char deployment[APP_GEO_DEPLOYMENT_BYTES];
    const char *image = app_variable_or(app, "TRADEWIND_FUNCTION_IMAGE", NULL);

    training.connections = FIELD_NONE;
    training.train_s = training.quorum = (double)NAN;
    int result = app_geo_open(&g.geo, app, &training, false, out, e);
    if (result == 0) {
        app_geo_deployment(g.geo.spec->name, deployment);
        result = lay_out(&g, app, q, deployment, out, e);
    }
    if (result == 0)
        result = app_geo_deploying_open(&d, app, out, q->dry_run, e);
    if (result == 0)
        result = app_geo_functions_of(&f, &g, app, deployment, q->zip, q->image ? q->image : image,
                                      machines_owner(d.party.records), e);
    if (result == 0)
        result = answer_deployed(&g, &f, deployment, q->dry_run, out, e);
    if (result == 0)
        result = deploy_all(&d, &f, deployment, e);
    app_geo_clear(&g.geo);
    return result;
}

const struct operation geo_deploy_operation = {
    .name = "geo.deploy",
    .summary = "Deploy the aggregator of a geo-distributed training as a function of its cloud.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct deploy_request, deploy_fields),
    .answer = &app_geo_deployed_record,
    .item = &app_geo_deployed_item_record,
    .items_name = "resources",
    .bills = true,
    .run = run_deploy,
};

/* ---- geo.destroy ---- */

struct destroy_request {
    const char *file, *text;
    bool dry_run;
};
/* clang-format off */
static const struct field destroy_fields[] = {
    GEO_FILE_FIELDS(struct destroy_request, ),
    {"dry_run", FIELD(BOOL, struct destroy_request, dry_run),
     .help = "Only print the calls that would be made, without secrets."},
};
/* clang-format on */

static int run_destroy(struct app *app, const void *request, struct answer *out, struct err *e)
{
    const struct destroy_request *q = request;
    AUTO_CLEAR(app_geo_deploying) struct app_geo_deploying d = {.lock = -1};
    char deployment[APP_GEO_DEPLOYMENT_BYTES];
    AUTO(spec_geo)
    struct spec_geo *spec =
        q->text   ? spec_geo_parse(q->file ? q->file : "training", q->text, strlen(q->text), e)
        : q->file ? spec_geo_load(q->file, e)
                  : NULL;

    if (!spec)
        return q->file || q->text ? -1 : err_set(e, ERR_USAGE, "name the training's file");
    app_geo_deployment(spec->name, deployment);
    if (app_geo_deploying_open(&d, app, out, q->dry_run, e) < 0)
        return -1;
    const struct app_geo_deployed head = {
        .name = spec->name, .deployment = deployment, .dry_run = q->dry_run};
    if (answer_head(out, &head, e) < 0)
        return -1;
    return deployed_destroy(&d.party, deployment, e);
}

const struct operation geo_destroy_operation = {
    .name = "geo.destroy",
    .summary = "Delete the functions of a training, and all that was made for them.",
    .role = APP_ADMIN,
    .effect = OPERATION_WRITES,
    REQUEST(struct destroy_request, destroy_fields),
    .answer = &app_geo_deployed_record,
    .item = &app_geo_deployed_item_record,
    .items_name = "resources",
    .run = run_destroy,
};
