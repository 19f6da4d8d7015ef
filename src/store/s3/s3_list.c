/* Reads pages of objects and of unfinished uploads of S3. The driver lists the function. */
#include "base/mem.h"
#include "base/time.h"
#include "net/xml.h"
#include "store/s3/s3.h"

#include <stdio.h>
#include <string.h>

#define QUERY_MAX 6

struct reading {
    struct remote_page *page;
    const char *item; /* the element around each: "Contents", "CommonPrefixes" or "Upload" */
    bool truncated;
};

static void copy(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
}

static int end_item(struct remote_page *p, struct err *e)
{
    /* Keys come percent-encoded, since XML cannot hold every byte. */
    AUTO_MEM char *key = sigv4_decode(p->key);
    copy(p->key, sizeof p->key, key);
    return remote_page_item(p, e);
}

static int read_item(struct remote_page *p, const char *name, const char *text, struct err *e)
{
    if (strcmp(name, "Key") == 0 || strcmp(name, "Prefix") == 0)
        copy(p->key, sizeof p->key, text);
    else if (strcmp(name, "UploadId") == 0)
        copy(p->upload, sizeof p->upload, text);
    else if (strcmp(name, "ETag") == 0)
        copy(p->etag, sizeof p->etag, text);
    else if (strcmp(name, "LastModified") == 0)
        p->modified_ms = time_from_iso(text);
    else if (strcmp(name, "Size") == 0)
        return remote_read_size(p, text, e);
    return 0;
}

static int read_page(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct reading *r = context;
    struct remote_page *p = r->page;

    if (strcmp(name, r->item) == 0)
        return end_item(p, e);
    if (strcmp(parent, r->item) == 0)
        return read_item(p, name, text, e);
    if (strcmp(name, "IsTruncated") == 0)
        r->truncated = strcmp(text, "true") == 0;
    else if (strcmp(name, "NextContinuationToken") == 0 || strcmp(name, "NextKeyMarker") == 0)
        copy(p->next, sizeof p->next, text);
    else if (strcmp(name, "NextUploadIdMarker") == 0)
        copy(p->next_upload, sizeof p->next_upload, text);
    return 0;
}

static size_t make_query(const struct remote_page *p,
                         const char *next,
                         const char *upload,
                         struct sigv4_pair query[static QUERY_MAX])
{
    size_t n = 0;

    query[n++] = (struct sigv4_pair){"encoding-type", "url"};
    query[n++] = (struct sigv4_pair){"prefix", p->prefix};
    query[n++] =
        p->unfinished ? (struct sigv4_pair){"uploads", ""} : (struct sigv4_pair){"list-type", "2"};
    if (p->delimiter)
        query[n++] = (struct sigv4_pair){"delimiter", p->delimiter};
    if (*next && p->unfinished) {
        query[n++] = (struct sigv4_pair){"key-marker", next};
        query[n++] = (struct sigv4_pair){"upload-id-marker", upload};
    } else if (*next) {
        query[n++] = (struct sigv4_pair){"continuation-token", next};
    }
    return n;
}

int s3_page(struct remote *r, struct remote_page *p, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    AUTO_MEM char *next = p->unfinished ? sigv4_decode(p->next) : mem_dup(p->next);
    AUTO_MEM char *upload = mem_dup(p->next_upload);
    struct sigv4_pair query[QUERY_MAX];
    struct remote_call call = {
        .operation = "list",
        .method = "GET",
        .query = query,
        .n_query = make_query(p, next, upload, query),
    };
    struct reading reading = {
        .page = p,
        .item = p->unfinished  ? "Upload"
                : p->delimiter ? "CommonPrefixes"
                               : "Contents",
    };

    if (remote_page_send(r, p, &call, &answer, e) < 0)
        return -1;
    if (xml_read(answer.http.body, answer.http.body_bytes, read_page, &reading, e) < 0)
        return err_wrap(e, "list bucket %s", r->bucket);
    if (reading.truncated && !*p->next)
        return err_set(e, ERR_IO, "list bucket %s: the server does not say where the list goes on",
                       r->bucket);
    if (!reading.truncated)
        *p->next = '\0';
    return 0;
}
