/* What EC2's codes of failure mean for the caller. call.c asks. */
#include "cloud/aws/internal.h"

#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

/* clang-format off */
static const struct cloud_code codes[] = {
    {"InsufficientInstanceCapacity", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"InsufficientHostCapacity", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"InsufficientReservedInstanceCapacity", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"InsufficientCapacity", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"UnfulfillableCapacity", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"SpotMaxPriceTooLow", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"InsufficientFreeAddressesInSubnet", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"InsufficientAddressCapacity", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},
    {"ReservationCapacityExceeded", NULL, CLOUD_CAPACITY, CLOUD_ZONE, false},

    {"Unsupported", NULL, CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"InvalidAvailabilityZone", NULL, CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"UnsupportedOperation", NULL, CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"MissingInput", "default subnet", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"InvalidParameterValue", "Invalid IAM Instance Profile", CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"InvalidParameterValue", "InstanceType", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"InvalidParameterValue", "instance type", CLOUD_UNSUPPORTED, CLOUD_ZONE, false},
    {"VPCIdNotSpecified", NULL, CLOUD_UNSUPPORTED, CLOUD_REGION, false},
    {"DefaultVpcDoesNotExist", NULL, CLOUD_UNSUPPORTED, CLOUD_REGION, false},

    {"VcpuLimitExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"InstanceLimitExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"MaxSpotInstanceCountExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"MaxSpotFleetRequestCountExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"VolumeLimitExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"MaxIOPSLimitExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"AddressLimitExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"VpcLimitExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"SecurityGroupLimitExceeded", NULL, CLOUD_QUOTA, CLOUD_REGION, false},

    {"RequestLimitExceeded", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},
    {"Throttling", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},
    {"ThrottlingException", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},
    {"EC2ThrottledException", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},
    {"RequestThrottled", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},
    {"TooManyRequestsException", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},

    {"AuthFailure", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"InvalidClientTokenId", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"SignatureDoesNotMatch", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"InvalidSignatureException", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"UnrecognizedClientException", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"RequestTimeTooSkewed", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"RequestExpired", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"ExpiredToken", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"ExpiredTokenException", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},
    {"MissingAuthenticationToken", NULL, CLOUD_AUTH, CLOUD_ACCOUNT, false},

    {"UnauthorizedOperation", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"AccessDenied", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"AccessDeniedException", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"OptInRequired", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"Blocked", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},
    {"PendingVerification", NULL, CLOUD_PERMISSION, CLOUD_ACCOUNT, false},

    {"InvalidInstanceID.NotFound", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"InvalidGroup.NotFound", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"InvalidKeyPair.NotFound", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"InvalidSubnetID.NotFound", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"InvalidNetworkInterfaceID.NotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"InvalidVolume.NotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"InvalidAllocationID.NotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"InvalidSpotInstanceRequestID.NotFound", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"InvalidAMIID.NotFound", NULL, CLOUD_UNSUPPORTED, CLOUD_REGION, false},

    /* Lambda, IAM, CloudWatch Logs and S3. */
    {"ResourceNotFoundException", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"NoSuchEntity", NULL, CLOUD_NOT_FOUND, CLOUD_ACCOUNT, false},
    {"NoSuchBucket", NULL, CLOUD_NOT_FOUND, CLOUD_REGION, false},
    {"ResourceConflictException", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"ResourceAlreadyExistsException", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"EntityAlreadyExists", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"DeleteConflict", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"InvalidParameterValueException", "cannot be assumed", CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"InvalidArgument", "Unable to validate", CLOUD_TRANSIENT, CLOUD_ACCOUNT, true},
    {"ConcurrentModification", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, false},
    {"OperationAborted", NULL, CLOUD_TRANSIENT, CLOUD_REGION, false},
    {"ResourceNotReadyException", NULL, CLOUD_TRANSIENT, CLOUD_ACCOUNT, false},
    {"LimitExceeded", NULL, CLOUD_QUOTA, CLOUD_ACCOUNT, false},
    {"LimitExceededException", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"CodeStorageExceededException", NULL, CLOUD_QUOTA, CLOUD_REGION, false},
    {"SlowDown", NULL, CLOUD_THROTTLE, CLOUD_REGION, false},

    /* The caller of the call knows what a duplicate stands for. */
    {"InvalidGroup.Duplicate", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"InvalidPermission.Duplicate", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"InvalidKeyPair.Duplicate", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"IdempotentParameterMismatch", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"IdempotentInstanceTerminated", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"DependencyViolation", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"IncorrectInstanceState", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
    {"DryRunOperation", NULL, CLOUD_CONFLICT, CLOUD_ACCOUNT, false},
};

/* It may or may not have been carried out. */
static const char *const errors_of_theirs[] = {
    "InternalError", "ServerInternal", "InternalFailure", "ServiceUnavailable",
    "ServiceUnavailableException", "Unavailable", "RequestTimeout", "RequestTimeoutException",
    "ServiceException", "ServiceFailure",
};
/* clang-format on */

static bool reads(const char *action)
{
    return strncmp(action, "Describe", 8) == 0 || strncmp(action, "Get", 3) == 0 ||
           strncmp(action, "List", 4) == 0;
}

static void set(struct cloud_error *e, enum cloud_failure failure, enum cloud_scope scope)
{
    e->failure = failure;
    e->scope = scope;
    e->err.kind = cloud_failure_kind(failure);
}

/* "... is not authorized to perform: ec2:CreateTags on resource ...": the action, else the call's
 * own. */
static void name_permission(const struct ec2_call *x, const char *message, struct cloud_error *e)
{
    static const char mark[] = "to perform: ";
    const char *service = x->service ? x->service : "ec2", *found = strstr(message, mark);

    if (found) {
        found += strlen(mark);
        err_set(&e->err, ERR_DENIED, "%s: not permitted; allow the action %.*s", x->action,
                (int)strcspn(found, " "), found);
    } else {
        err_set(&e->err, ERR_DENIED, "%s: not permitted; allow the action %s:%s", x->action,
                service, x->action);
    }
}

void ec2_judge(const struct ec2_call *x,
               int status,
               const char *code,
               const char *message,
               struct cloud_error *e,
               bool *is_young)
{
    const struct cloud_code *known = cloud_code_find(codes, N(codes), code, message);
    bool is_theirs = status >= 500;

    *is_young = known && known->is_young;
    err_set(&e->err, ERR_RETRY, "%s: %s%s%.200s", x->action, *code ? code : "", *code ? ": " : "",
            message);
    if (known) {
        set(e, known->failure, known->scope);
        if (known->failure == CLOUD_PERMISSION && strcmp(code, "OptInRequired") != 0 &&
            strcmp(code, "Blocked") != 0 && strcmp(code, "PendingVerification") != 0)
            name_permission(x, message, e);
        return;
    }
    for (size_t i = 0; i < N(errors_of_theirs); i++)
        is_theirs = is_theirs || strcmp(code, errors_of_theirs[i]) == 0;
    if (status == 429)
        set(e, CLOUD_THROTTLE, CLOUD_REGION);
    else if (is_theirs || status < 300)
        set(e, reads(x->action) ? CLOUD_TRANSIENT : CLOUD_UNKNOWN, CLOUD_ACCOUNT);
    else if (status == 401 || status == 403)
        set(e, CLOUD_AUTH, CLOUD_ACCOUNT);
    else
        set(e, CLOUD_INVALID, CLOUD_ACCOUNT);
}
