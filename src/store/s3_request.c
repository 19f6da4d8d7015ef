/* Sends one signed request to S3, with retries, regions and expiring keys. All other s3 files
 * send through it. */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 6
#define FIRST_WAIT_S 0.25
#define MAX_WAIT_S 5.0
/* After this long no further try is begun: six slow ones could take half an hour. */
#define RETRY_S 300.0
/* One try: the answer's beginning, and the bytes at a rate below which a link is useless. */
#define TIMEOUT_S 60.0
#define SLOWEST_BYTES_PER_S 65536.0
#define ANSWER_BYTES_MAX ((size_t)16 << 20)
/* Keys are looked for again this long before they run out, but not more often than once in
 * LOOK_AGAIN_MS: the metadata service may still hand out the old ones. */
#define RENEW_MS INT64_C(300000)
#define LOOK_AGAIN_MS INT64_C(30000)
/* host, content hash, date, token, and what a call adds */
#define HEADERS_MAX 12

void s3_answer_clear(struct s3_answer *a)
{
    http_answer_clear(&a->http);
    *a = (struct s3_answer){0};
}

/* ---- keys and region; all with the lock held ---- */

static bool keys_are_fresh(const struct s3 *s)
{
    int64_t now_ms = time_epoch_ms();

    if (!s->credentials.key_id)
        return false;
    return s->credentials.expires_ms == 0 || now_ms < s->credentials.expires_ms - RENEW_MS ||
           (s->looked_ms <= now_ms && now_ms < s->looked_ms + LOOK_AGAIN_MS);
}

static int look_for_keys(struct s3 *s, struct err *e)
{
    struct credentials found = {0};

    if (credentials_find(&(struct credentials_sources){0}, &found, e) < 0)
        return err_wrap(e, "bucket %s", s->bucket);
    credentials_clear(&s->credentials);
    s->credentials = found;
    s->looked_ms = time_epoch_ms();
    return 0;
}

static int prepare(struct s3 *s, struct err *e)
{
    const char *wanted = s->store->settings.region;

    if (!s->http && !(s->http = http_new(s->store->settings.seed, e)))
        return -1;
    if (s->store->settings.may_be_exposed)
        http_allow_exposed(s->http);
    if (!keys_are_fresh(s) && look_for_keys(s, e) < 0)
        return -1;
    if (s->region)
        return 0;
    if (!wanted)
        wanted = s->credentials.region ? s->credentials.region : "us-east-1";
    s->region = mem_dup(wanted);
    return 0;
}

int s3_region(struct s3 *s, char **out, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    int result = prepare(s, e);
    if (result == 0)
        *out = mem_dup(s->region);
    pthread_mutex_unlock(&s->lock);
    return result;
}

static void forget_keys(struct s3 *s)
{
    pthread_mutex_lock(&s->lock);
    credentials_clear(&s->credentials);
    pthread_mutex_unlock(&s->lock);
}

/* ---- one request ---- */

struct signed_request {
    char *url;
    char *headers[HEADERS_MAX + 1];
};

static void signed_request_clear(struct signed_request *r)
{
    free(r->url);
    for (size_t i = 0; r->headers[i]; i++) {
        free(r->headers[i]);
        r->headers[i] = NULL;
    }
}

static char *encode_query(const struct s3_call *c)
{
    struct buf b;

    buf_init(&b, 16384);
    for (size_t i = 0; i < c->n_query; i++) {
        AUTO_MEM char *name = sigv4_encode(c->query[i].name, false);
        AUTO_MEM char *value = sigv4_encode(c->query[i].value, false);
        buf_printf(&b, "%s%s=%s", i ? "&" : "", name, value);
    }
    char *text = mem_dup(buf_str(&b));
    buf_clear(&b);
    return text;
}

static void payload_of(const struct s3_call *c, char out[static SHA256_HEX])
{
    struct sha256_digest digest =
        c->digest ? *c->digest : sha256_of(c->body ? c->body : "", (size_t)c->body_bytes);

    sha256_text(&digest, out);
}

/* host, the content's hash, then the call's own. */
static size_t list_headers(const struct s3_call *c,
                           const char *host,
                           const char *payload,
                           struct sigv4_pair out[static HEADERS_MAX])
{
    size_t n = 0;

    out[n++] = (struct sigv4_pair){"host", host};
    if (payload)
        out[n++] = (struct sigv4_pair){"x-amz-content-sha256", payload};
    for (size_t i = 0; i < c->n_headers; i++)
        out[n++] = c->headers[i];
    return n;
}

static struct sigv4_scope scope_of(const struct s3 *s)
{
    return (struct sigv4_scope){
        .credentials = &s->credentials,
        .region = s->region,
        .service = "s3",
        .epoch_s = time_epoch_ms() / 1000,
    };
}

static int sign_locked(struct s3 *s,
                       const struct s3_call *c,
                       const char *payload,
                       struct signed_request *out,
                       struct err *e)
{
    AUTO_CLEAR(s3_target) struct s3_target target = {0};
    AUTO_CLEAR(sigv4_signature) struct sigv4_signature signature = {0};
    struct sigv4_pair headers[HEADERS_MAX];
    size_t n = 0;

    if (prepare(s, e) < 0)
        return -1;
    s3_target_init(&target, s, s->region, c->key);
    AUTO_MEM char *query = encode_query(c);
    size_t n_headers = list_headers(c, target.host, payload, headers);
    struct sigv4_request request = {c->method, target.path, query, headers, n_headers, payload};
    struct sigv4_scope scope = scope_of(s);
    if (sigv4_sign(&request, &scope, &signature, e) < 0)
        return -1;
    out->url =
        mem_printf("%s://%s%s%s%s", s->scheme, target.host, target.path, *query ? "?" : "", query);
    for (; n < n_headers; n++)
        out->headers[n] = mem_printf("%s: %s", headers[n].name, headers[n].value);
    out->headers[n++] = mem_printf("x-amz-date: %s", signature.date);
    out->headers[n++] = mem_printf("Authorization: %s", signature.authorization);
    if (s->credentials.token.hidden)
        out->headers[n++] = mem_printf("x-amz-security-token: %s", s->credentials.token.hidden);
    return 0;
}

/* The bodies of one try. */
struct exchange {
    const struct s3_call *call;
    size_t got;
    bool pull_failed;
};

static int take(void *context, const void *bytes, size_t n, struct err *e)
{
    struct exchange *x = context;

    if (n > x->call->into_bytes - x->got)
        return err_set(e, ERR_IO, "s3 key %s: the server sends more than was asked for",
                       x->call->key);
    memcpy((char *)x->call->into + x->got, bytes, n);
    x->got += n;
    return 0;
}

static int pour(void *context, const void *bytes, size_t n, struct err *e)
{
    struct exchange *x = context;

    x->got += n;
    return x->call->sink(x->call->context, bytes, n, e);
}

static int give(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    struct exchange *x = context;

    x->pull_failed = x->call->pull(x->call->context, offset, bytes, n, e) < 0;
    return x->pull_failed ? -1 : 0;
}

static struct http_request plain_request(struct exchange *x, const struct signed_request *r)
{
    const struct s3_call *c = x->call;
    double bytes = (double)c->body_bytes + (double)c->into_bytes + (double)c->sink_bytes;

    return (struct http_request){
        .method = c->method,
        .url = r->url,
        .headers = (const char *const *)r->headers,
        .body = c->body,
        .body_bytes = c->body_bytes,
        .pull = c->pull ? give : NULL,
        .sink = c->into   ? take
                : c->sink ? pour
                          : NULL,
        .context = x,
        .max_answer_bytes = ANSWER_BYTES_MAX,
        .timeout_s = TIMEOUT_S + c->stall_s + bytes / SLOWEST_BYTES_PER_S,
        .stall_s = c->stall_s,
    };
}

static void move_to(struct s3 *s, char *region)
{
    log_info("store", "bucket %s lies in region %s", s->bucket, region);
    pthread_mutex_lock(&s->lock);
    free(s->region);
    s->region = region;
    pthread_mutex_unlock(&s->lock);
}

/* What has been tried of one call. */
struct retries {
    double began_s;
    unsigned tries, turns;
};

static enum s3_verdict try_once(struct s3 *s,
                                const struct s3_call *c,
                                const char *payload,
                                struct s3_answer *out,
                                struct err *e)
{
    AUTO_CLEAR(signed_request) struct signed_request signed_request = {0};
    struct exchange x = {.call = c};
    AUTO_MEM char *region = NULL;

    if (store_allow(s->store, c->operation, c->key ? c->key : s->bucket, e) < 0)
        return S3_BAD;
    pthread_mutex_lock(&s->lock);
    int prepared = sign_locked(s, c, payload, &signed_request, e);
    struct http *http = s->http;
    pthread_mutex_unlock(&s->lock);
    if (prepared < 0)
        return S3_BAD;

    struct http_request request = plain_request(&x, &signed_request);
    if (http_send(http, &request, &out->http, e) < 0)
        return e->kind == ERR_RETRY && !x.pull_failed && !(c->sink && x.got) ? S3_WAIT : S3_BAD;
    enum s3_verdict verdict = s3_judge(s, c, out, &region, e);
    if (verdict == S3_REGION)
        move_to(s, TAKE(region));
    if (verdict == S3_KEYS)
        forget_keys(s);
    if (verdict == S3_GOOD && c->into && x.got != c->into_bytes) {
        err_set(e, ERR_IO, "s3://%s/%s: %zu bytes came, %zu were asked for: it is too short",
                s->bucket, c->key, x.got, c->into_bytes);
        return S3_BAD;
    }
    return verdict;
}

static bool may_go_on(const struct s3_call *c, struct err *why)
{
    if (!c->go_on || c->go_on(c->context))
        return true;
    err_set(why, ERR_RETRY, "interrupted");
    return false;
}

/* Whether to try once more after this verdict; waits until it is time. */
static bool once_more(struct s3 *s,
                      const struct s3_call *c,
                      enum s3_verdict verdict,
                      struct retries *p,
                      struct err *why)
{
    p->tries++;
    if (verdict == S3_BAD)
        return false;
    /* Another region or new keys help at once, or not at all. */
    if (verdict == S3_REGION || verdict == S3_KEYS)
        return p->turns++ == 0;
    if (!may_go_on(c, why))
        return false;
    if (p->tries >= TRIES || time_monotonic_s() - p->began_s > RETRY_S) {
        err_wrap(why, "gave up after %u tries", p->tries);
        return false;
    }
    log_info("store", "%s; try %u of %d follows", why->text, p->tries + 1, TRIES);
    http_wait(s->http, p->tries + 1, FIRST_WAIT_S, MAX_WAIT_S);
    return may_go_on(c, why);
}

int s3_send(struct s3 *s, const struct s3_call *c, struct s3_answer *out, struct err *e)
{
    struct retries retries = {.began_s = time_monotonic_s()};
    char payload[SHA256_HEX];
    struct err why = {0};

    *out = (struct s3_answer){0};
    payload_of(c, payload);
    bool more = may_go_on(c, &why);
    while (more) {
        s3_answer_clear(out);
        enum s3_verdict verdict = try_once(s, c, payload, out, &why);
        out->tries = retries.tries + 1;
        if (verdict == S3_GOOD)
            return 0;
        more = once_more(s, c, verdict, &retries, &why);
    }
    if (e)
        *e = why;
    return -1;
}

int s3_presign(struct s3 *s, const struct s3_call *c, unsigned expires_s, char **out, struct err *e)
{
    AUTO_CLEAR(s3_target) struct s3_target target = {0};
    AUTO_CLEAR(sigv4_signature) struct sigv4_signature signature = {0};
    struct sigv4_pair headers[HEADERS_MAX];

    pthread_mutex_lock(&s->lock);
    int result = prepare(s, e);
    if (result == 0) {
        s3_target_init(&target, s, s->region, c->key);
        struct sigv4_request request = {
            .method = c->method,
            .path = target.path,
            .headers = headers,
            .n_headers = list_headers(c, target.host, NULL, headers),
            .payload = "UNSIGNED-PAYLOAD",
        };
        struct sigv4_scope scope = scope_of(s);
        result = sigv4_presign(&request, &scope, expires_s, &signature, e);
    }
    pthread_mutex_unlock(&s->lock);
    if (result == 0)
        *out = mem_printf("%s://%s%s?%s", s->scheme, target.host, target.path, signature.query);
    return result;
}
