/* workers: a pool of threads for tasks that take long (fetching input, storing output, talking to
 * hosts), beside the broker's loop. Each thread has a lake of its own. */
#ifndef BROKER_DAEMON_WORKERS_H
#define BROKER_DAEMON_WORKERS_H

#include "base/auto.h"
#include "base/err.h"
#include "lake/core/lake.h"

/* The beginning of a caller's struct. The pool owns it until workers_done returns it. */
struct task {
    void (*work)(struct task *t, struct lake *l);
    struct task *next; /* for the pool */
};

struct workers;
/* open: opens a lake for a thread, at its first task. After a failure the log says why, the task
 * gets l = NULL, and the next task tries again. */
struct workers *workers_new(unsigned threads, struct lake *(*open)(struct err *e), struct err *e);
/* Waits for running tasks; drops tasks that no thread has begun. */
void workers_free(struct workers *w);
AUTO_DEFINE(workers)

void workers_do(struct workers *w, struct task *t);
/* Readable when a task is done. */
int workers_fd(const struct workers *w);
/* A task that is done, or NULL. */
struct task *workers_done(struct workers *w);

#endif
