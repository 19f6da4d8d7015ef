#include "base/parallel.h"

#include "base/auto.h"
#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

struct crew {
    pthread_mutex_t lock; /* guards next, failed and *e */
    size_t n, next;
    bool failed;
    struct err *e;
    int (*work)(void *context, size_t i, struct err *e);
    void *context;
};

unsigned parallel_cores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 1 ? (unsigned)n : 1;
}

static bool next_piece(struct crew *c, size_t *i_out)
{
    pthread_mutex_lock(&c->lock);
    bool more = !c->failed && c->next < c->n;
    if (more)
        *i_out = c->next++;
    pthread_mutex_unlock(&c->lock);
    return more;
}

static void *labour(void *argument)
{
    struct crew *c = argument;
    size_t i;

    while (next_piece(c, &i)) {
        struct err why = {0};
        if (c->work(c->context, i, &why) == 0)
            continue;
        pthread_mutex_lock(&c->lock);
        if (!c->failed && c->e)
            *c->e = why;
        c->failed = true;
        pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

int parallel_each(size_t n,
                  unsigned threads,
                  int (*work)(void *context, size_t i, struct err *e),
                  void *context,
                  struct err *e)
{
    struct crew c = {.n = n, .e = e, .work = work, .context = context};
    unsigned started = 0;

    if (threads > n)
        threads = (unsigned)n;
    pthread_mutex_init(&c.lock, NULL);
    AUTO_MEM pthread_t *others = threads > 1 ? mem_zero(threads - 1, sizeof *others) : NULL;
    while (started + 1 < threads && pthread_create(&others[started], NULL, labour, &c) == 0)
        started++;
    labour(&c);
    while (started)
        pthread_join(others[--started], NULL);
    pthread_mutex_destroy(&c.lock);
    return c.failed ? -1 : 0;
}
