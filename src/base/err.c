#include "base/err.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Formats into text and marks a cut, so that half a message is not taken for the whole. Names from
 * files and other machines stand in it, and it is shown on terminals. */
static void write_text(char *text, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
static void write_text(char *text, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(text, size, fmt, ap);

    if (n < 0 || (size_t)n >= size)
        memcpy(text + size - 4, "...", 4);
    utf8_disarm(text);
}

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
    va_list ap;

    if (!e)
        return -1;
    e->kind = kind;
    va_start(ap, fmt);
    write_text(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    struct err outer = {0};
    va_list ap;
    size_t used;

    if (!e)
        return -1;
    va_start(ap, fmt);
    write_text(outer.text, sizeof outer.text, fmt, ap);
    va_end(ap);
    used = strlen(outer.text);
    int n = snprintf(outer.text + used, sizeof outer.text - used, ": %s", e->text);
    if (n < 0 || (size_t)n >= sizeof outer.text - used)
        memcpy(outer.text + sizeof outer.text - 4, "...", 4);
    utf8_disarm(outer.text);
    memcpy(e->text, outer.text, sizeof e->text);
    return -1;
}

int err_exit_code(enum err_kind kind)
{
    if (kind == ERR_CHANGED)
        kind = ERR_RETRY;
    return kind == ERR_NONE ? 0 : (int)kind + 1;
}
