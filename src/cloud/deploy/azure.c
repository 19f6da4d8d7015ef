/* Functions on Azure: a container app that an Event Grid subscription of a storage account calls
 * for each new blob, in a resource group of its own, with an identity that has the blobs of its
 * container. deploy.c lists the platform. */
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/deploy/api.h"
#include "cloud/driver.h"
#include "cloud/tags.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDPOINT "https://management.azure.com"
#define GROUPS "2021-04-01"
#define APPS "2023-05-01"
#define ROLES "2022-04-01"
#define EVENTS "2022-06-15"
#define STORAGE "2023-01-01"
/* Storage Blob Data Contributor, the same in every tenant. */
#define BLOB_ROLE "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
/* A tag with a part of the token's digest tells whether the app and its trigger have this token. */
#define TOKEN_TAG "broker-token"
#define PORT 8080
#define REPLICAS_MAX 10
#define PAGES_MAX 1000

struct azure {
    struct cloud_rest rest;
    char *endpoint, *subscription;
};

/* ---- who and where ---- */

static int find_subscription(struct deploy *d, struct cloud_error *e)
{
    struct azure *a = d->priv;
    struct err why = {0};

    if (a->subscription)
        return 0;
    a->subscription = d->options.subscription ? mem_dup(d->options.subscription)
                                              : token_azure_subscription(&a->rest.sources, &why);
    return a->subscription ? 0 : cloud_fail(e, CLOUD_AUTH, CLOUD_ACCOUNT, "%s", why.text);
}

/* Apps have at most 32 characters. */
static void short_name(const struct deploy *d, const char *name, char out[static 64])
{
    snprintf(out, 64, "%s-%08x", d->options.owner, (unsigned)(hash_text(name) & 0xffffffff));
}

static char *url_of(const struct azure *a, const char *id, const char *version)
{
    return mem_printf("%s%s?api-version=%s", a->endpoint, id, version);
}

static char *group_id(const struct azure *a, const char *name)
{
    return mem_printf("/subscriptions/%s/resourceGroups/%s", a->subscription, name);
}

/* Of the environment ("managedEnvironments") or the app ("containerApps") of a function. */
static char *app_id(struct deploy *d, const char *type, const char *name)
{
    const struct azure *a = d->priv;
    AUTO_MEM char *group = group_id(a, name);
    char small[64];

    short_name(d, name, small);
    return mem_printf("%s/providers/Microsoft.App/%s/%s", group, type, small);
}

static json_t *tags(const struct deploy *d, const struct deploy_function *f)
{
    return json_pack("{s:s, s:s}", CLOUD_TAG_OWNER, d->options.owner, DEPLOY_TAG_TRAINING,
                     f->deployment);
}

static void fingerprint(const struct deploy_function *f, char out[static 17])
{
    const char *token = f->token.hidden ? f->token.hidden : "";
    const struct sha256_digest digest = sha256_of(token, strlen(token));
    char text[SHA256_HEX];

    snprintf(out, 17, "%.16s", sha256_text(&digest, text));
}

/* Whether a thing is ready: its provisioningState. */
static int judge_state(const json_t *found,
                       bool is_same,
                       enum deploy_found *out,
                       struct cloud_error *e)
{
    const char *state = deploy_text(found, "properties/provisioningState");

    if (is_same && (strcmp(state, "Failed") == 0 || strcmp(state, "Canceled") == 0))
        return cloud_fail(e, CLOUD_INVALID, CLOUD_REGION,
                          "Azure could not make it (%s); its activity log tells why", state);
    *out = strcmp(state, "Succeeded") == 0 || strcmp(state, "Failed") == 0 ||
                   strcmp(state, "Canceled") == 0 || !*state
               ? is_same ? DEPLOY_SAME : DEPLOY_DIFFERS
               : DEPLOY_PENDING;
    return 0;
}

static int check_ours(struct deploy *d, const json_t *found, struct cloud_error *e)
{
    const char *owner = deploy_text(deploy_at(found, "tags"), CLOUD_TAG_OWNER);

    return strcmp(owner, d->options.owner) == 0
               ? 0
               : cloud_fail(e, CLOUD_INVALID, CLOUD_REGION,
                            "there is one of this name without the tag " CLOUD_TAG_OWNER
                            "=%s; delete it or rename the training",
                            d->options.owner);
}

/* 1: *out is what is at the id; 0: nothing; -1. */
static int get(struct deploy *d,
               const char *permission,
               const char *id,
               const char *version,
               json_t **out,
               struct cloud_error *e)
{
    struct azure *a = d->priv;

    return deploy_api_find(d, &a->rest,
                           (struct deploy_call){.permission = permission,
                                                .method = "GET",
                                                .url = url_of(a, id, version)},
                           out, e);
}

/* body is taken; NULL deletes. */
static int put(struct deploy *d,
               const char *permission,
               const char *id,
               const char *version,
               json_t *body,
               struct cloud_error *e)
{
    struct azure *a = d->priv;
    int done = deploy_api(d, &a->rest,
                          (struct deploy_call){.permission = permission,
                                               .method = body ? "PUT" : "DELETE",
                                               .url = url_of(a, id, version),
                                               .body = body},
                          NULL, e);

    return body ? done : deploy_api_forgive(done, e);
}

/* ---- the resource group, which all but roles and triggers are in ---- */

static int look_group(struct deploy *d,
                      const struct deploy_resource *r,
                      const struct deploy_function *f,
                      enum deploy_found *out,
                      struct cloud_error *e)
{
    const struct azure *a = d->priv;
    AUTO_JSON json_t *found = NULL;

    *out = DEPLOY_ABSENT;
    if (find_subscription(d, e) < 0)
        return -1;
    AUTO_MEM char *id = group_id(a, r->name);
    int is_there =
        get(d, "Microsoft.Resources/subscriptions/resourceGroups/read", id, GROUPS, &found, e);
    if (is_there <= 0)
        return is_there;
    if (check_ours(d, found, e) < 0)
        return -1;
    *out = DEPLOY_SAME;
    return f ? judge_state(found, true, out, e) : 0;
}

static int make_group(struct deploy *d,
                      const struct deploy_resource *r,
                      const struct deploy_function *f,
                      struct cloud_error *e)
{
    const struct azure *a = d->priv;
    AUTO_MEM char *id = group_id(a, r->name);

    return put(d, "Microsoft.Resources/subscriptions/resourceGroups/write", id, GROUPS,
               json_pack("{s:s, s:o}", "location", d->options.region, "tags", tags(d, f)), e);
}

static int remove_group(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    const struct azure *a = d->priv;
    AUTO_MEM char *id = group_id(a, r->name);

    return put(d, "Microsoft.Resources/subscriptions/resourceGroups/delete", id, GROUPS, NULL, e);
}

/* ---- environment and app ---- */

static json_t *environment(struct deploy *d, const struct deploy_function *f)
{
    return json_pack("{s:s, s:o, s:{}}", "location", d->options.region, "tags", tags(d, f),
                     "properties");
}

/* Azure sells them in pairs: half as many CPUs as GiB, in steps of a quarter. */
static double cpus_of(unsigned memory_mb)
{
    return fmax(0.25, ceil(memory_mb / 512.0) * 0.25);
}

static json_t *variables(const struct deploy_function *f)
{
    json_t *list = json_array();

    for (size_t i = 0; i < f->n_variables; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", f->variables[i].name, "value",
                                              f->variables[i].value));
    json_array_append_new(
        list, json_pack("{s:s, s:o}", "name", "PORT", "value", json_sprintf("%d", PORT)));
    json_array_append_new(list,
                          json_pack("{s:s, s:s}", "name", "TRADEWIND_LISTEN", "value", "0.0.0.0"));
    json_array_append_new(
        list, json_pack("{s:s, s:s}", "name", "TRADEWIND_EVENT_TOKEN", "secretRef", "event-token"));
    return list;
}

/* token NULL: as answers have it, without the secret's value and the region's name, which Azure
 * writes in its own way. */
static json_t *app(struct deploy *d,
                   const struct deploy_resource *r,
                   const struct deploy_function *f,
                   const char *token)
{
    AUTO_MEM char *environment_id = app_id(d, "managedEnvironments", r->name);
    json_t *labels = tags(d, f), *secret = json_pack("{s:s}", "name", "event-token");
    double cpus = cpus_of(f->memory_mb);
    char print[17];

    fingerprint(f, print);
    json_object_set_new(labels, TOKEN_TAG, json_string(print));
    if (token)
        json_object_set_new(secret, "value", json_string(token));
    json_t *configuration =
        json_pack("{s:s, s:{s:b, s:i, s:s}, s:[o]}", "activeRevisionsMode", "Single", "ingress",
                  "external", true, "targetPort", PORT, "transport", "Http", "secrets", secret);
    json_t *container = json_pack("{s:s, s:s, s:{s:f, s:o}, s:o}", "name", "aggregator", "image",
                                  f->image, "resources", "cpu", cpus, "memory",
                                  json_sprintf("%gGi", 2 * cpus), "env", variables(f));
    json_t *out =
        json_pack("{s:o, s:{s:s}, s:{s:s, s:o, s:{s:[o], s:{s:i, s:i}}}}", "tags", labels,
                  "identity", "type", "SystemAssigned", "properties", "managedEnvironmentId",
                  environment_id, "configuration", configuration, "template", "containers",
                  container, "scale", "minReplicas", 0, "maxReplicas", REPLICAS_MAX);
    if (token)
        json_object_set_new(out, "location", json_string(d->options.region));
    return out;
}

static int look_part(struct deploy *d,
                     const struct deploy_resource *r,
                     const char *type,
                     json_t *wanted, /* taken; NULL = any */
                     enum deploy_found *out,
                     struct cloud_error *e)
{
    AUTO_JSON json_t *found = NULL, *taken = wanted;
    AUTO_MEM char *permission = mem_printf("Microsoft.App/%s/read", type);
    AUTO_MEM char *id = app_id(d, type, r->name);
    int is_there = get(d, permission, id, APPS, &found, e);

    *out = DEPLOY_ABSENT;
    if (is_there <= 0)
        return is_there;
    if (check_ours(d, found, e) < 0)
        return -1;
    *out = DEPLOY_SAME;
    return taken ? judge_state(found, deploy_contains(found, taken), out, e) : 0;
}

static int look_environment(struct deploy *d,
                            const struct deploy_resource *r,
                            const struct deploy_function *f,
                            enum deploy_found *out,
                            struct cloud_error *e)
{
    if (find_subscription(d, e) < 0)
        return -1;
    return look_part(d, r, "managedEnvironments", f ? json_pack("{s:o}", "tags", tags(d, f)) : NULL,
                     out, e);
}

static int make_environment(struct deploy *d,
                            const struct deploy_resource *r,
                            const struct deploy_function *f,
                            struct cloud_error *e)
{
    AUTO_MEM char *id = app_id(d, "managedEnvironments", r->name);

    return put(d, "Microsoft.App/managedEnvironments/write", id, APPS, environment(d, f), e);
}

static int remove_environment(struct deploy *d,
                              const struct deploy_resource *r,
                              struct cloud_error *e)
{
    AUTO_MEM char *id = app_id(d, "managedEnvironments", r->name);

    return put(d, "Microsoft.App/managedEnvironments/delete", id, APPS, NULL, e);
}

static int look_app(struct deploy *d,
                    const struct deploy_resource *r,
                    const struct deploy_function *f,
                    enum deploy_found *out,
                    struct cloud_error *e)
{
    if (find_subscription(d, e) < 0)
        return -1;
    return look_part(d, r, "containerApps", f ? app(d, r, f, NULL) : NULL, out, e);
}

static int make_app(struct deploy *d,
                    const struct deploy_resource *r,
                    const struct deploy_function *f,
                    struct cloud_error *e)
{
    AUTO_MEM char *id = app_id(d, "containerApps", r->name);

    return put(d, "Microsoft.App/containerApps/write", id, APPS,
               app(d, r, f, f->token.hidden ? f->token.hidden : ""), e);
}

static int remove_app(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    AUTO_MEM char *id = app_id(d, "containerApps", r->name);

    return put(d, "Microsoft.App/containerApps/delete", id, APPS, NULL, e);
}

/* Of the app: 1, 0 = there is none yet (a dry run). */
static int get_app(struct deploy *d, const char *name, json_t **out, struct cloud_error *e)
{
    AUTO_MEM char *id = app_id(d, "containerApps", name);

    return get(d, "Microsoft.App/containerApps/read", id, APPS, out, e);
}

/* ---- the storage account, which may be in any resource group ---- */

/* 1: *out is its id, a new string; 0: there is none of this name. parent: "ACCOUNT/CONTAINER". */
static int find_account(struct deploy *d, const char *parent, char **out, struct cloud_error *e)
{
    struct azure *a = d->priv;
    size_t n = strcspn(parent, "/");
    AUTO_MEM char *id = mem_printf("/subscriptions/%s/providers/Microsoft.Storage/storageAccounts",
                                   a->subscription);
    AUTO_MEM char *url = url_of(a, id, STORAGE);

    for (int page = 0; page < PAGES_MAX; page++) {
        AUTO_JSON json_t *answer = NULL;
        const json_t *item;
        size_t i;
        if (deploy_api(d, &a->rest,
                       (struct deploy_call){.permission = "Microsoft.Storage/storageAccounts/read",
                                            .method = "GET",
                                            .url = mem_dup(url)},
                       &answer, e) < 0)
            return -1;
        json_array_foreach(json_object_get(answer, "value"), i, item)
        {
            const char *name = deploy_text(item, "name");
            if (strlen(name) != n || strncmp(name, parent, n) != 0)
                continue;
            *out = mem_dup(deploy_text(item, "id"));
            return 1;
        }
        const char *next = deploy_text(answer, "nextLink");
        /* Tokens go nowhere else. */
        if (!*next || strncmp(next, a->endpoint, strlen(a->endpoint)) != 0)
            return 0;
        free(url);
        url = mem_dup(next);
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_ACCOUNT, "the storage accounts do not end");
}

static void of_container(struct deploy *d,
                         const struct deploy_function *f,
                         struct deploy_resource *r)
{
    (void)d;
    snprintf(r->parent, sizeof r->parent, "%s/%s", f->in.account, f->in.bucket);
}

static void of_nothing(struct deploy *d, const struct deploy_function *f, struct deploy_resource *r)
{
    (void)d;
    (void)f;
    (void)r;
}

static int no_account(const struct deploy_resource *r, struct cloud_error *e)
{
    return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT,
                      "there is no storage account %.*s in the subscription; create it",
                      (int)strcspn(r->parent, "/"), r->parent);
}

/* ---- the app's role ---- */

/* The id of the assignment at the container, whose name is a UUID made from ours: 1, 0, -1. */
static int role_id(struct deploy *d,
                   const struct deploy_resource *r,
                   char **out,
                   struct cloud_error *e)
{
    AUTO_MEM char *account = NULL, *text = mem_printf("%s at %s", r->name, r->parent);
    const struct sha256_digest digest = sha256_of(text, strlen(text));
    char hex[SHA256_HEX];
    int found = find_subscription(d, e) < 0 ? -1 : find_account(d, r->parent, &account, e);

    if (found <= 0)
        return found;
    sha256_text(&digest, hex);
    const char *container = strchr(r->parent, '/');
    *out =
        mem_printf("%s/blobServices/default/containers%s/providers/Microsoft.Authorization/"
                   "roleAssignments/%.8s-%.4s-4%.3s-8%.3s-%.12s",
                   account, container ? container : "", hex, hex + 8, hex + 12, hex + 15, hex + 18);
    return 1;
}

static int look_role(struct deploy *d,
                     const struct deploy_resource *r,
                     const struct deploy_function *f,
                     enum deploy_found *out,
                     struct cloud_error *e)
{
    AUTO_MEM char *id = NULL;
    AUTO_JSON json_t *found = NULL, *owner = NULL;
    int is_there = role_id(d, r, &id, e);

    *out = DEPLOY_ABSENT;
    if (is_there == 0 && f)
        return no_account(r, e);
    if (is_there > 0)
        is_there = get(d, "Microsoft.Authorization/roleAssignments/read", id, ROLES, &found, e);
    if (is_there <= 0)
        return is_there;
    *out = DEPLOY_SAME;
    if (!f)
        return 0;
    if (get_app(d, r->name, &owner, e) < 0)
        return -1;
    if (strcmp(deploy_text(found, "properties/principalId"),
               deploy_text(owner, "identity/principalId")) != 0)
        *out = DEPLOY_DIFFERS;
    return 0;
}

static int make_role(struct deploy *d,
                     const struct deploy_resource *r,
                     const struct deploy_function *f,
                     struct cloud_error *e)
{
    const struct azure *a = d->priv;
    AUTO_MEM char *id = NULL;
    AUTO_JSON json_t *owner = NULL;

    (void)f;
    if (role_id(d, r, &id, e) <= 0 || get_app(d, r->name, &owner, e) < 0)
        return e->failure ? -1 : no_account(r, e);
    const char *principal = deploy_text(owner, "identity/principalId");
    json_t *body = json_pack(
        "{s:{s:o, s:s, s:s}}", "properties", "roleDefinitionId",
        json_sprintf(
            "/subscriptions/%s/providers/Microsoft.Authorization/roleDefinitions/" BLOB_ROLE,
            a->subscription),
        "principalId", *principal ? principal : "(of the app)", "principalType",
        "ServicePrincipal");
    return put(d, "Microsoft.Authorization/roleAssignments/write", id, ROLES, body, e);
}

static int remove_role(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    AUTO_MEM char *id = NULL;
    int found = role_id(d, r, &id, e);

    return found <= 0
               ? found
               : put(d, "Microsoft.Authorization/roleAssignments/delete", id, ROLES, NULL, e);
}

/* An app that was made anew has another identity, and an assignment cannot be changed. */
static int change_role(struct deploy *d,
                       const struct deploy_resource *r,
                       const struct deploy_function *f,
                       struct cloud_error *e)
{
    return remove_role(d, r, e) < 0 ? -1 : make_role(d, r, f, e);
}

/* ---- the trigger ---- */

static int trigger_id(struct deploy *d,
                      const struct deploy_resource *r,
                      char **out,
                      struct cloud_error *e)
{
    AUTO_MEM char *account = NULL;
    int found = find_subscription(d, e) < 0 ? -1 : find_account(d, r->parent, &account, e);

    if (found > 0)
        *out =
            mem_printf("%s/providers/Microsoft.EventGrid/eventSubscriptions/%s", account, r->name);
    return found;
}

/* token NULL: as answers have it. The handshake of this schema has no body, so that the aggregator
 * answers it without the token. */
static json_t *trigger(const struct deploy *d,
                       const struct deploy_function *f,
                       const char *host,
                       const char *token)
{
    char print[17];

    fingerprint(f, print);
    json_t *to = json_object();
    if (token) {
        json_object_set_new(to, "endpointUrl", json_sprintf("https://%s/", host));
        json_object_set_new(to, "deliveryAttributeMappings",
                            json_pack("[{s:s, s:s, s:{s:o, s:b}}]", "name", "Authorization", "type",
                                      "Static", "properties", "value",
                                      json_sprintf("Bearer %s", token), "isSecret", true));
    }
    return json_pack(
        "{s:{s:{s:s, s:o}, s:{s:[s], s:o, s:s}, s:s, s:[s, s, s]}}", "properties", "destination",
        "endpointType", "WebHook", "properties", to, "filter", "includedEventTypes",
        "Microsoft.Storage.BlobCreated", "subjectBeginsWith",
        json_sprintf("/blobServices/default/containers/%s/blobs/%s", f->in.bucket, f->in.prefix),
        "subjectEndsWith", ".safetensors", "eventDeliverySchema", "CloudEventSchemaV1_0", "labels",
        d->options.owner, f->deployment, print);
}

static int look_trigger(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        enum deploy_found *out,
                        struct cloud_error *e)
{
    AUTO_MEM char *id = NULL;
    AUTO_JSON json_t *found = NULL, *owner = NULL;
    int is_there = trigger_id(d, r, &id, e);

    *out = DEPLOY_ABSENT;
    if (is_there == 0 && f)
        return no_account(r, e);
    if (is_there > 0)
        is_there = get(d, "Microsoft.EventGrid/eventSubscriptions/read", id, EVENTS, &found, e);
    if (is_there <= 0)
        return is_there;
    *out = DEPLOY_SAME;
    if (!f)
        return 0;
    if (get_app(d, r->name, &owner, e) < 0)
        return -1;
    const char *host = deploy_text(owner, "properties/configuration/ingress/fqdn");
    const char *base = deploy_text(found, "properties/destination/properties/endpointBaseUrl");
    AUTO_JSON json_t *wanted = trigger(d, f, host, NULL);
    bool is_to_app = strlen(base) > 8 && strncmp(base, "https://", 8) == 0 &&
                     strncmp(base + 8, host, strlen(host)) == 0;
    return judge_state(found, is_to_app && deploy_contains(found, wanted), out, e);
}

static int make_trigger(struct deploy *d,
                        const struct deploy_resource *r,
                        const struct deploy_function *f,
                        struct cloud_error *e)
{
    AUTO_MEM char *id = NULL;
    AUTO_JSON json_t *owner = NULL;

    if (trigger_id(d, r, &id, e) <= 0 || get_app(d, r->name, &owner, e) < 0)
        return e->failure ? -1 : no_account(r, e);
    const char *host = deploy_text(owner, "properties/configuration/ingress/fqdn");
    return put(d, "Microsoft.EventGrid/eventSubscriptions/write", id, EVENTS,
               trigger(d, f, *host ? host : "(of the app)", f->token.hidden ? f->token.hidden : ""),
               e);
}

static int remove_trigger(struct deploy *d, const struct deploy_resource *r, struct cloud_error *e)
{
    AUTO_MEM char *id = NULL;
    int found = trigger_id(d, r, &id, e);

    return found <= 0
               ? found
               : put(d, "Microsoft.EventGrid/eventSubscriptions/delete", id, EVENTS, NULL, e);
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

/* "az://ACCOUNT/CONTAINER/..." of its variables, as a parent; "" = none. */
static void store_of(const json_t *found, char *out, size_t room)
{
    const json_t *containers = deploy_at(found, "properties/template/containers"), *variable;
    size_t i;

    *out = '\0';
    json_array_foreach(json_object_get(json_array_get(containers, 0), "env"), i, variable)
    {
        const char *value = deploy_text(variable, "value");
        if (strcmp(deploy_text(variable, "name"), "TRADEWIND_STORE") != 0 ||
            strncmp(value, "az://", 5) != 0)
            continue;
        value += 5;
        size_t account = strcspn(value, "/");
        size_t container = value[account] ? strcspn(value + account + 1, "/") + 1 : 0;
        snprintf(out, room, "%.*s", (int)(account + container), value);
    }
}

static int visit_group(const struct listing *l, const json_t *group, struct cloud_error *e)
{
    const char *name = deploy_text(group, "name");
    const char *deployment = deploy_text(deploy_at(group, "tags"), DEPLOY_TAG_TRAINING);
    AUTO_JSON json_t *found = NULL;
    char parent[DEPLOY_NAME_BYTES];

    if (strcmp(deploy_text(deploy_at(group, "tags"), CLOUD_TAG_OWNER), l->d->options.owner) != 0 ||
        strcmp(deploy_text(group, "location"), l->d->options.region) != 0)
        return 0;
    if (get_app(l->d, name, &found, e) < 0)
        return -1;
    store_of(found, parent, sizeof parent);
    if (*parent && (visit_one(l, "event-subscription", name, parent, deployment, e) < 0 ||
                    visit_one(l, "role", name, parent, deployment, e) < 0))
        return -1;
    return visit_one(l, "app", name, "", deployment, e) < 0 ||
                   visit_one(l, "environment", name, "", deployment, e) < 0 ||
                   visit_one(l, "resource-group", name, "", deployment, e) < 0
               ? -1
               : 0;
}

static int list_azure(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e)
{
    struct azure *a = d->priv;
    const struct listing l = {d, visit, context};

    if (find_subscription(d, e) < 0)
        return -1;
    AUTO_MEM char *id = mem_printf("/subscriptions/%s/resourcegroups", a->subscription);
    AUTO_MEM char *url = url_of(a, id, GROUPS);
    for (int page = 0; page < PAGES_MAX; page++) {
        AUTO_JSON json_t *answer = NULL;
        const json_t *item;
        size_t i;
        if (deploy_api(d, &a->rest,
                       (struct deploy_call){
                           .permission = "Microsoft.Resources/subscriptions/resourceGroups/read",
                           .method = "GET",
                           .url = mem_dup(url)},
                       &answer, e) < 0)
            return -1;
        json_array_foreach(json_object_get(answer, "value"), i, item)
        {
            if (visit_group(&l, item, e) < 0)
                return -1;
        }
        const char *next = deploy_text(answer, "nextLink");
        if (!*next || strncmp(next, a->endpoint, strlen(a->endpoint)) != 0)
            return 0;
        free(url);
        url = mem_dup(next);
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_ACCOUNT, "the resource groups do not end");
}

/* ---- the table ---- */

static int open_azure(struct deploy *d, struct err *e)
{
    struct azure *a = d->priv = mem_zero(1, sizeof *a);
    const char *endpoint = deploy_variable(d, "AZURE_RESOURCE_MANAGER_ENDPOINT");

    (void)e;
    deploy_api_open(d, &a->rest, token_find_azure, TOKEN_SCOPE_AZURE_MANAGEMENT);
    if (!endpoint)
        endpoint = deploy_variable(d, "ARM_ENDPOINT");
    if (!endpoint)
        endpoint = ENDPOINT;
    size_t n = strlen(endpoint);
    a->endpoint = mem_printf("%.*s", (int)(n - (endpoint[n - 1] == '/')), endpoint);
    return 0;
}

static void close_azure(struct deploy *d)
{
    struct azure *a = d->priv;

    deploy_api_close(d, a ? &a->rest : NULL);
    if (a) {
        free(a->endpoint);
        free(a->subscription);
    }
    free(a);
}

static const struct deploy_kind kinds[] = {
    {"resource-group", of_nothing, look_group, make_group, NULL, remove_group},
    {"environment", of_nothing, look_environment, make_environment, NULL, remove_environment},
    {"app", of_nothing, look_app, make_app, NULL, remove_app},
    {"role", of_container, look_role, make_role, change_role, remove_role},
    {"event-subscription", of_container, look_trigger, make_trigger, NULL, remove_trigger},
};

const struct deploy_platform deploy_azure = {
    .cloud = "azure",
    .kinds = kinds,
    .n_kinds = sizeof kinds / sizeof *kinds,
    .open = open_azure,
    .close = close_azure,
    .list = list_azure,
};
