#include "broker/daemon/attempt.h"

#include "base/mem.h"
#include "base/time.h"
#include "tap.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define TASKS 2000
#define PATIENCE_S 60.0

/* What every task is part of. */
struct counted {
    struct task task; /* first */
    unsigned done;
    bool without_lake;
};

static atomic_uint opened, at_once, most_at_once;
static pthread_barrier_t both;

/* A lake cannot be opened here: tasks go without. */
static struct lake *no_lake(struct err *e)
{
    atomic_fetch_add(&opened, 1);
    err_set(e, ERR_IO, "no lake in this test");
    return NULL;
}

static void count(struct task *t, struct lake *l)
{
    struct counted *c = (struct counted *)t;

    c->done++;
    c->without_lake = l == NULL;
}

/* Comes back only when two are here at once. */
static void meet(struct task *t, struct lake *l)
{
    unsigned now = atomic_fetch_add(&at_once, 1) + 1;

    if (now > atomic_load(&most_at_once))
        atomic_store(&most_at_once, now);
    pthread_barrier_wait(&both);
    atomic_fetch_sub(&at_once, 1);
    count(t, l);
}

static void dawdle(struct task *t, struct lake *l)
{
    usleep(20000);
    count(t, l);
}

static unsigned collect(struct workers *w, unsigned wanted)
{
    double until_s = time_monotonic_s() + PATIENCE_S;
    unsigned n = 0;

    while (n < wanted && time_monotonic_s() < until_s) {
        struct pollfd fd = {.fd = workers_fd(w), .events = POLLIN};
        if (poll(&fd, 1, 1000) > 0)
            n += workers_done(w) != NULL;
    }
    return n;
}

static void test_many(void)
{
    struct err e = {0};
    AUTO(workers) struct workers *w = workers_new(2, no_lake, &e);
    AUTO_MEM struct counted *all = mem_zero(TASKS, sizeof *all);
    unsigned good = 0;

    CHECK(w != NULL, "workers start: %s", e.text);
    CHECK(workers_done(w) == NULL, "nothing is done yet");
    for (size_t i = 0; i < TASKS; i++) {
        all[i].task.work = count;
        workers_do(w, &all[i].task);
    }
    CHECK(collect(w, TASKS) == TASKS, "every task comes back, one at a readiness");
    CHECK(workers_done(w) == NULL, "and no more than that");
    for (size_t i = 0; i < TASKS; i++)
        good += all[i].done == 1 && all[i].without_lake;
    CHECK(good == TASKS, "done once each, told that there is no lake");
    CHECK(atomic_load(&opened) == TASKS, "which was tried again for each");
    struct pollfd fd = {.fd = workers_fd(w), .events = POLLIN};
    CHECK(poll(&fd, 1, 0) == 0, "nothing is to be heard after the last");
    workers_do(w, &all[0].task);
    CHECK(collect(w, 1) == 1 && all[0].done == 2, "a task that came back may go again");
}

static void test_beside_each_other(void)
{
    struct err e = {0};
    AUTO(workers) struct workers *w = workers_new(2, no_lake, &e);
    struct counted pair[2] = {{.task.work = meet}, {.task.work = meet}};

    pthread_barrier_init(&both, NULL, 2);
    workers_do(w, &pair[0].task);
    workers_do(w, &pair[1].task);
    CHECK(collect(w, 2) == 2, "two threads work at the same time");
    CHECK(atomic_load(&most_at_once) == 2, "and no more than two");
    pthread_barrier_destroy(&both);
}

static void test_end(void)
{
    enum { MANY = 100 };
    struct err e = {0};
    struct workers *w = workers_new(2, no_lake, &e);
    struct counted all[MANY] = {0};
    unsigned done = 0;

    for (size_t i = 0; i < MANY; i++) {
        all[i].task.work = dawdle;
        workers_do(w, &all[i].task);
    }
    workers_free(w);
    for (size_t i = 0; i < MANY; i++)
        done += all[i].done;
    /* What was begun is finished: nobody touches a task after workers_free. */
    CHECK(done < MANY, "the end does not wait for what has not begun");
    workers_free(NULL);
}

int main(void)
{
    test_many();
    test_beside_each_other();
    test_end();
    return TAP_DONE();
}
