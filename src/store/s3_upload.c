/* Uploads objects to S3 in parts: large contents, and large objects under keys. s3.h declares the
 * functions. */
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "net/xml.h"
#include "store/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Parts are read from the file as they are sent: their memory is libcurl's buffers. */
#define PARTS_IN_FLIGHT 8
#define PART_ETAG_MAX 127
/* Putting ten thousand parts together takes a server its time. */
#define COMPLETION_S 300.0

/* ---- the requests ---- */

static int send_counted(struct s3_upload *u,
                        const struct s3_call *call,
                        struct s3_answer *answer,
                        struct err *e)
{
    s3_answer_clear(answer);
    int result = s3_send(u->s3, call, answer, e);
    atomic_fetch_add(&u->tries, answer->tries);
    return result;
}

static int find_id(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct s3_upload *u = context;

    (void)e;
    if (strcmp(parent, "InitiateMultipartUploadResult") == 0 && strcmp(name, "UploadId") == 0) {
        free(u->id);
        u->id = mem_dup(text);
    }
    return 0;
}

static int begin(struct s3_upload *u, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct sigv4_pair query = {"uploads", ""};
    struct s3_call call = {
        .operation = "write",
        .method = "POST",
        .key = u->key,
        .query = &query,
        .n_query = 1,
    };

    if (send_counted(u, &call, &answer, e) < 0 ||
        xml_read(answer.http.body, answer.http.body_bytes, find_id, u, e) < 0)
        return -1;
    return u->id && *u->id ? 0 : err_set(e, ERR_IO, "the server gives the upload no id");
}

int s3_upload_part(struct s3_upload *u, const struct s3_call *part, size_t i, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    char number[24];
    struct sigv4_pair query[] = {{"partNumber", number}, {"uploadId", u->id}};
    struct s3_call call = *part;

    snprintf(number, sizeof number, "%zu", i + 1);
    call.operation = "write";
    call.method = "PUT";
    call.key = u->key;
    call.query = query;
    call.n_query = 2;
    if (send_counted(u, &call, &answer, e) < 0)
        return -1;
    const char *etag = http_answer_header(&answer.http, "etag");
    if (!etag || strlen(etag) > PART_ETAG_MAX)
        return err_set(e, ERR_IO, "part %zu: the server gives it no tag", i + 1);
    u->etags[i] = mem_dup(etag);
    return 0;
}

static void list_parts(const struct s3_upload *u, struct buf *b)
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
static bool is_complete(const struct s3_upload *u, const struct s3_answer *a)
{
    uint64_t size = 0;
    bool may_be = a->http.status == 412 || strcmp(a->code, "NoSuchUpload") == 0;

    return may_be && s3_head(u->s3, u->key, &size, NULL) == 0 && size == u->size;
}

static int complete(struct s3_upload *u, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    AUTO_CLEAR(buf) struct buf body = {0};
    struct sigv4_pair query = {"uploadId", u->id}, header = {"if-none-match", "*"};

    list_parts(u, &body);
    struct s3_call call = {
        .operation = "write",
        .method = "POST",
        .key = u->key,
        .query = &query,
        .n_query = 1,
        .headers = &header,
        .n_headers = u->only_new && !u->s3->unconditional,
        .body = body.data,
        .body_bytes = body.len,
        .stall_s = COMPLETION_S,
    };
    if (send_counted(u, &call, &answer, e) == 0 || is_complete(u, &answer))
        return 0;
    if (!s3_conditions_refused(u->s3, &answer))
        return -1;
    call.n_headers = 0;
    return send_counted(u, &call, &answer, e) == 0 || is_complete(u, &answer) ? 0 : -1;
}

int s3_upload(struct s3_upload *u, struct err *e)
{
    u->etags = mem_zero(u->n_parts, sizeof *u->etags);
    int result = begin(u, e);
    if (result == 0 &&
        (parallel_each(u->n_parts, u->at_once, u->send, u->context, e) < 0 || complete(u, e) < 0)) {
        /* What cannot be ended now is found by the next cleaning. */
        s3_abort_upload(u->s3, u->key, u->id, NULL);
        result = -1;
    }
    for (size_t i = 0; i < u->n_parts; i++)
        free(u->etags[i]);
    free(u->etags);
    free(u->id);
    return result;
}

/* ---- large content: what is sent is what was hashed ---- */

/* One large content on its way. */
struct large {
    struct s3_upload upload;
    const struct store_source *source;
    const struct store_content *content;
    const struct sha256_digest *part_digests;
};

struct part {
    const struct large *large;
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

    return go_on(p->large->source);
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
    const struct store_source *source = p->large->source;
    uint64_t more = end > p->told ? end - p->told : 0;

    p->told += more;
    return !source->progress || source->progress(source->context, more);
}

/* The server checks the hash too, but not every server does. */
static int pull(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    struct part *p = context;
    const struct store_source *source = p->large->source;

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

/* ---- in one piece ---- */

/* From memory and in the background, so that many files of middling size do not wait for each
 * other's answers. */
static int put_whole(struct large *l, struct store_writer *w, struct err *e)
{
    size_t n = (size_t)l->content->place.size;
    AUTO_MEM unsigned char *bytes = mem_grow(NULL, n + 1, 1);
    AUTO(sha256) struct sha256 *sha = sha256_new();
    struct part p = {.large = l, .size = n, .digest = &l->content->digest, .sha = sha};

    if (n && pull(&p, 0, bytes, n, e) < 0)
        return -1;
    return s3_writer_send(w, l->content->place.blob, TAKE(bytes), n, e);
}

/* ---- in parts ---- */

static int send_part(void *context, size_t i, struct err *e)
{
    struct large *l = context;
    uint64_t part_bytes = l->content->part_bytes, left = l->content->place.size - i * part_bytes;
    AUTO(sha256) struct sha256 *sha = sha256_new();
    struct part p = {.large = l,
                     .offset = i * part_bytes,
                     .size = left < part_bytes ? left : part_bytes,
                     .digest = &l->part_digests[i],
                     .sha = sha};
    struct s3_call call = {
        .body_bytes = p.size,
        .digest = p.digest,
        .pull = pull,
        .go_on = part_go_on,
        .context = &p,
    };

    return s3_upload_part(&l->upload, &call, i, e);
}

/* Progress counts what is sent; hashing before that only asks whether to go on. */
static bool quiet_progress(void *context, uint64_t more_bytes)
{
    const struct large *l = context;

    (void)more_bytes;
    return go_on(l->source);
}

int s3_write_large(struct store_writer *w,
                   const struct store_source *source,
                   struct store_content *out,
                   struct err *e)
{
    struct s3 *s = w->store->priv;
    struct large l = {.source = source, .content = out};
    struct store_source quiet = *source;
    char key[S3_KEY];

    quiet.progress = quiet_progress;
    quiet.known = NULL;
    quiet.context = &l;
    AUTO_MEM struct sha256_digest *part_digests = NULL;
    if (store_take_in(&quiet, &(struct store_taker){.part_digests = &part_digests}, out, e) < 0)
        return -1;
    l.part_digests = part_digests;
    if (source->known && source->known(source->context, &out->digest)) {
        if (source->progress)
            source->progress(source->context, out->place.size);
        return 0;
    }
    store_name_large(w->store, w->session, &out->digest, out->place.blob);
    l.upload = (struct s3_upload){
        .s3 = s,
        .key = s3_key(s, w->project, out->place.blob, key),
        .size = out->place.size,
        .n_parts = out->n_parts,
        .at_once = PARTS_IN_FLIGHT,
        .only_new = true,
        .send = send_part,
        .context = &l,
    };
    int result = out->n_parts <= 1 ? put_whole(&l, w, e) : s3_upload(&l.upload, e);
    return result < 0 ? err_wrap(e, "send %s", source->name) : 0;
}

/* ---- an object under a key, from memory ---- */

struct keyed {
    struct s3_upload upload;
    const struct store_keyed_put *put;
};

static int send_range(void *context, size_t i, struct err *e)
{
    struct keyed *k = context;
    uint64_t each = k->put->n / k->upload.n_parts, from = each * i;
    const struct s3_call call = {
        .body = (const char *)k->put->bytes + from,
        .body_bytes = i + 1 == k->upload.n_parts ? k->put->n - from : each,
    };

    return s3_upload_part(&k->upload, &call, i, e);
}

int s3_put_parts(
    struct s3 *s, const char *key, const struct store_keyed_put *put, size_t n_parts, struct err *e)
{
    struct keyed k = {.put = put};

    k.upload = (struct s3_upload){
        .s3 = s,
        .key = key,
        .size = put->n,
        .n_parts = n_parts,
        .at_once = (unsigned)n_parts,
        .send = send_range,
        .context = &k,
    };
    *put->etag_out = 0; /* the etag of parts is no condition */
    int result = s3_upload(&k.upload, e);
    put->tally->writes += k.upload.tries;
    put->tally->written_bytes += result == 0 ? put->n : 0;
    return result;
}
