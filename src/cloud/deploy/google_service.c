/* The Cloud Run service of a function, and the Eventarc trigger that calls it. google.c lists them.
 */
#include "base/mem.h"
#include "cloud/deploy/google.h"
#include "cloud/driver.h"

#include <stdlib.h>
#include <string.h>

#define SERVICE_INSTANCES 10

/* ---- the service ---- */

/* Cloud Run wants so many CPUs with so much memory. */
static const char *cpus_of(unsigned memory_mb)
{
    return memory_mb <= 4096 ? "1" : memory_mb <= 8192 ? "2" : memory_mb <= 16384 ? "4" : "8";
}

static json_t *service(struct deploy *d,
                       const struct deploy_resource *r,
                       const struct deploy_function *f)
{
    char email[GOOGLE_EMAIL_BYTES];
    json_t *variables = json_array();

    google_email(d, r->name, email);
    for (size_t i = 0; i < f->n_variables; i++)
        json_array_append_new(variables, json_pack("{s:s, s:s}", "name", f->variables[i].name,
                                                   "value", f->variables[i].value));
    json_array_append_new(variables,
                          json_pack("{s:s, s:s}", "name", "TRADEWIND_LISTEN", "value", "0.0.0.0"));
    json_t *container = json_pack("{s:s, s:{s:{s:s, s:o}}, s:o}", "image", f->image, "resources",
                                  "limits", "cpu", cpus_of(f->memory_mb), "memory",
                                  json_sprintf("%uMi", f->memory_mb), "env", variables);
    return json_pack("{s:o, s:s, s:{s:s, s:o, s:{s:i}, s:[o]}}", "labels", google_labels(d, f),
                     "ingress", "INGRESS_TRAFFIC_INTERNAL_ONLY", "template", "serviceAccount",
                     email, "timeout", json_sprintf("%us", f->timeout_s), "scaling",
                     "maxInstanceCount", SERVICE_INSTANCES, "containers", container);
}

int google_service_look(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        enum deploy_found *out,
                        struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *found = NULL;

    if (google_project(d, e) < 0)
        return -1;
    int is_there = deploy_api_find(d, &g->rest,
                                   (struct deploy_call){.permission = "run.services.get",
                                                        .method = "GET",
                                                        .url = google_service_url(d, r->name, "")},
                                   &found, e);
    *out = DEPLOY_ABSENT;
    if (is_there <= 0)
        return is_there;
    if (google_check_ours(d, found, e) < 0)
        return -1;
    *out = DEPLOY_SAME;
    if (!f)
        return 0;
    AUTO_JSON json_t *wanted = service(d, r, f);
    bool is_same = deploy_contains(found, wanted);
    if (json_is_true(json_object_get(found, "reconciling")))
        *out = DEPLOY_PENDING;
    else if (is_same &&
             strcmp(deploy_text(found, "terminalCondition/state"), "CONDITION_FAILED") == 0)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_REGION, "Cloud Run could not start it: %.250s",
                          deploy_text(found, "terminalCondition/message"));
    else
        *out = is_same ? DEPLOY_SAME : DEPLOY_DIFFERS;
    return 0;
}

static int put_service(struct deploy *d, struct deploy_call call, struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *answer = NULL;
    AUTO_MEM char *base = google_url(d, "RUN", GOOGLE_RUN, "v2/");

    return deploy_api(d, &g->rest, call, &answer, e) < 0 ? -1 : google_await(d, answer, base, e);
}

int google_service_make(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        struct cloud_error *e)
{
    AUTO_MEM char *end = mem_printf("?serviceId=%s", r->name);

    return put_service(d,
                       (struct deploy_call){.permission = "run.services.create",
                                            .method = "POST",
                                            .url = google_service_url(d, "", end),
                                            .body = service(d, r, f)},
                       e);
}

int google_service_change(struct deploy *d,
                          const struct deploy_resource *r,
                          const struct deploy_function *f,
                          struct cloud_error *e)
{
    return put_service(d,
                       (struct deploy_call){.permission = "run.services.update",
                                            .method = "PATCH",
                                            .url = google_service_url(d, r->name, ""),
                                            .body = service(d, r, f)},
                       e);
}

int google_service_remove(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    return deploy_api_forgive(
        put_service(d,
                    (struct deploy_call){.permission = "run.services.delete",
                                         .method = "DELETE",
                                         .url = google_service_url(d, r->name, "")},
                    e),
        e);
}

/* ---- the trigger ---- */

static json_t *trigger(struct deploy *d,
                       const struct deploy_resource *r,
                       const struct deploy_function *f)
{
    char email[GOOGLE_EMAIL_BYTES];

    google_email(d, r->name, email);
    return json_pack("{s:o, s:s, s:[{s:s, s:s}, {s:s, s:s}], s:{s:{s:s, s:s}}}", "labels",
                     google_labels(d, f), "serviceAccount", email, "eventFilters", "attribute",
                     "type", "value", "google.cloud.storage.object.v1.finalized", "attribute",
                     "bucket", "value", f->in.bucket, "destination", "cloudRun", "service", r->name,
                     "region", d->options.region);
}

/* Filters come in any order. */
static bool same_trigger(const json_t *found, const struct deploy_function *f, const char *name)
{
    const json_t *filter;
    bool has_bucket = false;
    size_t i;

    json_array_foreach(json_object_get(found, "eventFilters"), i, filter) has_bucket =
        has_bucket || (strcmp(deploy_text(filter, "attribute"), "bucket") == 0 &&
                       strcmp(deploy_text(filter, "value"), f->in.bucket) == 0);
    return has_bucket && strcmp(deploy_text(found, "destination/cloudRun/service"), name) == 0;
}

int google_trigger_look(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        enum deploy_found *out,
                        struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *found = NULL;

    if (google_project(d, e) < 0)
        return -1;
    int is_there = deploy_api_find(d, &g->rest,
                                   (struct deploy_call){.permission = "eventarc.triggers.get",
                                                        .method = "GET",
                                                        .url = google_trigger_url(d, r->name, "")},
                                   &found, e);
    *out = DEPLOY_ABSENT;
    if (is_there <= 0)
        return is_there;
    if (google_check_ours(d, found, e) < 0)
        return -1;
    *out = !f || same_trigger(found, f, r->name) ? DEPLOY_SAME : DEPLOY_DIFFERS;
    return 0;
}

static int put_trigger(struct deploy *d, struct deploy_call call, struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *answer = NULL;
    AUTO_MEM char *base = google_url(d, "EVENTARC", GOOGLE_EVENTARC, "v1/");

    return deploy_api(d, &g->rest, call, &answer, e) < 0 ? -1 : google_await(d, answer, base, e);
}

int google_trigger_make(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        struct cloud_error *e)
{
    AUTO_MEM char *end = mem_printf("?triggerId=%s", r->name);

    return put_trigger(d,
                       (struct deploy_call){.permission = "eventarc.triggers.create",
                                            .method = "POST",
                                            .url = google_trigger_url(d, "", end),
                                            .body = trigger(d, r, f)},
                       e);
}

int google_trigger_remove(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    return deploy_api_forgive(
        put_trigger(d,
                    (struct deploy_call){.permission = "eventarc.triggers.delete",
                                         .method = "DELETE",
                                         .url = google_trigger_url(d, r->name, "")},
                    e),
        e);
}

/* The bucket of a trigger cannot be changed: another one takes its place. */
int google_trigger_change(struct deploy *d,
                          const struct deploy_resource *r,
                          const struct deploy_function *f,
                          struct cloud_error *e)
{
    return google_trigger_remove(d, r, e) < 0 ? -1 : google_trigger_make(d, r, f, e);
}
