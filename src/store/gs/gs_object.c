/* Single requests of Google on objects and buckets, and pages of lists. The driver lists the
 * functions. */
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "net/base64.h"
#include "store/gs/gs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of an object that arrives damaged. */
#define SENDINGS 3
#define QUERY_MAX 6

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

/* ---- what Google says of an object ---- */

int gs_read_object(const char *body, size_t n, struct gs_object *out, struct err *e)
{
    AUTO_JSON json_t *root = json_loadb(body, n, 0, NULL);
    const char *size = text_of(root, "size"), *generation = text_of(root, "generation");
    char *end;

    errno = 0;
    out->size = strtoull(size, &end, 10);
    if (*size < '0' || *size > '9' || *end || errno || out->size > INT64_MAX || !*generation ||
        strspn(generation, "0123456789") != strlen(generation) ||
        strlen(generation) >= sizeof out->generation)
        return err_set(e, ERR_IO, "the server does not tell size and generation of the object");
    snprintf(out->generation, sizeof out->generation, "%s", generation);
    snprintf(out->crc32c, sizeof out->crc32c, "%.15s", text_of(root, "crc32c"));
    return 0;
}

static int ask(struct remote *r, const char *key, struct gs_object *out, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    const struct sigv4_pair query = {"fields", "size,generation,crc32c"};
    struct remote_call call = {
        .operation = "read", .method = "GET", .key = key, .query = &query, .n_query = 1};

    if (remote_send(r, &call, &answer, e) < 0)
        return -1;
    if (gs_read_object(answer.http.body, answer.http.body_bytes, out, e) < 0)
        return err_wrap(e, "%s/%s", r->shown, key);
    return 0;
}

int gs_head(struct remote *r, const char *key, uint64_t *size_out, struct err *e)
{
    struct gs_object object;

    if (ask(r, key, &object, e) < 0)
        return -1;
    *size_out = object.size;
    return 0;
}

void gs_add_crc(void *crc, const void *bytes, size_t n)
{
    *(uint32_t *)crc = hash_crc32c(*(uint32_t *)crc, bytes, n);
}

/* Only the one that was damaged. */
static void remove_generation(struct remote *r, const char *key, const char *generation)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    const struct sigv4_pair query = {"ifGenerationMatch", generation};
    struct remote_call call = {
        .operation = "delete", .method = "DELETE", .key = key, .query = &query, .n_query = 1};

    remote_send(r, &call, &answer, NULL);
}

int gs_verify(struct remote *r,
              const char *key,
              const struct remote_answer *a,
              uint32_t crc,
              struct gs_object *out,
              struct err *e)
{
    const unsigned char bytes[4] = {(unsigned char)(crc >> 24), (unsigned char)(crc >> 16),
                                    (unsigned char)(crc >> 8), (unsigned char)crc};
    AUTO_MEM char *ours = base64_encode(bytes, sizeof bytes);

    if (gs_read_object(a->http.body, a->http.body_bytes, out, NULL) < 0 && ask(r, key, out, e) < 0)
        return -1;
    if (!*out->crc32c || strcmp(out->crc32c, ours) == 0)
        return 0;
    remove_generation(r, key, out->generation);
    return err_set(e, ERR_RETRY, "%s/%s was damaged on its way: CRC32C %s, %s was sent", r->shown,
                   key, out->crc32c, ours);
}

/* ---- one object ---- */

static int put_checked(struct remote *r,
                       const struct remote_call *put,
                       uint32_t crc,
                       char *etag_out,
                       struct remote_answer *out,
                       struct err *e)
{
    struct gs_object object;
    unsigned tries = 0;

    for (unsigned sending = 1;; sending++) {
        struct err why = {0};
        int result = remote_send(r, put, out, &why);
        tries += out->tries;
        out->tries = tries;
        if (result == 0)
            result = gs_verify(r, put->key, out, crc, &object, &why);
        if (result == 0) {
            if (etag_out)
                snprintf(etag_out, STORE_ETAG, "%s", object.generation);
            return 0;
        }
        bool is_damaged = out->http.status >= 200 && out->http.status < 300;
        if (!is_damaged || why.kind != ERR_RETRY || sending == SENDINGS)
            return err_set(e, why.kind, "%s", why.text);
        remote_answer_clear(out);
    }
}

int gs_put(struct remote *r,
           const struct remote_call *c,
           enum store_condition condition,
           const char *etag,
           char *etag_out,
           struct remote_answer *out,
           struct err *e)
{
    const struct sigv4_pair header = {"content-type", "application/octet-stream"};
    const struct sigv4_pair query[] = {
        {"uploadType", "media"},
        {"name", c->key},
        {"ifGenerationMatch", condition == STORE_MATCH ? etag : "0"},
    };
    AUTO_MEM char *path = gs_upload_path(r);
    struct remote_call put = *c;
    uint32_t crc = 0;

    if (remote_each_byte(c, gs_add_crc, &crc, e) < 0)
        return -1;
    put.operation = "write";
    put.method = "POST";
    put.path = path;
    put.query = query;
    put.n_query = condition == STORE_ALWAYS ? 2 : 3;
    put.headers = &header;
    put.n_headers = 1;
    if (put_checked(r, &put, crc, etag_out, out, e) == 0)
        return 0;
    return condition != STORE_ALWAYS && out->http.status == 412 ? 1 : -1;
}

int gs_get(struct remote *r,
           const struct remote_call *c,
           const struct remote_range *range,
           struct remote_answer *out,
           struct err *e)
{
    char text[REMOTE_RANGE];
    const struct sigv4_pair query[] = {{"alt", "media"}, {"ifGenerationMatch", range->etag}};
    /* The bytes as they are stored, also of objects that are marked as compressed. */
    const struct sigv4_pair headers[] = {{"accept-encoding", "gzip"},
                                         {"range", remote_range_text(range, text)}};
    struct remote_call get = *c;

    get.query = query;
    get.n_query = range->etag ? 2 : 1;
    get.headers = headers;
    get.n_headers = range->offset || range->length ? 2 : 1;
    return remote_send(r, &get, out, e);
}

int gs_remove(struct remote *r, const char *key, struct remote_answer *out, struct err *e)
{
    struct remote_call call = {.operation = "delete", .method = "DELETE", .key = key};

    return remote_send(r, &call, out, e);
}

int gs_make_bucket(struct remote *r, struct err *e)
{
    static const struct credentials_sources real;
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct gs *g = r->own;
    const char *location = r->store->settings.region;
    struct err why = {0};

    pthread_mutex_lock(&r->lock);
    AUTO_MEM char *project = token_google_project(&real, &g->tokens.login, r->http, &why);
    pthread_mutex_unlock(&r->lock);
    if (!project)
        return err_set(e, why.kind, "%s", why.text);
    AUTO_JSON json_t *bucket = json_pack("{s:s,s:s*}", "name", r->bucket, "location", location);
    AUTO_MEM char *body = json_dumps(bucket, 0);
    const struct sigv4_pair query = {"project", project};
    const struct sigv4_pair header = {"content-type", "application/json"};
    struct remote_call call = {
        .operation = "write",
        .method = "POST",
        .path = "/storage/v1/b",
        .query = &query,
        .n_query = 1,
        .headers = &header,
        .n_headers = 1,
        .body = body,
        .body_bytes = body ? strlen(body) : 0,
    };
    /* One that somebody made meanwhile will do. */
    return remote_send(r, &call, &answer, e) == 0 || answer.http.status == 409 ? 0 : -1;
}

/* ---- lists ---- */

static int read_item(struct remote_page *p, const json_t *item, struct err *e)
{
    snprintf(p->key, sizeof p->key, "%s", text_of(item, "name"));
    snprintf(p->etag, sizeof p->etag, "%.*s", STORE_ETAG - 1, text_of(item, "generation"));
    p->modified_ms = time_from_iso(text_of(item, "updated"));
    return remote_read_size(p, text_of(item, "size"), e) < 0 ? -1 : remote_page_item(p, e);
}

int gs_read_page(struct remote_page *p, const char *body, size_t n, struct err *e)
{
    AUTO_JSON json_t *root = json_loadb(body, n, 0, NULL);
    size_t i;
    json_t *one;

    if (!json_is_object(root))
        return err_set(e, ERR_IO, "the answer is no JSON");

    json_array_foreach(json_object_get(root, p->delimiter ? "prefixes" : "items"), i, one)
    {
        if (!p->delimiter) {
            if (read_item(p, one, e) < 0)
                return -1;
            continue;
        }
        const char *key = json_string_value(one);
        snprintf(p->key, sizeof p->key, "%s", key ? key : "");
        if (remote_page_item(p, e) < 0)
            return -1;
    }
    snprintf(p->next, sizeof p->next, "%s", text_of(root, "nextPageToken"));
    return 0;
}

int gs_page(struct remote *r, struct remote_page *p, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    AUTO_MEM char *next = mem_dup(p->next);
    struct sigv4_pair query[QUERY_MAX] = {
        {"maxResults", "1000"},
        {"prefix", p->prefix},
        {"fields", "nextPageToken,prefixes,items(name,size,generation,updated)"},
    };
    size_t n = 3;

    if (p->delimiter)
        query[n++] = (struct sigv4_pair){"delimiter", p->delimiter};
    if (*next)
        query[n++] = (struct sigv4_pair){"pageToken", next};
    struct remote_call call = {.operation = "list", .method = "GET", .query = query, .n_query = n};
    if (remote_page_send(r, p, &call, &answer, e) < 0)
        return -1;
    if (gs_read_page(p, answer.http.body, answer.http.body_bytes, e) < 0)
        return err_wrap(e, "list %s", r->shown);
    return 0;
}
