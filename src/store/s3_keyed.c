/* Objects of S3 under keys of the caller's choice, written under conditions. The driver `s3`
 * lists the functions; trainings use them. */
#include "base/mem.h"
#include "store/s3.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *full_key(const struct s3 *s, const char *key, char out[static S3_KEY])
{
    snprintf(out, S3_KEY, "%s%s%s", s->prefix, *s->prefix ? "/" : "", key);
    return out;
}

/* ---- writing ---- */

static void read_etag(const struct s3_answer *a, char out[static STORE_ETAG])
{
    const char *etag = http_answer_header(&a->http, "etag");

    etag = etag ? etag + strspn(etag, "\"") : "";
    snprintf(out, STORE_ETAG, "%.*s", (int)strcspn(etag, "\""), etag);
}

static int hash(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)e;
    sha256_add(context, bytes, n);
    return 0;
}

/* When the answer to our first try was lost, the second one finds what the first one wrote. */
static int was_ours(struct s3 *s, const char *key, const struct store_keyed_put *put, struct err *e)
{
    AUTO(sha256) struct sha256 *sha = sha256_new();
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct s3_call get = {
        .operation = "read",
        .method = "GET",
        .key = key,
        .sink = hash,
        .context = sha,
        .sink_bytes = put->n,
    };

    int result = s3_send(s, &get, &answer, e);
    put->tally->reads += answer.tries;
    if (result < 0)
        return answer.http.status == 404 ? 0 : -1;
    read_etag(&answer, put->etag_out);
    struct sha256_digest there = sha256_take(sha);
    struct sha256_digest ours =
        put->digest ? *put->digest : sha256_of(put->n ? put->bytes : "", (size_t)put->n);
    return sha256_equal(&there, &ours);
}

int s3_keyed_put(struct store *store, const struct store_keyed_put *put, struct err *e)
{
    struct s3 *s = store->priv;
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    /* Without quotes, which Amazon takes as well, and Ceph does not know here. */
    const struct sigv4_pair condition = put->condition == STORE_MATCH
                                            ? (struct sigv4_pair){"if-match", put->etag}
                                            : (struct sigv4_pair){"if-none-match", "*"};
    char full[S3_KEY];
    struct s3_call call = {
        .operation = "write",
        .method = "PUT",
        .key = full_key(s, put->key, full),
        .headers = &condition,
        .n_headers = put->condition != STORE_ALWAYS,
        .body = put->bytes,
        .body_bytes = put->n,
        .pull = put->pull,
        .context = put->context,
        .digest = put->digest,
    };

    size_t parts = put->bytes && put->condition == STORE_ALWAYS
                       ? store_keyed_parts(put->n, put->connections)
                       : 1;
    if (parts > 1)
        return s3_put_parts(s, full, put, parts, e);
    int result = s3_send(s, &call, &answer, e);
    put->tally->writes += answer.tries;
    if (result == 0) {
        read_etag(&answer, put->etag_out);
        put->tally->written_bytes += put->n;
        return 0;
    }
    if (answer.http.status == 501)
        return err_wrap(e, "the store does not know conditional writes, which rounds need");
    /* If-Match on what is gone is answered with 404. */
    if (put->condition == STORE_MATCH && answer.http.status == 404 &&
        strcmp(answer.code, "NoSuchBucket") != 0)
        return 1;
    if (answer.http.status != 412)
        return -1;
    int ours = answer.tries > 1 ? was_ours(s, full, put, e) : 0;
    return ours < 0 ? -1 : !ours;
}

/* ---- reading ---- */

static int pour(void *context, const void *bytes, size_t n, struct err *e)
{
    const struct store_keyed_get *get = context;

    get->tally->read_bytes += n;
    return get->sink(get->context, bytes, n, e);
}

static char *range_of(const struct store_keyed_get *get)
{
    return get->length ? mem_printf("bytes=%" PRIu64 "-%" PRIu64, get->offset,
                                    get->offset + get->length - 1)
                       : mem_printf("bytes=%" PRIu64 "-", get->offset);
}

int s3_keyed_get(struct store *store, const struct store_keyed_get *get, struct err *e)
{
    struct s3 *s = store->priv;
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    AUTO_MEM char *quoted = mem_printf("\"%s\"", get->etag ? get->etag : "");
    AUTO_MEM char *range = range_of(get);
    struct store_keyed_get pouring = *get;
    struct sigv4_pair headers[2];
    size_t n = 0;
    char full[S3_KEY];

    if (get->etag)
        headers[n++] = (struct sigv4_pair){"if-match", quoted};
    if (get->offset || get->length)
        headers[n++] = (struct sigv4_pair){"range", range};
    struct s3_call call = {
        .operation = "read",
        .method = "GET",
        .key = full_key(s, get->key, full),
        .headers = headers,
        .n_headers = n,
        .sink = pour,
        .context = &pouring,
        .sink_bytes = get->expected_bytes,
        .stall_s = get->stall_s,
    };
    int result = s3_send(s, &call, &answer, e);
    get->tally->reads += answer.tries;
    if (result < 0 && answer.http.status == 416 && get->offset)
        return 0; /* it ends before: there is nothing from there on */
    if (result < 0 && answer.http.status == 412)
        return err_set(e, ERR_RETRY, "s3://%s/%s was written again meanwhile", s->bucket, full);
    return result;
}

int s3_keyed_delete(struct store *store, const char *key, struct store_tally *tally, struct err *e)
{
    struct s3 *s = store->priv;
    char full[S3_KEY];

    tally->deletes++;
    return s3_delete(s, full_key(s, key, full), e);
}
