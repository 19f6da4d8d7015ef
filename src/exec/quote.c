#include "exec/quote.h"

#include <string.h>

void quote_word(struct buf *b, const char *word)
{
    buf_puts(b, "'");
    for (const char *at = word; *at;) {
        size_t n = strcspn(at, "'");
        buf_add(b, at, n);
        at += n;
        if (*at) {
            buf_puts(b, "'\\''");
            at++;
        }
    }
    buf_puts(b, "'");
}

void quote_path(struct buf *b, const char *path)
{
    if (!strcmp(path, "~")) {
        buf_puts(b, "~");
        return;
    }
    if (!strncmp(path, "~/", 2)) {
        buf_puts(b, "~/");
        path += 2;
    } else if (*path == '-') {
        buf_puts(b, "./");
    }
    quote_word(b, path);
}
