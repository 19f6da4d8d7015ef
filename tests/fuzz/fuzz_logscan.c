/* Any bytes as a log, in pieces of any size: what is found is fit for the lake and does not depend
 * on the pieces, and what is told of it is printable. */
#include "broker/learn/logscan.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "lake/job/job.h"
#include "lake/meta/meta.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tag(void *context, const char *set, const char *pair)
{
    struct err e = {0};

    assert(lake_tag_check(pair, &e) == 0 && strchr(pair, '='));
    buf_printf(context, "%s %s;", set ? set : "", pair);
}

static void check_metric(void *context, const char *name, double step, double value)
{
    assert(lake_job_metric_name(name, strlen(name)) && isfinite(step) && !isinf(value));
    buf_printf(context, "%s %g %g;", name, step, value);
}

static void check_malformed(void *context, const char *text)
{
    size_t line, len = strlen(text);

    assert(len < 600 && utf8_first_bad(text, len, &line) == len && !strchr(text, '\n'));
    buf_printf(context, "%s;", text);
}

static void scan(const char *bytes, size_t n, size_t piece, struct buf *found, struct buf *last)
{
    const struct logscan_visitor visitor = {found, check_tag, check_metric, check_malformed,
                                            .json = true};
    AUTO(logscan) struct logscan *s = logscan_new(&visitor);

    for (size_t i = 0; i < n; i += piece)
        logscan_take(s, bytes + i, n - i < piece ? n - i : piece);
    logscan_end(s);
    for (size_t max = 0; max < 300; max += 23) {
        const char *lines = logscan_last_lines(s, max);
        size_t line, len = strlen(lines);
        assert(len <= max && utf8_first_bad(lines, len, &line) == len);
        buf_printf(last, "%s;", lines);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(buf) struct buf found, found_again, last, last_again;
    const char *bytes = (const char *)data + 1;

    buf_init(&found, 16 << 20);
    buf_init(&found_again, 16 << 20);
    buf_init(&last, 1 << 20);
    buf_init(&last_again, 1 << 20);
    if (size < 2)
        return 0;
    scan(bytes, size - 1, SIZE_MAX, &found, &last);
    scan(bytes, size - 1, (size_t)data[0] + 1, &found_again, &last_again);
    assert(strcmp(buf_str(&found), buf_str(&found_again)) == 0);
    /* Beyond 16 KiB what is kept may begin elsewhere; what is asked for here lies after it. */
    assert(strcmp(buf_str(&last), buf_str(&last_again)) == 0);
    return 0;
}
