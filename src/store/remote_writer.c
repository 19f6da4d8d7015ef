/* Writes to buckets: gathers small contents in memory until a pack is full, and uploads packs and
 * other objects from memory, several at once, by threads of their own while the caller goes on.
 * remote.h declares the functions. */
#include "base/mem.h"
#include "store/remote.h"

#include <stdlib.h>
#include <string.h>

/* Small contents gather in memory until a pack is full. */
#define PACK_BYTES ((size_t)16 << 20)
/* A new pack begins this small and doubles: most writes bring only a little. */
#define FIRST_BYTES ((size_t)1 << 20)
#define SENDINGS 16
/* What may be on its way at once, unless it is a single blob. */
#define BYTES_MAX ((size_t)96 << 20)

/* One blob on its way. */
struct sending {
    struct writer *writer;
    char blob[STORE_BLOB_NAME];
    unsigned char *bytes;
    size_t n;
    pthread_t thread;
    bool used; /* thread is to be joined */
    bool done;
};

struct writer {
    const struct store_writer *owner;
    atomic_bool closing;
    pthread_mutex_t packing; /* guards the pack being filled; bytes NULL = none yet */
    char name[STORE_BLOB_NAME];
    unsigned char *bytes;
    size_t len, cap;
    pthread_mutex_t lock; /* guards what follows; may be taken while `packing` is held */
    pthread_cond_t moved; /* a sending is done */
    struct sending sendings[SENDINGS];
    size_t under_way, sending_bytes;
    struct err failure; /* the first; ERR_NONE = none. It stays: places were given out */
};

int remote_writer_open(struct store_writer *w, struct err *e)
{
    struct writer *me = mem_zero(1, sizeof *me);

    (void)e;
    me->owner = w;
    pthread_mutex_init(&me->packing, NULL);
    pthread_mutex_init(&me->lock, NULL);
    pthread_cond_init(&me->moved, NULL);
    w->priv = me;
    return 0;
}

/* Breaks off what is still on its way. */
void remote_writer_close(struct store_writer *w)
{
    struct writer *me = w->priv;

    if (!me)
        return;
    me->closing = true;
    for (size_t i = 0; i < SENDINGS; i++)
        if (me->sendings[i].used)
            pthread_join(me->sendings[i].thread, NULL);
    pthread_cond_destroy(&me->moved);
    pthread_mutex_destroy(&me->lock);
    pthread_mutex_destroy(&me->packing);
    free(me->bytes);
    free(me);
    w->priv = NULL;
}

/* ---- sending ---- */

static bool not_closing(void *context)
{
    const struct sending *sending = context;

    return !sending->writer->closing;
}

/* Pulled, so that a slow one can be broken off. */
static int pull(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    const struct sending *sending = context;

    if (sending->writer->closing)
        return err_set(e, ERR_RETRY, "interrupted");
    memcpy(bytes, sending->bytes + offset, n);
    return 0;
}

static int send_blob(struct sending *sending, struct err *e)
{
    const struct store_writer *owner = sending->writer->owner;
    struct remote *r = owner->store->priv;
    struct sha256_digest digest = sha256_of(sending->bytes, sending->n);
    char key[REMOTE_KEY];
    struct remote_call call = {
        .body_bytes = sending->n,
        .digest = &digest,
        .pull = pull,
        .go_on = not_closing,
        .context = sending,
    };

    return remote_put_once(r, remote_key(r, owner->project, sending->blob, key), &call, e);
}

/* With the lock held. */
static void finish(struct sending *sending, int result, const struct err *why)
{
    struct writer *me = sending->writer;

    if (result < 0 && me->failure.kind == ERR_NONE)
        me->failure = *why;
    free(TAKE(sending->bytes));
    me->under_way--;
    me->sending_bytes -= sending->n;
    sending->done = true;
    pthread_cond_broadcast(&me->moved);
}

static void *run_sending(void *argument)
{
    struct sending *sending = argument;
    struct err why = {0};

    int result = send_blob(sending, &why);
    pthread_mutex_lock(&sending->writer->lock);
    finish(sending, result, &why);
    pthread_mutex_unlock(&sending->writer->lock);
    return NULL;
}

/* With the lock held. One that carries nothing, once there is room for n bytes more. */
static struct sending *free_sending(struct writer *me, size_t n)
{
    struct sending *free_one = me->sendings;

    while (me->under_way == SENDINGS || (me->under_way && me->sending_bytes + n > BYTES_MAX))
        pthread_cond_wait(&me->moved, &me->lock);
    while (free_one->used && !free_one->done)
        free_one++;
    if (free_one->used)
        pthread_join(free_one->thread, NULL);
    *free_one = (struct sending){.writer = me};
    return free_one;
}

/* With the lock held. */
static int outcome(const struct writer *me, struct err *e)
{
    if (me->failure.kind == ERR_NONE)
        return 0;
    if (e)
        *e = me->failure;
    return -1;
}

int remote_writer_send(
    struct store_writer *w, const char *blob, unsigned char *bytes, size_t n, struct err *e)
{
    struct writer *me = w->priv;

    pthread_mutex_lock(&me->lock);
    int result = outcome(me, e);
    if (result < 0) {
        free(bytes);
    } else {
        struct sending *sending = free_sending(me, n);
        memcpy(sending->blob, blob, strlen(blob) + 1);
        sending->bytes = bytes;
        sending->n = n;
        me->under_way++;
        me->sending_bytes += n;
        sending->used = true;
        if (pthread_create(&sending->thread, NULL, run_sending, sending) != 0) {
            struct err why = {0};
            sending->used = false;
            finish(sending, send_blob(sending, &why), &why);
            result = outcome(me, e);
        }
    }
    pthread_mutex_unlock(&me->lock);
    return result;
}

/* ---- packs; all with `packing` held ---- */

/* While too much is on its way the pack stays where it is, full, and every writer waits: that
 * bounds memory. */
static int send_pack(struct store_writer *w, struct err *e)
{
    struct writer *me = w->priv;
    size_t n = me->len;

    me->len = me->cap = 0;
    return remote_writer_send(w, me->name, TAKE(me->bytes), n, e);
}

static void append(struct writer *me, const void *bytes, size_t n)
{
    while (me->len + n > me->cap) {
        me->cap = me->cap ? 2 * me->cap : FIRST_BYTES;
        me->bytes = mem_grow(me->bytes, me->cap, 1);
    }
    if (n)
        memcpy(me->bytes + me->len, bytes, n);
    me->len += n;
}

static int add(struct store_writer *w,
               const void *bytes,
               size_t n,
               const struct sha256_digest *digest,
               struct store_place *place_out,
               struct err *e)
{
    struct writer *me = w->priv;
    unsigned char header[STORE_PACK_HEADER];

    if (me->bytes && me->len + sizeof header + n > PACK_BYTES && send_pack(w, e) < 0)
        return -1;
    if (!me->bytes)
        store_name_pack(w->store, w->session, me->name);
    store_pack_header(n, digest, header);
    append(me, header, sizeof header);
    *place_out = (struct store_place){.offset = me->len, .size = n};
    memcpy(place_out->blob, me->name, sizeof place_out->blob);
    append(me, bytes, n);
    return 0;
}

int remote_write_small(struct store_writer *w,
                       const void *bytes,
                       size_t n,
                       const struct sha256_digest *digest,
                       struct store_place *place_out,
                       struct err *e)
{
    struct writer *me = w->priv;

    pthread_mutex_lock(&me->lock);
    int result = outcome(me, e);
    pthread_mutex_unlock(&me->lock);
    if (result < 0)
        return -1;
    pthread_mutex_lock(&me->packing);
    result = add(w, bytes, n, digest, place_out, e);
    pthread_mutex_unlock(&me->packing);
    return result;
}

int remote_flush(struct store_writer *w, struct err *e)
{
    struct writer *me = w->priv;

    pthread_mutex_lock(&me->packing);
    int result = me->bytes ? send_pack(w, e) : 0;
    pthread_mutex_unlock(&me->packing);
    if (result < 0)
        return -1;
    pthread_mutex_lock(&me->lock);
    while (me->under_way)
        pthread_cond_wait(&me->moved, &me->lock);
    result = outcome(me, e);
    pthread_mutex_unlock(&me->lock);
    return result;
}
