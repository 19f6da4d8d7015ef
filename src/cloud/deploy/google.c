/* Functions on Google Cloud: a Cloud Run service that an Eventarc trigger calls for each new object
 * of a bucket, with a service account of its own and the roles this needs. deploy.c lists the
 * platform. */
#include "cloud/deploy/google.h"

#include "base/hash.h"
#include "base/mem.h"
#include "cloud/driver.h"
#include "net/sigv4.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGES_MAX 1000
#define POLL_FIRST_S 2.0
#define POLL_MOST_S 15.0

/* ---- who and where ---- */

/* "https://run.googleapis.com/v2/...": the base as gcloud's settings have it, which ends in '/'. */
char *google_url(struct deploy *d, const char *api, const char *base, const char *path)
{
    char name[80];

    snprintf(name, sizeof name, "CLOUDSDK_API_ENDPOINT_OVERRIDES_%s", api);
    const char *other = deploy_variable(d, name);
    if (other)
        base = other;
    return mem_printf("%s%s%s", base, base[strlen(base) - 1] == '/' ? "" : "/", path);
}

int google_project(struct deploy *d, struct cloud_error *e)
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
static void google_account_id(const struct deploy *d, const char *name, char out[static 64])
{
    snprintf(out, 64, "%s-%08x", d->options.owner, (unsigned)(hash_text(name) & 0xffffffff));
}

void google_email(struct deploy *d, const char *name, char out[static GOOGLE_EMAIL_BYTES])
{
    const struct google *g = d->priv;
    char id[64];

    google_account_id(d, name, id);
    snprintf(out, GOOGLE_EMAIL_BYTES, "%s@%s.iam.gserviceaccount.com", id, g->project);
}

json_t *google_labels(const struct deploy *d, const struct deploy_function *f)
{
    return json_pack("{s:s, s:s}", CLOUD_TAG_OWNER, d->options.owner, DEPLOY_TAG_TRAINING,
                     f->deployment);
}

int google_check_ours(struct deploy *d, const json_t *found, struct cloud_error *e)
{
    const char *owner = deploy_text(deploy_at(found, "labels"), CLOUD_TAG_OWNER);

    return strcmp(owner, d->options.owner) == 0
               ? 0
               : cloud_fail(e, CLOUD_INVALID, CLOUD_REGION,
                            "there is one of this name without the label " CLOUD_TAG_OWNER
                            "=%s; delete it or rename the training",
                            d->options.owner);
}

char *google_service_url(struct deploy *d, const char *name, const char *end)
{
    const struct google *g = d->priv;
    AUTO_MEM char *path = mem_printf("v2/projects/%s/locations/%s/services%s%s%s", g->project,
                                     d->options.region, *name ? "/" : "", name, end);

    return google_url(d, "RUN", GOOGLE_RUN, path);
}

char *google_trigger_url(struct deploy *d, const char *name, const char *end)
{
    const struct google *g = d->priv;
    AUTO_MEM char *path = mem_printf("v1/projects/%s/locations/%s/triggers%s%s%s", g->project,
                                     d->options.region, *name ? "/" : "", name, end);

    return google_url(d, "EVENTARC", GOOGLE_EVENTARC, path);
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
int google_await(struct deploy *d, json_t *answer, const char *base, struct cloud_error *e)
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

/* ---- the service account ---- */

static char *google_account_url(struct deploy *d, const char *name)
{
    const struct google *g = d->priv;
    char email[GOOGLE_EMAIL_BYTES] = "";

    if (*name)
        google_email(d, name, email);
    AUTO_MEM char *path =
        mem_printf("v1/projects/%s/serviceAccounts%s%s", g->project, *name ? "/" : "", email);
    return google_url(d, "IAM", "https://iam.googleapis.com/", path);
}

static int google_account_look(struct deploy *d,
                               const struct deploy_resource *r,
                               const struct deploy_function *f,
                               enum deploy_found *out,
                               struct cloud_error *e)
{
    struct google *g = d->priv;

    (void)f;
    if (google_project(d, e) < 0)
        return -1;
    int found = deploy_api_find(d, &g->rest,
                                (struct deploy_call){.permission = "iam.serviceAccounts.get",
                                                     .method = "GET",
                                                     .url = google_account_url(d, r->name)},
                                NULL, e);
    *out = found ? DEPLOY_SAME : DEPLOY_ABSENT;
    return found < 0 ? -1 : 0;
}

static int google_account_make(struct deploy *d,
                               const struct deploy_resource *r,
                               const struct deploy_function *f,
                               struct cloud_error *e)
{
    struct google *g = d->priv;
    char id[64];

    (void)f;
    google_account_id(d, r->name, id);
    return deploy_api(d, &g->rest,
                      (struct deploy_call){
                          .permission = "iam.serviceAccounts.create",
                          .method = "POST",
                          .url = google_account_url(d, ""),
                          .body = json_pack("{s:s, s:{s:s, s:s}}", "accountId", id,
                                            "serviceAccount", "displayName", r->name, "description",
                                            "Aggregator of a training (Tradewind)")},
                      NULL, e);
}

static int google_account_remove(struct deploy *d,
                                 const struct deploy_resource *r,
                                 struct cloud_error *e)
{
    struct google *g = d->priv;

    return deploy_api_forgive(
        deploy_api(d, &g->rest,
                   (struct deploy_call){.permission = "iam.serviceAccounts.delete",
                                        .method = "DELETE",
                                        .url = google_account_url(d, r->name)},
                   NULL, e),
        e);
}

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
    if (google_project(d, &why) == 0)
        snprintf(r->parent, sizeof r->parent, "%s", g->project);
}

static void of_nothing(struct deploy *d, const struct deploy_function *f, struct deploy_resource *r)
{
    (void)d;
    (void)f;
    (void)r;
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

    if (google_project(d, e) < 0)
        return -1;
    return each(&l, "eventarc.triggers.list", google_trigger_url(d, "", ""), "triggers",
                visit_trigger, e) < 0 ||
                   each(&l, "run.services.list", google_service_url(d, "", ""), "services",
                        visit_service, e) < 0 ||
                   each(&l, "iam.serviceAccounts.list", google_account_url(d, ""), "accounts",
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
    {"service-account", of_nothing, google_account_look, google_account_make, NULL,
     google_account_remove},
    {"store-role", of_bucket, google_store_look, google_store_make, NULL, google_store_remove},
    {"event-receiver", of_project, google_receiver_look, google_receiver_make, NULL,
     google_receiver_remove},
    {"service", of_nothing, google_service_look, google_service_make, google_service_change,
     google_service_remove},
    {"invoker", of_nothing, google_invoker_look, google_invoker_make, NULL, google_invoker_remove},
    {"trigger", of_nothing, google_trigger_look, google_trigger_make, google_trigger_change,
     google_trigger_remove},
};

const struct deploy_platform deploy_google = {
    .cloud = "gcp",
    .kinds = kinds,
    .n_kinds = sizeof kinds / sizeof *kinds,
    .open = open_google,
    .close = close_google,
    .list = list_google,
};
