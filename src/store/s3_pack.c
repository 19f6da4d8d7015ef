/* Writes small contents to S3: gathers them in memory until a pack is full. The driver `s3`
 * lists the functions. */
#include "base/mem.h"
#include "store/s3.h"
#include "store/s3_sender.h"

#include <stdlib.h>
#include <string.h>

/* Small contents gather in memory until a pack is full. */
#define PACK_BYTES ((size_t)16 << 20)
/* A new pack begins this small and doubles: most writes bring only a little. */
#define FIRST_BYTES ((size_t)1 << 20)

struct writer {
    const struct store_writer *owner;
    struct s3_sender *sender;
    pthread_mutex_t lock; /* guards what follows */
    /* The pack being filled; bytes NULL = none yet. */
    char name[STORE_BLOB_NAME];
    unsigned char *bytes;
    size_t len, cap;
};

int s3_writer_open(struct store_writer *w, struct err *e)
{
    struct writer *me = mem_zero(1, sizeof *me);

    (void)e;
    me->owner = w;
    me->sender = s3_sender_new(w->store->priv, w->project);
    pthread_mutex_init(&me->lock, NULL);
    w->priv = me;
    return 0;
}

void s3_writer_close(struct store_writer *w)
{
    struct writer *me = w->priv;

    if (!me)
        return;
    s3_sender_free(me->sender);
    pthread_mutex_destroy(&me->lock);
    free(me->bytes);
    free(me);
    w->priv = NULL;
}

struct s3_sender *s3_writer_sender(const struct store_writer *w)
{
    const struct writer *me = w->priv;

    return me->sender;
}

/* All with the lock held. While the sender has too much to do the pack stays where it is, full, and
 * every writer waits: that bounds memory. */

static int send_pack(struct writer *me, struct err *e)
{
    size_t n = me->len;

    me->len = me->cap = 0;
    return s3_sender_put(me->sender, me->name, TAKE(me->bytes), n, e);
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

static int add(struct writer *me,
               const void *bytes,
               size_t n,
               const struct sha256_digest *digest,
               struct store_place *place_out,
               struct err *e)
{
    unsigned char header[STORE_PACK_HEADER];

    if (me->bytes && me->len + sizeof header + n > PACK_BYTES && send_pack(me, e) < 0)
        return -1;
    if (!me->bytes)
        store_name_pack(me->owner->store, me->owner->session, me->name);
    store_pack_header(n, digest, header);
    append(me, header, sizeof header);
    *place_out = (struct store_place){.offset = me->len, .size = n};
    memcpy(place_out->blob, me->name, sizeof place_out->blob);
    append(me, bytes, n);
    return 0;
}

int s3_write_small(struct store_writer *w,
                   const void *bytes,
                   size_t n,
                   const struct sha256_digest *digest,
                   struct store_place *place_out,
                   struct err *e)
{
    struct writer *me = w->priv;

    pthread_mutex_lock(&me->lock);
    int result = s3_sender_check(me->sender, e);
    if (result == 0)
        result = add(me, bytes, n, digest, place_out, e);
    pthread_mutex_unlock(&me->lock);
    return result;
}

int s3_flush(struct store_writer *w, struct err *e)
{
    struct writer *me = w->priv;

    pthread_mutex_lock(&me->lock);
    int result = me->bytes ? send_pack(me, e) : 0;
    pthread_mutex_unlock(&me->lock);
    return result < 0 ? -1 : s3_sender_wait(me->sender, e);
}
