#include "base/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const level_names[] = {
    [LOG_ERROR] = "error",
    [LOG_WARN] = "warn",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

static _Atomic enum log_level threshold = LOG_WARN;

void log_set_level(enum log_level level)
{
    threshold = level;
}

int log_level_from_text(const char *text, enum log_level *out)
{
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++)
        if (strcmp(text, level_names[i]) == 0) {
            *out = (enum log_level)i;
            return 0;
        }
    return -1;
}

void log_at(enum log_level level, const char *room, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    if (level > threshold)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    utf8_disarm(text);
    /* One call a line, so that lines of several threads do not mix. */
    fprintf(stderr, "%s %s: %s\n", level_names[level], room, text);
}
