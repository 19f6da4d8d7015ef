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

/* ---- put, get, gc and fsck ---- */

/* Rates and times left mean little before this. */
#define RATE_AFTER_S 1.0

static void put_share(struct buf *b, const char *done, const char *all)
{
    buf_puts(b, done);
    if (*all)
        buf_printf(b, " of %s", all);
}

static void put_rate(struct buf *b, const uint64_t done[2], const uint64_t all[2], double elapsed_s)
{
    char text[32], left[32];

    if (elapsed_s < RATE_AFTER_S)
        return;
    if (done[1])
        buf_printf(b, ", %s/s", text_bytes((uint64_t)((double)done[1] / elapsed_s), text));
    /* The share of the work that is done: by bytes where there are any. */
    size_t by = all[1] ? 1 : 0;
    if (done[by] && all[by] > done[by])
        buf_printf(b, ", %s left",
                   time_text(elapsed_s * (double)(all[by] - done[by]) / (double)done[by], left));
}

const char *progress_text(const char *verb,
                          const uint64_t done[2],
                          const uint64_t all[2],
                          double elapsed_s,
                          char out[static 160])
{
    char some[32], total[32] = "";
    AUTO_CLEAR(buf) struct buf b;

    buf_init(&b, 4096);
    buf_printf(&b, "%s ", verb);
    if (all[0])
        text_count((size_t)all[0], total);
    put_share(&b, text_count((size_t)done[0], some), total);
    buf_puts(&b, " files");
    if (done[1] || all[1]) {
        total[0] = '\0';
        if (all[1])
            text_bytes(all[1], total);
        buf_puts(&b, ", ");
        put_share(&b, text_bytes(done[1], some), total);
    }
    put_rate(&b, done, all, elapsed_s);
    snprintf(out, 160, "%s", buf_str(&b));
    return out;
}
