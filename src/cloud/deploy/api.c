#include "cloud/deploy/api.h"

#include "base/mem.h"
#include "cloud/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what failures mean ---- */

/* clang-format off */
static const struct cloud_code codes[] = {
    /* Google's */
    {"RATE_LIMIT_EXCEEDED", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    {"RESOURCE_EXHAUSTED", "uota", CLOUD_QUOTA, CLOUD_REGION, false},
    {"RESOURCE_EXHAUSTED", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    {"UNAUTHENTICATED", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"PERMISSION_DENIED", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"NOT_FOUND", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"ALREADY_EXISTS", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"ABORTED", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    /* A service account that was just made is not known everywhere. */
    {"INVALID_ARGUMENT", "ervice account", CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"", "ervice account", CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    /* Azure's */
    {"AuthorizationFailed", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"LinkedAuthorizationFailed", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"MissingSubscriptionRegistration", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"AuthenticationFailed", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"ExpiredAuthenticationToken", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"InvalidAuthenticationToken", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"ResourceNotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"ResourceGroupNotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"ParentResourceNotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"RoleAssignmentExists", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"QuotaExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"MaxNumberOfRegionalEnvironmentsInSubExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"TooManyRequests", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    /* The identity of an app that was just made is not known everywhere. */
    {"PrincipalNotFound", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
};
/* clang-format on */

static enum cloud_failure by_status(int status, bool reads)
{
    switch (status) {
    case 401:
        return CLOUD_AUTH;
    case 403:
        return CLOUD_PERMISSION;
    case 404:
    case 410:
        return CLOUD_NOT_FOUND;
    case 409:
    case 412:
        return CLOUD_CONFLICT;
    case 429:
        return CLOUD_THROTTLE;
    default:
        break;
    }
    if (status >= 400 && status < 500 && status != 408)
        return CLOUD_INVALID;
    return reads ? CLOUD_TRANSIENT : CLOUD_UNKNOWN;
}

/* "Permission 'run.services.create' denied", "perform action 'Microsoft.App/...' over scope": what
 * is to be allowed. */
static void name_permission(const char *permission, const char *message, struct cloud_error *e)
{
    static const char *const marks[] = {"ermission '", "action '"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *found = strstr(message, marks[i]);
        if (!found)
            continue;
        found += strlen(marks[i]);
        err_set(&e->err, ERR_DENIED, "not permitted; allow %.*s", (int)strcspn(found, "'"), found);
        return;
    }
    err_set(&e->err, ERR_DENIED, "not permitted; allow %s: %.200s", permission, message);
}

static int judge(struct cloud_rest_call *x, const char *why, struct cloud_error *e)
{
    const json_t *error = json_object_get(x->root, "error");
    const char *status = deploy_text(error, "status"), *code = deploy_text(error, "code");
    const char *message = deploy_text(error, "message");

    if (x->status >= 200 && x->status < 300 && !why)
        return 0;
    snprintf(x->code, sizeof x->code, "%s", *status ? status : code);
    const struct cloud_code *known =
        x->status ? cloud_code_find(codes, sizeof codes / sizeof *codes, x->code, message) : NULL;
    enum cloud_failure failure = known ? known->failure
                                 : x->status >= 200 && x->status < 300
                                     ? by_status(0, strcmp(x->method, "GET") == 0)
                                     : by_status(x->status, strcmp(x->method, "GET") == 0);
    cloud_fail(e, failure, known ? known->scope : CLOUD_ACCOUNT, "%s: %s%s%.200s", x->name, x->code,
               *x->code ? ": " : "",
               *message ? message
               : why    ? why
                        : "no explanation");
    if (failure == CLOUD_PERMISSION)
        name_permission(x->name, message, e);
    if (!*message && !why)
        err_set(&e->err, e->err.kind, "%s: HTTP status %d", x->name, x->status);
    return -1;
}

/* ---- opening ---- */

void deploy_api_open(struct deploy *d,
                     struct cloud_rest *rest,
                     int (*find)(const struct credentials_sources *sources,
                                 struct token_login *out,
                                 struct err *e),
                     const char *scope)
{
    const struct deploy_options *o = &d->options;

    d->cloud = mem_zero(1, sizeof *d->cloud);
    d->cloud->options = (struct cloud_options){.home = o->home,
                                               .owner = o->owner,
                                               .region = o->region,
                                               .outside = o->outside,
                                               .now_ms = o->now_ms,
                                               .context = o->context,
                                               .seed = o->seed};
    cloud_rest_init(rest, d->cloud, find, scope);
    rest->judge = judge;
}

void deploy_api_close(struct deploy *d, struct cloud_rest *rest)
{
    if (rest)
        cloud_rest_clear(rest);
    free(d->cloud);
    d->cloud = NULL;
}

/* ---- calls ---- */

int deploy_api(struct deploy *d,
               struct cloud_rest *rest,
               struct deploy_call call,
               json_t **out,
               struct cloud_error *e)
{
    struct cloud_rest_call x = {
        .name = call.permission, .method = call.method, .url = call.url, .body = call.body};
    bool reads = call.reads || strcmp(call.method, "GET") == 0;
    int done = reads ? 0 : deploy_show(d, call.method, call.url, call.body, e);

    if (done == 0)
        done = cloud_rest_send(rest, &x, e);
    else
        done = done < 0 ? -1 : 0;
    if (done == 0 && out)
        *out = json_incref(x.root);
    cloud_rest_call_clear(&x);
    return done;
}

int deploy_api_forgive(int done, struct cloud_error *e)
{
    if (done == 0 || e->failure != CLOUD_NOT_FOUND)
        return done;
    *e = (struct cloud_error){0};
    return 0;
}

int deploy_api_find(struct deploy *d,
                    struct cloud_rest *rest,
                    struct deploy_call call,
                    json_t **out,
                    struct cloud_error *e)
{
    if (deploy_api(d, rest, call, out, e) == 0)
        return 1;
    return deploy_api_forgive(-1, e);
}

/* ---- JSON ---- */

const json_t *deploy_at(const json_t *object, const char *path)
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

const char *deploy_text(const json_t *object, const char *path)
{
    const char *text = json_string_value(deploy_at(object, path));

    return text ? text : "";
}

bool deploy_contains(const json_t *found, json_t *wanted)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_object(wanted)) {
        json_object_foreach(wanted, key, value)
        {
            if (!deploy_contains(json_object_get(found, key), value))
                return false;
        }
        return json_is_object(found);
    }
    if (json_is_number(wanted))
        return json_is_number(found) && json_number_value(found) == json_number_value(wanted);
    if (!json_is_array(wanted))
        return json_equal(found, wanted);
    if (json_array_size(found) != json_array_size(wanted))
        return false;
    json_array_foreach(wanted, i, value)
    {
        if (!deploy_contains(json_array_get(found, i), value))
            return false;
    }
    return true;
}

const char *deploy_variable(struct deploy *d, const char *name)
{
    const char *value = cloud_variable(&d->options.outside, name);

    return value && *value ? value : NULL;
}
