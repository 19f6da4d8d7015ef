#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Length of the well-formed character at p, 0 if there is none. Unicode 15, table 3-7. */
static size_t well_formed(const unsigned char *p, size_t left)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t n;

    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (left < n)
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return n;
}

size_t utf8_decode(const char *text, size_t len, uint32_t *out)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t n = well_formed(p, len);

    if (n == 0)
        return 0;
    *out = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        *out = *out << 6 | (p[i] & 0x3f);
    return n;
}

static bool is_control(unsigned char c)
{
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

size_t utf8_first_bad(const char *text, size_t len, size_t *line_out)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t at = 0;

    *line_out = 1;
    while (at < len) {
        size_t n = well_formed(p + at, len - at);
        if (n == 0 || is_control(p[at]))
            return at;
        *line_out += p[at] == '\n';
        at += n;
    }
    return len;
}

void utf8_disarm(char *text)
{
    unsigned char *p = (unsigned char *)text;

    for (size_t left = strlen(text), n; left; p += n, left -= n) {
        n = well_formed(p, left);
        bool is_c1 = n == 2 && p[0] == 0xc2 && p[1] < 0xa0;
        bool is_bad = n == 0 || is_c1 || is_control(*p) || *p == '\r';
        n = n ? n : 1;
        if (is_bad)
            memset(p, '?', n);
    }
}

size_t utf8_width(const char *text)
{
    unsigned char c = (unsigned char)text[0];

    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}
