/* Uploads large contents to S3 in parts. The driver `s3` lists the functions. */
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "store/s3.h"
#include "store/s3_sender.h"
#include "store/s3_xml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parts are read from the file as they are sent: their memory is libcurl's buffers. */
#define PARTS_IN_FLIGHT 8
/* Putting ten thousand parts together takes a server its time. */
#define COMPLETION_S 300.0

/* One large content on its way. */
struct upload {
    struct s3 *s3;
    const struct store_source *source;
    const struct store_content *content;
    const struct sha256_digest *part_digests;
    char key[S3_KEY];
    char id[S3_UPLOAD_ID];
    char (*etags)[S3_PART_ETAG];
};

/* ---- what is sent is what was hashed ---- */

struct part {
    const struct upload *upload;
    uint64_t offset, size;
    const struct sha256_digest *digest;
    struct sha256 *sha; /* of the bytes up to next */
    uint64_t next;
    uint64_t told; /* to progress; what is sent once more is not told again */
};

static bool go_on(const struct store_source *source)
{
    return !source->progress || source->progress(source->context, 0);
}

static bool part_go_on(void *context)
{
    const struct part *p = context;

    return go_on(p->upload->source);
}

static int changed(const struct store_source *source, struct err *e)
{
    return err_set(e, ERR_CHANGED, "%s changed while it was read", source->name);
}

static int read_source(
    const struct store_source *source, uint64_t offset, char *bytes, size_t n, struct err *e)
{
    ssize_t got = file_pread_all(source->fd, bytes, n, offset);

    if (got < 0)
        return file_error(e, "read", source->name);
    return (size_t)got < n ? changed(source, e) : 0;
}

static bool tell(struct part *p, uint64_t end)
{
    const struct store_source *source = p->upload->source;
    uint64_t more = end > p->told ? end - p->told : 0;

    p->told += more;
    return !source->progress || source->progress(source->context, more);
}

/* The server checks the hash too, but not every server does. */
static int pull(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    struct part *p = context;
    const struct store_source *source = p->upload->source;

    if (!tell(p, offset + n))
        return err_set(e, ERR_RETRY, "interrupted");
    if (read_source(source, p->offset + offset, bytes, n, e) < 0)
        return -1;
    if (offset == 0) {
        sha256_take(p->sha);
        p->next = 0;
    }
    if (offset != p->next)
        return 0;
    sha256_add(p->sha, bytes, n);
    p->next += n;
    if (p->next < p->size)
        return 0;
    struct sha256_digest digest = sha256_take(p->sha);
    return sha256_equal(&digest, p->digest) ? 0 : changed(source, e);
}

static struct s3_call part_call(struct part *p)
{
    return (struct s3_call){
        .operation = "write",
        .method = "PUT",
        .key = p->upload->key,
        .body_bytes = p->size,
        .digest = p->digest,
        .pull = pull,
        .go_on = part_go_on,
        .context = p,
    };
}

/* ---- in one piece ---- */

/* From memory and in the background, so that many files of middling size do not wait for each
 * other's answers. */
static int put_whole(struct upload *u, const struct store_writer *w, struct err *e)
{
    size_t n = (size_t)u->content->place.size;
    AUTO_MEM unsigned char *bytes = mem_grow(NULL, n + 1, 1);
    AUTO(sha256) struct sha256 *sha = sha256_new();
    struct part p = {.upload = u, .size = n, .digest = &u->content->digest, .sha = sha};

    if (n && pull(&p, 0, bytes, n, e) < 0)
        return -1;
    return s3_sender_put(s3_writer_sender(w), u->content->place.blob, TAKE(bytes), n, e);
}

/* ---- in parts ---- */

static int find_id(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    if (strcmp(parent, "InitiateMultipartUploadResult") != 0 || strcmp(name, "UploadId") != 0)
        return 0;
    if (strlen(text) >= S3_UPLOAD_ID)
        return err_set(e, ERR_IO, "the id of the upload is too long");
    snprintf(context, S3_UPLOAD_ID, "%.*s", S3_UPLOAD_ID - 1, text);
    return 0;
}

int s3_upload_begin(
    struct s3 *s, const char *key, char id[static S3_UPLOAD_ID], unsigned *tries_out, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct sigv4_pair query = {"uploads", ""};
    struct s3_call call = {
        .operation = "write",
        .method = "POST",
        .key = key,
        .query = &query,
        .n_query = 1,
    };

    *id = 0;
    int result = s3_send(s, &call, &answer, e);
    *tries_out = answer.tries;
    if (result < 0 || s3_xml_read(answer.http.body, answer.http.body_bytes, find_id, id, e) < 0)
        return -1;
    return *id ? 0 : err_set(e, ERR_IO, "the server gives the upload no id");
}

int s3_upload_part(struct s3 *s,
                   const struct s3_call *part,
                   const char *id,
                   size_t i,
                   char etag_out[static S3_PART_ETAG],
                   unsigned *tries_out,
                   struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    char number[24];
    struct sigv4_pair query[] = {{"partNumber", number}, {"uploadId", id}};
    struct s3_call call = *part;

    snprintf(number, sizeof number, "%zu", i + 1);
    call.query = query;
    call.n_query = 2;
    int result = s3_send(s, &call, &answer, e);
    *tries_out = answer.tries;
    if (result < 0)
        return -1;
    const char *etag = http_answer_header(&answer.http, "etag");
    if (!etag || strlen(etag) >= S3_PART_ETAG)
        return err_set(e, ERR_IO, "part %zu: the server gives it no tag", i + 1);
    snprintf(etag_out, S3_PART_ETAG, "%s", etag);
    return 0;
}

static int send_part(void *context, size_t i, struct err *e)
{
    struct upload *u = context;
    const struct store_content *content = u->content;
    unsigned tries;
    AUTO(sha256) struct sha256 *sha = sha256_new();
    struct part p = {.upload = u,
                     .offset = i * content->part_bytes,
                     .size = content->part_bytes,
                     .digest = &u->part_digests[i],
                     .sha = sha};

    if (p.size > content->place.size - p.offset)
        p.size = content->place.size - p.offset;
    struct s3_call call = part_call(&p);
    return s3_upload_part(u->s3, &call, u->id, i, u->etags[i], &tries, e);
}

void s3_upload_list(struct buf *b, char (*etags)[S3_PART_ETAG], size_t n)
{
    buf_puts(b, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (size_t i = 0; i < n; i++) {
        buf_printf(b, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
        s3_xml_put(b, etags[i]);
        buf_puts(b, "</ETag></Part>");
    }
    buf_puts(b, "</CompleteMultipartUpload>");
}

/* The answer to an earlier try may have been lost after the object was put together. */
static bool is_complete(const struct upload *u, const struct s3_answer *a)
{
    uint64_t size = 0;
    bool may_be = a->http.status == 412 || strcmp(a->code, "NoSuchUpload") == 0;

    return may_be && s3_head(u->s3, u->key, &size, NULL) == 0 && size == u->content->place.size;
}

static int complete(struct upload *u, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    AUTO_CLEAR(buf) struct buf body = {0};
    struct sigv4_pair query = {"uploadId", u->id};
    struct sigv4_pair headers[] = {{"if-none-match", "*"}};

    buf_init(&body, (size_t)STORE_PARTS_MAX * (S3_PART_ETAG * 5 + 100));
    s3_upload_list(&body, u->etags, u->content->n_parts);
    struct s3_call call = {
        .operation = "write",
        .method = "POST",
        .key = u->key,
        .query = &query,
        .n_query = 1,
        .headers = headers,
        .n_headers = u->s3->unconditional ? 0 : 1,
        .body = body.data,
        .body_bytes = body.len,
        .stall_s = COMPLETION_S,
    };
    if (s3_send(u->s3, &call, &answer, e) == 0 || is_complete(u, &answer))
        return 0;
    if (!s3_conditions_refused(u->s3, &answer))
        return -1;
    call.n_headers = 0;
    s3_answer_clear(&answer);
    return s3_send(u->s3, &call, &answer, e) == 0 || is_complete(u, &answer) ? 0 : -1;
}

static int send_parts(struct upload *u, struct err *e)
{
    size_t n = u->content->n_parts;
    AUTO_MEM char(*etags)[S3_PART_ETAG] = mem_zero(n, S3_PART_ETAG);
    unsigned tries;

    u->etags = etags;
    if (s3_upload_begin(u->s3, u->key, u->id, &tries, e) < 0)
        return -1;
    if (parallel_each(n, PARTS_IN_FLIGHT, send_part, u, e) == 0 && complete(u, e) == 0)
        return 0;
    /* What cannot be ended now is found by the next cleaning. */
    s3_abort_upload(u->s3, u->key, u->id, NULL);
    return -1;
}

/* ---- */

/* Progress counts what is sent; hashing before that only asks whether to go on. */
static bool quiet_progress(void *context, uint64_t more_bytes)
{
    const struct upload *u = context;

    (void)more_bytes;
    return go_on(u->source);
}

int s3_write_large(struct store_writer *w,
                   const struct store_source *source,
                   struct store_content *out,
                   struct err *e)
{
    struct s3 *s = w->store->priv;
    struct upload u = {.s3 = s, .source = source, .content = out};
    struct store_source quiet = *source;

    quiet.progress = quiet_progress;
    quiet.known = NULL;
    quiet.context = &u;
    AUTO_MEM struct sha256_digest *part_digests = NULL;
    if (store_take_in(&quiet, &(struct store_taker){.part_digests = &part_digests}, out, e) < 0)
        return -1;
    u.part_digests = part_digests;
    if (source->known && source->known(source->context, &out->digest)) {
        if (source->progress)
            source->progress(source->context, out->place.size);
        return 0;
    }
    store_name_large(w->store, w->session, &out->digest, out->place.blob);
    s3_key(s, w->project, out->place.blob, u.key);
    int result = out->n_parts <= 1 ? put_whole(&u, w, e) : send_parts(&u, e);
    return result < 0 ? err_wrap(e, "send %s", source->name) : 0;
}
