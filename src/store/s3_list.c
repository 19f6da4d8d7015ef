/* Lists objects, projects and unfinished uploads of S3, page by page. The driver `s3` lists the
 * functions. */
#include "base/mem.h"
#include "base/time.h"
#include "store/objects.h"
#include "store/s3.h"
#include "store/s3_xml.h"

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
    void *context;
    bool truncated;
    char next_key[S3_XML_TEXT]; /* or the continuation token */
    char next_upload[UPLOAD_ID];
    /* the item at hand */
    char key[S3_XML_TEXT];
    char upload[UPLOAD_ID];
    char etag[ETAG];
    char modified[DATE];
    uint64_t size;
    /* of all pages so far */
    uint64_t requests;
    char date[DATE]; /* of the last answer */
};

/* Keys come percent-encoded, since XML cannot hold every byte. '+' stands for a space. */
static void decode(char *text)
{
    char *to = text;

    for (const char *c = text; *c; c++, to++) {
        *to = *c == '+' ? ' ' : *c;
        if (*c == '%' && strspn(c + 1, "0123456789abcdefABCDEF") >= 2) {
            *to = (char)strtoul((char[]){c[1], c[2], '\0'}, NULL, 16);
            c += 2;
        }
    }
    *to = '\0';
}

static void copy(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
}

static int end_item(struct page *p, struct err *e)
{
    decode(p->key);
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
            return err_set(e, ERR_IO, "the size of %.200s in the list is no number", p->key);
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
    if (s3_xml_read(answer.http.body, answer.http.body_bytes, read_page, p, e) < 0)
        return err_wrap(e, "list bucket %s", s->bucket);
    if (p->truncated && !*p->next_key)
        return err_set(e, ERR_IO, "list bucket %s: the server does not say where the list goes on",
                       s->bucket);
    return 0;
}

static int too_long(const struct s3 *s, struct err *e)
{
    return err_set(e, ERR_IO, "list bucket %s: the list does not end", s->bucket);
}

/* delimiter: keys count only up to it, and those alike so far as one; NULL = whole keys. */
static int each_object(
    struct s3 *s, const char *prefix, const char *delimiter, struct page *p, struct err *e)
{
    p->item = delimiter ? "CommonPrefixes" : "Contents";
    for (size_t pages = 0; pages < PAGES_MAX; pages++) {
        AUTO_MEM char *token = pages ? mem_dup(p->next_key) : NULL;
        struct sigv4_pair query[QUERY_MAX] = {
            {"encoding-type", "url"},
            {"list-type", "2"},
            {"prefix", prefix},
        };
        size_t n = 3;
        if (delimiter)
            query[n++] = (struct sigv4_pair){"delimiter", delimiter};
        if (token)
            query[n++] = (struct sigv4_pair){"continuation-token", token};
        if (fetch_page(s, p, query, n, e) < 0)
            return -1;
        if (!p->truncated)
            return 0;
    }
    return too_long(s, e);
}

static int each_upload(struct s3 *s, const char *prefix, struct page *p, struct err *e)
{
    p->item = "Upload";
    for (size_t pages = 0; pages < PAGES_MAX; pages++) {
        decode(p->next_key);
        AUTO_MEM char *key = pages ? mem_dup(p->next_key) : NULL;
        AUTO_MEM char *upload = pages ? mem_dup(p->next_upload) : NULL;
        struct sigv4_pair query[QUERY_MAX] = {
            {"encoding-type", "url"}, {"prefix", prefix},           {"uploads", ""},
            {"key-marker", key},      {"upload-id-marker", upload},
        };
        if (fetch_page(s, p, query, key ? 5 : 3, e) < 0)
            return -1;
        if (!p->truncated)
            return 0;
    }
    return too_long(s, e);
}

/* ---- projects ---- */

struct projects {
    size_t prefix_bytes;
    int (*visit)(void *context, const char *project, struct err *e);
    void *context;
};

/* The key is the prefix of the store, a name, and a slash. */
static int visit_project(struct page *p, struct err *e)
{
    const struct projects *all = p->context;
    size_t n = strlen(p->key);

    if (n <= all->prefix_bytes)
        return 0;
    p->key[n - 1] = '\0';
    const char *name = p->key + all->prefix_bytes;
    return store_check_project(name, NULL) < 0 ? 0 : all->visit(all->context, name, e);
}

int s3_projects(struct store *store,
                int (*visit)(void *context, const char *project, struct err *e),
                void *context,
                struct err *e)
{
    struct s3 *s = store->priv;
    AUTO_MEM char *prefix = mem_printf("%s%s", s->prefix, *s->prefix ? "/" : "");
    struct projects all = {.prefix_bytes = strlen(prefix), .visit = visit, .context = context};
    AUTO_MEM struct page *p = mem_zero(1, sizeof *p);

    p->each = visit_project;
    p->context = &all;
    return each_object(s, prefix, "/", p, e);
}

/* ---- the blobs of a project ---- */

struct listing {
    const struct s3 *s3;
    char prefix[S3_KEY]; /* of the project's keys */
    bool unfinished;
    int (*visit)(void *context, const struct store_blob *blob, struct err *e);
    void *context;
};

/* The name of the blob this key belongs to, or NULL: others may keep things here too. */
static const char *blob_of(const struct listing *l, const char *key)
{
    size_t n = strlen(l->prefix);

    if (strncmp(key, l->prefix, n) != 0)
        return NULL;
    const char *slash = strchr(key + n, '/');
    if (!slash || !store_name_good(slash + 1))
        return NULL;
    const char *room = s3_room(slash + 1);
    size_t room_n = (size_t)(slash - key) - n;
    return strlen(room) == room_n && strncmp(room, key + n, room_n) == 0 ? slash + 1 : NULL;
}

static int visit_blob(struct page *p, struct err *e)
{
    const struct listing *l = p->context;
    const char *name = blob_of(l, p->key);

    if (!name)
        return 0;
    struct store_blob blob = {
        .name = name,
        .size = p->size,
        .session = store_name_session(name),
        .unfinished = l->unfinished,
    };
    return l->visit(l->context, &blob, e);
}

int s3_list(struct store *store,
            const char *project,
            int (*visit)(void *context, const struct store_blob *blob, struct err *e),
            void *context,
            struct err *e)
{
    struct s3 *s = store->priv;
    struct listing l = {.s3 = s, .visit = visit, .context = context};
    AUTO_MEM struct page *p = mem_zero(1, sizeof *p);

    s3_key(s, project, NULL, l.prefix);
    p->each = visit_blob;
    p->context = &l;
    if (each_object(s, l.prefix, NULL, p, e) < 0)
        return -1;
    l.unfinished = true;
    return each_upload(s, l.prefix, p, e);
}

/* ---- what others keep ---- */

struct others {
    int (*visit)(void *context, const struct store_object *o, struct err *e);
    void *context;
};

static int visit_object(struct page *p, struct err *e)
{
    const struct others *others = p->context;
    size_t quoted = p->etag[0] == '"', n = strcspn(p->etag + quoted, "\"");

    p->etag[quoted + n] = '\0';
    const struct store_object object = {.key = p->key, .size = p->size, .etag = p->etag + quoted};
    return others->visit(others->context, &object, e);
}

int store_objects_list(struct store *s,
                       const char *prefix,
                       int (*visit)(void *context, const struct store_object *o, struct err *e),
                       void *context,
                       struct err *e)
{
    struct others others = {visit, context};
    AUTO_MEM struct page *p = mem_zero(1, sizeof *p);

    p->each = visit_object;
    p->context = &others;
    return each_object(s->priv, prefix, NULL, p, e);
}

int store_object_read(
    struct store *s, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    return s3_get_range(s->priv, key, offset, bytes, n, e);
}

/* ---- objects under keys ---- */

struct keyed {
    size_t prefix_bytes; /* of the store, with the slash */
    int (*visit)(void *context, const struct store_keyed *o, struct err *e);
    void *context;
};

static int visit_keyed(struct page *p, struct err *e)
{
    const struct keyed *k = p->context;
    size_t quoted = p->etag[0] == '"', n = strcspn(p->etag + quoted, "\"");

    p->etag[quoted + n] = '\0';
    if (strlen(p->key) <= k->prefix_bytes ||
        store_keyed_check(p->key + k->prefix_bytes, NULL) < 0 || n >= STORE_ETAG)
        return 0;
    const struct store_keyed o = {
        .key = p->key + k->prefix_bytes,
        .size = p->size,
        .etag = p->etag + quoted,
        .modified_ms = time_from_iso(p->modified),
    };
    return k->visit(k->context, &o, e);
}

int s3_keyed_list(struct store *store,
                  const char *prefix,
                  int (*visit)(void *context, const struct store_keyed *o, struct err *e),
                  void *context,
                  int64_t *now_ms_out,
                  struct store_tally *tally,
                  struct err *e)
{
    struct s3 *s = store->priv;
    AUTO_MEM char *all = mem_printf("%s%s%s", s->prefix, *s->prefix ? "/" : "", prefix);
    struct keyed k = {strlen(all) - strlen(prefix), visit, context};
    AUTO_MEM struct page *p = mem_zero(1, sizeof *p);

    p->each = visit_keyed;
    p->context = &k;
    int result = each_object(s, all, NULL, p, e);
    tally->lists += p->requests;
    *now_ms_out = time_from_http(p->date);
    return result;
}

/* ---- unfinished uploads of one key ---- */

struct abortion {
    struct s3 *s3;
    const char *key;
};

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

static int abort_one(struct page *p, struct err *e)
{
    const struct abortion *a = p->context;

    if (strcmp(p->key, a->key) != 0)
        return 0;
    return s3_abort_upload(a->s3, a->key, p->upload, e);
}

int s3_abort_uploads(struct s3 *s, const char *key, struct err *e)
{
    struct abortion a = {s, key};
    AUTO_MEM struct page *p = mem_zero(1, sizeof *p);

    p->each = abort_one;
    p->context = &a;
    return each_upload(s, key, p, e);
}
