/* workers: what takes long (fetching input, storing output, talking to other machines) is done
 * beside the broker's loop, by threads that have a lake of their own each. */
#ifndef BROKER_DAEMON_WORKERS_H
#define BROKER_DAEMON_WORKERS_H

#include "base/auto.h"
#include "base/err.h"
#include "lake/core/lake.h"

/* Part of what the caller keeps of the work; in the hands of the workers until workers_done gives
 * it back. */
struct task {
    void (*work)(struct task *t, struct lake *l);
    struct task *next; /* the workers' own */
};

struct workers;
/* open: a lake for a thread, at its first task; tried again with the next task if it failed: the
 * task then sees l = NULL, and the log says why. */
struct workers *workers_new(unsigned threads,
                            struct lake *(*open)(void *context, struct err *e),
                            void *context,
                            struct err *e);
/* Waits for what is being done; what has not begun is dropped. */
void workers_free(struct workers *w);
AUTO_DEFINE(workers)

void workers_do(struct workers *w, struct task *t);
/* Readable when something is done. */
int workers_fd(const struct workers *w);
/* One that is done, or NULL. */
struct task *workers_done(struct workers *w);

#endif
