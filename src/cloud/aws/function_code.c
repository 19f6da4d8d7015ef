/* The function itself: its program, size and environment. function.c lists it. */
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/aws/function.h"
#include "net/base64.h"
#include "net/sigv4.h"

#include <stdlib.h>
#include <string.h>

#define RUNTIME "provided.al2023"
#define HANDLER "bootstrap"
#if defined(__aarch64__)
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "x86_64"
#endif
/* The program is sent in the body. */
#define UPLOAD_S 600.0
#define PAGES_MAX 1000

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static json_t *environment(const struct deploy_function *f)
{
    json_t *variables = json_object();

    for (size_t i = 0; i < f->n_variables; i++)
        json_object_set_new(variables, f->variables[i].name, json_string(f->variables[i].value));
    return json_pack("{s:o}", "Variables", variables);
}

/* What UpdateFunctionConfiguration takes, and GetFunction tells again. New reference; NULL: e. */
static json_t *configuration(struct deploy *d,
                             const struct deploy_resource *r,
                             const struct deploy_function *f,
                             struct cloud_error *e)
{
    AUTO_MEM char *role = lambda_role_arn(d, r->name, e);

    if (!role)
        return NULL;
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:{s:i}, s:o}", "Runtime", RUNTIME, "Handler",
                     HANDLER, "Role", role, "MemorySize", (int)f->memory_mb, "Timeout",
                     (int)f->timeout_s, "EphemeralStorage", "Size", (int)f->disk_mb, "Environment",
                     environment(f));
}

static char *code_digest(const struct deploy_function *f)
{
    const struct sha256_digest digest = sha256_of(f->zip, f->zip_bytes);

    return base64_encode(digest.bytes, sizeof digest.bytes);
}

/* Every member of the wanted configuration is in the one that was found. */
static bool same_configuration(const json_t *found, json_t *wanted)
{
    const char *key;
    json_t *value;

    json_object_foreach(wanted, key, value)
    {
        if (!json_equal(json_object_get(found, key), value))
            return false;
    }
    return true;
}

static int get(struct deploy *d, const char *name, json_t **out, struct cloud_error *e)
{
    AUTO_MEM char *path = mem_printf("functions/%s", name);
    const struct lambda_rest call = {"GetFunction", "GET", path, NULL, NULL, 0};

    return lambda_call(d, &call, out, e);
}

/* 1: it can be changed or is as it should be; 0: not yet; -1. */
static int check_state(const json_t *found, struct cloud_error *e)
{
    const char *state = text_of(found, "State");

    if (strcmp(state, "Failed") == 0)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_REGION, "Lambda could not create it: %.200s",
                          text_of(found, "StateReason"));
    return strcmp(state, "Pending") != 0 &&
           strcmp(text_of(found, "LastUpdateStatus"), "InProgress") != 0;
}

LAMBDA_LOOK(lambda_code_look)
{
    AUTO_JSON json_t *answer = NULL;

    *out = DEPLOY_ABSENT;
    if (get(d, r->name, &answer, e) < 0) {
        if (e->failure != CLOUD_NOT_FOUND)
            return -1;
        *e = (struct cloud_error){0};
        return 0;
    }
    const json_t *found = json_object_get(answer, "Configuration");
    if (strcmp(text_of(json_object_get(answer, "Tags"), CLOUD_TAG_OWNER), d->options.owner) != 0)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_REGION,
                          "there is a function of this name without the tag " CLOUD_TAG_OWNER
                          "=%s; delete it or rename the training",
                          d->options.owner);
    *out = DEPLOY_SAME;
    if (!f)
        return 0;
    int ready = check_state(found, e);
    AUTO_JSON json_t *wanted = ready < 0 ? NULL : configuration(d, r, f, e);
    AUTO_MEM char *digest = code_digest(f);
    if (!wanted)
        return -1;
    *out = !ready ? DEPLOY_PENDING
           : strcmp(text_of(found, "CodeSha256"), digest) == 0 && same_configuration(found, wanted)
               ? DEPLOY_SAME
               : DEPLOY_DIFFERS;
    return 0;
}

/* The body with the program, and the same without it, to be shown. */
static json_t *with_program(const json_t *shown, const char *at, const struct deploy_function *f)
{
    json_t *body = json_deep_copy(shown);
    AUTO_MEM char *text = base64_encode(f->zip, f->zip_bytes);

    if (*at)
        json_object_set_new(json_object_get(body, at), "ZipFile", json_string(text));
    else
        json_object_set_new(body, "ZipFile", json_string(text));
    return body;
}

LAMBDA_STEP(lambda_code_make)
{
    AUTO_JSON json_t *shown = configuration(d, r, f, e);

    if (!shown)
        return -1;
    json_object_set_new(shown, "FunctionName", json_string(r->name));
    json_object_set_new(shown, "Code", json_object());
    json_object_set_new(shown, "Architectures", json_pack("[s]", ARCHITECTURE));
    json_object_set_new(shown, "Tags",
                        json_pack("{s:s, s:s}", CLOUD_TAG_OWNER, d->options.owner,
                                  DEPLOY_TAG_TRAINING, f->deployment));
    AUTO_JSON json_t *body = with_program(shown, "Code", f);
    json_object_set_new(json_object_get(shown, "Code"), "ZipFile",
                        json_sprintf("(%zu bytes)", f->zip_bytes));
    const struct lambda_rest call = {"CreateFunction", "POST", "functions", body, shown, UPLOAD_S};
    return lambda_call(d, &call, NULL, e);
}

static int change_program(struct deploy *d,
                          const struct deploy_resource *r,
                          const struct deploy_function *f,
                          struct cloud_error *e)
{
    AUTO_MEM char *path = mem_printf("functions/%s/code", r->name);
    AUTO_JSON json_t *shown = json_pack("{s:[s]}", "Architectures", ARCHITECTURE);
    AUTO_JSON json_t *body = with_program(shown, "", f);
    const struct lambda_rest call = {"UpdateFunctionCode", "PUT", path, body, shown, UPLOAD_S};

    json_object_set_new(shown, "ZipFile", json_sprintf("(%zu bytes)", f->zip_bytes));
    return lambda_call(d, &call, NULL, e);
}

/* Lambda takes one change at a time. */
LAMBDA_STEP(lambda_code_change)
{
    AUTO_JSON json_t *answer = NULL, *wanted = configuration(d, r, f, e);
    AUTO_MEM char *digest = code_digest(f),
                  *path = mem_printf("functions/%s/configuration", r->name);

    if (!wanted || get(d, r->name, &answer, e) < 0)
        return -1;
    const json_t *found = json_object_get(answer, "Configuration");
    if (strcmp(text_of(found, "CodeSha256"), digest) != 0 &&
        (change_program(d, r, f, e) < 0 || !deploy_is_dry(d)))
        return e->failure == CLOUD_FINE ? 0 : -1;
    if (same_configuration(found, wanted))
        return 0;
    const struct lambda_rest call = {"UpdateFunctionConfiguration", "PUT", path, wanted, NULL, 0};
    return lambda_call(d, &call, NULL, e);
}

LAMBDA_REMOVE(lambda_code_remove)
{
    AUTO_MEM char *path = mem_printf("functions/%s", r->name);
    const struct lambda_rest call = {"DeleteFunction", "DELETE", path, NULL, NULL, 0};

    if (lambda_call(d, &call, NULL, e) == 0)
        return 0;
    if (e->failure != CLOUD_NOT_FOUND)
        return -1;
    *e = (struct cloud_error){0};
    return 0;
}

/* ---- all of this owner ---- */

static int visit_one(
    struct deploy *d, const char *name, deploy_visit *visit, void *context, struct cloud_error *e)
{
    AUTO_JSON json_t *answer = NULL;

    if (get(d, name, &answer, e) < 0) {
        if (e->failure != CLOUD_NOT_FOUND)
            return -1;
        *e = (struct cloud_error){0};
        return 0;
    }
    const json_t *tags = json_object_get(answer, "Tags");
    const char *deployment = text_of(tags, DEPLOY_TAG_TRAINING);
    if (strcmp(text_of(tags, CLOUD_TAG_OWNER), d->options.owner) != 0)
        return 0;
    struct deploy_resource r = deploy_resource_of(d, "function", name, "", deployment);
    if (visit(context, &r, &e->err) < 0)
        return -1;
    const json_t *settings = json_object_get(
        json_object_get(json_object_get(answer, "Configuration"), "Environment"), "Variables");
    const char *store = text_of(settings, "TRADEWIND_STORE");
    if (strncmp(store, "s3://", 5) != 0)
        return 0;
    AUTO_MEM char *bucket = mem_printf("%.*s", (int)strcspn(store + 5, "/"), store + 5);
    struct deploy_resource permission =
        deploy_resource_of(d, "permission", name, bucket, deployment);
    struct deploy_resource notification =
        deploy_resource_of(d, "notification", name, bucket, deployment);
    return visit(context, &permission, &e->err) < 0 || visit(context, &notification, &e->err) < 0
               ? -1
               : 0;
}

int lambda_code_list(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e)
{
    AUTO_MEM char *path = mem_dup("functions");

    for (int page = 0; page < PAGES_MAX; page++) {
        AUTO_JSON json_t *answer = NULL;
        const struct lambda_rest call = {"ListFunctions", "GET", path, NULL, NULL, 0};
        const json_t *item;
        size_t i;
        if (lambda_call(d, &call, &answer, e) < 0)
            return -1;
        json_array_foreach(json_object_get(answer, "Functions"), i, item)
        {
            const char *name = text_of(item, "FunctionName");
            if (deploy_is_ours(d, name) && visit_one(d, name, visit, context, e) < 0)
                return -1;
        }
        const char *marker = text_of(answer, "NextMarker");
        if (!*marker)
            return 0;
        AUTO_MEM char *encoded = sigv4_encode(marker, false);
        free(path);
        path = mem_printf("functions?Marker=%s", encoded);
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "ListFunctions: the pages do not end");
}
