/* Single requests of S3 on objects and buckets. The driver lists the functions. */
#include "base/mem.h"
#include "store/s3/s3.h"

#include <stdio.h>
#include <string.h>

int s3_put(struct remote *r,
           const struct remote_call *c,
           enum store_condition condition,
           const char *etag,
           char *etag_out,
           struct remote_answer *out,
           struct err *e)
{
    /* Without quotes, which Amazon takes as well, and Ceph does not know here. */
    const struct sigv4_pair header = condition == STORE_MATCH
                                         ? (struct sigv4_pair){"if-match", etag}
                                         : (struct sigv4_pair){"if-none-match", "*"};
    struct remote_call put = *c;

    put.operation = "write";
    put.method = "PUT";
    put.headers = &header;
    put.n_headers = condition != STORE_ALWAYS;
    int result = remote_send(r, &put, out, e);
    if (result == 0 && etag_out)
        remote_read_etag(out, etag_out);
    if (result == 0)
        return 0;
    /* If-Match on what is gone is answered with 404. */
    bool is_gone = condition == STORE_MATCH && out->http.status == 404 &&
                   strcmp(out->code, "NoSuchBucket") != 0;
    return condition != STORE_ALWAYS && (out->http.status == 412 || is_gone) ? 1 : -1;
}

int s3_get(struct remote *r,
           const struct remote_call *c,
           const struct remote_range *range,
           struct remote_answer *out,
           struct err *e)
{
    char text[REMOTE_RANGE];
    AUTO_MEM char *quoted = mem_printf("\"%s\"", range->etag ? range->etag : "");
    struct sigv4_pair headers[2];
    struct remote_call get = *c;

    get.headers = headers;
    get.n_headers = 0;
    if (range->etag)
        headers[get.n_headers++] = (struct sigv4_pair){"if-match", quoted};
    if (range->offset || range->length)
        headers[get.n_headers++] = (struct sigv4_pair){"range", remote_range_text(range, text)};
    return remote_send(r, &get, out, e);
}

int s3_remove(struct remote *r, const char *key, struct remote_answer *out, struct err *e)
{
    struct remote_call call = {.operation = "delete", .method = "DELETE", .key = key};

    return remote_send(r, &call, out, e);
}

static int create(struct remote *r,
                  const char *location,
                  struct remote_answer *answer,
                  struct err *e)
{
    AUTO_MEM char *body =
        mem_printf("<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                   "<LocationConstraint>%s</LocationConstraint></CreateBucketConfiguration>",
                   location ? location : "");
    struct remote_call call = {
        .operation = "write",
        .method = "PUT",
        .body = location ? body : NULL,
        .body_bytes = location ? strlen(body) : 0,
    };

    if (remote_send(r, &call, answer, e) == 0 ||
        strcmp(answer->code, "BucketAlreadyOwnedByYou") == 0)
        return 0;
    return -1;
}

/* Everywhere but in the oldest region a new bucket is told where it is to lie. */
int s3_make_bucket(struct remote *r, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    AUTO_MEM char *region = NULL;

    if (s3_region(r, &region, e) < 0)
        return -1;
    int result = create(r, strcmp(region, "us-east-1") == 0 ? NULL : region, &answer, e);
    /* Other servers have no regions, or names of their own for them. */
    if (result < 0 && r->authority && strcmp(answer.code, "InvalidLocationConstraint") == 0) {
        remote_answer_clear(&answer);
        result = create(r, NULL, &answer, e);
    }
    return result;
}
