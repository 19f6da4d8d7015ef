/* What a launch needs before it: an image, zones that offer the type, and the key pair and security
 * group that all machines of an owner share in a region. launch.c and check.c call. */
#include "base/hash.h"
#include "base/mem.h"
#include "cloud/aws/internal.h"
#include "cloud/finds.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY(into, from) snprintf((into), sizeof(into), "%s", (from))

/* ---- image ---- */

struct newest {
    struct ec2_image *out;
    char date[40];
};

static int keep_newest(void *context, const struct xml *item, struct cloud_error *e)
{
    struct newest *n = context;
    const char *date = xml_text(item, "creationDate");

    (void)e;
    /* ISO dates sort as text. */
    if (*n->out->id && strcmp(date, n->date) <= 0)
        return 0;
    COPY(n->date, date);
    COPY(n->out->id, xml_text(item, "imageId"));
    COPY(n->out->device, xml_text(item, "rootDeviceName"));
    return 0;
}

static int describe_image(struct ec2 *a,
                          struct ec2_call *x,
                          const char *what,
                          struct ec2_image *out,
                          struct cloud_error *e)
{
    struct newest newest = {.out = out};

    if (ec2_each(a, x, "imagesSet", keep_newest, &newest, e) < 0)
        return -1;
    if (*out->id && *out->device)
        return 0;
    return cloud_fail(e, CLOUD_UNSUPPORTED, CLOUD_REGION, "%s has no image %s",
                      a->cloud->options.region, what);
}

static int ask_image(struct ec2 *a,
                     const struct cloud_request *request,
                     struct ec2_image *out,
                     struct cloud_error *e)
{
    AUTO(arena) struct arena *texts = arena_new(4096);
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    struct cloud_image image;

    *out = (struct ec2_image){0};
    ec2_call_init(&x, "DescribeImages");
    if (request->image && strncmp(request->image, "ami-", 4) == 0) {
        ec2_add(&x, request->image, "ImageId.1");
        COPY(out->login, "ubuntu");
        return describe_image(a, &x, request->image, out, e);
    }
    if (cloud_image_find(texts, "aws", request->image, request->accelerator, &image, &e->err) < 0)
        return -1;
    ec2_add(&x, image.owner, "Owner.1");
    ec2_add_filter(&x, 1, "name", (const char *[]){image.pattern, NULL});
    ec2_add_filter(&x, 2, "state", (const char *[]){"available", NULL});
    COPY(out->login, image.login);
    return describe_image(a, &x, image.name, out, e);
}

/* What is found for one launch holds for others of this process in the region. */
static char *find_key(const struct ec2 *a, const char *what, const char *of, const char *and_of)
{
    return mem_printf("aws %s %s %s %s", a->cloud->options.region, what, of ? of : "",
                      and_of ? and_of : "");
}

/* Ends a search that cloud_finds_get began. Returns result. */
static int settle(struct ec2 *a, const char *key, int result, const void *value, size_t n)
{
    if (result == 0)
        cloud_finds_put(a->cloud->finds, key, cloud_now_ms(a->cloud), value, n);
    else
        cloud_finds_fail(a->cloud->finds, key);
    return result;
}

static bool is_known(struct ec2 *a, const char *key, void *value, size_t n)
{
    return cloud_finds_get(a->cloud->finds, key, cloud_now_ms(a->cloud), value, n);
}

int ec2_find_image(struct ec2 *a,
                   const struct cloud_request *request,
                   struct ec2_image *out,
                   struct cloud_error *e)
{
    AUTO_MEM char *key = find_key(a, "image", request->image, request->accelerator);

    if (is_known(a, key, out, sizeof *out))
        return 0;
    return settle(a, key, ask_image(a, request, out, e), out, sizeof *out);
}

/* ---- key pair ---- */

static void add_owner_tag(struct ec2_call *x, const char *type, const char *owner)
{
    ec2_add(x, type, "TagSpecification.1.ResourceType");
    ec2_add(x, CLOUD_TAG_OWNER, "TagSpecification.1.Tag.1.Key");
    ec2_add(x, owner, "TagSpecification.1.Tag.1.Value");
}

/* The name has a part of the key's digest: a home that makes a new key gets another key pair. */
static int share_key(struct ec2 *a, struct ec2_shared *out, struct cloud_error *e)
{
    const char *key = a->cloud->options.key, *owner = a->cloud->options.owner;
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    char digest[SHA256_HEX];

    ec2_call_init(&x, "ImportKeyPair");
    if (!key || !*key)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "no ssh key is given to launch with");
    size_t n = strlen(key);
    AUTO_MEM char *base64 = mem_zero(n / 3 * 4 + 8, 1);
    EVP_EncodeBlock((unsigned char *)base64, (const unsigned char *)key, (int)n);
    const struct sha256_digest d = sha256_of(key, n);
    snprintf(out->key, sizeof out->key, "tradewind-%s-%.8s", owner, sha256_text(&d, digest));
    ec2_add(&x, out->key, "KeyName");
    ec2_add(&x, base64, "PublicKeyMaterial");
    add_owner_tag(&x, "key-pair", owner);
    if (ec2_send(a, &x, e) < 0 && !ec2_failed_with(&x, "InvalidKeyPair.Duplicate"))
        return -1;
    return 0;
}

/* ---- security group ---- */

#define RULES_MAX 20
struct group {
    char id[64];
    char networks[RULES_MAX][64]; /* that may reach port 22 */
    size_t n;
    bool admits_itself; /* its machines reach each other */
};

static int keep_group(void *context, const struct xml *item, struct cloud_error *e)
{
    struct group *g = context;

    (void)e;
    if (*g->id)
        return 0;
    COPY(g->id, xml_text(item, "groupId"));
    for (const struct xml *rule = xml_items(item, "ipPermissions"); rule; rule = rule->next) {
        for (const struct xml *r = xml_items(rule, "groups"); r; r = r->next)
            g->admits_itself = g->admits_itself || strcmp(xml_text(r, "groupId"), g->id) == 0;
        for (const struct xml *r = xml_items(rule, "ipRanges"); r; r = r->next) {
            if (strcmp(xml_text(rule, "fromPort"), "22") != 0 || g->n == RULES_MAX)
                continue;
            COPY(g->networks[g->n], xml_text(r, "cidrIp"));
            g->n++;
        }
    }
    return 0;
}

static int find_group(struct ec2 *a, const char *name, struct group *out, struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    *out = (struct group){0};
    ec2_call_init(&x, "DescribeSecurityGroups");
    ec2_add_filter(&x, 1, "group-name", (const char *[]){name, NULL});
    ec2_add_filter(&x, 2, "tag:" CLOUD_TAG_OWNER, (const char *[]){a->cloud->options.owner, NULL});
    return ec2_each(a, &x, "securityGroupInfo", keep_group, out, e);
}

static int send_rule(struct ec2 *a, struct ec2_call *x, bool *is_young, struct cloud_error *e)
{
    if (ec2_send(a, x, e) == 0 || ec2_failed_with(x, "InvalidPermission.Duplicate") ||
        ec2_failed_with(x, "InvalidPermission.NotFound"))
        return 0;
    *is_young = x->is_young;
    return -1;
}

/* Nodes of one job talk to each other by any port. */
static int admit_itself(struct ec2 *a, const char *group, bool *is_young, struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    ec2_call_init(&x, "AuthorizeSecurityGroupIngress");
    ec2_add(&x, group, "GroupId");
    ec2_add(&x, "-1", "IpPermissions.1.IpProtocol");
    ec2_add(&x, group, "IpPermissions.1.Groups.1.GroupId");
    return send_rule(a, &x, is_young, e);
}

/* Rules of the group for ssh. */
static int change_rule(struct ec2 *a,
                       const char *action,
                       const char *group,
                       const char *network,
                       bool *is_young,
                       struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    ec2_call_init(&x, action);
    ec2_add(&x, group, "GroupId");
    ec2_add(&x, "tcp", "IpPermissions.1.IpProtocol");
    ec2_add(&x, "22", "IpPermissions.1.FromPort");
    ec2_add(&x, "22", "IpPermissions.1.ToPort");
    ec2_add(&x, network, "IpPermissions.1.IpRanges.1.CidrIp");
    return send_rule(a, &x, is_young, e);
}

static int create_group(
    struct ec2 *a, const char *name, struct group *out, bool *is_young, struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    ec2_call_init(&x, "CreateSecurityGroup");
    ec2_add(&x, name, "GroupName");
    ec2_add(&x, "Machines of Tradewind: ssh from the broker alone", "GroupDescription");
    add_owner_tag(&x, "security-group", a->cloud->options.owner);
    if (ec2_send(a, &x, e) == 0) {
        COPY(out->id, xml_text(x.root, "groupId"));
        return 0;
    }
    /* Another process, or a try of ours whose answer was lost, was faster. */
    *is_young = ec2_failed_with(&x, "InvalidGroup.Duplicate");
    if (*is_young)
        return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION,
                          "the security group %s was just created and is not listed yet", name);
    return -1;
}

/* This machine's address is admitted, and no other from outside: it changes where a laptop travels.
 */
static int admit(struct ec2 *a, const struct group *g, bool *is_young, struct cloud_error *e)
{
    char own[64];
    bool has_own = false;

    if (cloud_own_network(a->cloud, &a->http, "AWS_ENDPOINT_URL_CHECKIP", own, e) < 0)
        return -1;
    for (size_t i = 0; i < g->n; i++)
        has_own = has_own || strcmp(g->networks[i], own) == 0;
    if (!g->admits_itself && admit_itself(a, g->id, is_young, e) < 0)
        return -1;
    if (!has_own && change_rule(a, "AuthorizeSecurityGroupIngress", g->id, own, is_young, e) < 0)
        return -1;
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->networks[i], own) != 0 &&
            change_rule(a, "RevokeSecurityGroupIngress", g->id, g->networks[i], is_young, e) < 0)
            return -1;
    return 0;
}

static int share_group(struct ec2 *a, struct ec2_shared *out, bool *is_young, struct cloud_error *e)
{
    struct group g;
    char name[100];

    snprintf(name, sizeof name, "tradewind-%s", a->cloud->options.owner);
    if (find_group(a, name, &g, e) < 0 || (!*g.id && create_group(a, name, &g, is_young, e) < 0) ||
        admit(a, &g, is_young, e) < 0)
        return -1;
    COPY(out->group, g.id);
    return 0;
}

static int share(struct ec2 *a, struct ec2_shared *out, bool *is_young, struct cloud_error *e)
{
    if (share_key(a, out, e) < 0 || share_group(a, out, is_young, e) < 0)
        return -1;
    *e = (struct cloud_error){0};
    return 0;
}

int ec2_share(struct ec2 *a, struct ec2_shared *out, bool *is_young, struct cloud_error *e)
{
    AUTO_MEM char *key = find_key(a, "shared", a->cloud->options.owner, a->cloud->options.admit);

    *is_young = false;
    if (is_known(a, key, out, sizeof *out))
        return 0;
    return settle(a, key, share(a, out, is_young, e), out, sizeof *out);
}

/* ---- zones ---- */

struct zones {
    char (*names)[CLOUD_ZONE_BYTES];
    size_t n, max;
};

static int keep_zone(void *context, const struct xml *item, struct cloud_error *e)
{
    struct zones *z = context;
    const char *name = xml_text(item, "location");

    (void)e;
    if (z->n < z->max && *name && strlen(name) < CLOUD_ZONE_BYTES)
        memcpy(z->names[z->n++], name, strlen(name) + 1);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

int ec2_zones(struct cloud *c,
              const struct cloud_request *request,
              char (*out)[CLOUD_ZONE_BYTES],
              size_t max,
              size_t *n_out,
              struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    struct zones z = {out, 0, max};

    ec2_call_init(&x, "DescribeInstanceTypeOfferings");
    ec2_add(&x, "availability-zone", "LocationType");
    ec2_add_filter(&x, 1, "instance-type", (const char *[]){request->instance_type, NULL});
    if (*request->zone)
        ec2_add_filter(&x, 2, "location", (const char *[]){request->zone, NULL});
    if (ec2_each(c->priv, &x, "instanceTypeOfferingSet", keep_zone, &z, e) < 0)
        return -1;
    qsort(out, z.n, sizeof *out, by_name);
    *n_out = z.n;
    if (z.n)
        return 0;
    return cloud_fail(e, CLOUD_UNSUPPORTED, *request->zone ? CLOUD_ZONE : CLOUD_REGION,
                      "%s is not offered in %s", request->instance_type,
                      *request->zone ? request->zone : c->options.region);
}

int ec2_check_offered(struct ec2 *a, const struct cloud_request *request, struct cloud_error *e)
{
    AUTO_MEM char *key = find_key(a, "zone", request->instance_type, request->zone);
    char zone[1][CLOUD_ZONE_BYTES];
    size_t n;

    if (is_known(a, key, zone, sizeof zone))
        return 0;
    return settle(a, key, ec2_zones(a->cloud, request, zone, 1, &n, e), zone, sizeof zone);
}
