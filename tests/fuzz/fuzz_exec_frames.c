/* What an agent answers: the frames, and in them the lines of its state. The first byte says in
 * which pieces they come; that must not matter. */
#include "base/buf.h"
#include "exec/frames.h"
#include "exec/statefile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int hear(void *context, enum frame_kind kind, const char *bytes, size_t n, struct err *e)
{
    char mark = (char)kind;

    (void)e;
    if (kind == FRAME_END && n)
        abort();
    for (size_t i = 0; i < n; i++) {
        buf_add(context, &mark, 1);
        buf_add(context, bytes + i, 1);
    }
    return 0;
}

static void take(const uint8_t *data, size_t size, size_t piece, struct buf *out)
{
    struct frames *f = frames_new();

    buf_init(out, 1 << 24);
    for (size_t at = 0; at < size; at += piece)
        if (frames_take(f, data + at, size - at < piece ? size - at : piece, hear, out, NULL) < 0)
            break;
    frames_free(f);
}

static void read_lines(struct buf *heard)
{
    char line[STATE_LINE_MAX], text[STATE_LINE_MAX];
    size_t n = 0;
    struct state_line s, again;

    for (size_t i = 0; i + 1 < heard->len; i += 2) {
        char c = heard->data[i + 1];
        if (heard->data[i] != FRAME_STATE)
            continue;
        if (c && c != '\n' && n + 1 < sizeof line) {
            line[n++] = c;
            continue;
        }
        line[n] = 0;
        n = 0;
        if (state_line_parse(line, &s, NULL) < 0)
            continue;
        state_line_text(&s, text);
        text[strlen(text) - 1] = 0;
        if (state_line_parse(text, &again, NULL) < 0 || again.kind != s.kind)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole, pieces;

    if (size < 1)
        return 0;
    take(data + 1, size - 1, size, &whole);
    take(data + 1, size - 1, data[0] % 7 + 1, &pieces);
    if (whole.len != pieces.len || (whole.len && memcmp(whole.data, pieces.data, whole.len) != 0))
        abort();
    read_lines(&whole);
    buf_clear(&whole);
    buf_clear(&pieces);
    return 0;
}
