#include "base/mem.h"
#include "store/s3.h"

#include <stdlib.h>
#include <string.h>

/* Small contents gather in memory until a pack is full; full packs are sent by threads while the
 * next one fills. Memory: one pack more than are sent at once. */
#define PACK_BYTES ((size_t)16 << 20)
#define PACKS_IN_FLIGHT 4
/* A new pack begins this small and doubles: most writes bring only a little. */
#define FIRST_BYTES ((size_t)1 << 20)

struct pack {
    char name[STORE_BLOB_NAME];
    unsigned char *bytes;
    size_t len, cap;
};

struct writer;

/* One pack on its way. */
struct sending {
    struct writer *writer;
    struct pack *pack;
    pthread_t thread;
    bool used; /* thread is to be joined */
    bool done;
};

struct writer {
    const struct store_writer *owner;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t moved; /* a sending is done */
    struct pack *filling; /* NULL = none yet */
    struct sending sendings[PACKS_IN_FLIGHT];
    struct err failure; /* the first; kind ERR_NONE = none. It stays: places were given out */
    atomic_bool closing;
};

static void pack_free(struct pack *p)
{
    if (!p)
        return;
    free(p->bytes);
    free(p);
}

int s3_writer_open(struct store_writer *w, struct err *e)
{
    struct writer *me = mem_zero(1, sizeof *me);

    (void)e;
    me->owner = w;
    pthread_mutex_init(&me->lock, NULL);
    pthread_cond_init(&me->moved, NULL);
    w->priv = me;
    return 0;
}

void s3_writer_close(struct store_writer *w)
{
    struct writer *me = w->priv;

    if (!me)
        return;
    me->closing = true;
    for (size_t i = 0; i < PACKS_IN_FLIGHT; i++) {
        if (me->sendings[i].used)
            pthread_join(me->sendings[i].thread, NULL);
    }
    pack_free(me->filling);
    pthread_cond_destroy(&me->moved);
    pthread_mutex_destroy(&me->lock);
    free(me);
    w->priv = NULL;
}

/* With the lock held. */
static int fail_again(const struct writer *me, struct err *e)
{
    if (e)
        *e = me->failure;
    return -1;
}

/* ---- sending ---- */

/* A pack as the body of a request. */
struct body {
    const struct writer *writer;
    const struct pack *pack;
};

static bool not_closing(void *context)
{
    const struct body *b = context;

    return !b->writer->closing;
}

/* Pulled, so that a slow one can be broken off. */
static int pull(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    const struct body *b = context;

    if (b->writer->closing)
        return err_set(e, ERR_RETRY, "interrupted");
    memcpy(bytes, b->pack->bytes + offset, n);
    return 0;
}

static int send_pack(const struct writer *me, const struct pack *p, struct err *e)
{
    struct s3 *s = me->owner->store->priv;
    char key[S3_KEY];
    struct body body = {me, p};
    struct sha256_digest digest = sha256_of(p->bytes, p->len);
    struct s3_call call = {
        .body_bytes = p->len,
        .digest = &digest,
        .pull = pull,
        .go_on = not_closing,
        .context = &body,
    };

    return s3_put_once(s, s3_key(s, me->owner->project, p->name, key), &call, e);
}

static void *run_sending(void *argument)
{
    struct sending *sending = argument;
    struct writer *me = sending->writer;
    struct err why = {0};

    int result = send_pack(me, sending->pack, &why);
    pthread_mutex_lock(&me->lock);
    if (result < 0 && me->failure.kind == ERR_NONE)
        me->failure = why;
    pack_free(TAKE(sending->pack));
    sending->done = true;
    pthread_cond_broadcast(&me->moved);
    pthread_mutex_unlock(&me->lock);
    return NULL;
}

/* With the lock held. A place among the sendings, once there is one. */
static struct sending *free_sending(struct writer *me)
{
    for (;; pthread_cond_wait(&me->moved, &me->lock)) {
        for (struct sending *s = me->sendings; s < me->sendings + PACKS_IN_FLIGHT; s++) {
            if (s->used && !s->done)
                continue;
            if (s->used)
                pthread_join(s->thread, NULL);
            *s = (struct sending){.writer = me};
            return s;
        }
    }
}

/* With the lock held. Hands the pack over when it has grown past this. While all sendings are busy
 * it stays where it is, full, and every writer waits: that bounds memory. */
static void seal(struct writer *me, size_t past)
{
    struct sending *sending = free_sending(me);

    if (!me->filling || me->filling->len <= past)
        return;
    sending->pack = TAKE(me->filling);
    sending->used = true;
    if (pthread_create(&sending->thread, NULL, run_sending, sending) == 0)
        return;
    sending->used = false;
    struct err why = {0};
    if (send_pack(me, sending->pack, &why) < 0 && me->failure.kind == ERR_NONE)
        me->failure = why;
    pack_free(TAKE(sending->pack));
}

static bool failed(const struct writer *me)
{
    return me->failure.kind != ERR_NONE;
}

/* ---- filling ---- */

static void begin_pack(struct writer *me)
{
    const struct store_writer *owner = me->owner;

    me->filling = mem_zero(1, sizeof *me->filling);
    store_name_pack(owner->store, owner->session, me->filling->name);
}

static void append(struct pack *p, const void *bytes, size_t n)
{
    while (p->len + n > p->cap) {
        p->cap = p->cap ? 2 * p->cap : FIRST_BYTES;
        p->bytes = mem_grow(p->bytes, p->cap, 1);
    }
    if (n)
        memcpy(p->bytes + p->len, bytes, n);
    p->len += n;
}

int s3_write_small(struct store_writer *w,
                   const void *bytes,
                   size_t n,
                   const struct sha256_digest *digest,
                   struct store_place *place_out,
                   struct err *e)
{
    struct writer *me = w->priv;
    unsigned char header[STORE_PACK_HEADER];
    size_t past = PACK_BYTES - sizeof header - n;
    int result = 0;

    store_pack_header(n, digest, header);
    pthread_mutex_lock(&me->lock);
    /* Others may fill the next one before we get to it. */
    while (!failed(me) && me->filling && me->filling->len > past)
        seal(me, past);
    if (failed(me)) {
        result = fail_again(me, e);
    } else {
        if (!me->filling)
            begin_pack(me);
        struct pack *p = me->filling;
        append(p, header, sizeof header);
        *place_out = (struct store_place){.offset = p->len, .size = n};
        memcpy(place_out->blob, p->name, sizeof place_out->blob);
        append(p, bytes, n);
    }
    pthread_mutex_unlock(&me->lock);
    return result;
}

static bool any_sending(const struct writer *me)
{
    for (size_t i = 0; i < PACKS_IN_FLIGHT; i++) {
        if (me->sendings[i].used && !me->sendings[i].done)
            return true;
    }
    return false;
}

int s3_flush(struct store_writer *w, struct err *e)
{
    struct writer *me = w->priv;

    pthread_mutex_lock(&me->lock);
    if (!failed(me) && me->filling)
        seal(me, 0);
    while (any_sending(me))
        pthread_cond_wait(&me->moved, &me->lock);
    int result = failed(me) ? fail_again(me, e) : 0;
    pthread_mutex_unlock(&me->lock);
    return result;
}
