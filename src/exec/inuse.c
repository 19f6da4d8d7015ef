#include "exec/inuse.h"

#include "base/auto.h"
#include "base/mem.h"
#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool inuse_is_word(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

    return n > 0 && n <= INUSE_WORD_MAX && !text[n] && text[0] != '.';
}

char *inuse_text(const struct inuse *l)
{
    return mem_printf("%s %s %" PRId64 " %s\n", l->by, l->token, l->until_ms, l->label);
}

static bool read_ms(const char *text, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && !errno;
}

void inuse_parse(const char *text, struct inuse *out)
{
    AUTO_MEM char *line = mem_printf("%.*s", (int)strcspn(text, "\n"), text);
    char until[32];

    *out = (struct inuse){0};
    if (sscanf(line, "%255s %255s %31s %255[^\n]", out->by, out->token, until, out->label) != 4 ||
        !inuse_is_word(out->by) || !inuse_is_word(out->token) || !read_ms(until, &out->until_ms))
        *out = (struct inuse){0};
}

bool inuse_lease(const char *text, double *seconds_out)
{
    AUTO_MEM char *line = mem_printf("%.*s", (int)strcspn(text, "\n"), text);

    return number_parse(line, seconds_out) && *seconds_out >= 0;
}
