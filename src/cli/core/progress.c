#include "cli/core/progress.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/time.h"
#include "view/text.h"

#include <errno.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#define QUIET_S 2.0
#define EVERY_S 0.2
#define LINE_COLUMNS 79
#define LINE_BYTES 1000

void progress_init(struct progress *p, FILE *out)
{
    *p = (struct progress){.out = out, .terminal = isatty(fileno(out))};
    p->began_s = time_monotonic_s();
}

void progress_show(struct progress *p, const char *fmt, ...)
{
    char line[LINE_BYTES];
    double now = time_monotonic_s();
    va_list ap;

    if (!p->terminal || now - p->began_s < QUIET_S || now - p->last_s < EVERY_S)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    AUTO_CLEAR(buf) struct buf b;
    buf_init(&b, sizeof line * 4);
    text_put(&b, line, LINE_COLUMNS, text_look_for(p->out).utf8);
    fprintf(p->out, "\r\033[K%s", buf_str(&b));
    fflush(p->out);
    p->last_s = now;
    p->shown = true;
}

void progress_clear(struct progress *p)
{
    if (!p->shown)
        return;
    fputs("\r\033[K", p->out);
    fflush(p->out);
    p->shown = false;
}

static void *tell_time(void *context)
{
    struct progress_clock *c = context;
    struct timespec until;

    pthread_mutex_lock(&c->lock);
    while (!c->is_over) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        if (pthread_cond_timedwait(&c->ends, &c->lock, &until) == ETIMEDOUT)
            progress_show(&c->line, "%s: %.0f s", c->what, time_monotonic_s() - c->line.began_s);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void progress_clock_begin(struct progress_clock *c, FILE *out, const char *what)
{
    pthread_condattr_t monotonic;

    *c = (struct progress_clock){.what = what};
    progress_init(&c->line, out);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->ends, &monotonic);
    pthread_condattr_destroy(&monotonic);
    /* Without a thread there is no line, and the work goes on. */
    c->is_over = !c->line.terminal || pthread_create(&c->thread, NULL, tell_time, c) != 0;
}

void progress_clock_end(struct progress_clock *c)
{
    pthread_mutex_lock(&c->lock);
    bool has_thread = !c->is_over;
    c->is_over = true;
    pthread_cond_signal(&c->ends);
    pthread_mutex_unlock(&c->lock);
    if (has_thread)
        pthread_join(c->thread, NULL);
    progress_clear(&c->line);
    pthread_cond_destroy(&c->ends);
    pthread_mutex_destroy(&c->lock);
}
