/* Uploads a large object under a key of the caller's choice in parts. s3_keyed.c calls it. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "store/keyed.h"
#include "store/s3.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LIST_PART 1000

struct sending {
    struct s3 *s3;
    const char *key;
    const struct store_keyed_put *put;
    size_t n_parts;
    char id[S3_UPLOAD_ID];
    char (*etags)[S3_PART_ETAG];
    atomic_uint tries;
};

static int send_part(void *context, size_t i, struct err *e)
{
    struct sending *w = context;
    uint64_t from = w->put->n / w->n_parts * i;
    uint64_t to = i + 1 == w->n_parts ? w->put->n : w->put->n / w->n_parts * (i + 1);
    const struct s3_call call = {.operation = "write",
                                 .method = "PUT",
                                 .key = w->key,
                                 .body = (const char *)w->put->bytes + from,
                                 .body_bytes = to - from};
    unsigned tries;

    int result = s3_upload_part(w->s3, &call, w->id, i, w->etags[i], &tries, e);
    atomic_fetch_add(&w->tries, tries);
    return result;
}

static int complete(struct sending *w, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    AUTO_CLEAR(buf) struct buf body = {0};
    struct sigv4_pair query = {"uploadId", w->id};
    uint64_t size = 0;

    buf_init(&body, w->n_parts * LIST_PART + LIST_PART);
    s3_upload_list(&body, w->etags, w->n_parts);
    struct s3_call call = {
        .operation = "write",
        .method = "POST",
        .key = w->key,
        .query = &query,
        .n_query = 1,
        .body = body.data,
        .body_bytes = body.len,
    };
    int result = s3_send(w->s3, &call, &answer, e);
    atomic_fetch_add(&w->tries, answer.tries);
    /* The answer to an earlier try may have been lost after the object was put together. */
    if (result < 0 && strcmp(answer.code, "NoSuchUpload") == 0 &&
        s3_head(w->s3, w->key, &size, NULL) == 0 && size == w->put->n)
        result = 0;
    return result;
}

int s3_keyed_put_parts(struct s3 *s,
                       const char *key,
                       const struct store_keyed_put *put,
                       size_t n_parts,
                       char etag_out[static STORE_ETAG],
                       struct store_tally *tally,
                       struct err *e)
{
    AUTO_MEM char(*etags)[S3_PART_ETAG] = mem_zero(n_parts, S3_PART_ETAG);
    struct sending w = {.s3 = s, .key = key, .put = put, .n_parts = n_parts, .etags = etags};
    unsigned tries;

    *etag_out = 0; /* the etag of parts is no condition */
    int result = s3_upload_begin(s, key, w.id, &tries, e);
    atomic_fetch_add(&w.tries, tries);
    if (result == 0 &&
        (parallel_each(n_parts, (unsigned)n_parts, send_part, &w, e) < 0 || complete(&w, e) < 0)) {
        s3_abort_upload(s, key, w.id, NULL);
        result = -1;
    }
    tally->writes += w.tries;
    tally->written_bytes += result == 0 ? put->n : 0;
    return result;
}
