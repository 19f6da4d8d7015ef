/* That a bucket may start a function, and does for new inputs. function.c lists both. Other
 * notifications of the bucket stay as they are. */
#include "base/mem.h"
#include "cloud/aws/function.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STATEMENT "tradewind-bucket"
/* What workers write; means and leases start nothing. */
#define SUFFIX ".safetensors"
#define CONFIGURATION_MAX ((size_t)1 << 20)

static int absent(enum deploy_found *out, struct cloud_error *e)
{
    if (e->failure != CLOUD_NOT_FOUND)
        return -1;
    *e = (struct cloud_error){0};
    *out = DEPLOY_ABSENT;
    return 0;
}

/* ---- the permission ---- */

/* The value of a condition, whatever the operator ("ArnLike") and the case of the key. */
static const char *condition(const json_t *statement, const char *wanted)
{
    const char *operator, * key;
    json_t *keys, *value;

    json_object_foreach(json_object_get(statement, "Condition"), operator, keys)
    {
        json_object_foreach(keys, key, value)
        {
            if (strcasecmp(key, wanted) == 0 && json_is_string(value))
                return json_string_value(value);
        }
    }
    return "";
}

static const json_t *find_statement(const json_t *policy)
{
    const json_t *s;
    size_t i;

    json_array_foreach(json_object_get(policy, "Statement"), i, s)
    {
        const char *sid = json_string_value(json_object_get(s, "Sid"));
        if (sid && strcmp(sid, STATEMENT) == 0)
            return s;
    }
    return NULL;
}

LAMBDA_LOOK(lambda_permission_look)
{
    AUTO_JSON json_t *answer = NULL;
    AUTO_MEM char *path = mem_printf("functions/%s/policy", r->name);
    AUTO_MEM char *bucket = mem_printf("arn:aws:s3:::%s", r->parent);
    const struct lambda_rest call = {"GetPolicy", "GET", path, NULL, NULL, 0};

    if (lambda_call(d, &call, &answer, e) < 0)
        return absent(out, e);
    const char *text = json_string_value(json_object_get(answer, "Policy"));
    AUTO_JSON json_t *policy = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *s = find_statement(policy);
    *out = DEPLOY_ABSENT;
    if (!s)
        return 0;
    bool is_of_bucket = strcmp(condition(s, "aws:SourceArn"), bucket) == 0;
    if (!f) {
        /* It went with its function, or is of another bucket by now. */
        *out = is_of_bucket ? DEPLOY_SAME : DEPLOY_ABSENT;
        return 0;
    }
    const char *account = lambda_account(d, e);
    if (!account)
        return -1;
    *out = is_of_bucket && strcmp(condition(s, "aws:SourceAccount"), account) == 0 ? DEPLOY_SAME
                                                                                   : DEPLOY_DIFFERS;
    return 0;
}

LAMBDA_STEP(lambda_permission_make)
{
    const char *account = lambda_account(d, e);
    AUTO_MEM char *path = mem_printf("functions/%s/policy", r->name);

    (void)f;
    if (!account)
        return -1;
    AUTO_JSON json_t *body =
        json_pack("{s:s, s:s, s:s, s:o, s:s}", "StatementId", STATEMENT, "Action",
                  "lambda:InvokeFunction", "Principal", "s3.amazonaws.com", "SourceArn",
                  json_sprintf("arn:aws:s3:::%s", r->parent), "SourceAccount", account);
    const struct lambda_rest call = {"AddPermission", "POST", path, body, NULL, 0};
    return lambda_call(d, &call, NULL, e);
}

LAMBDA_REMOVE(lambda_permission_remove)
{
    AUTO_MEM char *path = mem_printf("functions/%s/policy/" STATEMENT, r->name);
    const struct lambda_rest call = {"RemovePermission", "DELETE", path, NULL, NULL, 0};
    enum deploy_found gone;

    return lambda_call(d, &call, NULL, e) == 0 ? 0 : absent(&gone, e);
}

LAMBDA_STEP(lambda_permission_change)
{
    return lambda_permission_remove(d, r, e) < 0 ? -1 : lambda_permission_make(d, r, f, e);
}

/* ---- the notification ---- */

static void begin_s3(struct ec2_call *x, const char *action, const char *method, const char *path)
{
    ec2_call_init(x, action);
    x->service = "s3";
    x->method = method;
    x->path = path;
}

/* The bucket's configuration, in x. */
static int get(struct deploy *d, const char *path, struct ec2_call *x, struct cloud_error *e)
{
    struct lambda *a = d->priv;

    begin_s3(x, "GetBucketNotification", "GET", path);
    if (ec2_send(a->ec2, x, e) < 0)
        return -1;
    return x->root ? 0 : cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s: no answer", x->action);
}

static bool is_of(const struct xml *item, const char *name)
{
    return strcmp(item->name, "CloudFunctionConfiguration") == 0 ||
                   strcmp(item->name, "LambdaFunctionConfiguration") == 0
               ? strcmp(xml_text(item, "Id"), name) == 0
               : false;
}

static const struct xml *find(const struct xml *root, const char *name)
{
    for (const struct xml *i = root->first; i; i = i->next)
        if (is_of(i, name))
            return i;
    return NULL;
}

static char *function_arn(struct deploy *d, const char *name, struct cloud_error *e)
{
    const char *account = lambda_account(d, e);

    return account
               ? mem_printf("arn:aws:lambda:%s:%s:function:%s", d->options.region, account, name)
               : NULL;
}

static const char *rule(const struct xml *item, const char *name)
{
    for (const struct xml *i = xml_items(item, "Filter/S3Key"); i; i = i->next)
        if (strcasecmp(xml_text(i, "Name"), name) == 0)
            return xml_text(i, "Value");
    return "";
}

LAMBDA_LOOK(lambda_notification_look)
{
    AUTO_CLEAR(ec2_call) struct ec2_call x;
    AUTO_MEM char *path = mem_printf("%s?notification", r->parent);

    if (get(d, path, &x, e) < 0) {
        if (f && e->failure == CLOUD_NOT_FOUND)
            return cloud_fail(e, CLOUD_INVALID, CLOUD_REGION,
                              "there is no bucket %s; create it in %s", r->parent,
                              d->options.region);
        return absent(out, e);
    }
    const struct xml *item = find(x.root, r->name);
    *out = item ? DEPLOY_SAME : DEPLOY_ABSENT;
    if (!item || !f)
        return 0;
    AUTO_MEM char *arn = function_arn(d, r->name, e);
    if (!arn)
        return -1;
    const char *found = xml_text(item, "CloudFunction");
    if (strcmp(found, arn) != 0 || strcmp(xml_text(item, "Event"), "s3:ObjectCreated:*") != 0 ||
        strcmp(rule(item, "prefix"), f->in.prefix) != 0 ||
        strcmp(rule(item, "suffix"), SUFFIX) != 0)
        *out = DEPLOY_DIFFERS;
    return 0;
}

static void put(struct buf *b, const struct xml *x)
{
    buf_printf(b, "<%s>", x->name);
    if (x->first)
        for (const struct xml *i = x->first; i; i = i->next)
            put(b, i);
    else
        xml_put(b, x->text ? x->text : "");
    buf_printf(b, "</%s>", x->name);
}

static void put_text(struct buf *b, const char *name, const char *text)
{
    const struct xml x = {.name = name, .text = text};

    put(b, &x);
}

static void put_rule(struct buf *b, const char *name, const char *value)
{
    if (!*value)
        return;
    buf_puts(b, "<FilterRule>");
    put_text(b, "Name", name);
    put_text(b, "Value", value);
    buf_puts(b, "</FilterRule>");
}

static void put_ours(struct buf *b, const char *name, const char *arn, const char *prefix)
{
    buf_puts(b, "<CloudFunctionConfiguration>");
    put_text(b, "Id", name);
    put_text(b, "Event", "s3:ObjectCreated:*");
    buf_puts(b, "<Filter><S3Key>");
    put_rule(b, "prefix", prefix);
    put_rule(b, "suffix", SUFFIX);
    buf_puts(b, "</S3Key></Filter>");
    put_text(b, "CloudFunction", arn);
    buf_puts(b, "</CloudFunctionConfiguration>");
}

/* The whole configuration again: the others' entries, and ours unless f is NULL. S3 has no way to
 * change a part of it, nor to tell that somebody else did. */
static int replace(struct deploy *d,
                   const struct deploy_resource *r,
                   const struct deploy_function *f,
                   struct cloud_error *e)
{
    AUTO_CLEAR(ec2_call) struct ec2_call found = {0}, x;
    AUTO_CLEAR(buf) struct buf body;
    AUTO_MEM char *path = mem_printf("%s?notification", r->parent);
    AUTO_MEM char *arn = f ? function_arn(d, r->name, e) : NULL;

    begin_s3(&x, "PutBucketNotification", "PUT", path);
    buf_init(&body, CONFIGURATION_MAX);
    if ((f && !arn) || get(d, path, &found, e) < 0)
        return -1;
    buf_puts(&body,
             "<NotificationConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (const struct xml *i = found.root->first; i; i = i->next)
        if (!is_of(i, r->name))
            put(&body, i);
    if (f)
        put_ours(&body, r->name, arn, f->in.prefix);
    buf_puts(&body, "</NotificationConfiguration>");
    if (body.full)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_REGION, "the notifications of %s are too many",
                          r->parent);
    x.payload = buf_str(&body);
    x.content_type = "application/xml";
    AUTO_JSON json_t *shown = json_string(x.payload);
    return lambda_change(d, &x, shown, e);
}

LAMBDA_STEP(lambda_notification_make)
{
    return replace(d, r, f, e);
}

LAMBDA_REMOVE(lambda_notification_remove)
{
    enum deploy_found gone;

    return replace(d, r, NULL, e) == 0 ? 0 : absent(&gone, e);
}
