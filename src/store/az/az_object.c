/* Requests of Azure on blobs and containers: single ones, blocks, and pages of lists. The driver
 * lists the functions. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"
#include "net/base64.h"
#include "net/xml.h"
#include "store/az/az.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define MD5_BYTES 16
#define QUERY_MAX 6
/* Putting ten thousand blocks together takes a server its time. */
#define COMPLETION_S 300.0

/* ---- checksums ---- */

static void add_md5(void *context, const void *bytes, size_t n)
{
    EVP_DigestUpdate(context, bytes, n);
}

/* What the server compares the body with, so that damage on the way is found. NULL: the body
 * cannot be read. New string. */
static char *md5_of(const struct remote_call *c, struct err *e)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char digest[EVP_MAX_MD_SIZE];
    char *text = NULL;

    if (!context || EVP_DigestInit_ex(context, EVP_md5(), NULL) != 1)
        err_set(e, ERR_IO, "no MD5 here");
    else if (remote_each_byte(c, add_md5, context, e) == 0) {
        EVP_DigestFinal_ex(context, digest, NULL);
        text = base64_encode(digest, MD5_BYTES);
    }
    EVP_MD_CTX_free(context);
    return text;
}

/* ---- one blob ---- */

int az_put(struct remote *r,
           const struct remote_call *c,
           enum store_condition condition,
           const char *etag,
           char *etag_out,
           struct remote_answer *out,
           struct err *e)
{
    AUTO_MEM char *md5 = md5_of(c, e);
    AUTO_MEM char *quoted = mem_printf("\"%s\"", etag ? etag : "");
    struct sigv4_pair headers[] = {{"x-ms-blob-type", "BlockBlob"},
                                   {"content-md5", md5},
                                   {condition == STORE_MATCH ? "if-match" : "if-none-match",
                                    condition == STORE_MATCH ? quoted : "*"}};
    struct remote_call put = *c;

    if (!md5)
        return -1;
    put.operation = "write";
    put.method = "PUT";
    put.headers = headers;
    put.n_headers = condition == STORE_ALWAYS ? 2 : 3;
    if (remote_send(r, &put, out, e) == 0) {
        if (etag_out)
            remote_read_etag(out, etag_out);
        return 0;
    }
    bool exists = condition == STORE_ABSENT && strcmp(out->code, "BlobAlreadyExists") == 0;
    bool is_gone = condition == STORE_MATCH && strcmp(out->code, "NoSuchKey") == 0;
    return condition != STORE_ALWAYS && (out->http.status == 412 || exists || is_gone) ? 1 : -1;
}

int az_get(struct remote *r,
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
        headers[get.n_headers++] =
            (struct sigv4_pair){"x-ms-range", remote_range_text(range, text)};
    return remote_send(r, &get, out, e);
}

int az_remove(struct remote *r, const char *key, struct remote_answer *out, struct err *e)
{
    const struct sigv4_pair header = {"x-ms-delete-snapshots", "include"};
    struct remote_call call = {
        .operation = "delete", .method = "DELETE", .key = key, .headers = &header, .n_headers = 1};

    return remote_send(r, &call, out, e);
}

int az_make_bucket(struct remote *r, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    const struct sigv4_pair query = {"restype", "container"};
    struct remote_call call = {
        .operation = "write", .method = "PUT", .query = &query, .n_query = 1};

    if (remote_send(r, &call, &answer, e) == 0 ||
        strcmp(answer.code, "ContainerAlreadyExists") == 0)
        return 0;
    return -1;
}

/* ---- blocks ---- */

int az_upload_begin(struct remote_upload *u, struct err *e)
{
    (void)e;
    /* Blocks of two uploads of one key do not mix. */
    u->id = mem_printf("%08" PRIx32, (uint32_t)store_random(u->remote->store));
    return 0;
}

/* All ids of a blob's blocks have one length. New string. */
static char *block_id(const struct remote_upload *u, size_t i)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%.8s%07zu", u->id, i);

    return base64_encode(text, (size_t)n);
}

int az_upload_part(struct remote_upload *u, const struct remote_call *part, size_t i, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    AUTO_MEM char *md5 = md5_of(part, e);
    AUTO_MEM char *id = block_id(u, i);
    const struct sigv4_pair query[] = {{"comp", "block"}, {"blockid", id}};
    const struct sigv4_pair header = {"content-md5", md5};
    struct remote_call call = *part;

    if (!md5)
        return -1;
    call.operation = "write";
    call.method = "PUT";
    call.key = u->key;
    call.query = query;
    call.n_query = 2;
    call.headers = &header;
    call.n_headers = 1;
    return remote_upload_send(u, &call, &answer, e);
}

static void list_blocks(const struct remote_upload *u, size_t n, struct buf *b)
{
    buf_init(b, (n + 1) * 100);
    buf_puts(b, "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
    for (size_t i = 0; i < n; i++) {
        AUTO_MEM char *id = block_id(u, i);
        buf_printf(b, "<Latest>%s</Latest>", id);
    }
    buf_puts(b, "</BlockList>");
}

static int put_list(
    struct remote_upload *u, size_t n, bool only_new, struct remote_answer *answer, struct err *e)
{
    AUTO_CLEAR(buf) struct buf body = {0};
    const struct sigv4_pair query = {"comp", "blocklist"}, header = {"if-none-match", "*"};

    list_blocks(u, n, &body);
    struct remote_call call = {
        .operation = "write",
        .method = "PUT",
        .key = u->key,
        .query = &query,
        .n_query = 1,
        .headers = &header,
        .n_headers = only_new,
        .body = body.data,
        .body_bytes = body.len,
        .stall_s = COMPLETION_S,
    };
    return remote_upload_send(u, &call, answer, e);
}

int az_upload_end(struct remote_upload *u, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    uint64_t size = 0;

    if (put_list(u, u->n_parts, u->only_new, &answer, e) == 0)
        return 0;
    /* The answer to an earlier try may have been lost after the blob was put together. */
    bool may_be = answer.http.status == 412 || strcmp(answer.code, "BlobAlreadyExists") == 0;
    return may_be && remote_head(u->remote, u->key, &size, NULL) == 0 && size == u->size ? 0 : -1;
}

/* Blocks without a blob cannot be listed or deleted, and go by themselves after a week. An empty
 * blob takes their place, if none is there. */
void az_upload_abort(struct remote_upload *u)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};

    if (u->only_new && put_list(u, 0, true, &answer, NULL) == 0)
        remote_delete(u->remote, u->key, NULL);
}

/* ---- lists ---- */

struct reading {
    struct remote_page *page;
    const char *item; /* the element around each: "Blob" or "BlobPrefix" */
};

static int read_element(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct reading *r = context;
    struct remote_page *p = r->page;

    if (strcmp(name, r->item) == 0)
        return remote_page_item(p, e);
    if (strcmp(name, "Name") == 0 && strcmp(parent, r->item) == 0)
        snprintf(p->key, sizeof p->key, "%s", text);
    else if (strcmp(name, "NextMarker") == 0)
        snprintf(p->next, sizeof p->next, "%s", text);
    else if (strcmp(parent, "Properties") != 0)
        return 0;
    else if (strcmp(name, "Content-Length") == 0)
        return remote_read_size(p, text, e);
    else if (strcmp(name, "Etag") == 0)
        snprintf(p->etag, sizeof p->etag, "%.*s", (int)sizeof p->etag - 1, text);
    else if (strcmp(name, "Last-Modified") == 0)
        p->modified_ms = time_from_http(text);
    return 0;
}

int az_read_page(struct remote_page *p, const char *body, size_t n, struct err *e)
{
    struct reading reading = {.page = p, .item = p->delimiter ? "BlobPrefix" : "Blob"};

    return xml_read(body, n, read_element, &reading, e);
}

int az_page(struct remote *r, struct remote_page *p, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    AUTO_MEM char *next = mem_dup(p->next);
    struct sigv4_pair query[QUERY_MAX] = {
        {"restype", "container"}, {"comp", "list"}, {"prefix", p->prefix}};
    size_t n = 3;

    if (p->delimiter)
        query[n++] = (struct sigv4_pair){"delimiter", p->delimiter};
    if (*next)
        query[n++] = (struct sigv4_pair){"marker", next};
    struct remote_call call = {.operation = "list", .method = "GET", .query = query, .n_query = n};
    if (remote_page_send(r, p, &call, &answer, e) < 0)
        return -1;
    if (az_read_page(p, answer.http.body, answer.http.body_bytes, e) < 0)
        return err_wrap(e, "list %s", r->shown);
    return 0;
}
