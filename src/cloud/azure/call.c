/* Calls of Azure's Resource Manager: their URLs, long operations, lists of many pages. All files of
 * the room call them. */
#include "base/log.h"
#include "base/mem.h"
#include "cloud/azure/internal.h"
#include "net/sigv4.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENDPOINT "https://management.azure.com"
#define PAGES_MAX 1000
#define URL_MAX ((size_t)32 << 10)
#define POLL_FIRST_S 2.0
#define POLL_MOST_S 15.0
/* A longer Retry-After is no reason to miss the end of an operation by minutes. */
#define POLL_AFTER_MOST_S 60.0

/* ---- who and where ---- */

static const char *variable(struct arm *a, const char *name)
{
    const char *value = cloud_variable(&a->rest.cloud->options.outside, name);

    return value && *value ? value : NULL;
}

int arm_open(struct arm *a, struct cloud *c, struct err *e)
{
    cloud_rest_init(&a->rest, c, token_find_azure, TOKEN_SCOPE_AZURE_MANAGEMENT);
    a->rest.judge = arm_judge;
    const char *endpoint = variable(a, "AZURE_RESOURCE_MANAGER_ENDPOINT");
    const char *audience = variable(a, "AZURE_RESOURCE_MANAGER_AUDIENCE");
    if (!endpoint)
        endpoint = variable(a, "ARM_ENDPOINT");
    if (!endpoint)
        endpoint = ENDPOINT;
    if (strncmp(endpoint, "https://", 8) != 0 && strncmp(endpoint, "http://", 7) != 0)
        return err_set(e, ERR_USAGE, "AZURE_RESOURCE_MANAGER_ENDPOINT must be an https URL");
    size_t n = strlen(endpoint);
    a->endpoint = mem_printf("%.*s", (int)(n - (endpoint[n - 1] == '/')), endpoint);
    if (audience) {
        n = strlen(audience);
        a->scope = mem_printf("%.*s/.default", (int)(n - (audience[n - 1] == '/')), audience);
        a->rest.tokens.scope = a->scope;
    }
    return 0;
}

void arm_close(struct arm *a)
{
    cloud_rest_clear(&a->rest);
    free(a->endpoint);
    free(a->scope);
    free(a->subscription);
}

int arm_subscribe(struct arm *a, struct cloud_error *e)
{
    struct err why = {0};

    if (a->subscription)
        return 0;
    if (cloud_rest_login(&a->rest, e) < 0)
        return -1;
    a->subscription = token_azure_subscription(&a->rest.sources, &why);
    if (a->subscription)
        return 0;
    /* The identity of a machine is what is left where nothing was found. */
    bool is_lost = a->rest.tokens.login.way == TOKEN_AZURE_MACHINE && why.kind == ERR_DENIED;
    return cloud_fail(e, CLOUD_AUTH, CLOUD_ACCOUNT, "%s",
                      is_lost ? "no Azure credentials: set AZURE_TENANT_ID, AZURE_CLIENT_ID, "
                                "AZURE_CLIENT_SECRET and AZURE_SUBSCRIPTION_ID, or run az login"
                              : why.text);
}

/* The same place by our name for it: links may name the port, and lead nowhere else. New string;
 * NULL = elsewhere. */
static char *own_url(const struct arm *a, const char *url)
{
    const char *own_host = strstr(a->endpoint, "://") + 3, *host = strstr(url, "://");
    size_t own_n = strlen(own_host);

    if (strlen(url) > URL_MAX || !host ||
        strncasecmp(url, a->endpoint, (size_t)(own_host - a->endpoint)) != 0)
        return NULL;
    host += 3;
    if (strncasecmp(host, own_host, own_n) != 0)
        return NULL;
    host += own_n;
    if (strncmp(host, ":443/", 5) == 0)
        host += 4;
    return *host == '/' ? mem_printf("%s%s", a->endpoint, host) : NULL;
}

/* ---- calls ---- */

void arm_call_init(struct cloud_rest_call *x, const char *name, const char *method, json_t *body)
{
    *x = (struct cloud_rest_call){.name = name, .method = method, .body = body};
}

char *arm_encode(const char *text)
{
    return sigv4_encode(text, false);
}

int arm_send(struct arm *a,
             struct cloud_rest_call *x,
             const char *path,
             const char *version,
             struct cloud_error *e)
{
    if (arm_subscribe(a, e) < 0)
        return -1;
    free(x->url);
    x->url = mem_printf("%s/subscriptions/%s%s%capi-version=%s", a->endpoint, a->subscription, path,
                        strchr(path, '?') ? '&' : '?', version);
    return cloud_rest_send(&a->rest, x, e);
}

int arm_get(struct arm *a,
            struct cloud_rest_call *x,
            const char *name,
            const char *path,
            const char *version,
            struct cloud_error *e)
{
    arm_call_init(x, name, "GET", NULL);
    return arm_send(a, x, path, version, e);
}

const json_t *arm_at(const json_t *object, const char *path)
{
    char name[64];

    while (object && *path) {
        size_t n = strcspn(path, "/");
        if (n >= sizeof name)
            return NULL;
        memcpy(name, path, n);
        name[n] = '\0';
        object = json_object_get(object, name);
        path += n + (path[n] == '/');
    }
    return object;
}

const char *arm_text(const json_t *object, const char *path)
{
    const char *text = json_string_value(arm_at(object, path));

    return text ? text : "";
}

/* ---- long operations ---- */

/* How an operation is followed: by a document with a status, by a place that answers otherwise than
 * 202 once it is done, or by the thing itself. */
enum follow { BY_STATUS, BY_PLACE, BY_THING };

static bool is_final(const char *state)
{
    return strcmp(state, "Succeeded") == 0 || strcmp(state, "Failed") == 0 ||
           strcmp(state, "Canceled") == 0;
}

/* New string; NULL: it is done already. */
static char *place_of(struct arm *a,
                      const struct cloud_rest_call *x,
                      enum follow *how,
                      struct cloud_error *e)
{
    const char *status = http_answer_header(&x->answer, "azure-asyncoperation");
    const char *place = http_answer_header(&x->answer, "location");
    const char *state = arm_text(x->root, "properties/provisioningState");
    bool has_place = status || (place && x->status == 202);

    *how = status ? BY_STATUS : has_place ? BY_PLACE : BY_THING;
    if (!has_place)
        return *state && !is_final(state) && strcmp(x->method, "PUT") == 0 ? mem_dup(x->url) : NULL;
    char *url = own_url(a, status ? status : place);
    if (!url)
        cloud_fail(e, CLOUD_UNKNOWN, CLOUD_ACCOUNT, "%s: its operation is said to be elsewhere",
                   x->name);
    return url;
}

/* 1: it goes on. */
static int look_at(struct arm *a,
                   enum follow how,
                   const char *name,
                   const char *url,
                   double *after_s,
                   struct cloud_error *e)
{
    AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;

    arm_call_init(&x, name, "GET", NULL);
    x.url = mem_dup(url);
    if (cloud_rest_send(&a->rest, &x, e) < 0)
        /* What is gone needs no further deletion. */
        return how == BY_PLACE && e->failure == CLOUD_NOT_FOUND ? 0 : -1;
    *after_s = cloud_retry_after_s(http_answer_header(&x.answer, "retry-after"),
                                   cloud_now_ms(a->rest.cloud) + a->rest.skew_ms);
    if (how == BY_PLACE)
        return x.status == 202;
    const char *state =
        arm_text(x.root, how == BY_STATUS ? "status" : "properties/provisioningState");
    if (how == BY_THING && (strcmp(state, "Failed") == 0 || strcmp(state, "Canceled") == 0))
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "%s: its state is %s", name, state);
    return !is_final(state);
}

int arm_wait(struct arm *a, const struct cloud_rest_call *x, double most_s, struct cloud_error *e)
{
    struct cloud *c = a->rest.cloud;
    int64_t until_ms = cloud_now_ms(c) + (int64_t)(most_s * 1000);
    double wait_s = POLL_FIRST_S;
    double after_s = cloud_retry_after_s(http_answer_header(&x->answer, "retry-after"),
                                         cloud_now_ms(c) + a->rest.skew_ms);
    enum follow how;

    *e = (struct cloud_error){0};
    AUTO_MEM char *url = place_of(a, x, &how, e);
    if (!url)
        return e->failure == CLOUD_FINE ? 0 : -1;
    for (;;) {
        if (cloud_now_ms(c) >= until_ms)
            return 1;
        cloud_wait(c, fmax(wait_s, fmin(after_s, POLL_AFTER_MOST_S)));
        int state = look_at(a, how, x->name, url, &after_s, e);
        if (state <= 0)
            return state;
        wait_s = fmin(wait_s * 1.5, POLL_MOST_S);
    }
}

/* ---- lists ---- */

static int visit_page(const struct cloud_rest_call *x,
                      arm_visit *visit,
                      void *context,
                      struct cloud_error *e)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(x->root, "value"), i, item)
    {
        if (visit(context, item, e) < 0)
            return -1;
    }
    return 0;
}

int arm_each(struct arm *a,
             const char *name,
             const char *path,
             const char *version,
             arm_visit *visit,
             void *context,
             struct cloud_error *e)
{
    AUTO_MEM char *url = NULL;

    for (unsigned page = 0; page < PAGES_MAX; page++) {
        AUTO_CLEAR(cloud_rest_call) struct cloud_rest_call x;
        arm_call_init(&x, name, "GET", NULL);
        if (url) {
            x.url = mem_dup(url);
            if (cloud_rest_send(&a->rest, &x, e) < 0)
                return -1;
        } else if (arm_send(a, &x, path, version, e) < 0) {
            return -1;
        }
        if (visit_page(&x, visit, context, e) < 0)
            return -1;
        const char *next = arm_text(x.root, "nextLink");
        if (!*next)
            return 0;
        char *next_url = own_url(a, next);
        if (!next_url || strcmp(next_url, x.url) == 0) {
            free(next_url);
            break;
        }
        free(url);
        url = next_url;
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s: the pages of the list do not end",
                      name);
}
