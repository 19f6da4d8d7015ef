/* The lease of the invocation that averages a round. An object that one invocation alone
 * writes, under a condition, and holds for a lease, which its holder renews while it works. Ages
 * are those of the store's own clock: the clocks of functions need not agree. */
#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time.h"
#include "fed/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BODY_MAX 1024

void fed_claim_clear(struct fed_claim *c)
{
    free(c->body);
    c->body = NULL;
}

void fed_claim_seen(struct fed_claim *c, const struct store_keyed *o)
{
    c->there = true;
    c->modified_ms = o->modified_ms;
    snprintf(c->etag, sizeof c->etag, "%s", o->etag);
}

/* Each is different, so that an answer that was lost can be found out about. */
static char *new_body(unsigned worker)
{
    uint64_t random = 0;
    char at[32], token[32];

    while (getrandom(&random, sizeof random, 0) != sizeof random)
        ;
    snprintf(token, sizeof token, "%016" PRIx64, random);
    AUTO_JSON json_t *root = json_pack("{s:i, s:s, s:s}", "worker", (int)worker, "at",
                                       time_iso_ms(time_epoch_ms(), at), "token", token);
    return json_dumps(root, JSON_COMPACT);
}

static int write_claim(struct fed_claim *c, enum store_condition condition, struct err *e)
{
    double began_s = time_monotonic_s();
    char etag[STORE_ETAG];
    struct store_keyed_put put = {
        .key = c->key,
        .condition = condition,
        .etag = c->etag,
        .bytes = c->body,
        .n = strlen(c->body),
        .etag_out = etag,
        .tally = c->tally,
    };

    int result = store_keyed_put(c->store, &put, e);
    if (result != 0)
        return result;
    memcpy(c->etag, etag, sizeof etag);
    c->there = true;
    c->since_s = began_s;
    return 0;
}

/* ---- whose is it ---- */

static int collect(void *context, const void *bytes, size_t n, struct err *e)
{
    return buf_add(context, bytes, n) < 0 ? err_set(e, ERR_IO, "the claim is too long") : 0;
}

/* What was just there may be gone: then the round is over. */
static int is_ours(const struct fed_claim *c, struct err *e)
{
    AUTO_CLEAR(buf) struct buf body = {0};
    struct store_keyed_get get = {
        .key = c->key, .sink = collect, .context = &body, .tally = c->tally};
    struct err why = {0};

    buf_init(&body, BODY_MAX);
    if (store_keyed_get(c->store, &get, &why) < 0) {
        if (why.kind == ERR_NOTFOUND)
            return 0;
        if (e)
            *e = why;
        return -1;
    }
    AUTO_JSON json_t *root = json_loads(buf_str(&body), 0, NULL);
    const json_t *holder = json_object_get(root, "worker");
    return json_is_integer(holder) && json_integer_value(holder) == c->worker;
}

bool fed_claim_is_stale(const struct fed_claim *c)
{
    return c->there && (double)(c->now_ms - c->modified_ms) > c->lease_s * 1000;
}

int fed_claim_meet(struct fed_claim *c, struct err *e)
{
    int ours = is_ours(c, e);

    if (ours <= 0)
        return ours;
    return err_set(e, ERR_RETRY,
                   "an event of worker %u holds it already; if that one died, another delivery "
                   "after %.0f s goes on",
                   c->worker, c->lease_s);
}

int fed_claim_take(struct fed_claim *c, struct err *e)
{
    bool fresh = c->there && !fed_claim_is_stale(c);

    if (!fresh) {
        c->taken_over = c->there;
        c->body = new_body(c->worker);
        int result = write_claim(c, c->there ? STORE_MATCH : STORE_ABSENT, e);
        if (result <= 0)
            return result < 0 ? err_wrap(e, "claim it") : 1;
    }
    return fed_claim_meet(c, e);
}

int fed_claim_renew(struct fed_claim *c, struct err *e)
{
    if (time_monotonic_s() - c->since_s < c->lease_s / 2)
        return 0;
    int result = write_claim(c, STORE_MATCH, e);
    return result < 0 ? err_wrap(e, "renew the claim") : result;
}

void fed_claim_drop(struct fed_claim *c)
{
    if (time_monotonic_s() - c->since_s < c->lease_s / 2)
        store_keyed_delete(c->store, c->key, c->tally, NULL);
}
