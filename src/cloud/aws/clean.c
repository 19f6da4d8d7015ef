/* Deletes what launches left beside instances, in the order in which EC2 lets go of it. aws.c lists
 * the function. */
#include "cloud/aws/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A security group is held by the interfaces of instances that are being terminated. */
#define HELD_MS ((int64_t)10 * 60 * 1000)
#define HELD_FIRST_S 2.0
#define HELD_MOST_S 15.0

/* One kind of thing: how to list those of ours that nothing uses, and how to delete one. */
struct kind {
    const char *name;
    const char *list, *path, *id; /* action, set, and member of its items */
    const char *filter, *value;   /* besides the owner; NULL = none */
    const char *used;             /* a member that tells that it is in use; NULL = none */
    const char *delete, *delete_id, *gone;
};

static const struct kind kinds[] = {
    {"spot request", "DescribeSpotInstanceRequests", "spotInstanceRequestSet",
     "spotInstanceRequestId", "state", "open", NULL, "CancelSpotInstanceRequests",
     "SpotInstanceRequestId.1", "InvalidSpotInstanceRequestID.NotFound"},
    {"network interface", "DescribeNetworkInterfaces", "networkInterfaceSet", "networkInterfaceId",
     "status", "available", NULL, "DeleteNetworkInterface", "NetworkInterfaceId",
     "InvalidNetworkInterfaceID.NotFound"},
    {"disk", "DescribeVolumes", "volumeSet", "volumeId", "status", "available", NULL,
     "DeleteVolume", "VolumeId", "InvalidVolume.NotFound"},
    {"address", "DescribeAddresses", "addressesSet", "allocationId", NULL, NULL, "associationId",
     "ReleaseAddress", "AllocationId", "InvalidAllocationID.NotFound"},
};
/* What machines share: last, and only without machines. */
static const struct kind shared_kinds[] = {
    {"security group", "DescribeSecurityGroups", "securityGroupInfo", "groupId", NULL, NULL, NULL,
     "DeleteSecurityGroup", "GroupId", "InvalidGroup.NotFound"},
    {"key pair", "DescribeKeyPairs", "keySet", "keyPairId", NULL, NULL, NULL, "DeleteKeyPair",
     "KeyPairId", "InvalidKeyPair.NotFound"},
};

struct cleaning {
    struct ec2 *ec2;
    bool dry_run;
    cloud_visit_leftover *visit;
    void *context;
    const struct kind *kind;
};

static int remove_one(struct cleaning *s, const char *id, struct cloud_error *e)
{
    struct cloud *c = s->ec2->cloud;
    int64_t until_ms = cloud_now_ms(c) + HELD_MS;
    double wait_s = HELD_FIRST_S;

    for (;;) {
        AUTO_CLEAR(ec2_call) struct ec2_call x;
        ec2_call_init(&x, s->kind->delete);
        ec2_add(&x, id, "%s", s->kind->delete_id);
        if (ec2_send(s->ec2, &x, e) == 0 || ec2_failed_with(&x, s->kind->gone))
            return 0;
        if (!ec2_failed_with(&x, "DependencyViolation") || cloud_now_ms(c) >= until_ms)
            return -1;
        cloud_wait(c, wait_s);
        wait_s = fmin(wait_s * 1.5, HELD_MOST_S);
    }
}

static int visit_one(void *context, const struct xml *item, struct cloud_error *e)
{
    struct cleaning *s = context;
    const char *id = xml_text(item, s->kind->id), *why = NULL;
    struct cloud_error failed = {0};

    if (!*id || (s->kind->used && *xml_text(item, s->kind->used)))
        return 0;
    if (!s->dry_run && remove_one(s, id, &failed) < 0)
        why = failed.err.text;
    return s->visit ? s->visit(s->context, s->kind->name, id, why, &e->err) : 0;
}

static int clean_kind(struct cleaning *s, const struct kind *kind, struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    s->kind = kind;
    ec2_call_init(&x, kind->list);
    ec2_add_filter(&x, 1, "tag:" CLOUD_TAG_OWNER,
                   (const char *[]){s->ec2->cloud->options.owner, NULL});
    if (kind->filter)
        ec2_add_filter(&x, 2, kind->filter, (const char *[]){kind->value, NULL});
    return ec2_each(s->ec2, &x, kind->path, visit_one, s, e);
}

/* Whether instances are there, and whether one may not have its disk and interface yet. */
struct present {
    size_t n, pending;
};

static int count(void *context, const struct cloud_machine *m, struct cloud_error *e)
{
    struct present *p = context;

    (void)e;
    p->n += m->state != CLOUD_DELETING;
    p->pending += m->state == CLOUD_REQUESTED;
    return 0;
}

int ec2_clean(struct cloud *c,
              bool dry_run,
              cloud_visit_leftover *visit,
              void *context,
              struct cloud_error *e)
{
    struct cleaning s = {.ec2 = c->priv, .dry_run = dry_run, .visit = visit, .context = context};
    struct present present = {0};

    if (ec2_each_instance(s.ec2, count, &present, e) < 0)
        return -1;
    for (size_t i = 0; !present.pending && i < sizeof kinds / sizeof *kinds; i++)
        if (clean_kind(&s, &kinds[i], e) < 0)
            return -1;
    for (size_t i = 0; !present.n && i < sizeof shared_kinds / sizeof *shared_kinds; i++)
        if (clean_kind(&s, &shared_kinds[i], e) < 0)
            return -1;
    return 0;
}
