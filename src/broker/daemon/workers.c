/* A pool of threads for tasks that take long (fetching input, storing output, talking to
 * hosts), beside the broker's loop. Each thread has a lake of its own. */
#include "base/log.h"
#include "base/mem.h"
#include "broker/daemon/attempt.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct list {
    struct task *first, *last;
};

struct workers {
    struct lake *(*open)(struct err *e);
    pthread_t *threads;
    unsigned n_threads;
    int event;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t something;
    struct list waiting, done;
    bool ending;
};

static void append(struct list *l, struct task *t)
{
    t->next = NULL;
    if (l->last)
        l->last->next = t;
    else
        l->first = t;
    l->last = t;
}

static struct task *take(struct list *l)
{
    struct task *t = l->first;

    if (t) {
        l->first = t->next;
        if (!l->first)
            l->last = NULL;
    }
    return t;
}

static struct task *next_task(struct workers *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->ending && !w->waiting.first)
        pthread_cond_wait(&w->something, &w->lock);
    struct task *t = w->ending ? NULL : take(&w->waiting);
    pthread_mutex_unlock(&w->lock);
    return t;
}

static void hand_back(struct workers *w, struct task *t)
{
    uint64_t one = 1;

    pthread_mutex_lock(&w->lock);
    append(&w->done, t);
    pthread_mutex_unlock(&w->lock);
    /* Cannot fail: the counter would have to overflow. */
    ssize_t written = write(w->event, &one, sizeof one);
    (void)written;
}

static void *labour(void *argument)
{
    struct workers *w = argument;
    AUTO(lake) struct lake *l = NULL;
    struct task *t;

    while ((t = next_task(w))) {
        struct err why = {0};
        if (!l)
            l = w->open(&why);
        if (!l)
            log_warn("broker", "cannot open the lake: %s", why.text);
        t->work(t, l);
        hand_back(w, t);
    }
    return NULL;
}

/* Signals are for the loop. */
static int start_threads(struct workers *w, unsigned threads, struct err *e)
{
    sigset_t all, old;
    int failed = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->threads = mem_zero(threads, sizeof *w->threads);
    while (w->n_threads < threads && !failed) {
        failed = pthread_create(&w->threads[w->n_threads], NULL, labour, w);
        w->n_threads += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed && w->n_threads == 0
               ? err_set(e, ERR_RETRY, "cannot start a thread: %s", strerror(failed))
               : 0;
}

struct workers *workers_new(unsigned threads, struct lake *(*open)(struct err *e), struct err *e)
{
    AUTO(workers) struct workers *w = mem_zero(1, sizeof *w);

    w->open = open;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->something, NULL);
    w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->event < 0) {
        err_set(e, ERR_RETRY, "cannot make an event: %s", strerror(errno));
        return NULL;
    }
    if (start_threads(w, threads, e) < 0)
        return NULL;
    return TAKE(w);
}

void workers_free(struct workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->something);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->n_threads; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->something);
    pthread_mutex_destroy(&w->lock);
    if (w->event >= 0)
        close(w->event);
    free(w->threads);
    free(w);
}

void workers_do(struct workers *w, struct task *t)
{
    pthread_mutex_lock(&w->lock);
    append(&w->waiting, t);
    pthread_cond_signal(&w->something);
    pthread_mutex_unlock(&w->lock);
}

int workers_fd(const struct workers *w)
{
    return w->event;
}

struct task *workers_done(struct workers *w)
{
    uint64_t count;
    /* Emptied first: what is handed back from now on makes it readable again. */
    ssize_t got = read(w->event, &count, sizeof count);

    (void)got;
    pthread_mutex_lock(&w->lock);
    struct task *t = take(&w->done);
    if (w->done.first) {
        count = 1;
        got = write(w->event, &count, sizeof count);
        (void)got;
    }
    pthread_mutex_unlock(&w->lock);
    return t;
}
