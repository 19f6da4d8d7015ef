#include "cloud/rest.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "cloud/driver.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX ((size_t)16 << 20)
#define TIMEOUT_S 60.0
#define HTTP_UNAUTHORIZED 401

void cloud_rest_call_clear(struct cloud_rest_call *x)
{
    http_answer_clear(&x->answer);
    json_decref(x->root);
    json_decref(x->body);
    free(x->url);
    x->root = x->body = NULL;
    x->url = NULL;
}

void cloud_rest_init(struct cloud_rest *r,
                     struct cloud *c,
                     int (*find)(const struct credentials_sources *sources,
                                 struct token_login *out,
                                 struct err *e),
                     const char *scope)
{
    struct cloud_outside *outside = &c->options.outside;

    r->cloud = c;
    r->sources = (struct credentials_sources){
        .environment = cloud_variable, .context = outside, .home = cloud_variable(outside, "HOME")};
    r->tokens = (struct token_cache){.find = find, .sources = &r->sources, .scope = scope};
}

void cloud_rest_clear(struct cloud_rest *r)
{
    token_cache_clear(&r->tokens);
    http_free(r->http);
    r->http = NULL;
}

struct http *cloud_rest_http(struct cloud_rest *r, struct err *e)
{
    if (!r->http)
        r->http = http_new(r->cloud->options.seed, e);
    return r->http;
}

/* ---- tokens ---- */

/* The issuer's answer, or what its file lacks: without a token nothing was asked of the cloud. */
static int no_token(const struct err *why, struct cloud_error *e)
{
    bool may_pass = why->kind == ERR_RETRY || why->kind == ERR_IO;

    return cloud_fail(e, may_pass ? CLOUD_TRANSIENT : CLOUD_AUTH, CLOUD_ACCOUNT, "%s", why->text);
}

int cloud_rest_login(struct cloud_rest *r, struct cloud_error *e)
{
    struct err why = {0};

    return token_cache_find(&r->tokens, &why) < 0 ? no_token(&why, e) : 0;
}

/* ---- one try ---- */

static int transmit(struct cloud_rest *r,
                    struct cloud_rest_call *x,
                    const char *bearer,
                    struct err *e)
{
    AUTO_MEM char *body = x->body ? json_dumps(x->body, JSON_COMPACT) : NULL;
    char *header = mem_printf("Authorization: Bearer %s", bearer);
    const char *const headers[] = {header, "Accept: application/json",
                                   body ? "Content-Type: application/json" : NULL, NULL};
    const struct http_request request = {.method = x->method,
                                         .url = x->url,
                                         .headers = headers,
                                         .body = body ? body : "",
                                         .body_bytes = body ? strlen(body) : 0,
                                         /* A refusal of the second would hide the first. */
                                         .is_once = strcmp(x->method, "POST") == 0,
                                         .max_answer_bytes = ANSWER_MAX,
                                         .timeout_s = TIMEOUT_S,
                                         .stall_s = TIMEOUT_S};
    int sent = cloud_transmit(r->cloud, &r->http, &request, &x->answer, e);

    OPENSSL_cleanse(header, strlen(header));
    free(header);
    return sent;
}

/* Clouds' times are of their clock. */
static void note_clock(struct cloud_rest *r, const struct http_answer *answer)
{
    const char *date = http_answer_header(answer, "date");
    int64_t theirs_ms = date ? time_from_http(date) : 0;

    if (theirs_ms)
        r->skew_ms = theirs_ms - cloud_now_ms(r->cloud);
}

static int try_once(struct cloud_rest *r, struct cloud_rest_call *x, struct cloud_error *e)
{
    const char *bearer = NULL, *unread = NULL;
    struct err why = {0};

    *e = (struct cloud_error){0};
    http_answer_clear(&x->answer);
    json_decref(x->root);
    x->root = NULL;
    x->code[0] = '\0';
    x->status = 0;
    if (!cloud_rest_http(r, &why) || token_cache_get(&r->tokens, r->http, &bearer, &why) < 0)
        return no_token(&why, e);
    if (transmit(r, x, bearer, &why) < 0)
        return why.kind == ERR_USAGE
                   ? cloud_fail(e, CLOUD_INVALID, CLOUD_ACCOUNT, "%s: %s", x->name, why.text)
                   : r->judge(x, why.text, e);
    note_clock(r, &x->answer);
    x->status = x->answer.status;
    x->root = json_loadb(x->answer.body, x->answer.body_bytes, 0, NULL);
    if (x->answer.body_bytes && !json_is_object(x->root))
        unread = "the answer is no JSON";
    return r->judge(x, unread, e);
}

int cloud_rest_send(struct cloud_rest *r, struct cloud_rest_call *x, struct cloud_error *e)
{
    bool was_refused = false;

    x->is_open = false;
    for (unsigned n = 1;; n++) {
        if (try_once(r, x, e) == 0) {
            cloud_retry_well(&r->retry, n);
            return 0;
        }
        x->is_open = x->is_open || e->failure == CLOUD_UNKNOWN;
        e->retry_after_s = cloud_retry_after_s(http_answer_header(&x->answer, "retry-after"),
                                               cloud_now_ms(r->cloud) + r->skew_ms);
        if (x->status == HTTP_UNAUTHORIZED && !was_refused) {
            was_refused = true;
            token_cache_refuse(&r->tokens, r->tokens.round);
            continue;
        }
        if (!cloud_retry_again(r->cloud, &r->retry, n, e))
            return -1;
        log_info("cloud", "%s; trying again", e->err.text);
    }
}
