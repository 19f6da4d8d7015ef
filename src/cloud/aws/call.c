/* Calls of EC2 and its neighbours: signed, sent, judged, and sent again where that may help. All
 * files of the room and of cloud/aws/function call them. */
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cloud/aws/internal.h"
#include "net/aws_post.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORM_MAX ((size_t)64 << 10)
#define ANSWER_MAX ((size_t)16 << 20)
#define ARENA_MAX ((size_t)128 << 20)
#define TIMEOUT_S 60.0
#define PAGES_MAX 1000
#define EC2_VERSION "2016-11-15"
/* Credentials that end sooner are replaced before a call. */
#define RENEW_MS ((int64_t)5 * 60 * 1000)
/* AWS refuses signatures that are five minutes old; less is no reason to correct our clock. */
#define SKEW_MS ((int64_t)4 * 60 * 1000)

/* ---- forms ---- */

void ec2_call_init(struct ec2_call *x, const char *action)
{
    *x = (struct ec2_call){.action = action};
    buf_init(&x->form, FORM_MAX);
}

void ec2_call_clear(struct ec2_call *x)
{
    buf_clear(&x->form);
    arena_free(x->arena);
    x->arena = NULL;
}

void ec2_add(struct ec2_call *x, const char *value, const char *name_fmt, ...)
{
    char name[128];
    va_list ap;

    va_start(ap, name_fmt);
    vsnprintf(name, sizeof name, name_fmt, ap);
    va_end(ap);
    aws_form_add(&x->form, name, value);
}

void ec2_add_filter(struct ec2_call *x, unsigned n, const char *name, const char *const *values)
{
    ec2_add(x, name, "Filter.%u.Name", n);
    for (unsigned i = 0; values[i]; i++)
        ec2_add(x, values[i], "Filter.%u.Value.%u", n, i + 1);
}

bool ec2_failed_with(const struct ec2_call *x, const char *code)
{
    return strcmp(x->code, code) == 0;
}

/* ---- credentials ---- */

static int find_credentials(struct ec2 *a, struct cloud_error *e)
{
    struct cloud_outside *outside = &a->cloud->options.outside;
    const struct credentials_sources sources = {
        .environment = cloud_variable, .context = outside, .home = cloud_variable(outside, "HOME")};
    struct credentials found = {0};
    struct err why = {0};

    if (credentials_find(&sources, &found, &why) < 0)
        return cloud_fail(e, CLOUD_AUTH, CLOUD_ACCOUNT, "%s", why.text);
    credentials_clear(&a->credentials);
    a->credentials = found;
    return 0;
}

int ec2_credentials(struct ec2 *a, struct cloud_error *e)
{
    const struct credentials *c = &a->credentials;

    if (c->key_id && (!c->expires_ms || cloud_now_ms(a->cloud) < c->expires_ms - RENEW_MS))
        return 0;
    return find_credentials(a, e);
}

/* ---- one try ---- */

static void write_form(const struct ec2_call *x, struct buf *out)
{
    buf_init(out, FORM_MAX + 200);
    aws_form_add(out, "Action", x->action);
    aws_form_add(out, "Version", x->version ? x->version : EC2_VERSION);
    if (x->form.len) {
        buf_puts(out, "&");
        buf_add(out, x->form.data, x->form.len);
    }
    out->full = out->full || x->form.full;
}

char *ec2_url(const struct ec2 *a, const struct ec2_call *x)
{
    AUTO_MEM char *endpoint =
        aws_endpoint(x->service ? x->service : "ec2", a->cloud->options.region, cloud_variable,
                     &a->cloud->options.outside);

    return mem_printf("%s%s", endpoint, x->path ? x->path : "");
}

static int post(struct ec2 *a, const struct ec2_call *x, struct http_answer *out, struct err *e)
{
    AUTO_MEM char *url = ec2_url(a, x);
    AUTO_CLEAR(aws_post_headers) struct aws_post_headers headers = {0};
    AUTO_CLEAR(buf) struct buf form;
    double timeout_s = x->timeout_s > 0 ? x->timeout_s : TIMEOUT_S;

    write_form(x, &form);
    if (form.full)
        return err_set(e, ERR_USAGE, "the request is larger than %zu bytes", FORM_MAX);
    const char *body = x->method ? x->payload ? x->payload : ""
                       : x->json ? x->json
                                 : buf_str(&form);
    const struct aws_post p = {
        .service = x->service ? x->service : "ec2",
        .region = x->signed_region ? x->signed_region : a->cloud->options.region,
        .url = url,
        .target = x->target,
        .body = body,
        .method = x->method,
        .content_type = x->method ? x->content_type ? x->content_type : "" : NULL};
    if (aws_post_sign(&p, &a->credentials, (cloud_now_ms(a->cloud) + a->skew_ms) / 1000, &headers,
                      e) < 0)
        return -1;
    const struct http_request r = {.method = x->method ? x->method : "POST",
                                   .url = url,
                                   .headers = (const char *const *)headers.items,
                                   .body = body,
                                   .body_bytes = strlen(body),
                                   /* A refusal of the second would hide the first. */
                                   .is_once = strcmp(x->action, "RunInstances") == 0,
                                   .max_answer_bytes = ANSWER_MAX,
                                   .timeout_s = timeout_s,
                                   .stall_s = timeout_s};
    return cloud_transmit(a->cloud, &a->http, &r, out, e);
}

/* No answer: nothing is known, unless the request was never sent. */
static int unanswered(const struct ec2_call *x, const struct err *why, struct cloud_error *e)
{
    bool is_young;

    if (why->kind == ERR_USAGE)
        return cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "%s: %s", x->action, why->text);
    ec2_judge(x, 0, "", why->text, e, &is_young);
    return -1;
}

/* {"__type": "com.amazon...#AccessDeniedException", "Message": "..."}; Lambda has the code in a
 * header, "ResourceNotFoundException:http://...". */
static void read_json_error(
    const struct http_answer *answer, char *code, size_t room, char *message, size_t most)
{
    AUTO_JSON json_t *root = json_loads(answer->body, 0, NULL);
    const char *header = http_answer_header(answer, "x-amzn-errortype");
    const char *type = json_string_value(json_object_get(root, "__type"));
    const char *text = json_string_value(json_object_get(root, "message"));
    const char *hash = type ? strrchr(type, '#') : NULL;

    if (!text)
        text = json_string_value(json_object_get(root, "Message"));
    if (!type && header)
        snprintf(code, room, "%.*s", (int)strcspn(header, ":"), header);
    else
        snprintf(code, room, "%s", hash ? hash + 1 : type ? type : "");
    snprintf(message, most, "%s", text ? text : "");
}

/* EC2 has Response/Errors/Error, STS and IAM have ErrorResponse/Error, under any status; S3's root
 * is the Error itself. */
static const struct xml *find_error(const struct xml *root)
{
    const struct xml *error = xml_at(root, "Errors/Error");

    if (!error)
        error = xml_at(root, "Error");
    return !error && root && strcmp(root->name, "Error") == 0 ? root : error;
}

/* What an answer says; its failure with code and message. */
static int read_answer(struct ec2_call *x, const struct http_answer *answer, struct cloud_error *e)
{
    char message[600];
    struct err why = {0};
    bool is_good = answer->status >= 200 && answer->status < 300;
    bool is_json = x->target || (x->method && strcmp(x->service, "s3") != 0);

    arena_free(x->arena);
    x->arena = arena_new(ARENA_MAX);
    x->code[0] = '\0';
    x->root = NULL;
    snprintf(message, sizeof message, "HTTP status %d", answer->status);
    x->body = arena_dup_n(x->arena, answer->body, answer->body_bytes);
    /* S3 answers changes with nothing. */
    if (is_good && (x->target || (x->method && !answer->body_bytes)))
        return 0;
    if (is_good && is_json) {
        AUTO_JSON json_t *root = json_loads(answer->body, 0, NULL);
        if (root)
            return 0;
        snprintf(message, sizeof message, "the answer is no JSON");
    } else if (is_json) {
        read_json_error(answer, x->code, sizeof x->code, message, sizeof message);
    } else {
        x->root = xml_tree(x->arena, answer->body, answer->body_bytes, &why);
        const struct xml *error = find_error(x->root);
        if (x->root && !error && is_good)
            return 0;
        snprintf(x->code, sizeof x->code, "%s", xml_text(error, "Code"));
        if (error)
            snprintf(message, sizeof message, "%s", xml_text(error, "Message"));
        else if (is_good)
            snprintf(message, sizeof message, "the answer cannot be read: %s", why.text);
    }
    ec2_judge(x, answer->status, x->code, message, e, &x->is_young);
    return -1;
}

/* Whether AWS's clock and ours differ by more than signatures allow; corrects it. */
static bool correct_clock(struct ec2 *a, const struct http_answer *answer)
{
    const char *date = http_answer_header(answer, "date");
    int64_t theirs_ms = date ? time_from_http(date) : 0;
    int64_t skew_ms = theirs_ms - cloud_now_ms(a->cloud);

    if (!theirs_ms || llabs(skew_ms - a->skew_ms) < SKEW_MS)
        return false;
    log_warn("cloud", "the clock of this machine differs from that of AWS by %lld s",
             (long long)(skew_ms / 1000));
    a->skew_ms = skew_ms;
    return true;
}

/* Whether there are other credentials by now: files and services are read again. */
static bool renew(struct ec2 *a, const struct ec2_call *x)
{
    AUTO_MEM char *before = mem_dup(a->credentials.key_id ? a->credentials.key_id : "");
    struct cloud_error why = {0};
    bool has_expired =
        strncmp(x->code, "ExpiredToken", 12) == 0 || strcmp(x->code, "RequestExpired") == 0;

    if (!has_expired || find_credentials(a, &why) < 0 || !a->credentials.key_id)
        return false;
    return strcmp(before, a->credentials.key_id) != 0;
}

/* *mended: the failure was one of clock or credentials, which are others now. */
static int try_once(struct ec2 *a, struct ec2_call *x, bool *mended, struct cloud_error *e)
{
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    struct err why = {0};

    *e = (struct cloud_error){0};
    *mended = false;
    x->is_young = false;
    if (ec2_credentials(a, e) < 0)
        return -1;
    if (post(a, x, &answer, &why) < 0) {
        x->code[0] = '\0';
        unanswered(x, &why, e);
    } else if (read_answer(x, &answer, e) == 0) {
        return 0;
    } else {
        e->retry_after_s = cloud_retry_after_s(http_answer_header(&answer, "retry-after"),
                                               cloud_now_ms(a->cloud) + a->skew_ms);
        if (e->failure == CLOUD_AUTH)
            *mended = correct_clock(a, &answer) || renew(a, x);
    }
    x->is_open = x->is_open || e->failure == CLOUD_UNKNOWN;
    return -1;
}

int ec2_send(struct ec2 *a, struct ec2_call *x, struct cloud_error *e)
{
    bool mended, was_mended = false;

    x->is_open = false;
    for (unsigned n = 1;; n++) {
        if (try_once(a, x, &mended, e) == 0) {
            cloud_retry_well(&a->retry, n);
            return 0;
        }
        if (mended && !was_mended) {
            was_mended = true;
            continue;
        }
        if (x->is_young || !cloud_retry_again(a->cloud, &a->retry, n, e))
            return -1;
        log_info("cloud", "%s; trying again", e->err.text);
    }
}

/* ---- lists ---- */

int ec2_each(struct ec2 *a,
             struct ec2_call *x,
             const char *path,
             int (*visit)(void *context, const struct xml *item, struct cloud_error *e),
             void *context,
             struct cloud_error *e)
{
    size_t filters = x->form.len;
    char token[2048] = "";

    for (unsigned page = 0; page < PAGES_MAX; page++) {
        if (ec2_send(a, x, e) < 0)
            return -1;
        for (const struct xml *i = xml_items(x->root, path); i; i = i->next)
            if (visit(context, i, e) < 0)
                return -1;
        const char *next = xml_text(x->root, "nextToken");
        if (!*next)
            return 0;
        if (strcmp(next, token) == 0 || strlen(next) >= sizeof token)
            break;
        snprintf(token, sizeof token, "%s", next);
        x->form.len = filters;
        ec2_add(x, token, "NextToken");
    }
    return cloud_fail(e, CLOUD_TRANSIENT, CLOUD_REGION, "%s: the pages of the list do not end",
                      x->action);
}
