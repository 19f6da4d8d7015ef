#include "net/sigv4.h"

#include "base/buf.h"
#include "base/mem.h"
#include "net/canonical.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define REQUEST_BYTES_MAX ((size_t)1 << 20)
#define EXPIRES_MAX_S 604800u /* a week, Amazon's limit */

static const char algorithm[] = "AWS4-HMAC-SHA256";

void sigv4_signature_clear(struct sigv4_signature *s)
{
    free(s->canonical_request);
    free(s->string_to_sign);
    free(s->signature);
    free(s->authorization);
    free(s->query);
    *s = (struct sigv4_signature){0};
}

static int put_date(int64_t epoch_s, char out[static 24], struct err *e)
{
    time_t seconds = (time_t)epoch_s;
    struct tm utc;

    if (epoch_s < 0 || !gmtime_r(&seconds, &utc) || utc.tm_year > 9999 - 1900 ||
        strftime(out, 24, "%Y%m%dT%H%M%SZ", &utc) == 0)
        return err_set(e, ERR_USAGE, "sign a request: %lld s is not a date", (long long)epoch_s);
    return 0;
}

static struct sha256_digest hmac(const void *key, size_t key_len, const char *text)
{
    struct sha256_digest d;
    unsigned char *good = HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text,
                               strlen(text), d.bytes, NULL);

    assert(good);
    return d;
}

/* The key of this day, region and service. The caller wipes it. */
static struct sha256_digest signing_key(const struct sigv4_scope *s, const char *day)
{
    char *first = mem_printf("AWS4%s", s->credentials->secret.hidden);
    size_t len = strlen(first);
    const char *rest[] = {s->region, s->service, "aws4_request"};

    struct sha256_digest key = hmac(first, len, day);
    OPENSSL_cleanse(first, len);
    free(first);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        key = hmac(key.bytes, sizeof key.bytes, rest[i]);
    return key;
}

static void sign_text(const struct sigv4_scope *s,
                      const char *date,
                      const char *text,
                      char out[static SHA256_HEX])
{
    char day[9];

    memcpy(day, date, 8);
    day[8] = '\0';
    struct sha256_digest key = signing_key(s, day);
    struct sha256_digest signature = hmac(key.bytes, sizeof key.bytes, text);
    OPENSSL_cleanse(&key, sizeof key);
    sha256_text(&signature, out);
}

/* "20130524/us-east-1/s3/aws4_request", new string. */
static char *scope_text(const struct sigv4_scope *s, const char *date)
{
    return mem_printf("%.8s/%s/%s/aws4_request", date, s->region, s->service);
}

static int check(const struct sigv4_request *r, const struct sigv4_scope *s, struct err *e)
{
    assert(s->credentials && s->region && s->service && r->method && r->path && r->payload);
    if (!s->credentials->key_id || !s->credentials->secret.hidden)
        return err_set(e, ERR_DENIED, "sign a request: there are no keys");
    for (size_t i = 0; i < r->n_headers; i++) {
        if (strcasecmp(r->headers[i].name, "host") == 0)
            return 0;
    }
    return err_set(e, ERR_USAGE, "sign a request: header host is missing");
}

static int too_large(struct err *e)
{
    return err_set(e, ERR_USAGE, "sign a request: larger than %zu bytes", REQUEST_BYTES_MAX);
}

/* All that is signed: the request with the headers and the query of this form. */
static int sign(const struct sigv4_request *r,
                const struct sigv4_scope *s,
                struct buf *names_out,
                struct sigv4_signature *out,
                struct err *e)
{
    struct buf text;
    char digest[SHA256_HEX], signature[SHA256_HEX];

    buf_init(&text, REQUEST_BYTES_MAX);
    buf_printf(&text, "%s\n", r->method);
    canonical_path(&text, r->path, strcmp(s->service, "s3") == 0, s->keep_path);
    buf_puts(&text, "\n");
    canonical_query(&text, r->query);
    buf_puts(&text, "\n");
    canonical_headers(&text, names_out, r->headers, r->n_headers);
    buf_printf(&text, "\n%s\n%s", buf_str(names_out), r->payload);
    if (text.full || names_out->full) {
        buf_clear(&text);
        return too_large(e);
    }
    struct sha256_digest hash = sha256_of(text.data, text.len);
    AUTO_MEM char *scope = scope_text(s, out->date);
    out->canonical_request = TAKE(text.data);
    out->string_to_sign =
        mem_printf("%s\n%s\n%s\n%s", algorithm, out->date, scope, sha256_text(&hash, digest));
    sign_text(s, out->date, out->string_to_sign, signature);
    out->signature = mem_dup(signature);
    return 0;
}

static bool has_header(const struct sigv4_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (strcasecmp(r->headers[i].name, name) == 0)
            return true;
    }
    return false;
}

int sigv4_sign(const struct sigv4_request *request,
               const struct sigv4_scope *scope,
               struct sigv4_signature *out,
               struct err *e)
{
    struct sigv4_request r = *request;
    struct buf names;
    const char *token = scope->credentials->token.hidden;

    *out = (struct sigv4_signature){0};
    if (check(request, scope, e) < 0 || put_date(scope->epoch_s, out->date, e) < 0)
        return -1;
    AUTO_MEM struct sigv4_pair *headers = mem_zero(r.n_headers + 2, sizeof *headers);
    memcpy(headers, r.headers, r.n_headers * sizeof *headers);
    if (!has_header(request, "x-amz-date"))
        headers[r.n_headers++] = (struct sigv4_pair){"x-amz-date", out->date};
    if (token && !scope->token_late && !has_header(request, "x-amz-security-token"))
        headers[r.n_headers++] = (struct sigv4_pair){"x-amz-security-token", token};
    r.headers = headers;
    buf_init(&names, REQUEST_BYTES_MAX);
    int result = sign(&r, scope, &names, out, e);
    if (result == 0) {
        AUTO_MEM char *place = scope_text(scope, out->date);
        out->authorization =
            mem_printf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s", algorithm,
                       scope->credentials->key_id, place, buf_str(&names), out->signature);
    }
    buf_clear(&names);
    return result;
}

/* "&name=value", the value encoded; without '&' at the beginning. */
static void put_parameter(struct buf *query, const char *name, const char *value)
{
    AUTO_MEM char *encoded = sigv4_encode(value, false);

    buf_printf(query, "%s%s=%s", query->len ? "&" : "", name, encoded);
}

/* What is signed of the query. */
static void put_query(struct buf *query,
                      const struct sigv4_request *r,
                      const struct sigv4_scope *s,
                      const char *date,
                      unsigned expires_s)
{
    AUTO_MEM char *scope = scope_text(s, date);
    AUTO_MEM char *credential = mem_printf("%s/%s", s->credentials->key_id, scope);
    AUTO_MEM char *expires = mem_printf("%u", expires_s);
    struct buf lines, names;

    buf_init(&lines, REQUEST_BYTES_MAX);
    buf_init(&names, REQUEST_BYTES_MAX);
    canonical_headers(&lines, &names, r->headers, r->n_headers);
    if (r->query)
        buf_puts(query, r->query);
    put_parameter(query, "X-Amz-Algorithm", algorithm);
    put_parameter(query, "X-Amz-Credential", credential);
    put_parameter(query, "X-Amz-Date", date);
    put_parameter(query, "X-Amz-Expires", expires);
    put_parameter(query, "X-Amz-SignedHeaders", buf_str(&names));
    if (s->credentials->token.hidden && !s->token_late)
        put_parameter(query, "X-Amz-Security-Token", s->credentials->token.hidden);
    query->full |= names.full;
    buf_clear(&lines);
    buf_clear(&names);
}

int sigv4_presign(const struct sigv4_request *request,
                  const struct sigv4_scope *scope,
                  unsigned expires_s,
                  struct sigv4_signature *out,
                  struct err *e)
{
    struct sigv4_request r = *request;
    struct buf query, names;

    *out = (struct sigv4_signature){0};
    if (expires_s < 1 || expires_s > EXPIRES_MAX_S)
        return err_set(e, ERR_USAGE, "a signed URL lasts from 1 s to 7 days, not %u s", expires_s);
    if (check(request, scope, e) < 0 || put_date(scope->epoch_s, out->date, e) < 0)
        return -1;
    buf_init(&query, REQUEST_BYTES_MAX);
    buf_init(&names, REQUEST_BYTES_MAX);
    put_query(&query, request, scope, out->date, expires_s);
    r.query = buf_str(&query);
    int result = query.full ? too_large(e) : sign(&r, scope, &names, out, e);
    if (result == 0) {
        if (scope->credentials->token.hidden && scope->token_late)
            put_parameter(&query, "X-Amz-Security-Token", scope->credentials->token.hidden);
        put_parameter(&query, "X-Amz-Signature", out->signature);
        if (query.full)
            result = too_large(e);
        else
            out->query = TAKE(query.data);
    }
    buf_clear(&query);
    buf_clear(&names);
    if (result < 0)
        sigv4_signature_clear(out);
    return result;
}
