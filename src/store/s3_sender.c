#include "store/s3_sender.h"

#include "base/mem.h"
#include "store/s3.h"

#include <stdlib.h>
#include <string.h>

#define SENDINGS 16
/* What may be on its way at once, unless it is a single blob. */
#define BYTES_MAX ((size_t)96 << 20)

/* One blob on its way. */
struct sending {
    struct s3_sender *sender;
    char blob[STORE_BLOB_NAME];
    unsigned char *bytes;
    size_t n;
    pthread_t thread;
    bool used; /* thread is to be joined */
    bool done;
};

struct s3_sender {
    struct s3 *s3;
    char project[STORE_PROJECT_NAME];
    atomic_bool closing;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t moved; /* a sending is done */
    struct sending sendings[SENDINGS];
    size_t under_way, bytes;
    struct err failure; /* the first; ERR_NONE = none. It stays: places were given out */
};

struct s3_sender *s3_sender_new(struct s3 *s, const char *project)
{
    struct s3_sender *me = mem_zero(1, sizeof *me);

    me->s3 = s;
    memcpy(me->project, project, strlen(project) + 1);
    pthread_mutex_init(&me->lock, NULL);
    pthread_cond_init(&me->moved, NULL);
    return me;
}

void s3_sender_free(struct s3_sender *s)
{
    if (!s)
        return;
    s->closing = true;
    for (size_t i = 0; i < SENDINGS; i++) {
        if (s->sendings[i].used)
            pthread_join(s->sendings[i].thread, NULL);
    }
    pthread_cond_destroy(&s->moved);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static bool not_closing(void *context)
{
    const struct sending *sending = context;

    return !sending->sender->closing;
}

/* Pulled, so that a slow one can be broken off. */
static int pull(void *context, uint64_t offset, void *bytes, size_t n, struct err *e)
{
    const struct sending *sending = context;

    if (sending->sender->closing)
        return err_set(e, ERR_RETRY, "interrupted");
    memcpy(bytes, sending->bytes + offset, n);
    return 0;
}

static int send_blob(struct sending *sending, struct err *e)
{
    const struct s3_sender *me = sending->sender;
    struct sha256_digest digest = sha256_of(sending->bytes, sending->n);
    char key[S3_KEY];
    struct s3_call call = {
        .body_bytes = sending->n,
        .digest = &digest,
        .pull = pull,
        .go_on = not_closing,
        .context = sending,
    };

    return s3_put_once(me->s3, s3_key(me->s3, me->project, sending->blob, key), &call, e);
}

/* With the lock held. */
static void finish(struct sending *sending, int result, const struct err *why)
{
    struct s3_sender *me = sending->sender;

    if (result < 0 && me->failure.kind == ERR_NONE)
        me->failure = *why;
    free(TAKE(sending->bytes));
    me->under_way--;
    me->bytes -= sending->n;
    sending->done = true;
    pthread_cond_broadcast(&me->moved);
}

static void *run_sending(void *argument)
{
    struct sending *sending = argument;
    struct err why = {0};

    int result = send_blob(sending, &why);
    pthread_mutex_lock(&sending->sender->lock);
    finish(sending, result, &why);
    pthread_mutex_unlock(&sending->sender->lock);
    return NULL;
}

/* With the lock held. One that carries nothing, once there is room for n bytes more. */
static struct sending *free_sending(struct s3_sender *me, size_t n)
{
    struct sending *free_one = me->sendings;

    while (me->under_way == SENDINGS || (me->under_way && me->bytes + n > BYTES_MAX))
        pthread_cond_wait(&me->moved, &me->lock);
    while (free_one->used && !free_one->done)
        free_one++;
    if (free_one->used)
        pthread_join(free_one->thread, NULL);
    *free_one = (struct sending){.sender = me};
    return free_one;
}

/* With the lock held. */
static int outcome(const struct s3_sender *me, struct err *e)
{
    if (me->failure.kind == ERR_NONE)
        return 0;
    if (e)
        *e = me->failure;
    return -1;
}

int s3_sender_put(
    struct s3_sender *s, const char *blob, unsigned char *bytes, size_t n, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    int result = outcome(s, e);
    if (result < 0) {
        free(bytes);
    } else {
        struct sending *sending = free_sending(s, n);
        memcpy(sending->blob, blob, strlen(blob) + 1);
        sending->bytes = bytes;
        sending->n = n;
        s->under_way++;
        s->bytes += n;
        sending->used = true;
        if (pthread_create(&sending->thread, NULL, run_sending, sending) != 0) {
            struct err why = {0};
            sending->used = false;
            finish(sending, send_blob(sending, &why), &why);
            result = outcome(s, e);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

int s3_sender_check(struct s3_sender *s, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    int result = outcome(s, e);
    pthread_mutex_unlock(&s->lock);
    return result;
}

int s3_sender_wait(struct s3_sender *s, struct err *e)
{
    pthread_mutex_lock(&s->lock);
    while (s->under_way)
        pthread_cond_wait(&s->moved, &s->lock);
    int result = outcome(s, e);
    pthread_mutex_unlock(&s->lock);
    return result;
}
