/* Sends one request to a bucket, with retries, and turns to other regions and credentials. All
 * other files of remote.h and its services send through it. */
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "net/retry.h"
#include "store/remote.h"

#include <assert.h>
#include <math.h>
#include <poll.h>
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
#define PIECE ((size_t)64 << 10)
#define QUERY_BYTES_MAX ((size_t)32 << 10)

void remote_answer_clear(struct remote_answer *a)
{
    http_answer_clear(&a->http);
    *a = (struct remote_answer){0};
}

int remote_prepare_http(struct remote *r, struct err *e)
{
    if (!r->http && !(r->http = http_new(r->store->settings.seed, e)))
        return -1;
    if (r->store->settings.may_be_exposed)
        http_allow_exposed(r->http);
    return 0;
}

/* ---- what services build requests of ---- */

static void remote_request_clear(struct remote_request *q)
{
    free(q->url);
    for (size_t i = 0; q->headers[i]; i++) {
        free(q->headers[i]);
        q->headers[i] = NULL;
    }
}

void remote_request_add(struct remote_request *q, char *header)
{
    size_t n = 0;

    while (q->headers[n])
        n++;
    assert(n < REMOTE_HEADERS_MAX);
    q->headers[n] = header;
}

char *remote_encode_query(const struct remote_call *c)
{
    struct buf b;

    buf_init(&b, QUERY_BYTES_MAX);
    for (size_t i = 0; i < c->n_query; i++) {
        AUTO_MEM char *name = sigv4_encode(c->query[i].name, false);
        AUTO_MEM char *value = sigv4_encode(c->query[i].value, false);
        buf_printf(&b, "%s%s=%s", i ? "&" : "", name, value);
    }
    char *text = mem_dup(buf_str(&b));
    buf_clear(&b);
    return text;
}

int remote_each_byte(const struct remote_call *c,
                     void (*add)(void *context, const void *bytes, size_t n),
                     void *context,
                     struct err *e)
{
    if (!c->pull) {
        add(context, c->body ? c->body : "", (size_t)c->body_bytes);
        return 0;
    }
    AUTO_MEM unsigned char *piece = mem_zero(PIECE, 1);
    for (uint64_t at = 0; at < c->body_bytes;) {
        uint64_t left = c->body_bytes - at;
        size_t n = left < PIECE ? (size_t)left : PIECE;
        if (c->pull(c->context, at, piece, n, e) < 0)
            return -1;
        add(context, piece, n);
        at += n;
    }
    return 0;
}

/* ---- one try ---- */

/* The bodies of one try. */
struct exchange {
    const struct remote_call *call;
    size_t got;
    bool pull_failed;
};

static int take(void *context, const void *bytes, size_t n, struct err *e)
{
    struct exchange *x = context;

    if (n > x->call->into_bytes - x->got)
        return err_set(e, ERR_IO, "key %s: the server sends more than was asked for", x->call->key);
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

static struct http_request plain_request(struct exchange *x, const struct remote_request *q)
{
    const struct remote_call *c = x->call;
    double bytes = (double)c->body_bytes + (double)c->into_bytes + (double)c->sink_bytes;

    return (struct http_request){
        .method = c->method,
        .url = q->url,
        .headers = (const char *const *)q->headers,
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

static int prepare(struct remote *r,
                   const struct remote_call *c,
                   struct remote_request *out,
                   struct err *e)
{
    pthread_mutex_lock(&r->lock);
    int result = remote_prepare_http(r, e);
    if (result == 0)
        result = r->service->prepare(r, c, out, e);
    pthread_mutex_unlock(&r->lock);
    return result;
}

static enum remote_verdict try_once(struct remote *r,
                                    const struct remote_call *c,
                                    struct remote_answer *out,
                                    struct err *e)
{
    AUTO_CLEAR(remote_request) struct remote_request prepared = {0};
    struct exchange x = {.call = c};

    if (store_allow(r->store, c->operation, c->key ? c->key : r->bucket, e) < 0 ||
        prepare(r, c, &prepared, e) < 0)
        return REMOTE_BAD;
    struct http_request request = plain_request(&x, &prepared);
    if (http_send(r->http, &request, &out->http, e) < 0)
        return e->kind == ERR_RETRY && !x.pull_failed && !(c->sink && x.got) ? REMOTE_WAIT
                                                                             : REMOTE_BAD;
    out->round = prepared.round;
    enum remote_verdict verdict = r->service->judge(r, c, out, e);
    if (verdict == REMOTE_GOOD && c->into && x.got != c->into_bytes) {
        err_set(e, ERR_IO, "%s/%s: %zu bytes came, %zu were asked for: it is too short", r->shown,
                c->key, x.got, c->into_bytes);
        return REMOTE_BAD;
    }
    return verdict;
}

/* ---- once more ---- */

/* What has been tried of one call. */
struct retries {
    double began_s;
    unsigned tries, turns;
};

static bool may_go_on(const struct remote_call *c, struct err *why)
{
    if (!c->go_on || c->go_on(c->context))
        return true;
    err_set(why, ERR_RETRY, "interrupted");
    return false;
}

/* Until then, unless the caller gives up. */
static bool wait_until(const struct remote_call *c, double until_s, struct err *why)
{
    for (;;) {
        double left = until_s - time_monotonic_s();
        if (!may_go_on(c, why))
            return false;
        if (left <= 0)
            return true;
        poll(NULL, 0, (int)ceil(fmin(left, 0.5) * 1e3));
    }
}

/* Whether to try once more after this verdict; waits until it is time. */
static bool once_more(struct remote *r,
                      const struct remote_call *c,
                      enum remote_verdict verdict,
                      const struct remote_answer *a,
                      struct retries *p,
                      struct err *why)
{
    double now_s = time_monotonic_s(), asked_s = retry_after_s(&a->http, time_epoch_ms());

    p->tries++;
    if (verdict == REMOTE_BAD)
        return false;
    /* Another region or new keys help at once, or not at all. */
    if (verdict == REMOTE_TURN)
        return p->turns++ == 0;
    if (c->is_single || !may_go_on(c, why))
        return false;
    if (p->tries >= TRIES || now_s + asked_s - p->began_s > RETRY_S) {
        err_wrap(why, "gave up after %u tries", p->tries);
        return false;
    }
    log_info("store", "%s; try %u of %d follows", why->text, p->tries + 1, TRIES);
    http_wait(r->http, p->tries + 1, FIRST_WAIT_S, MAX_WAIT_S);
    return wait_until(c, now_s + asked_s, why);
}

static int send_hashed(struct remote *r,
                       const struct remote_call *c,
                       struct remote_answer *out,
                       struct err *e)
{
    struct retries retries = {.began_s = time_monotonic_s()};
    struct err why = {0};

    *out = (struct remote_answer){0};
    bool more = may_go_on(c, &why);
    while (more) {
        remote_answer_clear(out);
        enum remote_verdict verdict = try_once(r, c, out, &why);
        out->tries = retries.tries + 1;
        if (verdict == REMOTE_GOOD)
            return 0;
        more = once_more(r, c, verdict, out, &retries, &why);
    }
    if (e)
        *e = why;
    return -1;
}

int remote_send(struct remote *r,
                const struct remote_call *c,
                struct remote_answer *out,
                struct err *e)
{
    struct remote_call hashed = *c;
    struct sha256_digest digest;

    if (r->service->is_hashed && !c->digest) {
        digest = sha256_of(c->body ? c->body : "", (size_t)c->body_bytes);
        hashed.digest = &digest;
    }
    return send_hashed(r, &hashed, out, e);
}
