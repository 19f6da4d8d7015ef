#include "app/job/cloud.h"

#include "app/core/lake_open.h"
#include "app/plan/plan.h"
#include "base/mem.h"
#include "base/time.h"
#include "broker/core/gpus.h"
#include "broker/daemon/host.h"
#include "broker/machine/clouds.h"
#include "broker/machine/machines.h"
#include "broker/machine/refusals.h"
#include "catalog/catalog.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB_PER_GIB 1024.0
/* Machines that one job may have had. */
#define ATTEMPTS_MAX 1000
/* Without a time limit offers are compared by what they cost in an hour. */
#define UNSAID_S 3600
/* In messages of the planner, as if it were a pipeline file. */
#define PIPELINE "job"

bool app_job_is_cloud(const struct config *c, const char *on)
{
    return clouds_are_meant(on) && host_count(c, on) == 0;
}

const char *app_job_market_field(bool spot, const char *region, double max_hourly_usd)
{
    return spot ? "spot" : region ? "region" : isnan(max_hourly_usd) ? NULL : "max_hourly_usd";
}

int app_job_check_market(const char *field, const struct answer *out, struct err *e)
{
    char option[64], other[64];

    return field ? err_set(e, ERR_USAGE, "%s is for machines of clouds: add %s cloud",
                           answer_spell(out, field, option), answer_spell(out, "on", other))
                 : 0;
}

/* ---- the request as a pipeline of one stage ---- */

/* "GPUs of any type": all types that some machine has so many of. */
static int any_gpus(struct app *app, unsigned n, json_t *out, struct err *e)
{
    const char *home = app_home(app, e);
    AUTO(catalog) struct catalog *c = home ? catalog_open(home, e) : NULL;
    uint32_t last = 0;

    if (!c)
        return -1;
    AUTO_JSON json_t *seen = json_object();
    for (size_t i = 0; i < c->n_kinds; i++) {
        const struct catalog_kind *k = &c->kinds[i];
        const char *name = catalog_text(c, k->accelerator);
        if (!*name || k->accelerator == last || k->accelerator_count < n ||
            k->accelerator_count > n || json_object_get(seen, name))
            continue;
        last = k->accelerator;
        json_object_set_new(seen, name, json_true());
        json_array_append_new(out, json_sprintf("%s:%u", name, n));
    }
    return json_array_size(out)
               ? 0
               : err_set(e, ERR_NOFIT, "no instance type of the catalog has exactly %u GPU%s", n,
                         n == 1 ? "" : "s");
}

static int put_gpus(struct app *app, const char *gpus, json_t *resources, struct err *e)
{
    struct gpus_wish wish;
    char text[80];

    if (!gpus)
        return 0;
    if (gpus_wish_read(gpus, &wish, e) < 0)
        return -1;
    json_t *list = json_array();
    json_object_set_new(resources, "accelerators", list);
    if (!wish.type[0])
        return any_gpus(app, wish.n, list, e);
    json_array_append_new(list, json_string(gpus_wish_text(&wish, text)));
    return 0;
}

/* JSON is YAML, too. The time is the same on all machines: the cheapest hour wins. New string;
 * NULL: e. */
static char *pipeline_text(struct app *app, const struct app_job_wish *w, struct err *e)
{
    double limit_s = w->time_limit_s > 0 ? w->time_limit_s : UNSAID_S;
    AUTO_JSON json_t *resources = json_object();

    json_object_set_new(resources, "cpus", json_sprintf("%.17g+", w->cpus));
    json_object_set_new(resources, "memory",
                        json_sprintf("%.17gGiB+", (double)w->memory_mb / MB_PER_GIB));
    json_object_set_new(resources, "use_spot", json_boolean(w->spot));
    if (put_gpus(app, w->gpus, resources, e) < 0)
        return NULL;
    AUTO_JSON json_t *root =
        json_pack("{s:s, s:s, s:O, s:I, s:[], s:{s:o}}", "name", PIPELINE, "run", "true",
                  "resources", resources, "num_nodes", (json_int_t)(w->nodes ? w->nodes : 1),
                  "inputs", "estimate", "seconds", json_number(limit_s));
    return json_dumps(root, JSON_COMPACT);
}

/* ---- planning ---- */

void app_job_planned_clear(struct app_job_planned *p)
{
    free(p->request);
    free(p->price_date);
    *p = (struct app_job_planned){0};
}

static int take_answer(const struct app_plan *p,
                       const char *on,
                       struct app_job_planned *planned,
                       struct err *e)
{
    const char *source, *date;

    *planned = (struct app_job_planned){.request = app_plan_request_text(p, on, e)};
    if (!planned->request)
        return -1;
    app_plan_offer(p, 0, &planned->offer);
    if (catalog_source(p->catalog, planned->offer.provider, &source, &date) && *date)
        planned->price_date = mem_dup(date);
    return 0;
}

/* The user wrote no pipeline: "job:1: stage 'job': " tells nothing. */
static const char *bare(const char *text)
{
    static const char stage[] = "stage '" PIPELINE "': ";
    const char *found = strstr(text, stage);

    return found ? found + strlen(stage) : text;
}

static int ask(struct app *app, struct app_plan *p, const char *on, struct err *e)
{
    struct err why = {0};

    if (app_plan_ask(p, false, &why) < 0)
        return err_set(e, why.kind, "%s", bare(why.text));
    if (plan_found(&p->answer))
        return app_plan_warn_of_prices(app, p, e);
    return err_set(e, p->answer.status == PLAN_LIMIT ? ERR_RETRY : ERR_NOFIT,
                   "no offer fits on %s: %s", on, bare(p->answer.reason));
}

int app_job_plan_cloud(struct app *app,
                       const struct app_job_wish *w,
                       const struct answer *out,
                       struct app_job_planned *planned,
                       struct err *e)
{
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);
    AUTO_MEM char *text = pipeline_text(app, w, e);
    AUTO_JSON json_t *request =
        text ? json_pack("{s:s, s:s}", "file", PIPELINE, "pipeline", text) : NULL;
    const struct answer none = {.arena = out->arena, .request = &app_plan_request_record};
    struct plan_request q;

    if (!text)
        return -1;
    if (w->region)
        json_object_set_new(request, "region", json_text(w->region));
    if (!isnan(w->max_hourly_usd))
        json_object_set_new(request, "max_hourly_usd", json_real(w->max_hourly_usd));
    return record_decode(&app_plan_request_record, request, out->spelling, &q, out->arena, e) < 0 ||
                   app_plan_open(p, app, &q, &none, e) < 0 ||
                   app_plan_limit_clouds(app, p, w->on, e) < 0 || ask(app, p, w->on, e) < 0
               ? -1
               : take_answer(p, w->on, planned, e);
}

/* A stage's job: a machine like the one that its pipeline planned. */
static int plan_alike(struct app *app,
                      const struct job_details *d,
                      const struct answer *out,
                      struct app_job_planned *planned,
                      struct err *e)
{
    const struct job_offer *o = &d->offer;
    AUTO_MEM char *gpus = mem_printf("%s:%u", o->accelerator, d->gpus);
    const struct app_job_wish wish = {.on = d->on,
                                      .cpus = o->cpus,
                                      .memory_mb = (uint64_t)(o->memory_gb * MB_PER_GIB),
                                      .gpus = o->accelerator[0] && d->gpus ? gpus : NULL,
                                      .nodes = d->nodes,
                                      .spot = o->spot,
                                      .max_hourly_usd = (double)NAN};

    return app_job_plan_cloud(app, &wish, out, planned, e);
}

int app_job_plan_again(struct app *app,
                       const struct job_details *d,
                       const struct answer *out,
                       struct app_job_planned *planned,
                       struct err *e)
{
    AUTO(app_plan) struct app_plan *p = mem_zero(1, sizeof *p);

    if (!d->request[0])
        return plan_alike(app, d, out, planned, e);
    return app_plan_open_recorded(app, p, d->request, out->arena, e) < 0 ||
                   ask(app, p, d->on, e) < 0
               ? -1
               : take_answer(p, d->on, planned, e);
}

void app_job_take_planned(const struct app_job_planned *p,
                          struct lake_job_request *r,
                          struct job_details *d)
{
    const struct job_offer *o = &p->offer;

    d->offer = *o;
    d->request = p->request;
    d->gpus = o->accelerators > 0 ? (unsigned)fmax(ceil(o->accelerators), 1) : 0;
    d->gpu_type = p->offer.accelerator;
    if (o->cpus > 0)
        r->cpus = o->cpus;
    if (o->memory_gb > 0)
        r->memory_mb = (uint64_t)floor(o->memory_gb * MB_PER_GIB);
}

/* ---- in answers ---- */

/* clang-format off */
#define OFFER(TYPE, member) FIELD(TYPE, struct app_offer, member)
static const struct field offer_fields[] = {
    {"provider", OFFER(TEXT, provider), .help = "Cloud."},
    {"region", OFFER(TEXT, region), .help = "Region."},
    {"zone", OFFER(TEXT, zone), .omit_none = true, .help = "Zone, where the offer names one."},
    {"instance_type", OFFER(TEXT, instance_type), .help = "Instance type."},
    {"market", OFFER(TEXT, market), .help = "spot or on-demand."},
    {"accelerator", OFFER(TEXT, accelerator), .omit_none = true, .help = "Its accelerators."},
    {"accelerators", OFFER(REAL, accelerators), .omit_none = true, .help = "How many it has."},
    {"cpus", OFFER(REAL, cpus), .omit_none = true, .help = "vCPUs."},
    {"memory_gb", OFFER(REAL, memory_gb), .unit = "GB", .omit_none = true, .help = "Memory."},
    {"price_usd_per_hour", OFFER(REAL, price_usd_per_hour), .unit = "USD/h",
     .help = "Price of one machine."},
};
/* clang-format on */
const struct record app_offer_record = RECORD("machine_offer", struct app_offer, offer_fields);

static const char *market_text(bool spot)
{
    return spot ? "spot" : "on-demand";
}

static double real_or_none(double value)
{
    return value > 0 ? value : (double)NAN;
}

static const char *text_or_none(struct arena *arena, const char *text)
{
    return *text ? arena_dup(arena, text) : NULL;
}

/* As jobs have offers of machines. */
static void take_machine(const struct cloud_machine *f, struct job_offer *out)
{
    *out = (struct job_offer){.spot = f->spot,
                              .cpus = f->cpus,
                              .memory_gb = f->memory_gb,
                              .accelerators = f->accelerators,
                              .price_usd_per_hour = f->price_usd_per_hour};
    snprintf(out->provider, sizeof out->provider, "%s", f->provider);
    snprintf(out->region, sizeof out->region, "%s", f->region);
    snprintf(out->zone, sizeof out->zone, "%s", f->zone);
    snprintf(out->instance_type, sizeof out->instance_type, "%s", f->instance_type);
    snprintf(out->accelerator, sizeof out->accelerator, "%s", f->accelerator);
}

int app_job_offer_now(struct app *app, int64_t job, struct job_offer *offer, struct err *e)
{
    const char *home = app_home(app, e);
    struct machines *m = home && machines_exist(home) ? app_machines(app, e) : NULL;
    struct machine found;
    struct err why = {0};

    if (!home || (machines_exist(home) && !m))
        return -1;
    for (unsigned attempt = 1; m && offer->provider[0] && attempt <= ATTEMPTS_MAX; attempt++) {
        char token[65];
        snprintf(token, sizeof token, "job-%" PRId64 "-%u", job, attempt);
        if (machines_get(m, 0, token, &found, &why) < 0)
            break;
        if (found.facts.launched_ms)
            take_machine(&found.facts, offer);
    }
    return why.kind == ERR_NONE || why.kind == ERR_NOTFOUND ? 0
                                                            : err_set(e, why.kind, "%s", why.text);
}

int app_offer_show(const struct job_offer *o, struct arena *arena, const void **out, struct err *e)
{
    struct app_offer *shown;

    *out = NULL;
    if (!o->provider[0])
        return 0;
    shown = arena_alloc(arena, 1, sizeof *shown);
    if (!shown)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    *shown = (struct app_offer){
        .provider = arena_dup(arena, o->provider),
        .region = arena_dup(arena, o->region),
        .zone = text_or_none(arena, o->zone),
        .instance_type = arena_dup(arena, o->instance_type),
        .market = market_text(o->spot),
        .accelerator = text_or_none(arena, o->accelerator),
        .accelerators = real_or_none(o->accelerators),
        .cpus = real_or_none(o->cpus),
        .memory_gb = real_or_none(o->memory_gb),
        .price_usd_per_hour = o->price_usd_per_hour,
    };
    *out = shown;
    return 0;
}

/* ---- what was tried ---- */

/* clang-format off */
#define REFUSAL(TYPE, member) FIELD(TYPE, struct app_refusal, member)
static const struct field refusal_fields[] = {
    {"job", REFUSAL(INT, job), .help = "Job that the machine was for."},
    {"at", REFUSAL(TIME, at_ms), .help = "Time of the refusal.", .heading = "time"},
    {"location", REFUSAL(TEXT, location), .help = "Cloud, region and zone.", .heading = "location"},
    {"instance_type", REFUSAL(TEXT, instance_type), .help = "Instance type.",
     .heading = "machine"},
    {"market", REFUSAL(TEXT, market), .help = "spot or on-demand.", .heading = "market"},
    {"code", REFUSAL(TEXT, code), .help = "Class of the refusal: quota, capacity, unsupported.",
     .heading = "code"},
    {"scope", REFUSAL(TEXT, scope), .help = "What it holds for: zone, region, account.",
     .heading = "for the"},
    {"took_s", REFUSAL(DURATION, took_s), .unit = "s", .help = "From the request to the answer.",
     .heading = "after"},
    {"reason", REFUSAL(TEXT, reason), .help = "What the cloud said.", .heading = "answer",
     .cut_rank = 1, .least_width = 20},
};
/* clang-format on */
const struct record app_refusal_record = RECORD("refusal", struct app_refusal, refusal_fields);

struct refusal_list {
    struct arena *arena;
    struct app_refusal *items;
    size_t n, cap;
};

static int add_refusal(void *context, const struct machine_refusal *r, struct err *e)
{
    struct refusal_list *list = context;
    const struct job_offer *o = &r->offer;
    AUTO_MEM char *location = app_plan_location_text(o->provider, o->region, o->zone);

    list->items = arena_room(list->arena, list->items, list->n, &list->cap, sizeof *list->items);
    if (!list->items)
        return err_set(e, ERR_NOFIT, "the answer is too large");
    list->items[list->n++] = (struct app_refusal){
        .job = r->job ? r->job : FIELD_NONE,
        .at_ms = r->at_ms,
        .location = arena_dup(list->arena, location),
        .instance_type = arena_dup(list->arena, o->instance_type),
        .market = market_text(o->spot),
        .code = machine_refusal_failure_text(r->failure),
        .scope = machine_refusal_scope_text(r->scope),
        .took_s = r->took_s,
        .reason = arena_dup(list->arena, r->text),
    };
    return 0;
}

int app_job_refusals(struct app *app,
                     int64_t job,
                     int64_t run,
                     struct arena *arena,
                     struct field_records *out,
                     struct err *e)
{
    struct refusal_list list = {.arena = arena};
    const char *home = app_home(app, e);
    struct machines *m = home && machines_exist(home) ? app_machines(app, e) : NULL;

    *out = (struct field_records){0};
    if (!home || (machines_exist(home) && !m))
        return -1;
    if (!m)
        return 0;
    if (machine_refusals_each(m, 0, job, run, add_refusal, &list, e) < 0)
        return -1;
    *out = (struct field_records){list.items, list.n};
    return 0;
}
