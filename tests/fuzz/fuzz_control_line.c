/* What a client says at the control socket, in pieces: the first byte says in which. Lines come out
 * whole and in order, however they were cut, and only those of the protocol mean something. */
#include "broker/daemon/control_line.h"

#include "base/auto.h"
#include "base/buf.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hear(const char *bytes, size_t n, size_t piece, struct buf *out)
{
    char line[CONTROL_LINE_MAX], held[CONTROL_LINE_MAX];
    size_t len = 0;
    int64_t job;

    for (size_t at = 0; at < n;) {
        size_t room = sizeof held - len, more = piece < room ? piece : room;
        if (!more)
            return; /* the line is too long */
        more = more < n - at ? more : n - at;
        memcpy(held + len, bytes + at, more);
        len += more;
        at += more;
        while (control_line_cut(held, &len, line)) {
            assert(len < sizeof held && strlen(line) < sizeof line);
            enum control_line_kind kind = control_line_parse(line, &job);
            if (kind == CONTROL_LINE_WAIT)
                assert(job > 0 && strncmp(line, "wait ", 5) == 0);
            if (kind != CONTROL_LINE_NONE)
                buf_printf(out, "%d %s\n", (int)kind, line);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(buf) struct buf whole, pieces;
    const char *bytes = (const char *)data + 1;

    buf_init(&whole, 16 << 20);
    buf_init(&pieces, 16 << 20);
    if (size < 1)
        return 0;
    hear(bytes, size - 1, SIZE_MAX, &whole);
    hear(bytes, size - 1, data[0] % 16 + 1, &pieces);
    assert(strcmp(buf_str(&whole), buf_str(&pieces)) == 0);
    return 0;
}
