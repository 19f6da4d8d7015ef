/* EC2's spot prices and zones: signed calls, answered in XML. aws.c and `market import` call it. */
#include "base/mem.h"
#include "base/time.h"
#include "catalog/feed/internal.h"
#include "net/aws_post.h"
#include "net/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACTION_VERSION "2016-11-15"
#define FORM_MAX_BYTES ((size_t)1 << 20)
#define ANSWER_MAX_BYTES ((size_t)16 << 20)
#define NAME_BYTES 64
#define MESSAGE_BYTES 200
/* Keys are looked for again this long before they run out. */
#define RENEW_MS INT64_C(300000)
#define ZONES_MAX 1000

/* ---- credentials ---- */

int feed_credentials(struct feed *f, struct err *e)
{
    int64_t expires_ms = f->credentials.expires_ms;
    struct credentials found = {0};

    if (f->credentials.key_id && (!expires_ms || time_epoch_ms() < expires_ms - RENEW_MS))
        return 0;
    if (credentials_find(&(struct credentials_sources){0}, &found, e) < 0)
        return -1;
    credentials_clear(&f->credentials);
    f->credentials = found;
    return 0;
}

int feed_account_region(struct feed *f, const char **region_out, struct err *e)
{
    if (feed_credentials(f, e) < 0)
        return -1;
    *region_out = f->credentials.region;
    return 0;
}

/* ---- errors ---- */

struct failure {
    char code[NAME_BYTES], message[MESSAGE_BYTES];
};

static int read_failure(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct failure *t = context;

    (void)e;
    if (strcmp(parent, "Error") != 0)
        return 0;
    if (strcmp(name, "Code") == 0)
        snprintf(t->code, sizeof t->code, "%.*s", NAME_BYTES - 1, text);
    else if (strcmp(name, "Message") == 0)
        snprintf(t->message, sizeof t->message, "%.*s", MESSAGE_BYTES - 1, text);
    return 0;
}

static bool one_of(const char *code, const char *const *codes)
{
    for (; *codes; codes++)
        if (strcmp(code, *codes) == 0)
            return true;
    return false;
}

/* The codes of EC2 that matter to calls which only read. */
static const char *const throttled[] = {
    "RequestLimitExceeded",  "Throttling", "ThrottlingException", "RequestThrottled",
    "EC2ThrottledException", NULL,
};
static const char *const transient[] = {
    "InternalError", "InternalFailure", "ServerInternal", "ServiceUnavailable", "Unavailable", NULL,
};
static const char *const denied[] = {
    "AuthFailure",
    "InvalidClientTokenId",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
    "ExpiredToken",
    "ExpiredTokenException",
    "MissingAuthenticationToken",
    "UnauthorizedOperation",
    "AccessDenied",
    "OptInRequired",
    "Blocked",
    "PendingVerification",
    NULL,
};
static const char *const skewed[] = {"RequestExpired", "RequestTimeTooSkewed",
                                     "SignatureDoesNotMatch", NULL};

/* One call on its way: signed anew for each try. */
struct call {
    struct feed *feed;
    const char *region, *action;
    const struct buf *form;
    struct aws_post_headers headers;
};

static void call_clear(struct call *c)
{
    aws_post_headers_clear(&c->headers);
}

static enum retry_verdict judge(void *context,
                                const struct http_request *r,
                                const struct http_answer *a,
                                struct err *e)
{
    const struct call *c = context;
    struct failure t = {0};
    struct err why = {0};
    const char *date = http_answer_header(a, "date");
    int64_t there_ms = date ? time_from_http(date) : 0;

    /* What is no XML has no code: proxies answer in HTML. */
    int read = xml_read(a->body, a->body_bytes, read_failure, &t, &why);
    enum retry_verdict verdict = retry_judge(r, a, e);
    if (verdict == RETRY_GOOD && read < 0) {
        err_set(e, why.kind, "%s in %s: %s", c->action, c->region, why.text);
        return RETRY_AT_ONCE; /* it was cut on its way */
    }
    if (verdict == RETRY_GOOD || !*t.code)
        return verdict;
    enum err_kind kind = e->kind;
    if (one_of(t.code, throttled) || one_of(t.code, transient))
        kind = ERR_RETRY;
    else if (one_of(t.code, denied) || one_of(t.code, skewed))
        kind = ERR_DENIED;
    err_set(e, kind, "%s in %s: %s%s%s", c->action, c->region, t.code, *t.message ? ": " : "",
            t.message);
    if (one_of(t.code, throttled))
        return RETRY_THROTTLE;
    if (one_of(t.code, skewed) && there_ms) {
        c->feed->clock_ms = there_ms - time_epoch_ms();
        return RETRY_AT_ONCE;
    }
    return kind == ERR_RETRY ? RETRY_AGAIN : RETRY_BAD;
}

static int sign(void *context, unsigned n, struct http_request *r, struct err *e)
{
    struct call *c = context;
    const struct aws_post post = {
        .service = "ec2", .region = c->region, .url = r->url, .body = buf_str(c->form)};

    (void)n;
    if (feed_credentials(c->feed, e) < 0)
        return -1;
    aws_post_headers_clear(&c->headers);
    if (aws_post_sign(&post, &c->feed->credentials, (time_epoch_ms() + c->feed->clock_ms) / 1000,
                      &c->headers, e) < 0)
        return -1;
    r->headers = (const char *const *)c->headers.items;
    return 0;
}

/* Sends the form to EC2 in a region. */
static int call_ec2(struct feed *f,
                    const char *region,
                    const char *action,
                    const struct buf *form,
                    struct http_answer *out,
                    struct err *e)
{
    AUTO_CLEAR(call) struct call c = {f, region, action, form, {{NULL}}};
    AUTO_MEM char *own = aws_endpoint("ec2", region, NULL, NULL);
    AUTO_MEM char *address = feed_address(f->settings.aws_ec2, own);
    AUTO_MEM char *url = mem_printf("%s/", address);
    const struct http_request request = {
        .method = "POST",
        .url = url,
        .body = form->data,
        .body_bytes = form->len,
        .max_answer_bytes = ANSWER_MAX_BYTES,
    };
    const struct retry how = {.judge = judge, .prepare = sign, .context = &c};

    if (form->full)
        return err_set(e, ERR_USAGE, "%s: too many instance types", action);
    return feed_call(f, &request, action, &how, out, e);
}

static void begin_form(struct buf *form, const char *action)
{
    buf_init(form, FORM_MAX_BYTES);
    aws_form_add(form, "Action", action);
    aws_form_add(form, "Version", ACTION_VERSION);
}

/* ---- zones ---- */

void feed_zones_clear(struct feed_zones *z)
{
    for (size_t i = 0; i < z->n; i++) {
        free(z->zones[i].name);
        free(z->zones[i].id);
    }
    free(z->zones);
    *z = (struct feed_zones){0};
}

struct reading_zones {
    struct feed_zones *zones;
    char name[NAME_BYTES], id[NAME_BYTES];
};

static int read_zone(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct reading_zones *r = context;
    struct feed_zones *z = r->zones;

    if (strcmp(parent, "item") == 0 && strcmp(name, "zoneName") == 0)
        snprintf(r->name, sizeof r->name, "%.*s", NAME_BYTES - 1, text);
    else if (strcmp(parent, "item") == 0 && strcmp(name, "zoneId") == 0)
        snprintf(r->id, sizeof r->id, "%.*s", NAME_BYTES - 1, text);
    if (strcmp(parent, "availabilityZoneInfo") != 0 || strcmp(name, "item") != 0)
        return 0;
    if (z->n == ZONES_MAX)
        return err_set(e, ERR_IO, "more than %d zones", ZONES_MAX);
    if (*r->name && *r->id) {
        z->zones = mem_room(z->zones, z->n, &z->cap, sizeof *z->zones);
        z->zones[z->n].name = mem_dup(r->name);
        z->zones[z->n++].id = mem_dup(r->id);
    }
    *r->name = *r->id = '\0';
    return 0;
}

int feed_zones_get(struct feed *f, const char *region, struct feed_zones *out, struct err *e)
{
    static const char action[] = "DescribeAvailabilityZones";
    AUTO_CLEAR(buf) struct buf form = {0};
    AUTO_CLEAR(http_answer) struct http_answer answer = {0};
    struct reading_zones reading = {.zones = out};

    begin_form(&form, action);
    if (call_ec2(f, region, action, &form, &answer, e) < 0)
        return -1;
    if (xml_read(answer.body, answer.body_bytes, read_zone, &reading, e) < 0)
        return err_wrap(e, "%s in %s", action, region);
    return out->n ? 0 : err_set(e, ERR_IO, "%s in %s: no zone is in the answer", action, region);
}

/* ---- spot prices ---- */

enum { SPOT_ZONE, SPOT_TYPE, SPOT_PRODUCT, SPOT_PRICE, SPOT_TIME, SPOT_N };
static const char *const spot_names[SPOT_N] = {[SPOT_ZONE] = "availabilityZone",
                                               [SPOT_TYPE] = "instanceType",
                                               [SPOT_PRODUCT] = "productDescription",
                                               [SPOT_PRICE] = "spotPrice",
                                               [SPOT_TIME] = "timestamp"};

struct reading_spot {
    int (*each)(void *context, const struct feed_spot_price *p, struct err *e);
    void *context;
    char texts[SPOT_N][NAME_BYTES];
    bool is_history;
    char *token;
};

static int read_spot(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct reading_spot *r = context;

    if (strcmp(parent, "item") == 0) {
        for (size_t i = 0; i < SPOT_N; i++)
            if (strcmp(name, spot_names[i]) == 0)
                snprintf(r->texts[i], NAME_BYTES, "%.*s", NAME_BYTES - 1, text);
    } else if (strcmp(parent, "DescribeSpotPriceHistoryResponse") == 0) {
        r->is_history |= strcmp(name, "spotPriceHistorySet") == 0;
        if (strcmp(name, "nextToken") == 0 && *text && !r->token)
            r->token = mem_dup(text);
    } else if (strcmp(parent, "spotPriceHistorySet") == 0 && strcmp(name, "item") == 0) {
        const struct feed_spot_price price = {r->texts[SPOT_ZONE], r->texts[SPOT_TYPE],
                                              r->texts[SPOT_PRODUCT], r->texts[SPOT_PRICE],
                                              r->texts[SPOT_TIME]};
        int result = r->each(r->context, &price, e);
        memset(r->texts, 0, sizeof r->texts);
        return result;
    }
    return 0;
}

int feed_spot_page(const char *bytes,
                   size_t n,
                   int (*each)(void *context, const struct feed_spot_price *p, struct err *e),
                   void *context,
                   char **token_out,
                   struct err *e)
{
    struct reading_spot r = {.each = each, .context = context};

    *token_out = NULL;
    if (xml_read(bytes, n, read_spot, &r, e) < 0 ||
        (!r.is_history && err_set(e, ERR_IO, "the answer is no spot price history") < 0)) {
        free(r.token);
        return -1;
    }
    *token_out = r.token;
    return 0;
}

static void put_query(struct buf *form, const struct feed_spot_query *q, const char *token)
{
    char time[32];

    begin_form(form, "DescribeSpotPriceHistory");
    for (size_t i = 0; i < q->n_types; i++) {
        AUTO_MEM char *name = mem_printf("InstanceType.%zu", i + 1);
        aws_form_add(form, name, q->types[i]);
    }
    aws_form_add(form, "ProductDescription.1", "Linux/UNIX");
    aws_form_add(form, "StartTime", time_iso(q->from_s * 1000, time));
    aws_form_add(form, "EndTime", time_iso(q->to_s * 1000, time));
    aws_form_add(form, "MaxResults", "1000");
    if (token)
        aws_form_add(form, "NextToken", token);
}

int feed_spot(struct feed *f,
              const struct feed_spot_query *q,
              int (*each)(void *context, const struct feed_spot_price *p, struct err *e),
              void *context,
              struct err *e)
{
    static const char action[] = "DescribeSpotPriceHistory";
    AUTO_CLEAR(feed_pages) struct feed_pages pages = {0};
    AUTO_MEM char *name = mem_printf("%s in %s", action, q->region);
    AUTO_MEM char *token = NULL;

    do {
        AUTO_CLEAR(buf) struct buf form = {0};
        AUTO_CLEAR(http_answer) struct http_answer answer = {0};
        put_query(&form, q, token);
        if (feed_pages_add(&pages, name, token ? token : "", e) < 0 ||
            call_ec2(f, q->region, action, &form, &answer, e) < 0)
            return -1;
        free(TAKE(token));
        if (feed_spot_page(answer.body, answer.body_bytes, each, context, &token, e) < 0)
            return err_wrap(e, "%s", name);
        feed_status(f, "spot prices of %s: %zu pages", q->region, pages.n);
    } while (token);
    return 0;
}
