/* The cloud "aws": machines are EC2 instances. A handle is for one region; it keeps nothing but
 * credentials, the difference of clocks and its budget of retries. */
#include "base/mem.h"
#include "cloud/aws/internal.h"

#include <stdlib.h>
#include <string.h>

#define REGION_BYTES sizeof(((struct cloud_machine *)0)->region)

static int aws_open(struct cloud *c, struct err *e)
{
    const char *region = c->options.region;

    if (!region || !*region ||
        strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(region) ||
        strlen(region) >= REGION_BYTES)
        return err_set(e, ERR_USAGE, "a region is needed, such as us-east-1");
    struct ec2 *a = c->priv = mem_zero(1, sizeof *a);
    a->cloud = c;
    return 0;
}

static void aws_close(struct cloud *c)
{
    struct ec2 *a = c->priv;

    if (!a)
        return;
    credentials_clear(&a->credentials);
    http_free(a->http);
    free(a);
}

static int aws_look(struct cloud *c,
                    const char *token,
                    struct cloud_machine *out,
                    struct cloud_error *e)
{
    struct cloud_tagged t;
    int found = ec2_find(c->priv, token, &t, NULL, e);

    if (found < 0)
        return -1;
    if (!found)
        return cloud_fail(e, CLOUD_NOT_FOUND, CLOUD_REGION, "%s shows no instance with this token",
                          c->options.region);
    *out = t.machine;
    return 0;
}

static int aws_terminate(struct cloud *c, const char *token, struct cloud_error *e)
{
    struct cloud_tagged t;
    struct ec2_ids ids;
    int found = ec2_find(c->priv, token, &t, &ids, e);

    if (found <= 0)
        return found;
    return ec2_terminate(c->priv, &ids, e);
}

static int aws_sign_in(struct cloud *c, struct cloud_error *e)
{
    return ec2_credentials(c->priv, e);
}

struct regions {
    cloud_visit_region *visit;
    void *context;
};

static int visit_region(void *context, const struct xml *item, struct cloud_error *e)
{
    const struct regions *r = context;

    return r->visit(r->context, xml_text(item, "regionName"), &e->err);
}

static int aws_regions(struct cloud *c,
                       cloud_visit_region *each,
                       void *context,
                       struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    struct regions r = {each, context};

    ec2_call_init(&x, "DescribeRegions");
    return ec2_each(c->priv, &x, "regionInfo", visit_region, &r, e);
}

struct listing {
    cloud_visit *visit;
    void *context;
};

static int visit(void *context, const struct cloud_machine *m, struct cloud_error *e)
{
    const struct listing *l = context;

    return l->visit(l->context, m, &e->err);
}

static int aws_list(struct cloud *c, cloud_visit *each, void *context, struct cloud_error *e)
{
    struct listing l = {each, context};

    return ec2_each_instance(c->priv, visit, &l, e);
}

const struct cloud_driver cloud_aws = {
    .name = "aws",
    .some_region = "us-east-1",
    .open = aws_open,
    .close = aws_close,
    .launch = ec2_launch,
    .look = aws_look,
    .terminate = aws_terminate,
    .list = aws_list,
    .zones = ec2_zones,
    .clean = ec2_clean,
    .check = ec2_check,
    .sign_in = aws_sign_in,
    .regions = aws_regions,
};
