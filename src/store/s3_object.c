/* Single requests on an object of S3: put, head, get, delete, and the probe of a new store. The
 * other s3 files call it. */
#include "base/mem.h"
#include "store/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE 64
static const struct sigv4_pair if_absent = {"if-none-match", "*"};

bool s3_conditions_refused(struct s3 *s, const struct s3_answer *a)
{
    if (a->http.status != 501 || s->unconditional)
        return false;
    s->unconditional = true;
    return true;
}

static int verify_earlier(struct s3 *s, const char *key, uint64_t size, struct err *e)
{
    uint64_t there = 0;

    if (s3_head(s, key, &there, e) < 0)
        return -1;
    if (there != size)
        return err_set(e, ERR_IO,
                       "s3://%s/%s exists with %" PRIu64 " bytes, and %" PRIu64
                       " should be written",
                       s->bucket, key, there, size);
    return 0;
}

int s3_put_once(struct s3 *s, const char *key, const struct s3_call *c, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct s3_call put = *c;

    put.operation = "write";
    put.method = "PUT";
    put.key = key;
    put.headers = &if_absent;
    put.n_headers = s->unconditional ? 0 : 1;
    int result = s3_send(s, &put, &answer, e);
    if (result < 0 && s3_conditions_refused(s, &answer)) {
        put.n_headers = 0;
        s3_answer_clear(&answer);
        result = s3_send(s, &put, &answer, e);
    }
    if (result < 0 && answer.http.status == 412)
        return verify_earlier(s, key, put.body_bytes, e);
    return result;
}

int s3_head(struct s3 *s, const char *key, uint64_t *size_out, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct s3_call head = {.operation = "read", .method = "HEAD", .key = key};

    if (s3_send(s, &head, &answer, e) < 0)
        return -1;
    const char *length = http_answer_header(&answer.http, "content-length");
    char *end = NULL;
    errno = 0;
    unsigned long long size = length ? strtoull(length, &end, 10) : 0;
    if (!length || *length < '0' || *length > '9' || *end || errno || size > INT64_MAX)
        return err_set(e, ERR_IO, "s3://%s/%s: the server does not tell its size", s->bucket, key);
    *size_out = size;
    return 0;
}

int s3_get_range(
    struct s3 *s, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    char range[64];

    snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, offset, offset + n - 1);
    struct sigv4_pair header = {"range", range};
    struct s3_call get = {
        .operation = "read",
        .method = "GET",
        .key = key,
        .headers = &header,
        .n_headers = 1,
        .into = bytes,
        .into_bytes = n,
    };
    return s3_send(s, &get, &answer, e);
}

int s3_delete(struct s3 *s, const char *key, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct s3_call call = {.operation = "delete", .method = "DELETE", .key = key};

    if (s3_send(s, &call, &answer, e) == 0 || strcmp(answer.code, "NoSuchKey") == 0)
        return 0;
    return -1;
}

static int create(struct s3 *s, const char *location, struct s3_answer *answer, struct err *e)
{
    AUTO_MEM char *body =
        mem_printf("<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                   "<LocationConstraint>%s</LocationConstraint></CreateBucketConfiguration>",
                   location ? location : "");
    struct s3_call call = {
        .operation = "write",
        .method = "PUT",
        .body = location ? body : NULL,
        .body_bytes = location ? strlen(body) : 0,
    };

    if (s3_send(s, &call, answer, e) == 0 || strcmp(answer->code, "BucketAlreadyOwnedByYou") == 0)
        return 0;
    return -1;
}

/* Everywhere but in the oldest region a new bucket is told where it is to lie. */
static int make_bucket(struct s3 *s, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    AUTO_MEM char *region = NULL;

    if (s3_region(s, &region, e) < 0)
        return -1;
    int result = create(s, strcmp(region, "us-east-1") == 0 ? NULL : region, &answer, e);
    /* Other servers have no regions, or names of their own for them. */
    if (result < 0 && s->authority && strcmp(answer.code, "InvalidLocationConstraint") == 0) {
        s3_answer_clear(&answer);
        result = create(s, NULL, &answer, e);
    }
    return result < 0 ? err_wrap(e, "bucket %s does not exist and cannot be created", s->bucket)
                      : 0;
}

static int put_probe(struct s3 *s, const char *key, const char *text, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct s3_call put = {
        .operation = "write",
        .method = "PUT",
        .key = key,
        .body = text,
        .body_bytes = strlen(text),
    };

    if (s3_send(s, &put, &answer, e) == 0)
        return 0;
    if (strcmp(answer.code, "NoSuchBucket") != 0 || make_bucket(s, e) < 0)
        return -1;
    s3_answer_clear(&answer);
    return s3_send(s, &put, &answer, e);
}

static int reads_back(struct s3 *s, const char *key, const char *text, struct err *e)
{
    char back[PROBE] = "";

    if (s3_get_range(s, key, 0, back, strlen(text), e) < 0)
        return -1;
    return strcmp(text, back) == 0
               ? 0
               : err_set(e, ERR_IO, "s3://%s/%s does not read back as it was written", s->bucket,
                         key);
}

int s3_probe(struct store *store, struct err *e)
{
    struct s3 *s = store->priv;
    char key[S3_KEY], text[PROBE];

    snprintf(key, sizeof key, "%s%stradewind-probe-%016" PRIx64, s->prefix, *s->prefix ? "/" : "",
             store_random(store));
    snprintf(text, sizeof text, "tradewind may write here: %016" PRIx64, store_random(store));
    if (put_probe(s, key, text, e) < 0)
        return -1;
    int result = reads_back(s, key, text, e);
    return s3_delete(s, key, result < 0 ? NULL : e) < 0 ? -1 : result;
}
