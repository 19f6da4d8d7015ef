/* The role of a function, what it permits, and the group of its logs. function.c lists them. */
#include "base/mem.h"
#include "cloud/aws/function.h"
#include "net/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IAM_VERSION "2010-05-08"
/* IAM is signed for this region, wherever the function is. */
#define IAM_REGION "us-east-1"
#define POLICY_NAME "aggregator"
#define LOGS_TARGET "Logs_20140328."
#define LOGS_DAYS 14
#define PAGES_MAX 1000

static void begin_iam(struct ec2_call *x, const char *action, const char *role)
{
    ec2_call_init(x, action);
    x->service = "iam";
    x->version = IAM_VERSION;
    x->signed_region = IAM_REGION;
    if (role)
        ec2_add(x, role, "RoleName");
}

static int change_iam(struct deploy *d, struct ec2_call *x, json_t *shown, struct cloud_error *e)
{
    AUTO_JSON json_t *taken = shown;

    return lambda_change(d, x, taken, e);
}

/* What an answer has percent-encoded is the wanted document. */
static bool same_document(const char *encoded, const json_t *wanted)
{
    AUTO_MEM char *text = sigv4_decode(encoded);
    AUTO_JSON json_t *found = text ? json_loads(text, 0, NULL) : NULL;

    return found && json_equal(found, wanted);
}

/* ---- the role ---- */

static json_t *trust(void)
{
    return json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}]}", "Version", "2012-10-17", "Statement",
                     "Effect", "Allow", "Principal", "Service", "lambda.amazonaws.com", "Action",
                     "sts:AssumeRole");
}

static bool has_owner(const struct deploy *d, const struct xml *tags)
{
    for (const struct xml *t = tags; t; t = t->next)
        if (strcmp(xml_text(t, "Key"), CLOUD_TAG_OWNER) == 0)
            return strcmp(xml_text(t, "Value"), d->options.owner) == 0;
    return false;
}

LAMBDA_LOOK(lambda_role_look)
{
    struct lambda *a = d->priv;
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    begin_iam(&x, "GetRole", r->name);
    *out = DEPLOY_ABSENT;
    if (ec2_send(a->ec2, &x, e) < 0) {
        if (e->failure != CLOUD_NOT_FOUND)
            return -1;
        *e = (struct cloud_error){0};
        return 0;
    }
    if (!has_owner(d, xml_items(x.root, "GetRoleResult/Role/Tags")))
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT,
                          "there is a role of this name without the tag " CLOUD_TAG_OWNER
                          "=%s; delete it or rename the training",
                          d->options.owner);
    AUTO_JSON json_t *wanted = trust();
    *out =
        !f || same_document(xml_text(x.root, "GetRoleResult/Role/AssumeRolePolicyDocument"), wanted)
            ? DEPLOY_SAME
            : DEPLOY_DIFFERS;
    return 0;
}

LAMBDA_STEP(lambda_role_make)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    AUTO_JSON json_t *document = trust();
    AUTO_MEM char *text = json_dumps(document, JSON_COMPACT);
    AUTO_MEM char *path = mem_printf("/tradewind/%s/", d->options.owner);

    begin_iam(&x, "CreateRole", r->name);
    ec2_add(&x, path, "Path");
    ec2_add(&x, text, "AssumeRolePolicyDocument");
    ec2_add(&x, "Aggregator of a geo-distributed training (Tradewind)", "Description");
    ec2_add(&x, CLOUD_TAG_OWNER, "Tags.member.1.Key");
    ec2_add(&x, d->options.owner, "Tags.member.1.Value");
    ec2_add(&x, DEPLOY_TAG_TRAINING, "Tags.member.2.Key");
    ec2_add(&x, f->deployment, "Tags.member.2.Value");
    return change_iam(d, &x,
                      json_pack("{s:s, s:s, s:O}", "RoleName", r->name, "Path", path,
                                "AssumeRolePolicyDocument", document),
                      e);
}

LAMBDA_STEP(lambda_role_change)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    AUTO_JSON json_t *document = trust();
    AUTO_MEM char *text = json_dumps(document, JSON_COMPACT);

    (void)f;
    begin_iam(&x, "UpdateAssumeRolePolicy", r->name);
    ec2_add(&x, text, "PolicyDocument");
    return change_iam(d, &x,
                      json_pack("{s:s, s:O}", "RoleName", r->name, "PolicyDocument", document), e);
}

/* Gone already is as good. */
static int forgive(int done, struct cloud_error *e)
{
    if (done == 0 || e->failure != CLOUD_NOT_FOUND)
        return done;
    *e = (struct cloud_error){0};
    return 0;
}

LAMBDA_REMOVE(lambda_role_remove)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    begin_iam(&x, "DeleteRole", r->name);
    return forgive(change_iam(d, &x, json_pack("{s:s}", "RoleName", r->name), e), e);
}

/* ---- what it permits ---- */

static void permit_store(json_t *statements, const struct deploy_store *s)
{
    json_t *list = json_pack("{s:s, s:s, s:o}", "Effect", "Allow", "Action", "s3:ListBucket",
                             "Resource", json_sprintf("arn:aws:s3:::%s", s->bucket));

    if (*s->prefix)
        json_object_set_new(
            list, "Condition",
            json_pack("{s:{s:o}}", "StringLike", "s3:prefix", json_sprintf("%s*", s->prefix)));
    json_array_append_new(statements, list);
    json_array_append_new(statements,
                          json_pack("{s:s, s:[s, s, s, s], s:o}", "Effect", "Allow", "Action",
                                    "s3:GetObject", "s3:PutObject", "s3:DeleteObject",
                                    "s3:AbortMultipartUpload", "Resource",
                                    json_sprintf("arn:aws:s3:::%s/%s*", s->bucket, s->prefix)));
}

/* New reference; NULL: e. */
static json_t *permissions(struct deploy *d,
                           const struct deploy_resource *r,
                           const struct deploy_function *f,
                           struct cloud_error *e)
{
    const char *account = lambda_account(d, e);

    if (!account)
        return NULL;
    json_t *statements = json_array();
    permit_store(statements, &f->in);
    for (size_t i = 0; i < f->n_others; i++)
        permit_store(statements, &f->others[i]);
    json_array_append_new(statements,
                          json_pack("{s:s, s:[s, s], s:o}", "Effect", "Allow", "Action",
                                    "logs:CreateLogStream", "logs:PutLogEvents", "Resource",
                                    json_sprintf("arn:aws:logs:%s:%s:log-group:/aws/lambda/%s:*",
                                                 d->options.region, account, r->name)));
    return json_pack("{s:s, s:o}", "Version", "2012-10-17", "Statement", statements);
}

LAMBDA_LOOK(lambda_policy_look)
{
    struct lambda *a = d->priv;
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    begin_iam(&x, "GetRolePolicy", r->name);
    ec2_add(&x, POLICY_NAME, "PolicyName");
    *out = DEPLOY_ABSENT;
    if (ec2_send(a->ec2, &x, e) < 0) {
        if (e->failure != CLOUD_NOT_FOUND)
            return -1;
        *e = (struct cloud_error){0};
        return 0;
    }
    *out = DEPLOY_SAME;
    if (!f)
        return 0;
    AUTO_JSON json_t *wanted = permissions(d, r, f, e);
    if (!wanted)
        return -1;
    if (!same_document(xml_text(x.root, "GetRolePolicyResult/PolicyDocument"), wanted))
        *out = DEPLOY_DIFFERS;
    return 0;
}

LAMBDA_STEP(lambda_policy_make)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    AUTO_JSON json_t *document = permissions(d, r, f, e);
    AUTO_MEM char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;

    begin_iam(&x, "PutRolePolicy", r->name);
    if (!text)
        return -1;
    ec2_add(&x, POLICY_NAME, "PolicyName");
    ec2_add(&x, text, "PolicyDocument");
    return change_iam(d, &x,
                      json_pack("{s:s, s:O}", "RoleName", r->name, "PolicyDocument", document), e);
}

LAMBDA_REMOVE(lambda_policy_remove)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;

    begin_iam(&x, "DeleteRolePolicy", r->name);
    ec2_add(&x, POLICY_NAME, "PolicyName");
    return forgive(change_iam(d, &x, json_pack("{s:s}", "RoleName", r->name), e), e);
}

static int list_roles(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e)
{
    struct lambda *a = d->priv;
    AUTO_MEM char *path = mem_printf("/tradewind/%s/", d->options.owner);
    char marker[1024] = "";

    for (int page = 0; page < PAGES_MAX; page++) {
        AUTO_CLEAR(ec2_call) struct ec2_call x;
        begin_iam(&x, "ListRoles", NULL);
        ec2_add(&x, path, "PathPrefix");
        if (*marker)
            ec2_add(&x, marker, "Marker");
        if (ec2_send(a->ec2, &x, e) < 0)
            return -1;
        for (const struct xml *i = xml_items(x.root, "ListRolesResult/Roles"); i; i = i->next) {
            const char *name = xml_text(i, "RoleName");
            struct deploy_resource role = deploy_resource_of(d, "role", name, "", "");
            struct deploy_resource policy = deploy_resource_of(d, "policy", name, "", "");
            if (visit(context, &role, &e->err) < 0 || visit(context, &policy, &e->err) < 0)
                return -1;
        }
        snprintf(marker, sizeof marker, "%s", xml_text(x.root, "ListRolesResult/Marker"));
        if (!*marker)
            return 0;
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_ACCOUNT, "ListRoles: the pages do not end");
}

/* ---- the group of its logs ---- */

/* body is taken. *out: the answer, a new reference, unless NULL. */
static int call_logs(
    struct deploy *d, const char *action, json_t *body, json_t **out, struct cloud_error *e)
{
    struct lambda *a = d->priv;
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    AUTO_JSON json_t *taken = body;
    AUTO_MEM char *text = json_dumps(body, JSON_COMPACT);
    AUTO_MEM char *target = mem_printf(LOGS_TARGET "%s", action);

    ec2_call_init(&x, action);
    x.service = "logs";
    x.target = target;
    x.json = text;
    int done = out ? ec2_send(a->ec2, &x, e) : lambda_change(d, &x, taken, e);
    if (done == 0 && out && !(*out = json_loads(x.body, 0, NULL)))
        return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s: the answer is no JSON", action);
    return done;
}

LAMBDA_LOOK(lambda_logs_look)
{
    AUTO_JSON json_t *answer = NULL;
    AUTO_MEM char *name = mem_printf("/aws/lambda/%s", r->name);
    const json_t *group;
    size_t i;

    *out = DEPLOY_ABSENT;
    if (call_logs(d, "DescribeLogGroups", json_pack("{s:s}", "logGroupNamePrefix", name), &answer,
                  e) < 0)
        return -1;
    json_array_foreach(json_object_get(answer, "logGroups"), i, group)
    {
        const char *found = json_string_value(json_object_get(group, "logGroupName"));
        if (!found || strcmp(found, name) != 0)
            continue;
        bool same = json_integer_value(json_object_get(group, "retentionInDays")) == LOGS_DAYS;
        *out = !f || same ? DEPLOY_SAME : DEPLOY_DIFFERS;
    }
    return 0;
}

LAMBDA_STEP(lambda_logs_make)
{
    json_t *body =
        json_pack("{s:o, s:{s:s, s:s}}", "logGroupName", json_sprintf("/aws/lambda/%s", r->name),
                  "tags", CLOUD_TAG_OWNER, d->options.owner, DEPLOY_TAG_TRAINING, f->deployment);

    return call_logs(d, "CreateLogGroup", body, NULL, e) < 0 ? -1 : lambda_logs_change(d, r, f, e);
}

LAMBDA_STEP(lambda_logs_change)
{
    (void)f;
    return call_logs(d, "PutRetentionPolicy",
                     json_pack("{s:o, s:i}", "logGroupName",
                               json_sprintf("/aws/lambda/%s", r->name), "retentionInDays",
                               LOGS_DAYS),
                     NULL, e);
}

LAMBDA_REMOVE(lambda_logs_remove)
{
    json_t *body = json_pack("{s:o}", "logGroupName", json_sprintf("/aws/lambda/%s", r->name));

    return forgive(call_logs(d, "DeleteLogGroup", body, NULL, e), e);
}

static int list_logs(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e)
{
    AUTO_JSON json_t *token = NULL;

    for (int page = 0; page < PAGES_MAX; page++) {
        AUTO_JSON json_t *answer = NULL;
        const json_t *group;
        size_t i;
        json_t *body = json_pack("{s:o}", "logGroupNamePrefix",
                                 json_sprintf("/aws/lambda/%s-", d->options.owner));
        if (token)
            json_object_set(body, "nextToken", token);
        if (call_logs(d, "DescribeLogGroups", body, &answer, e) < 0)
            return -1;
        json_array_foreach(json_object_get(answer, "logGroups"), i, group)
        {
            const char *name = json_string_value(json_object_get(group, "logGroupName"));
            struct deploy_resource r = deploy_resource_of(
                d, "log-group", name ? name + strlen("/aws/lambda/") : "", "", "");
            if (name && visit(context, &r, &e->err) < 0)
                return -1;
        }
        json_decref(token);
        token = json_incref(json_object_get(answer, "nextToken"));
        if (!json_is_string(token))
            return 0;
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "DescribeLogGroups: the pages do not end");
}

int lambda_role_list(struct deploy *d, deploy_visit *visit, void *context, struct cloud_error *e)
{
    return list_logs(d, visit, context, e) < 0 ? -1 : list_roles(d, visit, context, e);
}
