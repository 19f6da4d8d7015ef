#include "cli/core/lake_progress.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/time.h"
#include "view/text.h"

#include <stdio.h>

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

const char *lake_progress_text(const char *verb,
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
