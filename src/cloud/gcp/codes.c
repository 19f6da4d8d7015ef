/* What Compute Engine's codes of failure mean for the caller: those of answers and those of
 * operations. call.c asks. */
#include "cloud/gcp/internal.h"

#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

/* clang-format off */
static const struct cloud_code codes[] = {
    {"ZONE_RESOURCE_POOL_EXHAUSTED", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"RESOURCE_POOL_EXHAUSTED", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"insufficientCapacity", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"STOCKOUT", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"stockout", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    /* Preempted while it was created. */
    {"UNSUPPORTED_OPERATION", "preempt", CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"IP_SPACE_EXHAUSTED", NULL, CLOUD_CAPACITY, CLOUD_REGION, false},

    {"QUOTA_EXCEEDED", "GPUS_ALL_REGIONS", CLOUD_QUOTA, CLOUD_ACCOUNT, false},
    {"QUOTA_EXCEEDED", "globally", CLOUD_QUOTA, CLOUD_ACCOUNT, false},
    {"QUOTA_EXCEEDED", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"quotaExceeded", "GPUS_ALL_REGIONS", CLOUD_QUOTA, CLOUD_ACCOUNT, false},
    {"quotaExceeded", "globally", CLOUD_QUOTA, CLOUD_ACCOUNT, false},
    {"quotaExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},

    {"rateLimitExceeded", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    {"userRateLimitExceeded", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    {"RATE_LIMIT_EXCEEDED", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    {"RESOURCE_OPERATION_RATE_EXCEEDED", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    {"resourceOperationRateExceeded", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    {"concurrentOperationQuotaExceeded", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},
    {"CONCURRENT_OPERATION_QUOTA_EXCEEDED", NULL, CLOUD_THROTTLE, CLOUD_ACCOUNT, false},

    {"authError", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"required", "Login Required", CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"UNAUTHENTICATED", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},

    {"forbidden", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"insufficientPermissions", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"IAM_PERMISSION_DENIED", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"PERMISSION_DENIED", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"PERMISSIONS_ERROR", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"accessNotConfigured", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"SERVICE_DISABLED", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"BILLING_DISABLED", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"billingNotEnabled", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"accountDisabled", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    /* A rule of the organisation. */
    {"conditionNotMet", "onstraint", CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"CONDITION_NOT_MET", "onstraint", CLOUD_PERMISSION, CLOUD_ACCOUNT, false},

    /* The caller of the call knows what a duplicate stands for. */
    {"alreadyExists", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"RESOURCE_ALREADY_EXISTS", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"RESOURCE_IN_USE_BY_ANOTHER_RESOURCE", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"resourceInUseByAnotherResource", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"conditionNotMet", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},

    {"RESOURCE_NOT_READY", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, false},
    {"resourceNotReady", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, false},

    {"notFound", "machineTypes/", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"notFound", "acceleratorTypes/", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"notFound", "diskTypes/", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"notFound", "images/", CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, false},
    {"notFound", "/networks/", CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, false},
    {"notFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"RESOURCE_NOT_FOUND", "machineTypes/", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"RESOURCE_NOT_FOUND", "acceleratorTypes/", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"RESOURCE_NOT_FOUND", "images/", CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, false},
    {"RESOURCE_NOT_FOUND", "/networks/", CLOUD_UNSUPPORTED, CLOUD_ACCOUNT, false},
    {"RESOURCE_NOT_FOUND", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"invalid", "achine type", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"invalid", "achineType", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"invalid", "cceleratorType", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"invalid", "ccelerator type", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"badRequest", "achine type", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"badRequest", "ccelerator type", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"UNSUPPORTED_OPERATION", NULL, CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
};

/* As an answer: it may or may not have been carried out. As the end of an operation: it was not. */
static const char *const errors_of_theirs[] = {
    "backendError", "internalError", "INTERNAL_ERROR", "INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED",
    "serviceUnavailable",
};
/* clang-format on */

static bool is_theirs(const char *code)
{
    for (size_t i = 0; i < N(errors_of_theirs); i++)
        if (strcmp(errors_of_theirs[i], code) == 0)
            return true;
    return false;
}

/* "Required 'compute.instances.create' permission for ...": what is to be allowed. */
static void describe(const struct cloud_rest_call *x,
                     const struct cloud_code *known,
                     const char *message,
                     struct cloud_error *e)
{
    static const char mark[] = "Required '";
    const char *found = strstr(message, mark);

    if (known->failure != CLOUD_PERMISSION)
        return;
    if (found) {
        found += strlen(mark);
        err_set(&e->err, ERR_DENIED, "%s: not permitted; allow %.*s", x->name,
                (int)strcspn(found, "'"), found);
    } else if (strcmp(x->code, "accessNotConfigured") == 0 ||
               strcmp(x->code, "SERVICE_DISABLED") == 0) {
        err_set(&e->err, ERR_DENIED,
                "%s: the API is not enabled in this project; gcloud services enable "
                "compute.googleapis.com",
                x->name);
    }
}

static int set(const struct cloud_rest_call *x,
               const char *message,
               enum cloud_failure failure,
               enum cloud_scope scope,
               struct cloud_error *e)
{
    return cloud_fail(e, failure, scope, "%s: %s%s%.240s", x->name, x->code, *x->code ? ": " : "",
                      message);
}

/* ---- answers ---- */

/* Errors of different ages of the API name their reason at different places. */
static void read_error(struct cloud_rest_call *x, const json_t *error, char *message, size_t room)
{
    const json_t *first = json_array_get(json_object_get(error, "errors"), 0), *detail;
    const char *reason = gce_text(first, "reason"), *status = gce_text(error, "status");
    size_t i;

    snprintf(message, room, "%s", gce_text(error, "message"));
    snprintf(x->code, sizeof x->code, "%s", *reason ? reason : status);
    json_array_foreach(json_object_get(error, "details"), i, detail)
    {
        const char *finer = gce_text(detail, "reason");
        if (*finer && cloud_code_find(codes, N(codes), finer, message)) {
            snprintf(x->code, sizeof x->code, "%s", finer);
            return;
        }
    }
}

static int judge_status(const struct cloud_rest_call *x, const char *message, struct cloud_error *e)
{
    bool reads = strcmp(x->method, "GET") == 0;

    if (x->status == 429)
        return set(x, message, CLOUD_THROTTLE, CLOUD_ACCOUNT, e);
    if (x->status < 300 || x->status >= 500 || x->status == 408 || is_theirs(x->code))
        return set(x, message, reads ? CLOUD_TRANSIENT : CLOUD_UNKNOWN, CLOUD_ACCOUNT, e);
    return set(x, message,
               x->status == 401   ? CLOUD_AUTH
               : x->status == 403 ? CLOUD_PERMISSION
               : x->status == 404 ? CLOUD_NOT_FOUND
               : x->status == 409 ? CLOUD_CONFLICT
                                  : CLOUD_INVALID,
               CLOUD_ACCOUNT, e);
}

int gce_judge(struct cloud_rest_call *x, const char *why, struct cloud_error *e)
{
    const json_t *error = json_object_get(x->root, "error");
    char message[600];

    /* The error of an operation has no code of its own. */
    bool is_error = json_is_integer(json_object_get(error, "code"));
    if (x->status >= 200 && x->status < 300 && x->root && !is_error)
        return 0;
    snprintf(message, sizeof message, "HTTP status %d", x->status);
    if (is_error)
        read_error(x, error, message, sizeof message);
    else if (x->status < 300)
        snprintf(message, sizeof message, "%s", why ? why : "the answer is empty");
    const struct cloud_code *known = cloud_code_find(codes, N(codes), x->code, message);
    if (!known || x->status == 401)
        return judge_status(x, message, e);
    set(x, message, known->failure, known->scope, e);
    describe(x, known, message, e);
    return -1;
}

/* ---- operations ---- */

int gce_judge_operation(struct cloud_rest_call *x, const json_t *operation, struct cloud_error *e)
{
    const json_t *errors = json_object_get(json_object_get(operation, "error"), "errors"), *one;
    const struct cloud_code *known = NULL;
    const char *message = "";
    size_t i;

    x->code[0] = '\0';
    if (!json_object_get(operation, "error"))
        return 0;
    /* The first cause that is known: others say only that there was one. */
    json_array_foreach(errors, i, one)
    {
        const char *code = gce_text(one, "code"), *text = gce_text(one, "message");
        const struct cloud_code *found = cloud_code_find(codes, N(codes), code, text);
        if (i && (known || !found))
            continue;
        known = found;
        message = text;
        snprintf(x->code, sizeof x->code, "%s", code);
    }
    json_int_t status = json_integer_value(json_object_get(operation, "httpErrorStatusCode"));
    if (known) {
        set(x, message, known->failure, known->scope, e);
        describe(x, known, message, e);
    } else if (is_theirs(x->code) || status >= 500 || !status) {
        set(x, message, CLOUD_TRANSIENT, CLOUD_ACCOUNT, e);
    } else {
        x->status = (int)status;
        judge_status(x, message, e);
    }
    return -1;
}
