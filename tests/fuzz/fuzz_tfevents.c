/* Any bytes as an event file of TensorBoard, and any bytes as the event of a good frame: names are
 * fit for the lake, and what is told does not depend on how the file is cut. */
#include "broker/learn/tfevents.h"

#include "base/buf.h"
#include "base/mem.h"
#include "lake/job/job.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check(void *context, const char *name, double step, double value, struct err *e)
{
    (void)e;
    assert(lake_job_metric_name(name, strlen(name)));
    assert(isfinite(step));
    buf_printf(context, "%s %g %g;", name, step, value);
    return 0;
}

static void scan(const unsigned char *bytes, size_t n, size_t piece, struct buf *out)
{
    const struct tfevents_visitor visitor = {check, out};
    size_t at = 0, used;
    uint64_t skip;
    struct err e = {0};

    for (size_t have = piece < n ? piece : n; at < n; have = have + piece < n ? have + piece : n) {
        if (have < at)
            continue;
        if (tfevents_take(&visitor, bytes + at, have - at, &used, &skip, &e) < 0)
            return;
        assert(used <= have - at);
        at += used;
        if (skip > n - at)
            return;
        at += skip;
        if (have == n && !used && !skip)
            return;
    }
}

static uint32_t masked(const unsigned char *bytes, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78U : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

static void put(unsigned char *to, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++, v >>= 8)
        to[i] = (unsigned char)v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(buf) struct buf whole, pieces, framed;
    AUTO_MEM unsigned char *frame = mem_zero(size + 16, 1);

    buf_init(&whole, 16 << 20);
    buf_init(&pieces, 16 << 20);
    buf_init(&framed, 16 << 20);
    scan(data, size, SIZE_MAX / 4, &whole);
    scan(data, size, 37, &pieces);
    assert(strcmp(buf_str(&whole), buf_str(&pieces)) == 0);
    put(frame, size, 8);
    put(frame + 8, masked(frame, 8), 4);
    if (size)
        memcpy(frame + 12, data, size);
    put(frame + 12 + size, masked(frame + 12, size), 4);
    scan(frame, size + 16, SIZE_MAX / 4, &framed);
    return 0;
}
