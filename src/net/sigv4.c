#include "net/sigv4.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"

#include <assert.h>
#include <ctype.h>
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

/* ---- the canonical form of a request, which both sides of a signature compute alike ---- */

/* isalnum without the locale. */
static bool is_unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

static void put_encoded(struct buf *out, char c)
{
    static const char digits[] = "0123456789ABCDEF";
    unsigned char byte = (unsigned char)c;

    if (is_unreserved(c))
        buf_add(out, &c, 1);
    else
        buf_add(out, (char[]){'%', digits[byte >> 4], digits[byte & 15]}, 3);
}

char *sigv4_encode(const char *text, bool keep_slash)
{
    struct buf out;

    buf_init(&out, 3 * strlen(text));
    buf_puts(&out, "");
    for (; *text; text++) {
        if (keep_slash && *text == '/')
            buf_add(&out, text, 1);
        else
            put_encoded(&out, *text);
    }
    return out.data;
}

char *sigv4_decode(const char *text)
{
    char *copy = mem_dup(text), *to = copy;

    for (const char *c = copy; *c; c++, to++) {
        int high = *c == '%' ? number_hex(c[1]) : -1, low = high >= 0 ? number_hex(c[2]) : -1;
        *to = *c == '+' ? ' ' : *c;
        if (low >= 0) {
            *to = (char)(high << 4 | low);
            c += 2;
        }
    }
    *to = '\0';
    return copy;
}

/* New string: "/a/./b//../c" is "/a/c"; a slash at the end stays. */
static char *resolve_dots(const char *path)
{
    size_t len = strlen(path), n = 0;
    char *out = mem_zero(len + 3, 1);

    for (const char *p = path; *p;) {
        size_t k = strcspn(p, "/");
        if (k == 2 && p[0] == '.' && p[1] == '.') {
            while (n > 0 && out[--n] != '/')
                ;
        } else if (k > 0 && !(k == 1 && *p == '.')) {
            out[n++] = '/';
            memcpy(out + n, p, k);
            n += k;
        }
        p += k;
        p += *p == '/';
    }
    if (n == 0 || path[len - 1] == '/')
        out[n++] = '/';
    out[n] = '\0';
    return out;
}

/* as_it_is: S3. Otherwise "." ".." and "//" are resolved unless keep, and all is encoded again. */
static void canonical_path(struct buf *out, const char *path, bool as_it_is, bool keep)
{
    if (!*path)
        path = "/";
    if (as_it_is) {
        buf_puts(out, path);
        return;
    }
    AUTO_MEM char *resolved = keep ? mem_dup(path) : resolve_dots(path);
    AUTO_MEM char *encoded = sigv4_encode(resolved, true);
    buf_puts(out, encoded);
}

/* New string: encoded as we encode, whatever was encoded before and how. Byte by byte, so that %00
 * is nothing special. */
static char *encoded_anew(const char *text, size_t n)
{
    struct buf out;

    buf_init(&out, 3 * n);
    buf_puts(&out, "");
    for (size_t i = 0; i < n; i++) {
        int high = i + 2 < n && text[i] == '%' ? number_hex(text[i + 1]) : -1;
        int low = high >= 0 ? number_hex(text[i + 2]) : -1;
        if (low < 0) {
            put_encoded(&out, text[i]);
            continue;
        }
        put_encoded(&out, (char)(high << 4 | low));
        i += 2;
    }
    return out.data;
}

struct parameter {
    char *name, *value;
};

static int compare_parameters(const void *left, const void *right)
{
    const struct parameter *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order ? order : strcmp(a->value, b->value);
}

/* Parameters sorted by encoded name, then value; one without a value gets "=". */
static void canonical_query(struct buf *out, const char *query)
{
    AUTO_MEM struct parameter *all = NULL;
    size_t n = 0, cap = 0;

    for (const char *p = query ? query : ""; *p;) {
        size_t len = strcspn(p, "&");
        if (len) {
            const char *equals = memchr(p, '=', len);
            size_t name_len = equals ? (size_t)(equals - p) : len;
            all = mem_room(all, n, &cap, sizeof *all);
            all[n].name = encoded_anew(p, name_len);
            all[n++].value =
                equals ? encoded_anew(equals + 1, len - name_len - 1) : encoded_anew("", 0);
        }
        p += len;
        p += *p == '&';
    }
    if (n)
        qsort(all, n, sizeof *all, compare_parameters);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s%s=%s", i ? "&" : "", all[i].name, all[i].value);
        free(all[i].name);
        free(all[i].value);
    }
}

struct header {
    char *name; /* lower case */
    const char *value;
    size_t at; /* qsort is not stable */
};

static int compare_headers(const void *left, const void *right)
{
    const struct header *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static void put_value(struct buf *out, const char *value)
{
    bool begun = false;

    for (const char *p = value; *p;) {
        while (isspace((unsigned char)*p))
            p++;
        const char *word = p;
        while (*p && !isspace((unsigned char)*p))
            p++;
        if (p == word)
            return;
        if (begun)
            buf_add(out, " ", 1);
        buf_add(out, word, (size_t)(p - word));
        begun = true;
    }
}

/* One line a name in lower case, sorted; values of a repeated one in their order, joined by ','.
 * White space around a value goes, inside it becomes one space. names_out: "host;x-amz-date". */
static void canonical_headers(struct buf *out,
                              struct buf *names_out,
                              const struct sigv4_pair *headers,
                              size_t n)
{
    AUTO_MEM struct header *all = mem_zero(n, sizeof *all);

    for (size_t i = 0; i < n; i++) {
        all[i] = (struct header){mem_dup(headers[i].name), headers[i].value, i};
        for (char *c = all[i].name; *c; c++)
            *c = (char)tolower((unsigned char)*c);
    }
    qsort(all, n, sizeof *all, compare_headers);
    for (size_t i = 0; i < n; i++) {
        bool repeated = i > 0 && strcmp(all[i].name, all[i - 1].name) == 0;
        if (repeated)
            buf_puts(out, ",");
        else
            buf_printf(out, "%s%s:", i ? "\n" : "", all[i].name);
        put_value(out, all[i].value);
        if (!repeated)
            buf_printf(names_out, "%s%s", i ? ";" : "", all[i].name);
    }
    buf_puts(out, "\n");
    for (size_t i = 0; i < n; i++)
        free(all[i].name);
}

/* ---- signatures ---- */

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

static bool has_header(const struct sigv4_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (strcasecmp(r->headers[i].name, name) == 0)
            return true;
    }
    return false;
}

static int check(const struct sigv4_request *r, const struct sigv4_scope *s, struct err *e)
{
    assert(s->credentials && s->region && s->service && r->method && r->path && r->payload);
    if (!s->credentials->key_id || !s->credentials->secret.hidden)
        return err_set(e, ERR_DENIED, "sign a request: there are no keys");
    if (!has_header(r, "host"))
        return err_set(e, ERR_USAGE, "sign a request: header host is missing");
    return 0;
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
