/* Objects of a bucket under keys of the caller's choice, written under conditions. The tables of
 * the drivers list the functions; trainings use them. */
#include "store/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static int hash(void *context, const void *bytes, size_t n, struct err *e)
{
    (void)e;
    sha256_add(context, bytes, n);
    return 0;
}

/* When the answer to our first try was lost, the second one finds what the first one wrote. */
static int was_ours(struct remote *r,
                    const char *key,
                    const struct store_keyed_put *put,
                    struct err *e)
{
    static const struct remote_range all;
    AUTO(sha256) struct sha256 *sha = sha256_new();
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct remote_call get = {
        .operation = "read",
        .method = "GET",
        .key = key,
        .sink = hash,
        .context = sha,
        .sink_bytes = put->n,
    };

    int result = r->service->get(r, &get, &all, &answer, e);
    put->tally->reads += answer.tries;
    if (result < 0)
        return answer.http.status == 404 ? 0 : -1;
    r->service->read_etag(&answer, put->etag_out);
    struct sha256_digest there = sha256_take(sha);
    struct sha256_digest ours =
        put->digest ? *put->digest : sha256_of(put->n ? put->bytes : "", (size_t)put->n);
    return sha256_equal(&there, &ours);
}

static size_t parts_of(const struct remote *r, const struct store_keyed_put *put)
{
    bool divisible = put->bytes && put->condition == STORE_ALWAYS && r->service->parts_at_once > 1;

    return divisible ? store_keyed_parts(put->n, put->connections) : 1;
}

int remote_keyed_put(struct store *store, const struct store_keyed_put *put, struct err *e)
{
    struct remote *r = store->priv;
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    char full[REMOTE_KEY];
    struct remote_call call = {
        .key = remote_full_key(r, put->key, full),
        .body = put->bytes,
        .body_bytes = put->n,
        .pull = put->pull,
        .context = put->context,
        .digest = put->digest,
    };

    size_t parts = parts_of(r, put);
    if (parts > 1)
        return remote_put_parts(r, full, put, parts, e);
    int result = r->service->put(r, &call, put->condition, put->etag, put->etag_out, &answer, e);
    put->tally->writes += answer.tries;
    if (result == 0)
        put->tally->written_bytes += put->n;
    if (result < 0 && answer.http.status == 501)
        return err_wrap(e, "the store does not know conditional writes, which rounds need");
    if (result <= 0)
        return result;
    int ours = answer.tries > 1 ? was_ours(r, full, put, e) : 0;
    return ours < 0 ? -1 : !ours;
}

/* ---- reading ---- */

static int pour(void *context, const void *bytes, size_t n, struct err *e)
{
    const struct store_keyed_get *get = context;

    get->tally->read_bytes += n;
    return get->sink(get->context, bytes, n, e);
}

int remote_keyed_get(struct store *store, const struct store_keyed_get *get, struct err *e)
{
    struct remote *r = store->priv;
    AUTO_CLEAR(remote_answer) struct remote_answer answer = {0};
    struct store_keyed_get pouring = *get;
    const struct remote_range range = {get->offset, get->length, get->etag};
    char full[REMOTE_KEY];
    struct remote_call call = {
        .operation = "read",
        .method = "GET",
        .key = remote_full_key(r, get->key, full),
        .sink = pour,
        .context = &pouring,
        .sink_bytes = get->expected_bytes,
        .stall_s = get->stall_s,
    };

    int result = r->service->get(r, &call, &range, &answer, e);
    get->tally->reads += answer.tries;
    if (result < 0 && answer.http.status == 416 && get->offset)
        return 0; /* it ends before: there is nothing from there on */
    if (result < 0 && answer.http.status == 412)
        return err_set(e, ERR_RETRY, "%s/%s was written again meanwhile", r->shown, full);
    return result;
}

int remote_keyed_delete(struct store *store,
                        const char *key,
                        struct store_tally *tally,
                        struct err *e)
{
    struct remote *r = store->priv;
    char full[REMOTE_KEY];

    tally->deletes++;
    return remote_delete(r, remote_full_key(r, key, full), e);
}
