/* Launches an instance: the one that a token stands for, or a new one in the request's zone. aws.c
 * lists the function.
 *
 * A token is tried in one zone only. EC2's own tokens hold within a zone: if an answer of one zone
 * were lost and the call came again, another zone would launch a second machine. Without a zone in
 * the request EC2 chooses one, and the token holds within the region. */
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/aws/internal.h"
#include "cloud/boot.h"
#include "cloud/finds.h"

#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISK_GB 100.0
/* What was created may take so long until a launch can name it. */
#define YOUNG_MS ((int64_t)60 * 1000)
#define YOUNG_FIRST_S 2.0
#define YOUNG_MOST_S 15.0

/* ---- the request ---- */

/* When the script powers the instance off, that terminates it. */
static void add_user_data(struct ec2_call *x, const char *login)
{
    AUTO_MEM char *script = cloud_boot_script(login);
    size_t n = strlen(script);
    AUTO_MEM char *base64 = mem_zero(n / 3 * 4 + 5, 1);

    EVP_EncodeBlock((unsigned char *)base64, (const unsigned char *)script, (int)n);
    ec2_add(x, base64, "UserData");
}

/* Of the owner, whose account others share. Everything else must be the same when a token comes
 * again, or EC2 refuses it. */
static void add_client_token(struct ec2_call *x, const struct cloud_request *r)
{
    AUTO_MEM char *text = mem_printf("%s\n%s", r->owner, r->token);
    const struct sha256_digest digest = sha256_of(text, strlen(text));
    char hex[SHA256_HEX];

    ec2_add(x, sha256_text(&digest, hex), "ClientToken");
}

static void add_tags(struct ec2_call *x, const struct cloud_request *r, const char *login)
{
    static const char *const types[] = {"instance", "volume", "network-interface",
                                        "spot-instances-request"};
    unsigned n = r->spot ? 4 : 3;
    struct cloud_tags tags;

    cloud_tags_of(r, login, &tags);
    for (unsigned i = 0; i < n; i++) {
        ec2_add(x, types[i], "TagSpecification.%u.ResourceType", i + 1);
        for (unsigned k = 0; k < tags.n; k++) {
            ec2_add(x, tags.items[k].key, "TagSpecification.%u.Tag.%u.Key", i + 1, k + 1);
            ec2_add(x, tags.items[k].value, "TagSpecification.%u.Tag.%u.Value", i + 1, k + 1);
        }
    }
}

static void add_spot(struct ec2_call *x, const struct cloud_request *r)
{
    char price[32];

    if (!r->spot)
        return;
    ec2_add(x, "spot", "InstanceMarketOptions.MarketType");
    ec2_add(x, "one-time", "InstanceMarketOptions.SpotOptions.SpotInstanceType");
    ec2_add(x, "terminate", "InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior");
    if (isinf(r->max_price_usd_per_hour))
        return;
    snprintf(price, sizeof price, "%.9g", r->max_price_usd_per_hour);
    ec2_add(x, price, "InstanceMarketOptions.SpotOptions.MaxPrice");
}

void ec2_form_run(struct ec2_call *x,
                  const struct cloud_request *r,
                  const struct ec2_image *image,
                  const struct ec2_shared *shared)
{
    char disk[32];

    snprintf(disk, sizeof disk, "%.0f", ceil(r->disk_gb > 0 ? r->disk_gb : DISK_GB));
    ec2_add(x, image->id, "ImageId");
    ec2_add(x, r->instance_type, "InstanceType");
    ec2_add(x, "1", "MinCount");
    ec2_add(x, "1", "MaxCount");
    ec2_add(x, shared->key, "KeyName");
    add_client_token(x, r);
    add_user_data(x, image->login);
    ec2_add(x, "terminate", "InstanceInitiatedShutdownBehavior");
    if (*r->zone)
        ec2_add(x, r->zone, "Placement.AvailabilityZone");
    add_spot(x, r);
    ec2_add(x, image->device, "BlockDeviceMapping.1.DeviceName");
    ec2_add(x, disk, "BlockDeviceMapping.1.Ebs.VolumeSize");
    ec2_add(x, "gp3", "BlockDeviceMapping.1.Ebs.VolumeType");
    ec2_add(x, "true", "BlockDeviceMapping.1.Ebs.DeleteOnTermination");
    ec2_add(x, "0", "NetworkInterface.1.DeviceIndex");
    ec2_add(x, "true", "NetworkInterface.1.AssociatePublicIpAddress");
    ec2_add(x, "true", "NetworkInterface.1.DeleteOnTermination");
    ec2_add(x, shared->group, "NetworkInterface.1.SecurityGroupId.1");
    ec2_add(x, "required", "MetadataOptions.HttpTokens");
    ec2_add(x, "2", "MetadataOptions.HttpPutResponseHopLimit");
    ec2_add(x, "enabled", "MetadataOptions.HttpEndpoint");
    add_tags(x, r, image->login);
}

/* ---- the instance of a token that was used before ---- */

/* EC2 knows the token and not this request, or has terminated its instance. */
static int resolve(struct ec2 *a,
                   const struct cloud_request *request,
                   struct cloud_machine *out,
                   struct cloud_error *e)
{
    struct cloud_error why = {0};
    struct cloud_tagged t;

    if (ec2_find(a, request->token, &t, NULL, &why) > 0)
        return cloud_take_known(&t, request, out, e);
    return -1;
}

/* ---- a new one ---- */

static int take_new(struct ec2 *a,
                    const struct ec2_call *x,
                    const struct cloud_request *request,
                    const char *login,
                    struct cloud_machine *out,
                    struct cloud_error *e)
{
    const struct xml *item = xml_items(x->root, "instancesSet");
    struct cloud_tagged t = {0};
    struct cloud_tags tags;

    if (!item || !*xml_text(item, "instanceId"))
        return cloud_fail(e, CLOUD_UNKNOWN, CLOUD_ACCOUNT,
                          "RunInstances: the answer names no "
                          "instance");
    /* Answers need not repeat the tags. */
    cloud_tags_of(request, login, &tags);
    for (size_t i = 0; i < tags.n; i++)
        cloud_tag_read(&t, tags.items[i].key, tags.items[i].value);
    ec2_read_instance(a, item, &t);
    return cloud_take_known(&t, request, out, e);
}

static int run(struct ec2 *a,
               const struct cloud_request *request,
               const struct ec2_image *image,
               const struct ec2_shared *shared,
               struct cloud_machine *out,
               struct ec2_call *x,
               struct cloud_error *e)
{
    ec2_form_run(x, request, image, shared);
    if (ec2_send(a, x, e) == 0)
        return take_new(a, x, request, image->login, out, e);
    if (ec2_failed_with(x, "IdempotentParameterMismatch") ||
        ec2_failed_with(x, "IdempotentInstanceTerminated"))
        return resolve(a, request, out, e);
    return -1;
}

static bool is_refusal(enum cloud_failure f)
{
    return f != CLOUD_FINE && f != CLOUD_THROTTLE && f != CLOUD_TRANSIENT && f != CLOUD_UNKNOWN &&
           f != CLOUD_CONFLICT;
}

/* The failure says nothing of image, key pair and security group. */
static bool lacks_room(enum cloud_failure f)
{
    return f == CLOUD_CAPACITY || f == CLOUD_QUOTA || f == CLOUD_THROTTLE;
}

/* Shares and launches, until what was just created can be named. */
static int run_shared(struct ec2 *a,
                      const struct cloud_request *request,
                      const struct ec2_image *image,
                      struct cloud_machine *out,
                      struct cloud_error *e)
{
    int64_t until_ms = cloud_now_ms(a->cloud) + YOUNG_MS;
    bool is_young, is_open = false;
    double wait_s = YOUNG_FIRST_S;

    for (;;) {
        AUTO_CLEAR(ec2_call) struct ec2_call x;
        struct ec2_shared shared;
        ec2_call_init(&x, "RunInstances");
        if (ec2_share(a, &shared, &is_young, e) == 0) {
            if (run(a, request, image, &shared, out, &x, e) == 0)
                return 0;
            is_young = x.is_young;
            is_open = is_open || x.is_open;
            if (!lacks_room(e->failure))
                cloud_finds_drop(a->cloud->finds);
        }
        if (!is_young || cloud_now_ms(a->cloud) >= until_ms)
            break;
        cloud_wait(a->cloud, wait_s);
        wait_s = fmin(wait_s * 1.5, YOUNG_MOST_S);
    }
    if (!is_refusal(e->failure))
        return -1;
    /* What EC2's own choice of a zone lacks, no zone has. */
    if (!*request->zone && e->scope == CLOUD_ZONE)
        e->scope = CLOUD_REGION;
    if (!is_open)
        return -1;
    /* An earlier try has no answer: this refusal does not prove that there is no instance. */
    AUTO_MEM char *text = mem_dup(e->err.text);
    return cloud_fail(e, CLOUD_UNKNOWN, e->scope, "%s, after a try without an answer", text);
}

int ec2_launch(struct cloud *c,
               const struct cloud_request *request,
               struct cloud_machine *out,
               struct cloud_error *e)
{
    struct ec2 *a = c->priv;
    struct cloud_tagged known;
    struct ec2_image image;

    if (*request->region && strcmp(request->region, c->options.region) != 0)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "a machine in %s was asked for in %s",
                          request->region, c->options.region);
    if (!*request->instance_type)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "no instance type is given");
    int found = ec2_find(a, request->token, &known, NULL, e);
    if (found)
        return found < 0 ? -1 : cloud_take_known(&known, request, out, e);
    if (ec2_find_image(a, request, &image, e) < 0 || ec2_check_offered(a, request, e) < 0)
        return -1;
    return run_shared(a, request, &image, out, e);
}
