/* clouds: plans that are to be carried out on machines of clouds: which clouds may be planned with,
 * the offers of planned stages, and requests as records keep them for plans of what is left. */
#include "app/plan/internal.h"
#include "base/json.h"
#include "base/mem.h"
#include "cloud/cloud.h"
#include "view/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of handles that change nothing: they carry no tag. */
#define NO_OWNER "plan"

static const char *variable(void *context, const char *name)
{
    return app_variable(context, name);
}

/* 1: there are credentials; 0: none, why says where they were looked for; -1. */
static int sign_in(
    struct app *app, const struct app_plan *p, const char *cloud, struct err *why, struct err *e)
{
    struct cloud_error failure;

    AUTO(cloud)
    struct cloud *c =
        cloud_open(&(struct cloud_options){.name = cloud,
                                           .home = p->config->home,
                                           .owner = NO_OWNER,
                                           .region = cloud_some_region(cloud),
                                           .outside = {.variable = variable, .context = app}},
                   e);
    if (!c)
        return -1;
    if (cloud_sign_in(c, &failure) == 0)
        return 1;
    *why = failure.err;
    return 0;
}

int app_plan_limit_clouds(struct app *app, struct app_plan *p, const char *on, struct err *e)
{
    bool any = strcmp(on, APP_PLAN_ANY_CLOUD) == 0;
    struct err why = {0};
    size_t n = 0;

    for (size_t i = 0; cloud_providers[i] && n + 1 < APP_PLAN_CLOUDS_MAX; i++) {
        if (!any && strcmp(cloud_providers[i], on) != 0)
            continue;
        int found = sign_in(app, p, cloud_providers[i], &why, e);
        if (found < 0)
            return -1;
        if (found)
            p->clouds[n++] = cloud_providers[i];
    }
    p->clouds[n] = NULL;
    if (n)
        return 0;
    return any ? err_set(e, ERR_DENIED,
                         "there are credentials of no cloud; `tradewind clouds check` says what is "
                         "missing")
               : err_set(e, why.kind, "%s; `tradewind clouds check` says what is missing",
                         why.text);
}

bool app_plan_allows_cloud(const struct app_plan *p, const char *cloud)
{
    for (size_t i = 0; p->clouds[i]; i++)
        if (!strcmp(p->clouds[i], cloud))
            return true;
    return !p->clouds[0];
}

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))

void app_plan_fill_offer(const struct catalog *c,
                         const struct catalog_kind *kind,
                         const struct catalog_offer *offer,
                         bool spot,
                         struct job_offer *out)
{
    *out = (struct job_offer){.spot = spot,
                              .price_usd_per_hour = spot ? offer->spot_usd : offer->price_usd};
    COPY(out->provider, catalog_text(c, kind->cloud));
    COPY(out->region, catalog_text(c, c->places[offer->place].region));
    COPY(out->zone, catalog_text(c, offer->zone));
    COPY(out->instance_type, catalog_text(c, kind->instance_type));
    COPY(out->accelerator, catalog_text(c, kind->accelerator));
    if (kind->accelerator_count > 0)
        out->accelerators = kind->accelerator_count;
    if (kind->vcpus > 0)
        out->cpus = kind->vcpus;
    if (kind->memory_gib > 0)
        out->memory_gb = kind->memory_gib;
}

void app_plan_offer(const struct app_plan *p, size_t stage, struct job_offer *out)
{
    const struct plan_stage *s = &p->answer.plan.stages[stage];

    app_plan_fill_offer(p->catalog, s->kind, s->offer, s->spot, out);
    out->price_usd_per_hour = s->price_usd_per_hour;
    COPY(out->zone, plan_zone(p->catalog, &p->spec->stages[stage], s));
    const struct spec_stage *asked = &p->spec->stages[s->stage];
    for (size_t i = 0; i < asked->n_alternatives; i++) {
        const struct spec_resources *r = &asked->alternatives[i];
        out->disk_gb = fmax(out->disk_gb, r->disk_gb);
        if (r->machine_image && !out->image[0])
            COPY(out->image, r->machine_image);
    }
}

bool app_plan_allows(void *context,
                     const struct catalog_kind *kind,
                     const struct catalog_offer *offer,
                     bool spot)
{
    const struct app_plan *p = context;
    struct job_offer o;

    if (!app_plan_allows_cloud(p, catalog_text(p->catalog, kind->cloud)))
        return false;
    if (!p->allows)
        return true;
    app_plan_fill_offer(p->catalog, kind, offer, spot, &o);
    return p->allows(p->allows_context, &o);
}

/* ---- requests as records keep them ---- */

char *app_plan_request_text(const struct app_plan *p, const char *on, struct err *e)
{
    AUTO_JSON json_t *plan = record_encode(&app_plan_request_record, &p->request);
    AUTO_JSON json_t *root = json_object();
    json_t *value;
    const char *key;
    void *next;

    /* Of the members that say nothing the presets are the same again. */
    json_object_foreach_safe(plan, next, key, value)
    {
        if (json_is_null(value))
            json_object_del(plan, key);
    }
    json_object_set_new(plan, "file", json_text(p->spec->file));
    json_object_set_new(plan, "pipeline", json_text(p->spec->text));
    json_object_set(root, "plan", plan);
    json_object_set_new(root, "on", json_text(on));
    if (p->spec->base_dir)
        json_object_set_new(root, "base_dir", json_text(p->spec->base_dir));
    char *text = json_dumps(root, JSON_COMPACT);
    if (!text)
        err_set(e, ERR_USAGE, "%s: is not UTF-8 text", p->spec->file);
    return text;
}

int app_plan_open_recorded(
    struct app *app, struct app_plan *p, const char *text, struct arena *arena, struct err *e)
{
    AUTO_JSON json_t *root = json_loads(text, 0, NULL);
    json_t *plan = json_object_get(root, "plan");
    const char *on = json_string_value(json_object_get(root, "on"));
    const struct answer none = {.arena = arena, .request = &app_plan_request_record};
    struct plan_request q = {0};

    if (!plan || !on)
        return err_set(e, ERR_IO, "the record of how it was planned is damaged");
    if (record_decode(&app_plan_request_record, plan, FIELD_AS_NAME, &q, arena, e) < 0)
        return -1;
    q.base_dir = json_string_value(json_object_get(root, "base_dir"));
    return app_plan_open(p, app, &q, &none, e) < 0 ? -1 : app_plan_limit_clouds(app, p, on, e);
}
