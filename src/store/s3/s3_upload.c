/* Uploads to S3 in parts. The driver lists the functions. */
#include "base/buf.h"
#include "base/mem.h"
#include "net/xml.h"
#include "store/s3/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_ETAG_MAX 127
/* Putting ten thousand parts together takes a server its time. */
#define COMPLETION_S 300.0

static int find_id(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct remote_upload *u = context;

    (void)e;
    if (strcmp(parent, "InitiateMultipartUploadResult") == 0 && strcmp(name, "UploadId") == 0) {
        free(u->id);
        u->id = mem_dup(text);
    }
    return 0;
}

int s3_upload_begin(struct remote_upload *u, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct sigv4_pair query = {"uploads", ""};
    struct remote_call call = {
        .operation = "write",
        .method = "POST",
        .key = u->key,
        .query = &query,
        .n_query = 1,
    };

    if (remote_upload_send(u, &call, &answer, e) < 0 ||
        xml_read(answer.http.body, answer.http.body_bytes, find_id, u, e) < 0)
        return -1;
    return u->id && *u->id ? 0 : err_set(e, ERR_IO, "the server gives the upload no id");
}

int s3_upload_part(struct remote_upload *u, const struct remote_call *part, size_t i, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    char number[24];
    struct sigv4_pair query[] = {{"partNumber", number}, {"uploadId", u->id}};
    struct remote_call call = *part;

    snprintf(number, sizeof number, "%zu", i + 1);
    call.operation = "write";
    call.method = "PUT";
    call.key = u->key;
    call.query = query;
    call.n_query = 2;
    if (remote_upload_send(u, &call, &answer, e) < 0)
        return -1;
    const char *etag = http_answer_header(&answer.http, "etag");
    if (!etag || strlen(etag) > PART_ETAG_MAX)
        return err_set(e, ERR_IO, "part %zu: the server gives it no tag", i + 1);
    u->etags[i] = mem_dup(etag);
    return 0;
}

static void list_parts(const struct remote_upload *u, struct buf *b)
{
    buf_init(b, (u->n_parts + 1) * (PART_ETAG_MAX * 5 + 100));
    buf_puts(b, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (size_t i = 0; i < u->n_parts; i++) {
        buf_printf(b, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
        xml_put(b, u->etags[i]);
        buf_puts(b, "</ETag></Part>");
    }
    buf_puts(b, "</CompleteMultipartUpload>");
}

/* The answer to an earlier try may have been lost after the object was put together. */
static bool is_complete(const struct remote_upload *u, const struct remote_answer *a)
{
    uint64_t size = 0;
    bool may_be = a->http.status == 412 || strcmp(a->code, "NoSuchUpload") == 0;

    return may_be && remote_head(u->remote, u->key, &size, NULL) == 0 && size == u->size;
}

int s3_upload_end(struct remote_upload *u, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    AUTO_CLEAR(buf) struct buf body = {0};
    struct sigv4_pair query = {"uploadId", u->id}, header = {"if-none-match", "*"};

    list_parts(u, &body);
    struct remote_call call = {
        .operation = "write",
        .method = "POST",
        .key = u->key,
        .query = &query,
        .n_query = 1,
        .headers = &header,
        .n_headers = u->only_new && !u->remote->unconditional,
        .body = body.data,
        .body_bytes = body.len,
        .stall_s = COMPLETION_S,
    };
    if (remote_upload_send(u, &call, &answer, e) == 0 || is_complete(u, &answer))
        return 0;
    if (!remote_conditions_refused(u->remote, &answer))
        return -1;
    call.n_headers = 0;
    return remote_upload_send(u, &call, &answer, e) == 0 || is_complete(u, &answer) ? 0 : -1;
}

static int abort_upload(struct remote *r, const char *key, const char *upload, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct sigv4_pair query = {"uploadId", upload};
    struct remote_call call = {
        .operation = "delete",
        .method = "DELETE",
        .key = key,
        .query = &query,
        .n_query = 1,
    };

    if (remote_send(r, &call, &answer, e) == 0 || strcmp(answer.code, "NoSuchUpload") == 0)
        return 0;
    return -1;
}

void s3_upload_abort(struct remote_upload *u)
{
    abort_upload(u->remote, u->key, u->id, NULL);
}

/* ---- unfinished uploads of one key ---- */

struct aborting {
    struct remote *remote;
    const char *key;
};

static int abort_one(struct remote_page *p, struct err *e)
{
    const struct aborting *a = p->context;

    return strcmp(p->key, a->key) == 0 ? abort_upload(a->remote, a->key, p->upload, e) : 0;
}

int s3_abort_key(struct remote *r, const char *key, struct err *e)
{
    struct aborting a = {r, key};
    AUTO_MEM struct remote_page *p = mem_zero(1, sizeof *p);

    p->each = abort_one;
    p->context = &a;
    p->prefix = key;
    p->unfinished = true;
    return remote_each_page(r, p, e);
}
