/* progress: one line on a terminal that says what takes so long. Nothing appears before two
 * seconds, nor when the stream is no terminal. */
#ifndef CLI_CORE_PROGRESS_H
#define CLI_CORE_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

struct progress {
    FILE *out;
    bool terminal;
    bool shown;
    double began_s, last_s;
};

void progress_init(struct progress *p, FILE *out);
/* Replaces the line, a few times a second at most. */
void progress_show(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Takes the line away; may be used again. */
void progress_clear(struct progress *p);

/* Tells how long something takes already that cannot tell itself. */
struct progress_clock {
    struct progress line;
    const char *what;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t ends;
    bool is_over;
};

/* `what` as in "solving"; it has to stay until the end. */
void progress_clock_begin(struct progress_clock *c, FILE *out, const char *what);
void progress_clock_end(struct progress_clock *c);

#endif
