/* What the codes of Azure's failures mean for the caller. call.c hands its answers over. */
#include "cloud/azure/internal.h"

#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))
/* Codes within codes are followed so deep, and so many of them read. */
#define DEPTH_MAX 8
#define CODES_MAX 64

/* clang-format off */
static const struct cloud_code codes[] = {
    {"SkuNotAvailable", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"ZonalAllocationFailed", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"AllocationFailed", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"OverconstrainedAllocationRequest", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"OverconstrainedZonalAllocationRequest", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"SpotPriceGreaterThanProvidedMaxPrice", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"OperationPreempted", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},

    {"QuotaExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"OperationNotAllowed", "quota", CLOUD_QUOTA, CLOUD_REGION, false},
    {"OperationNotAllowed", "Quota", CLOUD_QUOTA, CLOUD_REGION, false},
    {"OperationNotAllowed", "exceeding approved", CLOUD_QUOTA, CLOUD_REGION, false},
    {"OperationNotAllowed", "throttl", CLOUD_THROTTLE, CLOUD_REGION, false},
    {"OperationNotAllowed", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"ResourceCountExceedsLimit", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"ResourceGroupQuotaExceeded", NULL, CLOUD_QUOTA, CLOUD_ACCOUNT, false},
    {"PublicIPCountLimitReached", NULL, CLOUD_QUOTA, CLOUD_REGION, false},

    {"TooManyRequests", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},
    {"SubscriptionRequestsThrottled", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},
    {"RetryableError", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},
    {"ServerBusy", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},

    {"OSProvisioningTimedOut", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, false},
    {"InternalExecutionError", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, false},
    {"NetworkingInternalOperationError", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, false},
    {"InvalidResourceReference", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"ReferencedResourceNotProvisioned", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"ParentResourceNotFound", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},

    {"ResourceGroupBeingDeleted", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"AnotherOperationInProgress", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"Conflict", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"NicReservedForAnotherVm", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"InUseSubnetCannotBeDeleted", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"InUseNetworkSecurityGroupCannotBeDeleted", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"PublicIPAddressCannotBeDeleted", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"PropertyChangeNotAllowed", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"ScopeLocked", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},

    {"ExpiredAuthenticationToken", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"InvalidAuthenticationToken", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"InvalidAuthenticationTokenTenant", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"AuthenticationFailed", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},

    {"AuthorizationFailed", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"LinkedAuthorizationFailed", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"ReadOnlyDisabledSubscription", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"SubscriptionNotFound", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"RequestDisallowedByPolicy", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"MissingSubscriptionRegistration", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"MarketplacePurchaseEligibilityFailed", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},

    {"InvalidParameter", "vmSize", CLOUD_UNSUPPORTED, CLOUD_REGION, false},
    {"InvalidParameter", "VM size", CLOUD_UNSUPPORTED, CLOUD_REGION, false},
    {"BadRequest", "Hypervisor Generation", CLOUD_UNSUPPORTED, CLOUD_REGION, false},
    {"InvalidAvailabilityZone", NULL, CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"AvailabilityZoneNotSupported", NULL, CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"LocationNotAvailableForResourceType", NULL, CLOUD_UNSUPPORTED, CLOUD_REGION, false},
    {"LocationNotAvailableForResourceGroup", NULL, CLOUD_UNSUPPORTED, CLOUD_REGION, false},
    {"PlatformImageNotFound", NULL, CLOUD_UNSUPPORTED, CLOUD_REGION, false},

    {"ResourceNotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"ResourceGroupNotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"NotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
};

/* A write may or may not have been carried out. */
static const char *const errors_of_theirs[] = {
    "InternalServerError", "InternalError", "ServiceUnavailable", "GatewayTimeout", "Canceled",
};
/* Another operation holds what is to be changed, for seconds or minutes. */
static const char *const busy[] = {
    "AnotherOperationInProgress", "Conflict", "NicReservedForAnotherVm",
    "InUseSubnetCannotBeDeleted", "InUseNetworkSecurityGroupCannotBeDeleted",
    "PublicIPAddressCannotBeDeleted",
};
/* clang-format on */

static bool is_among(const char *const *names, size_t n, const char *code)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], code) == 0)
            return true;
    return false;
}

static const struct cloud_code *find_code(const char *code, const char *message)
{
    static const char many[] = "ResourceCountExceedsLimit";

    /* "...DueToTemplate" and others. */
    if (strncmp(code, many, strlen(many)) == 0)
        code = many;
    return cloud_code_find(codes, N(codes), code, message);
}

bool arm_failed_with(const struct cloud_rest_call *x, const char *code)
{
    return strcmp(x->code, code) == 0;
}

bool arm_is_young(const struct cloud_rest_call *x)
{
    const struct cloud_code *known = find_code(x->code, "");

    return known && known->is_young;
}

bool arm_is_busy(const struct cloud_rest_call *x)
{
    return is_among(busy, N(busy), x->code);
}

/* ---- errors within errors ---- */

/* Of all codes in an answer the innermost that is known, else the outermost. */
struct pick {
    const struct cloud_code *known;
    char code[100], message[300];
    unsigned n;
};

static void take(struct pick *p, const char *code, const char *message)
{
    const struct cloud_code *known = find_code(code, message);
    bool is_theirs = is_among(errors_of_theirs, N(errors_of_theirs), code);

    if (p->known || (!known && *p->code && is_theirs))
        return;
    p->known = known;
    snprintf(p->code, sizeof p->code, "%s", code);
    snprintf(p->message, sizeof p->message, "%s", message);
}

static void walk(const json_t *error, unsigned depth, struct pick *p);

/* Some messages are JSON, or end with it. */
static void walk_message(const char *message, unsigned depth, struct pick *p)
{
    const char *open = strchr(message, '{');
    AUTO_JSON json_t *inner = open ? json_loads(open, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    const json_t *error = json_object_get(inner, "error");

    walk(error ? error : inner, depth + 1, p);
}

static void walk(const json_t *error, unsigned depth, struct pick *p)
{
    const char *code = arm_text(error, "code"), *message = arm_text(error, "message");
    const json_t *detail;
    size_t i;

    if (!json_is_object(error) || depth > DEPTH_MAX || ++p->n > CODES_MAX)
        return;
    json_array_foreach(json_object_get(error, "details"), i, detail)
    {
        walk(detail, depth + 1, p);
    }
    walk(json_object_get(error, "innererror"), depth + 1, p);
    walk_message(message, depth, p);
    if (*code)
        take(p, code, message);
}

/* ---- judging ---- */

static void set(struct cloud_error *e, enum cloud_failure failure, enum cloud_scope scope)
{
    e->failure = failure;
    e->scope = scope;
    e->err.kind = cloud_failure_kind(failure);
}

/* "... does not have authorization to perform action 'Microsoft.Compute/virtualMachines/write' over
 * scope ...": the action. */
static void name_permission(const char *name,
                            const char *code,
                            const char *message,
                            struct cloud_error *e)
{
    static const char mark[] = "perform action '";
    const char *found = strstr(message, mark);

    if (found) {
        found += strlen(mark);
        err_set(&e->err, ERR_DENIED, "%s: not permitted; allow the action %.*s", name,
                (int)strcspn(found, "'"), found);
    } else if (strcmp(code, "MissingSubscriptionRegistration") == 0) {
        err_set(&e->err, ERR_DENIED, "%s: %s: %.200s; run az provider register", name, code,
                message);
    }
}

static void judge(const char *name,
                  bool reads,
                  int status,
                  const char *code,
                  const char *message,
                  struct cloud_error *e)
{
    const struct cloud_code *known = find_code(code, message);
    bool is_theirs = status >= 500 || is_among(errors_of_theirs, N(errors_of_theirs), code);

    err_set(&e->err, ERR_RETRY, "%s: %s%s%.240s", name, code, *code ? ": " : "", message);
    if (status == 429) {
        set(e, CLOUD_THROTTLE, CLOUD_REGION);
    } else if (known) {
        set(e, known->failure, known->scope);
        if (known->failure == CLOUD_PERMISSION)
            name_permission(name, code, message, e);
    } else if (is_theirs || status < 200) {
        set(e, reads ? CLOUD_TRANSIENT : CLOUD_UNKNOWN, CLOUD_ACCOUNT);
    } else if (status == 401) {
        set(e, CLOUD_AUTH, CLOUD_ACCOUNT);
    } else if (status == 403) {
        set(e, CLOUD_PERMISSION, CLOUD_ACCOUNT);
    } else if (status == 404) {
        set(e, CLOUD_NOT_FOUND, CLOUD_ACCOUNT);
    } else {
        set(e, CLOUD_INVALID, CLOUD_ACCOUNT);
    }
}

void arm_judge_code(const char *name, const char *code, const char *message, struct cloud_error *e)
{
    judge(name, true, 400, code, message, e);
}

/* Whether the document of an operation says that it failed. */
static bool is_failed_operation(const json_t *root)
{
    const char *status = arm_text(root, "status");

    return strcmp(status, "Failed") == 0 || strcmp(status, "Canceled") == 0;
}

int arm_judge(struct cloud_rest_call *x, const char *why, struct cloud_error *e)
{
    bool reads = strcmp(x->method, "GET") == 0, is_good = x->status >= 200 && x->status < 300;
    const json_t *error = json_object_get(x->root, "error");
    struct pick p = {0};
    char plain[32];

    if (is_good && !why && !error && !is_failed_operation(x->root))
        return 0;
    /* Older answers have no "error" around code and message. */
    walk(error ? error : x->root, 0, &p);
    if (is_failed_operation(x->root) && !*p.code)
        snprintf(p.code, sizeof p.code, "Canceled");
    snprintf(plain, sizeof plain, "HTTP status %d", x->status);
    snprintf(x->code, sizeof x->code, "%s", p.code);
    /* What cannot be read says nothing of what happened. */
    int status = is_good && why ? 0 : x->status;
    judge(x->name, reads, status, p.code, *p.message ? p.message : why ? why : plain, e);
    return -1;
}
