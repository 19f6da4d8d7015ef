#include "base/shell.h"

#include "base/buf.h"

#include <string.h>

void shell_put_word(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+=:,@%";

    buf_puts(b, b->len ? " " : "");
    if (*word && word[strspn(word, plain)] == 0) {
        buf_puts(b, word);
        return;
    }
    buf_puts(b, "'");
    for (const char *at = word; *at; at++) {
        if (*at == '\'')
            buf_puts(b, "'\\''");
        else
            buf_add(b, at, 1);
    }
    buf_puts(b, "'");
}

bool shell_is_variable(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return n > 0;
}
