/* Functions on AWS: Lambda, with a role, a group of logs, a permission and the notification of a
 * bucket. cloud/deploy has the table. */
#include "cloud/aws/function.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAMBDA_VERSION "2015-03-31"

/* ---- calls ---- */

static bool changes(const char *method)
{
    return strcmp(method, "GET") != 0;
}

int lambda_change(struct deploy *d, struct ec2_call *x, const json_t *body, struct cloud_error *e)
{
    struct lambda *a = d->priv;
    AUTO_MEM char *url = ec2_url(a->ec2, x);
    AUTO_MEM char *form =
        x->method || x->target ? NULL : mem_printf("%s?Action=%s", url, x->action);
    AUTO_MEM char *named = x->target ? mem_printf("%s (%s)", url, x->target) : NULL;
    int shown = deploy_show(d, x->method ? x->method : "POST",
                            form    ? form
                            : named ? named
                                    : url,
                            body, e);

    return shown ? (shown < 0 ? -1 : 0) : ec2_send(a->ec2, x, e);
}

int lambda_call(struct deploy *d,
                const struct lambda_rest *call,
                json_t **out,
                struct cloud_error *e)
{
    struct lambda *a = d->priv;
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    AUTO_MEM char *path = mem_printf(LAMBDA_VERSION "/%s", call->path);
    AUTO_MEM char *body = call->body ? json_dumps(call->body, JSON_COMPACT) : NULL;

    ec2_call_init(&x, call->action);
    x.service = "lambda";
    x.method = call->method;
    x.path = path;
    x.payload = body;
    x.content_type = body ? "application/json" : NULL;
    x.timeout_s = call->timeout_s;
    int done = changes(call->method)
                   ? lambda_change(d, &x, call->shown ? call->shown : call->body, e)
                   : ec2_send(a->ec2, &x, e);
    if (done == 0 && out && x.body)
        *out = json_loads(x.body, 0, NULL);
    return done;
}

/* ---- the account ---- */

const char *lambda_account(struct deploy *d, struct cloud_error *e)
{
    struct lambda *a = d->priv;

    if (*a->account)
        return a->account;
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    ec2_call_init(&x, "GetCallerIdentity");
    x.service = "sts";
    x.version = "2011-06-15";
    if (ec2_send(a->ec2, &x, e) < 0)
        return NULL;
    const char *account = xml_text(x.root, "GetCallerIdentityResult/Account");
    if (!*account || strlen(account) >= sizeof a->account) {
        cloud_fail(e, CLOUD_TRANSIENT, CLOUD_ACCOUNT, "GetCallerIdentity tells no account");
        return NULL;
    }
    snprintf(a->account, sizeof a->account, "%s", account);
    return a->account;
}

char *lambda_role_arn(struct deploy *d, const char *name, struct cloud_error *e)
{
    const char *account = lambda_account(d, e);

    return account
               ? mem_printf("arn:aws:iam::%s:role/tradewind/%s/%s", account, d->options.owner, name)
               : NULL;
}

/* ---- the table ---- */

static int open_aws(struct deploy *d, struct err *e)
{
    const struct deploy_options *o = &d->options;
    const struct cloud_options options = {.name = "aws",
                                          .home = o->home,
                                          .owner = o->owner,
                                          .region = o->region,
                                          .outside = o->outside,
                                          .now_ms = o->now_ms,
                                          .context = o->context,
                                          .seed = o->seed};

    d->cloud = cloud_open(&options, e);
    if (!d->cloud)
        return -1;
    struct lambda *a = d->priv = mem_zero(1, sizeof *a);
    a->ec2 = d->cloud->priv;
    return 0;
}

static void close_aws(struct deploy *d)
{
    cloud_free(d->cloud);
    free(d->priv);
}

static void named_alone(struct deploy *d,
                        const struct deploy_function *f,
                        struct deploy_resource *r)
{
    (void)d;
    (void)f;
    (void)r;
}

static void named_in_bucket(struct deploy *d,
                            const struct deploy_function *f,
                            struct deploy_resource *r)
{
    (void)d;
    snprintf(r->parent, sizeof r->parent, "%s", f->in.bucket);
}

static int list_aws(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e)
{
    return lambda_code_list(d, visit, context, e) < 0 ? -1 : lambda_role_list(d, visit, context, e);
}

/* A function cannot be made before its role, nor a notification before its permission. The group of
 * logs is made here, so that it carries our tag and ends, and so that the role needs not make it.
 */
static const struct deploy_kind kinds[] = {
    {"role", named_alone, lambda_role_look, lambda_role_make, lambda_role_change,
     lambda_role_remove},
    {"policy", named_alone, lambda_policy_look, lambda_policy_make, NULL, lambda_policy_remove},
    {"log-group", named_alone, lambda_logs_look, lambda_logs_make, lambda_logs_change,
     lambda_logs_remove},
    {"function", named_alone, lambda_code_look, lambda_code_make, lambda_code_change,
     lambda_code_remove},
    {"permission", named_in_bucket, lambda_permission_look, lambda_permission_make,
     lambda_permission_change, lambda_permission_remove},
    {"notification", named_in_bucket, lambda_notification_look, lambda_notification_make, NULL,
     lambda_notification_remove},
};

const struct deploy_platform deploy_aws = {
    .cloud = "aws",
    .kinds = kinds,
    .n_kinds = sizeof kinds / sizeof *kinds,
    .open = open_aws,
    .close = close_aws,
    .list = list_aws,
};
