/* Single requests on an object of a bucket: put, get, delete, and the probe of a new store. The
 * other files of remote.h call it. */
#include "base/mem.h"
#include "store/remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBE 64

bool remote_conditions_refused(struct remote *r, const struct remote_answer *a)
{
    if (a->http.status != 501 || r->unconditional)
        return false;
    r->unconditional = true;
    return true;
}

static int verify_earlier(struct remote *r, const char *key, uint64_t size, struct err *e)
{
    uint64_t there = 0;

    if (r->service->head(r, key, &there, e) < 0)
        return -1;
    if (there != size)
        return err_set(e, ERR_IO,
                       "%s/%s exists with %" PRIu64 " bytes, and %" PRIu64 " should be written",
                       r->shown, key, there, size);
    return 0;
}

int remote_put_once(struct remote *r, const char *key, const struct remote_call *c, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct remote_call put = *c;

    put.key = key;
    int result = r->service->put(r, &put, r->unconditional ? STORE_ALWAYS : STORE_ABSENT, NULL,
                                 NULL, &answer, e);
    if (result < 0 && remote_conditions_refused(r, &answer)) {
        remote_answer_clear(&answer);
        result = r->service->put(r, &put, STORE_ALWAYS, NULL, NULL, &answer, e);
    }
    return result == 1 ? verify_earlier(r, key, put.body_bytes, e) : result;
}

int remote_head(struct remote *r, const char *key, uint64_t *size_out, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct remote_call head = {.operation = "read", .method = "HEAD", .key = key};

    if (remote_send(r, &head, &answer, e) < 0)
        return -1;
    const char *length = http_answer_header(&answer.http, "content-length");
    char *end = NULL;
    errno = 0;
    unsigned long long size = length ? strtoull(length, &end, 10) : 0;
    if (!length || *length < '0' || *length > '9' || *end || errno || size > INT64_MAX)
        return err_set(e, ERR_IO, "%s/%s: the server does not tell its size", r->shown, key);
    *size_out = size;
    return 0;
}

void remote_read_etag(const struct remote_answer *a, char out[static STORE_ETAG])
{
    const char *etag = http_answer_header(&a->http, "etag");

    etag = etag ? etag + strspn(etag, "\"") : "";
    snprintf(out, STORE_ETAG, "%.*s", (int)strcspn(etag, "\""), etag);
}

const char *remote_range_text(const struct remote_range *range, char out[static REMOTE_RANGE])
{
    int n = snprintf(out, REMOTE_RANGE, "bytes=%" PRIu64 "-", range->offset);

    if (range->length)
        snprintf(out + n, (size_t)(REMOTE_RANGE - n), "%" PRIu64,
                 range->offset + range->length - 1);
    return out;
}

int remote_get_range(
    struct remote *r, const char *key, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    const struct remote_range range = {.offset = offset, .length = n};
    struct remote_call get = {
        .operation = "read",
        .method = "GET",
        .key = key,
        .into = bytes,
        .into_bytes = n,
    };

    return r->service->get(r, &get, &range, &answer, e);
}

int remote_delete(struct remote *r, const char *key, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};

    if (r->service->remove(r, key, &answer, e) == 0 || strcmp(answer.code, "NoSuchKey") == 0)
        return 0;
    return -1;
}

/* ---- the probe ---- */

static int put_probe(struct remote *r, const char *key, const char *text, struct err *e)
{
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct remote_call put = {.key = key, .body = text, .body_bytes = strlen(text)};

    if (r->service->put(r, &put, STORE_ALWAYS, NULL, NULL, &answer, e) == 0)
        return 0;
    if (strcmp(answer.code, "NoSuchBucket") != 0)
        return -1;
    if (r->service->make_bucket(r, e) < 0)
        return err_wrap(e, "%s %s does not exist and cannot be created", r->service->noun,
                        r->bucket);
    remote_answer_clear(&answer);
    return r->service->put(r, &put, STORE_ALWAYS, NULL, NULL, &answer, e);
}

static int reads_back(struct remote *r, const char *key, const char *text, struct err *e)
{
    char back[PROBE] = "";

    if (remote_get_range(r, key, 0, back, strlen(text), e) < 0)
        return -1;
    return strcmp(text, back) == 0
               ? 0
               : err_set(e, ERR_IO, "%s/%s does not read back as it was written", r->shown, key);
}

int remote_probe(struct store *store, struct err *e)
{
    struct remote *r = store->priv;
    char name[PROBE], key[REMOTE_KEY], text[PROBE];

    snprintf(name, sizeof name, "tradewind-probe-%016" PRIx64, store_random(store));
    snprintf(text, sizeof text, "tradewind may write here: %016" PRIx64, store_random(store));
    if (put_probe(r, remote_full_key(r, name, key), text, e) < 0)
        return -1;
    int result = reads_back(r, key, text, e);
    return remote_delete(r, key, result < 0 ? NULL : e) < 0 ? -1 : result;
}
