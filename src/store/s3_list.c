/* Lists objects, projects and unfinished uploads of S3, page by page. The driver `s3` lists the
 * functions. */
#include "base/mem.h"
#include "base/time.h"
#include "net/xml.h"
#include "store/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPLOAD_ID 1024
#define ETAG 256
/* A server that always has one more page would keep us for ever. */
#define PAGES_MAX 1000000
#define QUERY_MAX 6
#define DATE 64

/* One page of objects or unfinished uploads, and where the next begins. */
struct page {
    const char *item; /* the element around each: "Contents", "CommonPrefixes" or "Upload" */
    int (*each)(struct page *p, struct err *e);
    /* of the caller */
    store_visit_project *visit_project;
    store_visit_blob *visit_blob;
    const struct store_keyed_list *keyed;
    void *context;
    size_t prefix_bytes; /* of keys, that the caller does not see */
    bool unfinished;     /* uploads are listed */
    bool foreign;        /* objects of other programs, of any name */

    bool truncated;
    char next_key[XML_TEXT_BYTES]; /* or the continuation token */
    char next_upload[UPLOAD_ID];
    /* the item at hand */
    char key[XML_TEXT_BYTES];
    char upload[UPLOAD_ID];
    char etag[ETAG];
    char modified[DATE];
    uint64_t size;
    /* of all pages so far */
    uint64_t requests;
    char date[DATE]; /* of the last answer */
};

static void copy(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
}

static int end_item(struct page *p, struct err *e)
{
    /* Keys come percent-encoded, since XML cannot hold every byte. */
    AUTO_MEM char *key = sigv4_decode(p->key);
    copy(p->key, sizeof p->key, key);
    if (p->each(p, e) < 0)
        return -1;
    p->key[0] = p->upload[0] = p->etag[0] = p->modified[0] = '\0';
    p->size = 0;
    return 0;
}

static int read_item(struct page *p, const char *name, const char *text, struct err *e)
{
    if (strcmp(name, "Key") == 0 || strcmp(name, "Prefix") == 0)
        copy(p->key, sizeof p->key, text);
    else if (strcmp(name, "UploadId") == 0)
        copy(p->upload, sizeof p->upload, text);
    else if (strcmp(name, "ETag") == 0)
        copy(p->etag, sizeof p->etag, text);
    else if (strcmp(name, "LastModified") == 0)
        copy(p->modified, sizeof p->modified, text);
    else if (strcmp(name, "Size") == 0) {
        errno = 0;
        p->size = strtoull(text, NULL, 10);
        if (errno || *text < '0' || *text > '9' || p->size > INT64_MAX)
            return err_set(e, ERR_IO, "the size of %.200s in the list is not a number", p->key);
    }
    return 0;
}

static int read_page(
    void *context, const char *parent, const char *name, const char *text, struct err *e)
{
    struct page *p = context;

    if (strcmp(name, p->item) == 0)
        return end_item(p, e);
    if (strcmp(parent, p->item) == 0)
        return read_item(p, name, text, e);
    if (strcmp(name, "IsTruncated") == 0)
        p->truncated = strcmp(text, "true") == 0;
    else if (strcmp(name, "NextContinuationToken") == 0 || strcmp(name, "NextKeyMarker") == 0)
        copy(p->next_key, sizeof p->next_key, text);
    else if (strcmp(name, "NextUploadIdMarker") == 0)
        copy(p->next_upload, sizeof p->next_upload, text);
    return 0;
}

static int fetch_page(
    struct s3 *s, struct page *p, const struct sigv4_pair *query, size_t n_query, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct s3_call call = {
        .operation = "list",
        .method = "GET",
        .query = query,
        .n_query = n_query,
    };

    int result = s3_send(s, &call, &answer, e);
    p->requests += answer.tries;
    if (result < 0)
        return -1;
    const char *date = http_answer_header(&answer.http, "date");
    copy(p->date, sizeof p->date, date ? date : "");
    p->truncated = false;
    p->next_key[0] = p->next_upload[0] = '\0';
    if (xml_read(answer.http.body, answer.http.body_bytes, read_page, p, e) < 0)
        return err_wrap(e, "list bucket %s", s->bucket);
    if (p->truncated && !*p->next_key)
        return err_set(e, ERR_IO, "list bucket %s: the server does not say where the list goes on",
                       s->bucket);
    return 0;
}

/* delimiter: keys count only up to it, and those alike so far as one; NULL = whole keys. */
static int each_page(
    struct s3 *s, const char *prefix, const char *delimiter, struct page *p, struct err *e)
{
    p->item = p->unfinished ? "Upload" : delimiter ? "CommonPrefixes" : "Contents";
    for (size_t pages = 0; pages < PAGES_MAX; pages++) {
        AUTO_MEM char *next = p->unfinished ? sigv4_decode(p->next_key) : mem_dup(p->next_key);
        AUTO_MEM char *upload = mem_dup(p->next_upload);
        struct sigv4_pair query[QUERY_MAX] = {{"encoding-type", "url"}, {"prefix", prefix}};
        size_t n = 2;
        query[n++] = p->unfinished ? (struct sigv4_pair){"uploads", ""}
                                   : (struct sigv4_pair){"list-type", "2"};
        if (delimiter)
            query[n++] = (struct sigv4_pair){"delimiter", delimiter};
        if (pages && p->unfinished) {
            query[n++] = (struct sigv4_pair){"key-marker", next};
            query[n++] = (struct sigv4_pair){"upload-id-marker", upload};
        } else if (pages) {
            query[n++] = (struct sigv4_pair){"continuation-token", next};
        }
        if (fetch_page(s, p, query, n, e) < 0)
            return -1;
        if (!p->truncated)
            return 0;
    }
    return err_set(e, ERR_IO, "list bucket %s: the list does not end", s->bucket);
}

static struct page *page_new(int (*each)(struct page *p, struct err *e), void *context)
{
    struct page *p = mem_zero(1, sizeof *p);

    p->each = each;
    p->context = context;
    return p;
}

/* ---- projects ---- */

/* The key is the prefix of the store, a name, and a slash. */
static int see_project(struct page *p, struct err *e)
{
    const char *name = p->key + p->prefix_bytes;
    size_t n = strlen(p->key);

    if (n <= p->prefix_bytes)
        return 0;
    p->key[n - 1] = '\0';
    return store_check_project(name, NULL) < 0 ? 0 : p->visit_project(p->context, name, e);
}

int s3_projects(struct store *store, store_visit_project *visit, void *context, struct err *e)
{
    struct s3 *s = store->priv;
    AUTO_MEM char *prefix = mem_printf("%s%s", s->prefix, *s->prefix ? "/" : "");
    AUTO_MEM struct page *p = page_new(see_project, context);

    p->visit_project = visit;
    p->prefix_bytes = strlen(prefix);
    return each_page(s, prefix, "/", p, e);
}

/* ---- the blobs of a project ---- */

/* The name of the blob whose key this is, from the room on ("packs/NAME"), or NULL: others may keep
 * things here too. */
static const char *blob_of(const char *key)
{
    const char *slash = strchr(key, '/');

    if (!slash || !store_name_good(slash + 1))
        return NULL;
    const char *room = s3_room(slash + 1);
    size_t n = (size_t)(slash - key);
    return strlen(room) == n && strncmp(room, key, n) == 0 ? slash + 1 : NULL;
}

static int see_blob(struct page *p, struct err *e)
{
    const char *name = strlen(p->key) > p->prefix_bytes ? blob_of(p->key + p->prefix_bytes) : NULL;

    if (!name)
        return 0;
    struct store_blob blob = {
        .name = name,
        .size = p->size,
        .session = store_name_session(name),
        .unfinished = p->unfinished,
    };
    return p->visit_blob(p->context, &blob, e);
}

int s3_list(
    struct store *store, const char *project, store_visit_blob *visit, void *context, struct err *e)
{
    struct s3 *s = store->priv;
    char prefix[S3_KEY];
    AUTO_MEM struct page *p = page_new(see_blob, context);

    p->visit_blob = visit;
    p->prefix_bytes = strlen(s3_key(s, project, NULL, prefix));
    if (each_page(s, prefix, NULL, p, e) < 0)
        return -1;
    p->unfinished = true;
    return each_page(s, prefix, NULL, p, e);
}

/* ---- objects under keys, and those of other programs ---- */

static int see_object(struct page *p, struct err *e)
{
    size_t quoted = p->etag[0] == '"', n = strcspn(p->etag + quoted, "\"");
    const char *key = p->key + p->prefix_bytes;

    p->etag[quoted + n] = '\0';
    if (!p->foreign &&
        (strlen(p->key) <= p->prefix_bytes || store_keyed_check(key, NULL) < 0 || n >= STORE_ETAG))
        return 0;
    const struct store_keyed o = {
        .key = key,
        .size = p->size,
        .etag = p->etag + quoted,
        .modified_ms = time_from_iso(p->modified),
    };
    return p->keyed->visit(p->keyed->context, &o, e);
}

int s3_keyed_list(struct store *store, struct store_keyed_list *list, struct err *e)
{
    struct s3 *s = store->priv;
    AUTO_MEM char *all = mem_printf("%s%s%s", s->prefix, *s->prefix ? "/" : "", list->prefix);
    AUTO_MEM struct page *p = page_new(see_object, NULL);

    p->keyed = list;
    p->prefix_bytes = strlen(all) - strlen(list->prefix);
    int result = each_page(s, all, NULL, p, e);
    list->tally->lists += p->requests;
    list->now_ms = time_from_http(p->date);
    return result;
}

int store_foreign_list(struct store *s, const struct store_keyed_list *list, struct err *e)
{
    AUTO_MEM struct page *p = page_new(see_object, NULL);

    p->keyed = list;
    p->foreign = true;
    return each_page(s->priv, list->prefix, NULL, p, e);
}

int store_foreign_read(
    struct store *s, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    return s3_get_range(s->priv, key, offset, bytes, n, e);
}

/* ---- unfinished uploads of one key ---- */

int s3_abort_upload(struct s3 *s, const char *key, const char *upload, struct err *e)
{
    AUTO_CLEAR(s3_answer) struct s3_answer answer = {0};
    struct sigv4_pair query = {"uploadId", upload};
    struct s3_call call = {
        .operation = "delete",
        .method = "DELETE",
        .key = key,
        .query = &query,
        .n_query = 1,
    };

    if (s3_send(s, &call, &answer, e) == 0 || strcmp(answer.code, "NoSuchUpload") == 0)
        return 0;
    return -1;
}

struct aborting {
    struct s3 *s3;
    const char *key;
};

static int abort_one(struct page *p, struct err *e)
{
    const struct aborting *a = p->context;

    return strcmp(p->key, a->key) == 0 ? s3_abort_upload(a->s3, a->key, p->upload, e) : 0;
}

int s3_abort_uploads(struct s3 *s, const char *key, struct err *e)
{
    AUTO_MEM struct page *p = page_new(abort_one, &(struct aborting){s, key});

    p->unfinished = true;
    return each_page(s, key, NULL, p, e);
}
