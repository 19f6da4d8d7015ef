/* Functions on Google Cloud: a Cloud Run service that an Eventarc trigger calls for each new object
 * of a bucket, with a service account of its own and the roles this needs. deploy.c lists the
 * platform. */
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/deploy/api.h"
#include "cloud/driver.h"
#include "cloud/tags.h"
#include "net/sigv4.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EMAIL_BYTES 160
#define PAGES_MAX 1000
#define POLL_FIRST_S 2.0
#define POLL_MOST_S 15.0
#define SERVICE_INSTANCES 10

struct google {
    struct cloud_rest rest;
    char *project;
};

/* ---- who and where ---- */

/* "https://run.googleapis.com/v2/...": the base as gcloud's settings have it, which ends in '/'. */
static char *url_of(struct deploy *d, const char *api, const char *base, const char *path)
{
    char name[80];

    snprintf(name, sizeof name, "CLOUDSDK_API_ENDPOINT_OVERRIDES_%s", api);
    const char *other = deploy_variable(d, name);
    if (other)
        base = other;
    return mem_printf("%s%s%s", base, base[strlen(base) - 1] == '/' ? "" : "/", path);
}

static int find_project(struct deploy *d, struct cloud_error *e)
{
    struct google *g = d->priv;
    struct err why = {0};

    if (g->project)
        return 0;
    if (cloud_rest_login(&g->rest, e) < 0)
        return -1;
    struct http *h = cloud_rest_http(&g->rest, &why);
    g->project = d->options.project ? mem_dup(d->options.project)
                 : h ? token_google_project(&g->rest.sources, &g->rest.tokens.login, h, &why)
                     : NULL;
    return g->project ? 0 : cloud_fail(e, CLOUD_AUTH, CLOUD_ACCOUNT, "%s", why.text);
}

/* At most 30 characters are allowed. */
static void account_id(const struct deploy *d, const char *name, char out[static 64])
{
    snprintf(out, 64, "%s-%08x", d->options.owner, (unsigned)(hash_text(name) & 0xffffffff));
}

static void email_of(struct deploy *d, const char *name, char out[static EMAIL_BYTES])
{
    const struct google *g = d->priv;
    char id[64];

    account_id(d, name, id);
    snprintf(out, EMAIL_BYTES, "%s@%s.iam.gserviceaccount.com", id, g->project);
}

static json_t *labels(const struct deploy *d, const struct deploy_function *f)
{
    return json_pack("{s:s, s:s}", CLOUD_TAG_OWNER, d->options.owner, DEPLOY_TAG_TRAINING,
                     f->deployment);
}

static int check_ours(struct deploy *d, const json_t *found, struct cloud_error *e)
{
    const char *owner = deploy_text(deploy_at(found, "labels"), CLOUD_TAG_OWNER);

    return strcmp(owner, d->options.owner) == 0
               ? 0
               : cloud_fail(e, CLOUD_INVALID, CLOUD_REGION,
                            "there is one of this name without the label " CLOUD_TAG_OWNER
                            "=%s; delete it or rename the training",
                            d->options.owner);
}

/* ---- operations ---- */

/* Codes of google.rpc. */
static int fail_operation(const json_t *error, struct cloud_error *e)
{
    static const struct {
        int code;
        enum cloud_failure failure;
    } failures[] = {{3, CLOUD_INVALID},    {5, CLOUD_NOT_FOUND}, {6, CLOUD_CONFLICT},
                    {7, CLOUD_PERMISSION}, {8, CLOUD_QUOTA},     {9, CLOUD_INVALID}};
    int code = (int)json_integer_value(json_object_get(error, "code"));
    enum cloud_failure failure = CLOUD_TRANSIENT;

    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (failures[i].code == code)
            failure = failures[i].failure;
    return cloud_fail(e, failure, CLOUD_REGION, "%.300s", deploy_text(error, "message"));
}

/* Waits for what an answer promises. base: of the API's version, "…/v2/". */
static int await(struct deploy *d, json_t *answer, const char *base, struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *now = json_incref(answer);
    int64_t until_ms = cloud_now_ms(d->cloud) + DEPLOY_OPERATION_MS;
    double wait_s = POLL_FIRST_S;

    while (now && json_is_string(json_object_get(now, "name")) &&
           strstr(deploy_text(now, "name"), "/operations/")) {
        if (json_is_true(json_object_get(now, "done"))) {
            const json_t *error = json_object_get(now, "error");
            return error ? fail_operation(error, e) : 0;
        }
        if (cloud_now_ms(d->cloud) > until_ms)
            return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s does not end",
                              deploy_text(now, "name"));
        cloud_wait(d->cloud, wait_s);
        wait_s = fmin(wait_s * 1.5, POLL_MOST_S);
        json_t *next = NULL;
        const struct deploy_call call = {.permission = "operations.get",
                                         .method = "GET",
                                         .url = mem_printf("%s%s", base, deploy_text(now, "name"))};
        int found = deploy_api_find(d, &g->rest, call, &next, e);
        if (found <= 0)
            return found; /* operations that are over are forgotten some time */
        json_decref(now);
        now = next;
    }
    return 0;
}

/* ---- policies: who has which role at a project, bucket or service ---- */

struct policy {
    const char *role;
    const char *get, *set;               /* permissions */
    const char *get_method, *set_method; /* of their calls */
    char *get_url, *set_url;
    bool wraps; /* a change has the policy as a member */
};

static void policy_clear(struct policy *p)
{
    free(p->get_url);
    free(p->set_url);
    p->get_url = p->set_url = NULL;
}

static struct policy bucket_policy(struct deploy *d, const char *bucket)
{
    AUTO_MEM char *path = mem_printf("b/%s/iam", bucket);

    return (struct policy){
        "roles/storage.objectUser",
        "storage.buckets.getIamPolicy",
        "storage.buckets.setIamPolicy",
        "GET",
        "PUT",
        url_of(d, "STORAGE", "https://storage.googleapis.com/storage/v1/", path),
        url_of(d, "STORAGE", "https://storage.googleapis.com/storage/v1/", path),
        false,
    };
}

static struct policy project_policy(struct deploy *d, const char *project)
{
    static const char base[] = "https://cloudresourcemanager.googleapis.com/";
    AUTO_MEM char *get = mem_printf("v1/projects/%s:getIamPolicy", project);
    AUTO_MEM char *set = mem_printf("v1/projects/%s:setIamPolicy", project);

    return (struct policy){
        "roles/eventarc.eventReceiver",
        "resourcemanager.projects.getIamPolicy",
        "resourcemanager.projects.setIamPolicy",
        "POST",
        "POST",
        url_of(d, "CLOUDRESOURCEMANAGER", base, get),
        url_of(d, "CLOUDRESOURCEMANAGER", base, set),
        true,
    };
}

static char *service_url(struct deploy *d, const char *name, const char *end)
{
    const struct google *g = d->priv;
    AUTO_MEM char *path = mem_printf("v2/projects/%s/locations/%s/services%s%s%s", g->project,
                                     d->options.region, *name ? "/" : "", name, end);

    return url_of(d, "RUN", "https://run.googleapis.com/", path);
}

static struct policy service_policy(struct deploy *d, const char *name)
{
    return (struct policy){
        "roles/run.invoker",
        "run.services.getIamPolicy",
        "run.services.setIamPolicy",
        "GET",
        "POST",
        service_url(d, name, ":getIamPolicy"),
        service_url(d, name, ":setIamPolicy"),
        true,
    };
}

/* 1: *out is the policy; 0: there is nothing that could have one. */
static int get_policy(struct deploy *d, const struct policy *p, json_t **out, struct cloud_error *e)
{
    struct google *g = d->priv;
    bool posts = strcmp(p->get_method, "POST") == 0;
    const struct deploy_call call = {.permission = p->get,
                                     .method = p->get_method,
                                     .url = mem_dup(p->get_url),
                                     .body = posts ? json_object() : NULL,
                                     .reads = true};

    return deploy_api_find(d, &g->rest, call, out, e);
}

/* The list of members of the role; NULL = there is none. */
static json_t *members_of(const json_t *policy, const char *role)
{
    const json_t *b;
    size_t i;

    json_array_foreach(json_object_get(policy, "bindings"), i, b)
    {
        if (strcmp(deploy_text(b, "role"), role) == 0 && !json_object_get(b, "condition"))
            return json_object_get(b, "members");
    }
    return NULL;
}

static size_t find_member(const json_t *members, const char *member)
{
    size_t i = 0;

    while (i < json_array_size(members) &&
           strcmp(json_string_value(json_array_get(members, i)), member) != 0)
        i++;
    return i;
}

static int look_policy(struct deploy *d,
                       struct policy p,
                       const struct deploy_resource *r,
                       enum deploy_found *out,
                       struct cloud_error *e)
{
    AUTO_JSON json_t *policy = NULL;
    char member[EMAIL_BYTES + 20] = "serviceAccount:";

    email_of(d, r->name, member + strlen(member));
    int found = get_policy(d, &p, &policy, e);
    const json_t *members = members_of(policy, p.role);
    *out = find_member(members, member) < json_array_size(members) ? DEPLOY_SAME : DEPLOY_ABSENT;
    policy_clear(&p);
    return found < 0 ? -1 : 0;
}

/* The whole policy again, which its etag guards against others' changes meanwhile. */
static int change_policy(struct deploy *d,
                         struct policy p,
                         const struct deploy_resource *r,
                         bool add,
                         struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *policy = NULL;
    char member[EMAIL_BYTES + 20] = "serviceAccount:";
    int done = get_policy(d, &p, &policy, e);

    email_of(d, r->name, member + strlen(member));
    if (done == 0 && deploy_is_dry(d)) {
        policy = json_object();
        done = 1;
    }
    json_t *members = members_of(policy, p.role);
    size_t at = find_member(members, member);
    if (done > 0 && add && !members) {
        if (!json_object_get(policy, "bindings"))
            json_object_set_new(policy, "bindings", json_array());
        json_array_append_new(json_object_get(policy, "bindings"),
                              json_pack("{s:s, s:[s]}", "role", p.role, "members", member));
    } else if (done > 0 && add) {
        json_array_append_new(members, json_string(member));
    } else if (done > 0) {
        json_array_remove(members, at);
    }
    if (done > 0)
        done =
            deploy_api(d, &g->rest,
                       (struct deploy_call){.permission = p.set,
                                            .method = p.set_method,
                                            .url = mem_dup(p.set_url),
                                            .body = p.wraps ? json_pack("{s:O}", "policy", policy)
                                                            : json_incref(policy)},
                       NULL, e);
    else if (done == 0 && add)
        done = cloud_fail(e, CLOUD_INVALID, CLOUD_REGION, "there is no %s %s", r->kind, r->parent);
    policy_clear(&p);
    return done;
}

/* ---- the service account ---- */

static char *account_url(struct deploy *d, const char *name)
{
    const struct google *g = d->priv;
    char email[EMAIL_BYTES] = "";

    if (*name)
        email_of(d, name, email);
    AUTO_MEM char *path =
        mem_printf("v1/projects/%s/serviceAccounts%s%s", g->project, *name ? "/" : "", email);
    return url_of(d, "IAM", "https://iam.googleapis.com/", path);
}

static int look_account(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        enum deploy_found *out,
                        struct cloud_error *e)
{
    struct google *g = d->priv;

    (void)f;
    if (find_project(d, e) < 0)
        return -1;
    int found = deploy_api_find(d, &g->rest,
                                (struct deploy_call){.permission = "iam.serviceAccounts.get",
                                                     .method = "GET",
                                                     .url = account_url(d, r->name)},
                                NULL, e);
    *out = found ? DEPLOY_SAME : DEPLOY_ABSENT;
    return found < 0 ? -1 : 0;
}

static int make_account(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        struct cloud_error *e)
{
    struct google *g = d->priv;
    char id[64];

    (void)f;
    account_id(d, r->name, id);
    return deploy_api(d, &g->rest,
                      (struct deploy_call){
                          .permission = "iam.serviceAccounts.create",
                          .method = "POST",
                          .url = account_url(d, ""),
                          .body = json_pack("{s:s, s:{s:s, s:s}}", "accountId", id,
                                            "serviceAccount", "displayName", r->name, "description",
                                            "Aggregator of a training (Tradewind)")},
                      NULL, e);
}

static int remove_account(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    struct google *g = d->priv;

    return deploy_api_forgive(
        deploy_api(d, &g->rest,
                   (struct deploy_call){.permission = "iam.serviceAccounts.delete",
                                        .method = "DELETE",
                                        .url = account_url(d, r->name)},
                   NULL, e),
        e);
}

/* ---- its roles ---- */

#define ROLE(NAME, POLICY)                                                                         \
    static int look_##NAME(struct deploy *d, const struct deploy_resource *r,                      \
                           const struct deploy_function *f, enum deploy_found *out,                \
                           struct cloud_error *e)                                                  \
    {                                                                                              \
        (void)f;                                                                                   \
        return find_project(d, e) < 0 ? -1 : look_policy(d, POLICY, r, out, e);                    \
    }                                                                                              \
    static int make_##NAME(struct deploy *d, const struct deploy_resource *r,                      \
                           const struct deploy_function *f, struct cloud_error *e)                 \
    {                                                                                              \
        (void)f;                                                                                   \
        return change_policy(d, POLICY, r, true, e);                                               \
    }                                                                                              \
    static int remove_##NAME(struct deploy *d, const struct deploy_resource *r,                    \
                             struct cloud_error *e)                                                \
    {                                                                                              \
        return deploy_api_forgive(change_policy(d, POLICY, r, false, e), e);                       \
    }

ROLE(store, bucket_policy(d, r->parent))
ROLE(receiver, project_policy(d, r->parent))
ROLE(invoker, service_policy(d, r->name))

static void of_bucket(struct deploy *d, const struct deploy_function *f, struct deploy_resource *r)
{
    (void)d;
    snprintf(r->parent, sizeof r->parent, "%s", f->in.bucket);
}

static void of_project(struct deploy *d, const struct deploy_function *f, struct deploy_resource *r)
{
    const struct google *g = d->priv;
    struct cloud_error why;

    (void)f;
    if (find_project(d, &why) == 0)
        snprintf(r->parent, sizeof r->parent, "%s", g->project);
}

static void of_nothing(struct deploy *d, const struct deploy_function *f, struct deploy_resource *r)
{
    (void)d;
    (void)f;
    (void)r;
}

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
    char email[EMAIL_BYTES];
    json_t *variables = json_array();

    email_of(d, r->name, email);
    for (size_t i = 0; i < f->n_variables; i++)
        json_array_append_new(variables, json_pack("{s:s, s:s}", "name", f->variables[i].name,
                                                   "value", f->variables[i].value));
    json_array_append_new(variables,
                          json_pack("{s:s, s:s}", "name", "TRADEWIND_LISTEN", "value", "0.0.0.0"));
    json_t *container = json_pack("{s:s, s:{s:{s:s, s:o}}, s:o}", "image", f->image, "resources",
                                  "limits", "cpu", cpus_of(f->memory_mb), "memory",
                                  json_sprintf("%uMi", f->memory_mb), "env", variables);
    return json_pack("{s:o, s:s, s:{s:s, s:o, s:{s:i}, s:[o]}}", "labels", labels(d, f), "ingress",
                     "INGRESS_TRAFFIC_INTERNAL_ONLY", "template", "serviceAccount", email,
                     "timeout", json_sprintf("%us", f->timeout_s), "scaling", "maxInstanceCount",
                     SERVICE_INSTANCES, "containers", container);
}

static int look_service(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        enum deploy_found *out,
                        struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *found = NULL;

    if (find_project(d, e) < 0)
        return -1;
    int is_there = deploy_api_find(d, &g->rest,
                                   (struct deploy_call){.permission = "run.services.get",
                                                        .method = "GET",
                                                        .url = service_url(d, r->name, "")},
                                   &found, e);
    *out = DEPLOY_ABSENT;
    if (is_there <= 0)
        return is_there;
    if (check_ours(d, found, e) < 0)
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
    AUTO_MEM char *base = url_of(d, "RUN", "https://run.googleapis.com/", "v2/");

    return deploy_api(d, &g->rest, call, &answer, e) < 0 ? -1 : await(d, answer, base, e);
}

static int make_service(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        struct cloud_error *e)
{
    AUTO_MEM char *end = mem_printf("?serviceId=%s", r->name);

    return put_service(d,
                       (struct deploy_call){.permission = "run.services.create",
                                            .method = "POST",
                                            .url = service_url(d, "", end),
                                            .body = service(d, r, f)},
                       e);
}

static int change_service(struct deploy *d,
                          const struct deploy_resource *r,
                          const struct deploy_function *f,
                          struct cloud_error *e)
{
    return put_service(d,
                       (struct deploy_call){.permission = "run.services.update",
                                            .method = "PATCH",
                                            .url = service_url(d, r->name, ""),
                                            .body = service(d, r, f)},
                       e);
}

static int remove_service(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    return deploy_api_forgive(put_service(d,
                                          (struct deploy_call){.permission = "run.services.delete",
                                                               .method = "DELETE",
                                                               .url = service_url(d, r->name, "")},
                                          e),
                              e);
}

/* ---- the trigger ---- */

static char *trigger_url(struct deploy *d, const char *name, const char *end)
{
    const struct google *g = d->priv;
    AUTO_MEM char *path = mem_printf("v1/projects/%s/locations/%s/triggers%s%s%s", g->project,
                                     d->options.region, *name ? "/" : "", name, end);

    return url_of(d, "EVENTARC", "https://eventarc.googleapis.com/", path);
}

static json_t *trigger(struct deploy *d,
                       const struct deploy_resource *r,
                       const struct deploy_function *f)
{
    char email[EMAIL_BYTES];

    email_of(d, r->name, email);
    return json_pack("{s:o, s:s, s:[{s:s, s:s}, {s:s, s:s}], s:{s:{s:s, s:s}}}", "labels",
                     labels(d, f), "serviceAccount", email, "eventFilters", "attribute", "type",
                     "value", "google.cloud.storage.object.v1.finalized", "attribute", "bucket",
                     "value", f->in.bucket, "destination", "cloudRun", "service", r->name, "region",
                     d->options.region);
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

static int look_trigger(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        enum deploy_found *out,
                        struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *found = NULL;

    if (find_project(d, e) < 0)
        return -1;
    int is_there = deploy_api_find(d, &g->rest,
                                   (struct deploy_call){.permission = "eventarc.triggers.get",
                                                        .method = "GET",
                                                        .url = trigger_url(d, r->name, "")},
                                   &found, e);
    *out = DEPLOY_ABSENT;
    if (is_there <= 0)
        return is_there;
    if (check_ours(d, found, e) < 0)
        return -1;
    *out = !f || same_trigger(found, f, r->name) ? DEPLOY_SAME : DEPLOY_DIFFERS;
    return 0;
}

static int put_trigger(struct deploy *d, struct deploy_call call, struct cloud_error *e)
{
    struct google *g = d->priv;
    AUTO_JSON json_t *answer = NULL;
    AUTO_MEM char *base = url_of(d, "EVENTARC", "https://eventarc.googleapis.com/", "v1/");

    return deploy_api(d, &g->rest, call, &answer, e) < 0 ? -1 : await(d, answer, base, e);
}

static int make_trigger(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        struct cloud_error *e)
{
    AUTO_MEM char *end = mem_printf("?triggerId=%s", r->name);

    return put_trigger(d,
                       (struct deploy_call){.permission = "eventarc.triggers.create",
                                            .method = "POST",
                                            .url = trigger_url(d, "", end),
                                            .body = trigger(d, r, f)},
                       e);
}

static int remove_trigger(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    return deploy_api_forgive(
        put_trigger(d,
                    (struct deploy_call){.permission = "eventarc.triggers.delete",
                                         .method = "DELETE",
                                         .url = trigger_url(d, r->name, "")},
                    e),
        e);
}

/* The bucket of a trigger cannot be changed: another one takes its place. */
static int change_trigger(struct deploy *d,
                          const struct deploy_resource *r,
                          const struct deploy_function *f,
                          struct cloud_error *e)
{
    return remove_trigger(d, r, e) < 0 ? -1 : make_trigger(d, r, f, e);
}

/* ---- all of this owner ---- */

struct listing {
    struct deploy *d;
    deploy_visit *visit;
    void *context;
};

static int visit_one(const struct listing *l,
                     const char *kind,
                     const char *name,
                     const char *parent,
                     const char *deployment,
                     struct cloud_error *e)
{
    const struct deploy_resource r = deploy_resource_of(l->d, kind, name, parent, deployment);

    return l->visit(l->context, &r, &e->err) < 0 ? -1 : 0;
}

static int visit_account(const struct listing *l, const json_t *item, struct cloud_error *e)
{
    const struct google *g = l->d->priv;
    const char *name = deploy_text(item, "displayName");

    if (!deploy_is_ours(l->d, deploy_text(item, "email")) || !deploy_is_ours(l->d, name))
        return 0;
    return visit_one(l, "service-account", name, "", "", e) < 0 ||
                   visit_one(l, "event-receiver", name, g->project, "", e) < 0
               ? -1
               : 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int visit_service(const struct listing *l, const json_t *item, struct cloud_error *e)
{
    const char *name = last_part(deploy_text(item, "name"));
    const char *deployment = deploy_text(deploy_at(item, "labels"), DEPLOY_TAG_TRAINING);
    const json_t *containers = deploy_at(item, "template/containers"), *variable;
    size_t i;

    if (strcmp(deploy_text(deploy_at(item, "labels"), CLOUD_TAG_OWNER), l->d->options.owner) != 0)
        return 0;
    json_array_foreach(json_object_get(json_array_get(containers, 0), "env"), i, variable)
    {
        const char *store = deploy_text(variable, "value");
        if (strcmp(deploy_text(variable, "name"), "TRADEWIND_STORE") != 0 ||
            strncmp(store, "gs://", 5) != 0)
            continue;
        AUTO_MEM char *bucket = mem_printf("%.*s", (int)strcspn(store + 5, "/"), store + 5);
        if (visit_one(l, "store-role", name, bucket, deployment, e) < 0)
            return -1;
    }
    return visit_one(l, "service", name, "", deployment, e) < 0 ||
                   visit_one(l, "invoker", name, "", deployment, e) < 0
               ? -1
               : 0;
}

static int visit_trigger(const struct listing *l, const json_t *item, struct cloud_error *e)
{
    const json_t *tags = deploy_at(item, "labels");

    if (strcmp(deploy_text(tags, CLOUD_TAG_OWNER), l->d->options.owner) != 0)
        return 0;
    return visit_one(l, "trigger", last_part(deploy_text(item, "name")), "",
                     deploy_text(tags, DEPLOY_TAG_TRAINING), e);
}

/* All pages of a list; url is taken. */
static int each(const struct listing *l,
                const char *permission,
                char *url,
                const char *items,
                int (*visit)(const struct listing *l, const json_t *item, struct cloud_error *e),
                struct cloud_error *e)
{
    struct google *g = l->d->priv;
    AUTO_MEM char *first = url, *token = mem_dup("");

    for (int page = 0; page < PAGES_MAX; page++) {
        AUTO_JSON json_t *answer = NULL;
        const json_t *item;
        size_t i;
        const struct deploy_call call = {
            .permission = permission,
            .method = "GET",
            .url = mem_printf("%s?pageSize=100%s%s", first, *token ? "&pageToken=" : "", token)};
        if (deploy_api(l->d, &g->rest, call, &answer, e) < 0)
            return -1;
        json_array_foreach(json_object_get(answer, items), i, item)
        {
            if (visit(l, item, e) < 0)
                return -1;
        }
        free(token);
        token = sigv4_encode(deploy_text(answer, "nextPageToken"), false);
        if (!*token)
            return 0;
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s: the pages do not end", permission);
}

static int list_google(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e)
{
    const struct listing l = {d, visit, context};

    if (find_project(d, e) < 0)
        return -1;
    return each(&l, "eventarc.triggers.list", trigger_url(d, "", ""), "triggers", visit_trigger,
                e) < 0 ||
                   each(&l, "run.services.list", service_url(d, "", ""), "services", visit_service,
                        e) < 0 ||
                   each(&l, "iam.serviceAccounts.list", account_url(d, ""), "accounts",
                        visit_account, e) < 0
               ? -1
               : 0;
}

/* ---- the table ---- */

static int open_google(struct deploy *d, struct err *e)
{
    struct google *g = d->priv = mem_zero(1, sizeof *g);

    (void)e;
    deploy_api_open(d, &g->rest, token_find_google, TOKEN_SCOPE_GOOGLE);
    return 0;
}

static void close_google(struct deploy *d)
{
    struct google *g = d->priv;

    deploy_api_close(d, g ? &g->rest : NULL);
    if (g)
        free(g->project);
    free(g);
}

/* The account has its roles before the service and the trigger are made, which use them. */
static const struct deploy_kind kinds[] = {
    {"service-account", of_nothing, look_account, make_account, NULL, remove_account},
    {"store-role", of_bucket, look_store, make_store, NULL, remove_store},
    {"event-receiver", of_project, look_receiver, make_receiver, NULL, remove_receiver},
    {"service", of_nothing, look_service, make_service, change_service, remove_service},
    {"invoker", of_nothing, look_invoker, make_invoker, NULL, remove_invoker},
    {"trigger", of_nothing, look_trigger, make_trigger, change_trigger, remove_trigger},
};

const struct deploy_platform deploy_google = {
    .cloud = "gcp",
    .kinds = kinds,
    .n_kinds = sizeof kinds / sizeof *kinds,
    .open = open_google,
    .close = close_google,
    .list = list_google,
};
