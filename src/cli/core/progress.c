#include "cli/core/progress.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/time.h"
#include "view/text.h"

#include <stdarg.h>
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
