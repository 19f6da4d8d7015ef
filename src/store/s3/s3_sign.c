/* Signs requests to S3 and makes signed URLs, with keys that are looked for again before they run
 * out. The driver lists the functions; s3_error.c tells what changed. */
#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "store/s3/s3.h"

#include <stdlib.h>
#include <string.h>

/* Keys are looked for again this long before they run out, but not more often than once in
 * LOOK_AGAIN_MS: the metadata service may still hand out the old ones. */
#define RENEW_MS INT64_C(300000)
#define LOOK_AGAIN_MS INT64_C(30000)

/* ---- keys and region; all with the lock held ---- */

static bool keys_are_fresh(const struct s3 *s)
{
    int64_t now_ms = time_epoch_ms();

    if (!s->credentials.key_id)
        return false;
    return s->credentials.expires_ms == 0 || now_ms < s->credentials.expires_ms - RENEW_MS ||
           (s->looked_ms <= now_ms && now_ms < s->looked_ms + LOOK_AGAIN_MS);
}

static int look_for_keys(const struct remote *r, struct s3 *s, struct err *e)
{
    struct credentials found = {0};

    if (credentials_find(&(struct credentials_sources){0}, &found, e) < 0)
        return err_wrap(e, "bucket %s", r->bucket);
    credentials_clear(&s->credentials);
    s->credentials = found;
    s->looked_ms = time_epoch_ms();
    return 0;
}

static int prepare_keys(struct remote *r, struct s3 *s, struct err *e)
{
    const char *wanted = r->store->settings.region;

    if (!keys_are_fresh(s) && look_for_keys(r, s, e) < 0)
        return -1;
    if (s->region)
        return 0;
    if (!wanted)
        wanted = s->credentials.region ? s->credentials.region : "us-east-1";
    s->region = mem_dup(wanted);
    return 0;
}

int s3_region(struct remote *r, char **out, struct err *e)
{
    struct s3 *s = r->own;

    pthread_mutex_lock(&r->lock);
    int result = prepare_keys(r, s, e);
    if (result == 0)
        *out = mem_dup(s->region);
    pthread_mutex_unlock(&r->lock);
    return result;
}

void s3_forget_keys(struct remote *r)
{
    struct s3 *s = r->own;

    pthread_mutex_lock(&r->lock);
    credentials_clear(&s->credentials);
    pthread_mutex_unlock(&r->lock);
}

void s3_move_to(struct remote *r, const char *region)
{
    struct s3 *s = r->own;

    log_info("store", "bucket %s lies in region %s", r->bucket, region);
    pthread_mutex_lock(&r->lock);
    free(s->region);
    s->region = mem_dup(region);
    pthread_mutex_unlock(&r->lock);
}

/* ---- requests ---- */

/* host, the content's hash, then the call's own. */
static size_t list_headers(const struct remote_call *c,
                           const char *host,
                           const char *payload,
                           struct sigv4_pair out[static REMOTE_HEADERS_MAX])
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

int s3_prepare(struct remote *r,
               const struct remote_call *c,
               struct remote_request *out,
               struct err *e)
{
    struct s3 *s = r->own;
    AUTO_CLEAR(s3_target) struct s3_target target = {0};
    AUTO_CLEAR(sigv4_signature) struct sigv4_signature signature = {0};
    struct sigv4_pair headers[REMOTE_HEADERS_MAX];
    char payload[SHA256_HEX];

    if (prepare_keys(r, s, e) < 0)
        return -1;
    sha256_text(c->digest, payload);
    s3_target_init(&target, r, s->region, c->key);
    AUTO_MEM char *query = remote_encode_query(c);
    size_t n_headers = list_headers(c, target.host, payload, headers);
    struct sigv4_request request = {c->method, target.path, query, headers, n_headers, payload};
    struct sigv4_scope scope = scope_of(s);
    if (sigv4_sign(&request, &scope, &signature, e) < 0)
        return -1;
    out->url =
        mem_printf("%s://%s%s%s%s", r->scheme, target.host, target.path, *query ? "?" : "", query);
    for (size_t i = 0; i < n_headers; i++)
        remote_request_add(out, mem_printf("%s: %s", headers[i].name, headers[i].value));
    remote_request_add(out, mem_printf("x-amz-date: %s", signature.date));
    remote_request_add(out, mem_printf("Authorization: %s", signature.authorization));
    if (s->credentials.token.hidden)
        remote_request_add(out,
                           mem_printf("x-amz-security-token: %s", s->credentials.token.hidden));
    return 0;
}

int s3_presign(
    struct remote *r, const struct remote_call *c, unsigned expires_s, char **out, struct err *e)
{
    struct s3 *s = r->own;
    AUTO_CLEAR(s3_target) struct s3_target target = {0};
    AUTO_CLEAR(sigv4_signature) struct sigv4_signature signature = {0};
    struct sigv4_pair headers[REMOTE_HEADERS_MAX];

    pthread_mutex_lock(&r->lock);
    int result = remote_prepare_http(r, e) < 0 ? -1 : prepare_keys(r, s, e);
    if (result == 0) {
        s3_target_init(&target, r, s->region, c->key);
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
    pthread_mutex_unlock(&r->lock);
    if (result == 0)
        *out = mem_printf("%s://%s%s?%s", r->scheme, target.host, target.path, signature.query);
    return result;
}
